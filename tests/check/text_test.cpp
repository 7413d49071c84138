// The checker on plans in text form.
#include "compiler/check/check.h"
#include "compiler/ir/plan_text.h"
#include "tests/text_case.h"

using namespace plimsoll;

TEST_CASE("verdicts") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases", [](const TextCase& text_case) -> TextResults {
    REQUIRE(text_case.run == "check");
    const auto plan = plan_from_text(text_case.input("plan"), text_case.path.filename().string());
    if (!plan.ok()) FAIL(plan.error().message);
    const std::string verdict = to_string(check_plan(*plan));
    return {{"verdict", verdict.empty() ? "accepted" : verdict}};
  });
}
