// Lower bounds on all schedules. `auto` prints the bound and the optimality gap of its plan, and the search skips what
// cannot beat the best plan.
#pragma once

#include <map>
#include <vector>

#include "passes/search/names.h"

namespace plimsoll::search {

// A lower bound in seconds per iteration for every schedule of this model, in its order, within `limit` bytes: the
// first load, the sum of the tasks' times, each with its fastest algorithm whose workspace can fit, and the least cost
// of eviction. With several ranks, the bound also counts waits for sums, and the bytes of the reductions' workspace.
//
// While a step runs, some of the tensors that are between two uses do not fit and must be off the device. Each of them
// costs at least one more run of its own task, after the step, or a copy to the host before the step and one back after
// it:
//
//             before the step            after it
//   compute   ideal                      ideal + again(dropped)        T >= max(ideal before, offloaded / d2h)
//   copies    offloaded / d2h            offloaded / h2d                  + max(ideal after + again, offloaded / h2d)
//
// Copies also slow overlapping tasks (LinkRates::slowdown), so T >= ideal + again + slowdown caused by the offloaded
// tensors. Treating bytes as divisible, the best split between dropping and offloading bounds all schedules. The bound
// is the largest over the steps.
class Bound {
 public:
  // `model` must outlive this.
  explicit Bound(const Model& model);

  double seconds(int64_t limit);

  struct Droppable {
    double bytes = 0, seconds = 0;  // seconds of its own task; several outputs of one task share them
  };

 private:
  struct Full {
    int32_t step = 0;  // of the order, as the gaps of tensors are
    int64_t live = 0;  // bytes if everything stays, with the smallest workspace
    bool looked_at = false;  // the members below are set
    std::vector<Droppable> items = {}, host_residents = {};
    int64_t padding = 0;  // see droppable_at()
  };
  const Model& model_;
  std::vector<int64_t> least_;  // of each step: the fewest bytes that can be live, without workspace
  std::vector<Full> fullest_;  // the steps with the most live bytes, most first
  std::map<int64_t, double> known_;
};

// A lower bound in bytes, persistent tensors included, for every schedule in this order: the operands of the largest
// task, its smallest workspace, the results for the trainer that exist by then, and with several ranks the workspace of
// reductions.
int64_t bound_bytes(const Model& model);

}  // namespace plimsoll::search
