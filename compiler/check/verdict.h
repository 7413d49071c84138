// Shared by the parts of the checker: the list of violations and the names used in messages. Private to
// compiler/check/.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/ir/names.h"

namespace plimsoll {

class Verdict {
 public:
  explicit Verdict(const Plan& plan) : plan_(plan) {}

  void refuse(Rule rule, StepId step, TensorId tensor, std::string message) {
    if (violations_.size() < kMost) violations_.push_back({rule, step, tensor, std::move(message)});
  }
  void refuse(Rule rule, std::string message) { refuse(rule, {}, {}, std::move(message)); }
  void add(std::vector<Violation> others) {
    for (Violation& each : others)
      if (violations_.size() < kMost) violations_.push_back(std::move(each));
  }

  std::string name(StepId step) {
    if (!names_) names_ = step_names(plan_);
    return names_->contains(step) ? (*names_)[step] : "?";
  }
  std::string name(TensorId tensor) const { return spelled_tensor(plan_.tensors[tensor].name); }
  std::string name(TaskId task) const { return spelled(plan_.tasks[task].name); }

  bool clean() const { return violations_.empty(); }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  static constexpr size_t kMost = 200;  // one mistake can violate a rule at every step
  const Plan& plan_;
  std::optional<IdVector<StepId, std::string>> names_;  // created for the first violation
  std::vector<Violation> violations_;
};

// One access of a step to a tensor on the device.
struct Touch {
  TensorId tensor = {};
  Access access = Access::read;
};

// The accesses of a step: a task's operands, the read of an offload, the write of a prefetch or a load. A recomputation
// omits the task's updates and reads the tensors that its first run saved.
void touches_of(const Plan& plan, const Step& step, std::vector<Touch>& touches);

// The outputs of a loss task for the trainer: not gradients, and not read by any task.
IdVector<TensorId, bool> results_of(const Plan& plan);

// Tensors that hold only a rank's part of a sum before their reduction: gradients read by updates, and the loss task's
// results for the trainer. Empty for one rank.
IdVector<TensorId, bool> added_up_over_ranks(const Plan& plan);

// True if a place of this offset and size can exist.
inline bool fits(int64_t offset, int64_t bytes) {
  return offset >= 0 && bytes >= 0 && offset <= std::numeric_limits<int64_t>::max() - bytes;
}

// Messages, text forms and generated programs refer to tensors and tasks by name.
void check_names(const Plan& plan, Verdict& verdict);

// The parts of the checker, in the order of their calls. check_form comes first: all others may follow ids.
void check_form(const Plan& plan, Verdict& verdict);
void check_slices(const Plan& plan, Verdict& verdict);  // called by check_form
void check_execution(const Plan& plan, Verdict& verdict);
void check_memory(const Plan& plan, int threads, Verdict& verdict);
void check_inputs_ahead(const Plan& plan, Verdict& verdict);  // called by check_memory
void check_summary(const Plan& plan, Verdict& verdict);

}  // namespace plimsoll
