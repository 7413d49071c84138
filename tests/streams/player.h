// A plan played in this process, without generated code: many plans in the time that one trainer takes to build.
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

// A network of the zoo as a task graph, with what its kernels need of workspace here.
struct Network {
  TaskGraph graph = {};  // accumulating, with several rounds
  std::unique_ptr<Costs> costs = {};
  int64_t batch = 1, sub_batch = 1;
};
Result<Network> make_network(const std::string& spec, int64_t batch, int64_t sub_batch);

// What `policy` makes of it in rounds of `sub_batch`, with so much of the way from its least arena to its arena without a budget.
// `network` is of one round; from then on it is that of the plan, and for no other. Tasks with a pin run that algorithm.
Result<Plan> plan_of_policy(Network& network, const std::string& policy, int64_t sub_batch, int64_t percent, const AlgorithmPins& pins = {});

struct Played {
  std::vector<float> persistent = {};  // weights, optimizer state and statistics, in the order of the tensors
  std::vector<double> losses = {};     // of each iteration
  double evaluation = 0;            // loss of one more iteration, forward only
  friend bool operator==(const Played&, const Played&) = default;
};

// From the same first weights and samples on, whatever the plan. `lives` is what sanitized builds watch: those of the
// plan. `spill`: a directory, or "" for memory.
Played play(const Network& network, const Plan& plan, const std::vector<Residency>& lives, int iterations,
            const std::string& spill);

}  // namespace plimsoll::test
