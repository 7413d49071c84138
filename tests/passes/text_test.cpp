// Each pass on small graphs: what it makes of the plan that the passes before it have left.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "compiler/check/check.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "fixture.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/starts.h"
#include "tests/text_case.h"

namespace plimsoll {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The lines that the second text lacks, with "-", and those that it adds, with "+".
std::string difference(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::vector<size_t>> common(before.size() + 1, std::vector<size_t>(after.size() + 1, 0));
  for (size_t i = before.size(); i-- > 0;)
    for (size_t j = after.size(); j-- > 0;)
      common[i][j] = before[i] == after[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string text;
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) ++i, ++j;
    else if (i < before.size() && (j == after.size() || common[i + 1][j] >= common[i][j + 1]))
      text += "- " + before[i++] + "\n";
    else text += "+ " + after[j++] + "\n";
  }
  return text.empty() ? "nothing\n" : text;
}

struct Run {
  std::string policy = "liveness";  // "minimum": the minimum-memory schedule of policy auto
  int64_t limit = kNoLimit, sub_batch = 0;
};

Run run_of(const std::string& words) {
  Run run;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const size_t equals = word.find('=');
    REQUIRE(equals != std::string::npos);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "policy") run.policy = value;
    else if (name == "limit") run.limit = std::stoll(value);
    else if (name == "sub_batch") run.sub_batch = std::stoll(value);
    else FAIL("no option " + name);
  }
  return run;
}

}  // namespace

// Each section "after PASS" has the lines of the plan that the pass removes and adds.
TEST_CASE("passes on plans") {
  // A convolution has two algorithms. All other tasks take a millisecond.
  static std::set<std::string> effective;
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases", [](const TextCase& text_case) -> TextResults {
    const Run run = run_of(text_case.run);
    const auto parsed = graph_from_text(text_case.input("graph"), text_case.path.filename().string());
    if (!parsed.ok()) FAIL(parsed.error().message);
    const int64_t batch = parsed->batch / parsed->ranks, sub_batch = run.sub_batch > 0 ? run.sub_batch : batch;
    const TaskGraph graph = sub_batch < batch ? accumulating(*parsed) : *parsed;
    test::FakeCosts costs;
    costs.special["conv.forward"] = {{.name = "fast", .workspace_bytes = 4096, .seconds = 1e-3},
                                     {.name = "small", .workspace_bytes = 0, .seconds = 2e-3}};
    const Candidate candidate = make_candidate(graph, costs, batch, sub_batch).value();
    Policy policy = find_policy(run.policy == "minimum" ? "auto" : run.policy).value();
    if (run.policy == "minimum") {
      const schedule::Model model = ordered_model(candidate, policy);
      search::Workbench bench(model);
      search::minimum_schedule(bench);
      policy = with_schedule(policy, bench.trace);
    }
    TextResults results;
    std::vector<std::string> before;
    const auto observe = [&](std::string_view pass, const Plan& plan, double) {
      Plan shown = plan;
      shown.summary.planning_seconds = 0;
      const std::vector<std::string> after = lines_of(to_text(shown));
      const std::string changed = difference(before, after);
      if (changed != "nothing\n") effective.insert(std::string(pass));
      results.emplace_back(fmt::format("after {}", pass), changed);
      before = after;
      return true;
    };
    Plan plan = plan_within(candidate, policy, run.limit, observe).value();
    plan.budget_bytes = plan.summary.arena_bytes;
    CHECK(to_string(check_plan(plan)) == "");
    CHECK(to_string(check_against_graph(plan, *parsed)) == "");
    return results;
  });
  // The sections run one after another, so this holds after the last one.
  static int runs = 0;
  size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases"))
    cases += entry.path().extension() == ".test";
  if (++runs < static_cast<int>(cases)) return;
  for (const Pass& pass : all_passes()) {
    CAPTURE(pass.name);
    CHECK(effective.contains(std::string(pass.name)));
  }
}

}  // namespace plimsoll
