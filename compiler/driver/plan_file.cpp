#include "compiler/driver/plan_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "compiler/driver/dump_file.h"
#include "compiler/ir/plan_json.h"
#include "compiler/ir/plan_text.h"
#include "compiler/support/counted.h"
#include "compiler/support/output.h"

namespace plimsoll {

Result<Plan> read_plan(const std::string& path) {
  std::error_code ignored;
  std::string file = path;
  if (std::filesystem::is_directory(path, ignored)) {
    file = path + "/plan.json";
    if (!std::filesystem::exists(file, ignored))
      return Error{ExitCode::unreadable_input, path + " contains no plan.json; was it written by `plimsoll compile`?"};
  }
  PLIMSOLL_ASSIGN(const std::string text, read_file(file));
  if (first_word(text) == "plan") return plan_from_text(text, file);
  if (first_word(text) == "unfinished") {  // whatever reads a plan says what this one lacks
    PLIMSOLL_ASSIGN(UnfinishedPlan unfinished, unfinished_plan_from_text(text, file));
    return std::move(unfinished.plan);
  }
  Result<Plan> plan = plan_from_json(text);
  if (!plan.ok()) return Error{plan.error().code, file + ": " + plan.error().message, plan.error().notes};
  return plan;
}

Error refusal(const Plan& plan, const std::vector<Violation>& violations) {
  return Error{ExitCode::verification_failed,
               fmt::format("the plan of '{}' violates {}\n{}", plan.model_name,
                           counted(static_cast<int64_t>(violations.size()), "rule"), to_string(violations))};
}

}  // namespace plimsoll
