// What the parts of the checker share: the list of violations and the names in them. Private to compiler/check/.
#pragma once

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

  std::string name(StepId step) {
    if (!names_) names_ = step_names(plan_);
    return names_->contains(step) ? (*names_)[step] : "?";
  }
  std::string name(TensorId tensor) const { return spelled_tensor(plan_.tensors[tensor].name); }
  std::string name(TaskId task) const { return spelled(plan_.tasks[task].name); }

  bool clean() const { return violations_.empty(); }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  static constexpr size_t kMost = 200;  // one mistake can break a rule at every step
  const Plan& plan_;
  std::optional<IdVector<StepId, std::string>> names_;  // made when there is something to say
  std::vector<Violation> violations_;
};

// How one step touches one tensor on the device.
struct Touch {
  TensorId tensor = {};
  Access access = Access::read;
};

// The touches of a step: a task's operands, an offload's read, the write of a prefetch or a load. A recomputation leaves
// the task's updates alone, and reads what the task remembers.
void touches_of(const Plan& plan, const Step& step, std::vector<Touch>& touches);

// What a loss task makes for the trainer: no gradient, and nothing that a task reads.
IdVector<TensorId, bool> results_of(const Plan& plan);

// What is a part of a sum on each rank until a reduction makes it the sum: gradients that updates touch, and what the loss
// task makes for the trainer. Nothing, of one rank.
IdVector<TensorId, bool> added_up_over_ranks(const Plan& plan);

// The parts, in the order in which check_plan() calls them. check_form: everything beyond may follow ids.
void check_form(const Plan& plan, Verdict& verdict);
void check_execution(const Plan& plan, Verdict& verdict);
void check_memory(const Plan& plan, Verdict& verdict);
void check_summary(const Plan& plan, Verdict& verdict);

}  // namespace plimsoll
