#include "passes/policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/policies/schedules.h"
#include "passes/schedule/model.h"

namespace plimsoll {
namespace {

const Policy kPolicies[] = {
    {.name = "auto",
     .summary = "the fastest plan found: chooses decisions per tensor, algorithms and sub-batch",
     .order = OrderKind::best_of,
     .searches = true},
    {.name = "liveness",
     .summary = "tensors with disjoint lifetimes share memory; in-place operations; workspaces use free memory",
     .order = OrderKind::best_of},
    // Frameworks before liveness analysis, and the baseline of the literature: all tensors of the network at once, and
    // one workspace that all tasks use in turn.
    {.name = "network-wide",
     .summary = "every tensor has memory of its own for the whole round",
     .share_memory = false,
     .in_place = false},
    {.name = "superneurons",
     .summary = "SuperNeurons: an LRU cache offloads convolutions; cheap layers are recomputed by segment or by layer",
     .schedule = superneurons_cost},
    {.name = "superneurons:speed",
     .summary = "SuperNeurons: recomputed segments are kept until used",
     .schedule = superneurons_speed},
    {.name = "superneurons:memory",
     .summary = "SuperNeurons: recomputed tensors are kept for one task only",
     .schedule = superneurons_memory},
    {.name = "superneurons:offload",
     .summary = "SuperNeurons: an LRU cache offloads convolutions; nothing is recomputed",
     .schedule = superneurons_offload},
    {.name = "vdnn-all:m",
     .summary = "vDNN: offloads the input of every feature layer; algorithms with the smallest workspaces",
     .algorithms = AlgorithmKind::smallest,
     .schedule = vdnn_all,
     .depends_on_limit = false},
    {.name = "vdnn-all:p",
     .summary = "vDNN: offloads the input of every feature layer; fastest algorithms",
     .algorithms = AlgorithmKind::fastest,
     .schedule = vdnn_all,
     .depends_on_limit = false},
    {.name = "vdnn-conv:m",
     .summary = "vDNN: offloads the inputs of convolutions; algorithms with the smallest workspaces",
     .algorithms = AlgorithmKind::smallest,
     .schedule = vdnn_conv,
     .depends_on_limit = false},
    {.name = "vdnn-conv:p",
     .summary = "vDNN: offloads the inputs of convolutions; fastest algorithms",
     .algorithms = AlgorithmKind::fastest,
     .schedule = vdnn_conv,
     .depends_on_limit = false},
    {.name = "vdnn-dyn",
     .summary = "vDNN: the least offloading and the fastest algorithms that fit the budget",
     .schedule = vdnn_dyn},
    {.name = "sublinear",
     .summary = "Chen et al.: keeps the tensors at segment boundaries, recomputes the segments",
     .schedule = sublinear},
    {.name = "modnn",
     .summary =
         "moDNN: evicts the tensor with the latest next use, prefetches into free memory, sub-batch by equation 3",
     .schedule = modnn,
     .sub_batch = modnn_sub_batch},
    {.name = "dymem",
     .summary =
         "Dymem: asynchronous copies, prefetches up to the next convolution, a memory pool filled from both ends",
     .order = OrderKind::arrivals,
     .place = PlaceKind::by_mobility,
     .schedule = dymem},
};

// Aliases of rows above: a policy's default, spelled out.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"superneurons:cost", "superneurons"}};

}  // namespace

std::span<const Policy> all_policies() { return kPolicies; }

Result<Policy> find_policy(std::string_view name) {
  for (const auto& [alias, of] : kAliases)
    if (name == alias) name = of;
  const auto found = std::ranges::find(kPolicies, name, &Policy::name);
  if (found != std::end(kPolicies)) return *found;
  std::vector<std::string_view> names;
  for (const Policy& policy : kPolicies) names.push_back(policy.name);
  return Error{ExitCode::usage, fmt::format("unknown policy '{}'; policies: {}", name, fmt::join(names, ", "))};
}

}  // namespace plimsoll
