#include "passes/policies.h"

#include <fmt/format.h>

#include "passes/policies/auto.h"
#include "passes/policies/superneurons.h"
#include "passes/policies/sublinear.h"
#include "passes/policies/vdnn.h"
#include "passes/policies/dymem.h"
#include "passes/policies/modnn.h"

namespace plimsoll {
namespace {

constexpr Policy kPolicies[] = {
    {.name = "auto",
     .summary = "whatever is fastest within the budget: keep, offload or recompute each tensor, algorithms, sub-batch",
     .schedule = auto_schedule,
     .searches = true},
    {.name = "liveness",
     .summary = "tensors share memory when their lifetimes allow, tasks work in place, workspaces take what is free"},
    // Frameworks before liveness analysis, and the baseline of the literature: all tensors of the network at once, and
    // one workspace that all tasks use in turn.
    {.name = "network-wide",
     .summary = "every tensor has its own memory for the whole round",
     .order = OrderKind::depth_first,
     .share_memory = false,
     .in_place = false},
    {.name = "superneurons",
     .summary = "convolutions leave through an LRU cache, cheap layers run again: all at once, or bit by bit where they are large",
     .order = OrderKind::depth_first,
     .schedule = superneurons_cost},
    {.name = "superneurons:speed",
     .summary = "the same, and what runs again stays until it has been used",
     .order = OrderKind::depth_first,
     .schedule = superneurons_speed},
    {.name = "superneurons:memory",
     .summary = "the same, and what runs again stays for one task only",
     .order = OrderKind::depth_first,
     .schedule = superneurons_memory},
    {.name = "superneurons:offload",
     .summary = "convolutions leave through an LRU cache, nothing runs again",
     .order = OrderKind::depth_first,
     .schedule = superneurons_offload},
    {.name = "vdnn-all:m", .summary = "vDNN: every feature layer's input is offloaded, smallest workspaces", .order = OrderKind::depth_first, .algorithms = AlgorithmKind::smallest, .schedule = vdnn_all, .heeds_limit = false},
    {.name = "vdnn-all:p", .summary = "vDNN: every feature layer's input is offloaded, fastest algorithms", .order = OrderKind::depth_first, .algorithms = AlgorithmKind::fastest, .schedule = vdnn_all, .heeds_limit = false},
    {.name = "vdnn-conv:m", .summary = "vDNN: convolutions' inputs are offloaded, smallest workspaces", .order = OrderKind::depth_first, .algorithms = AlgorithmKind::smallest, .schedule = vdnn_conv, .heeds_limit = false},
    {.name = "vdnn-conv:p", .summary = "vDNN: convolutions' inputs are offloaded, fastest algorithms", .order = OrderKind::depth_first, .algorithms = AlgorithmKind::fastest, .schedule = vdnn_conv, .heeds_limit = false},
    {.name = "vdnn-dyn", .summary = "vDNN: as little offloading, and as fast algorithms, as the budget allows", .order = OrderKind::depth_first, .schedule = vdnn_dyn},
    {.name = "sublinear", .summary = "Chen et al.: keeps what crosses a few splits, runs the segments between them again", .order = OrderKind::depth_first, .schedule = sublinear},
    {.name = "modnn", .summary = "moDNN: what is wanted last leaves for the next task, what is free fetches early, sub-batch by equation 3", .order = OrderKind::depth_first, .schedule = modnn, .sub_batch = modnn_sub_batch},
    {.name = "dymem", .summary = "Dymem: copies without barriers, everything fetched up to the next convolution, a pool with two ends", .order = OrderKind::arrivals, .place = PlaceKind::by_mobility, .schedule = dymem},
};

// Aliases of rows above: a policy's default, spelled out.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"superneurons:cost", "superneurons"}};

}  // namespace

std::span<const Policy> all_policies() { return kPolicies; }

Result<Policy> find_policy(std::string_view name) {
  for (const auto& [alias, of] : kAliases)
    if (name == alias) name = of;
  std::string names;
  for (const Policy& policy : kPolicies) {
    if (policy.name == name) return policy;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", policy.name);
  }
  return Error{ExitCode::usage, fmt::format("unknown policy '{}'; there are {}", name, names)};
}

}  // namespace plimsoll
