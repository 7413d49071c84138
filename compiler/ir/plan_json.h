// plan.json, as specified in docs/plan-format.md: the interface between the planner, the code generator, the reports
// and external tools.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Deterministic; one line per tensor, task, step and residency, so that plans can be compared with diff.
std::string to_json(const Plan& plan);

// The same text in parts of a few megabytes. While one is used, another thread makes the next: the text of a deep
// network has hundreds of megabytes.
class PlanText {
 public:
  explicit PlanText(const Plan& plan);  // which must not change
  std::string_view next();              // valid until the next call; empty: the end

 private:
  void begin_next();

  std::vector<std::function<std::string()>> parts_;
  size_t begun_ = 0;
  std::string part_;  // the latest
  std::future<std::string> next_;
};

// Accepts arbitrary text. The result has ids in range and non-negative sizes; the checker decides whether it is a valid
// plan (compiler/check/check.h). Error: invalid_model, with the location: "plan.json: batch is 0; expected at least 1",
// "plan.json: is no JSON: line 3, column 7 …".
Result<Plan> plan_from_json(std::string_view text);

}  // namespace plimsoll
