// Plays a plan in this process, without generated code. Many plans are played in the time that one trainer takes to
// build.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/costs/pinned.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll::test {

// A zoo network as a task graph, with the workspaces of the kernels on this machine.
struct Network {
  TaskGraph graph = {};  // accumulating, with several rounds
  std::unique_ptr<Costs> costs = {};
  int64_t batch = 1, sub_batch = 1;
};
Result<Network> make_network(const std::string& spec, int64_t batch, int64_t sub_batch,
                             bool in_bf16 = false);

// The plan of `policy` in rounds of `sub_batch`. The budget is this share of the way from the minimum to the unlimited
// arena. Before: `network` is for one round. After: it is the network of this plan, and cannot be used for another.
// Pinned tasks run their pinned algorithm.
Result<Plan> plan_of_policy(Network& network, const std::string& policy, int64_t sub_batch, int64_t percent,
                            const AlgorithmPins& pins = {});

struct Played {
  std::vector<float> persistent = {};  // weights, optimizer state and statistics, in the order of the tensors
  std::vector<double> losses = {};     // of each iteration
  double evaluation = 0;            // loss of one more iteration, forward only
  friend bool operator==(const Played&, const Played&) = default;
};

// Starts with the same weights and samples, whatever the plan. `lives`: the lifetimes that sanitized builds check.
// `spill`: the directory of the host pool's file; "": the host pool is in memory.
Played play(const Network& network, const Plan& plan, const std::vector<Residency>& lives, int iterations,
            const std::string& spill);

}  // namespace plimsoll::test
