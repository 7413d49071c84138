// The checker on damaged plans. Each damage is refused, or is in the case's list of those that leave a correct plan. No
// interleaving of an accepted plan may go wrong.
#include "compiler/check/check.h"
#include "compiler/ir/plan_text.h"
#include "tests/check/damage.h"
#include "tests/check/interleave.h"
#include "tests/text_case.h"

#include <fmt/format.h>

using namespace plimsoll;

namespace {

// Summary figures follow from the rest, so a violation of them alone does not count as detection.
bool accepted(const Plan& plan) {
  for (const Violation& violation : check_plan(plan))
    if (violation.rule != Rule::summary) return false;
  return true;
}

}  // namespace

TEST_CASE("damages") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "damage", [](const TextCase& text_case) -> TextResults {
    const auto good = plan_from_text(text_case.input("plan"), text_case.path.filename().string());
    if (!good.ok()) FAIL(good.error().message);
    REQUIRE(to_string(check_plan(*good)) == "");
    for (uint64_t seed = 0; seed < 200; ++seed) REQUIRE(run_interleaved(*good, seed) == "");

    const std::vector<Damaged> all = damages_of(*good);
    std::string list;
    size_t count = 0, seen_wrong = 0;
    for (const Damaged& damaged : all) {
      CHECK(to_string(check_plan(damaged.plan, 2)) == to_string(check_plan(damaged.plan)));
      std::string wrong;
      for (uint64_t seed = 0; seed < 200 && wrong.empty(); ++seed) wrong = run_interleaved(damaged.plan, seed);
      seen_wrong += !wrong.empty();
      if (!accepted(damaged.plan)) continue;
      INFO(damaged.what);
      CHECK(wrong == "");
      list += damaged.what + "\n";
      ++count;
    }
    return {{"accepted", fmt::format("{} of {} damages, {} of which go wrong when they are tried:\n{}", count,
                                     all.size(), seen_wrong, list)}};
  });
}
