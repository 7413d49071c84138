// What no schedule can beat: the certificate that `auto` prints beside its answer.
#pragma once

#include <map>
#include <vector>

#include "passes/schedule/model.h"

namespace plimsoll::search {

// In seconds, of an iteration: no schedule of this model, in its order, that keeps `limit` takes less; kNoLimit: the sum
// of the tasks' fastest times, behind the load that the first of them waits for, and of several ranks with the waits for sums.
//
// While some step runs, what lies in its gap then (model.h) and has no room must have been given up. Each of these tensors
// costs at least one more run of its own task, behind the step, or a copy to the host before it and one back behind it:
//
//             before the step            behind it
//   compute   ideal                      ideal + again(dropped)        T >= max(ideal before, offloaded / d2h)
//   copies    offloaded / d2h            offloaded / h2d                  + max(ideal behind + again, offloaded / h2d)
//
// Copies also slow the tasks beside them (LinkRates::slowdown), so T >= ideal + again + what those that leave take from them.
// The best division of the bytes, taken as divisible, bounds all schedules; of all steps the one that says most counts.
double bound_seconds(const schedule::Model& model, int64_t limit);

// The same for many limits: what can be given up at a step is looked for once.
class Bound {
 public:
  // `model` must outlive this.
  explicit Bound(const schedule::Model& model);
  ~Bound();

  double seconds(int64_t limit);

 private:
  struct Full;
  const schedule::Model& model_;
  double ideal_ = 0, reduced_ = 0;
  std::vector<Full> fullest_;  // steps, the fullest first
  std::map<int64_t, double> known_;
};

// In bytes, persistent ones included: no schedule in this order needs less. The operands of the largest task and its smallest
// workspace, beside what the trainer reads when the round is over and is made by then.
int64_t bound_bytes(const schedule::Model& model);

}  // namespace plimsoll::search
