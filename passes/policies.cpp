#include "passes/policies.h"

#include <fmt/format.h>

#include "passes/policies/auto.h"

namespace plimsoll {
namespace {

constexpr Policy kPolicies[] = {
    {.name = "auto",
     .summary = "whatever is fastest within the budget: keep, offload or recompute each tensor, algorithms, sub-batch",
     .schedule = auto_schedule,
     .searches = true},
    {.name = "liveness",
     .summary = "tensors share memory when their lifetimes allow, tasks work in place, workspaces take what is free"},
    // What frameworks did before liveness, and the baseline of the literature: the tensors of the whole network at
    // once, and one workspace that all tasks use in turn.
    {.name = "network-wide",
     .summary = "every tensor has its own memory for the whole round",
     .order = OrderKind::depth_first,
     .share_memory = false,
     .in_place = false},
};

}  // namespace

std::span<const Policy> all_policies() { return kPolicies; }

Result<Policy> find_policy(std::string_view name) {
  std::string names;
  for (const Policy& policy : kPolicies) {
    if (policy.name == name) return policy;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", policy.name);
  }
  return Error{ExitCode::usage, fmt::format("unknown policy '{}'; there are {}", name, names)};
}

}  // namespace plimsoll
