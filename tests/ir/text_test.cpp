// The text forms: canonical, lossless, with errors that give the location.
#include "compiler/ir/network_text.h"
#include "compiler/ir/plan_json.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/ir/unfinished_plan.h"
#include "tests/text_case.h"

using namespace plimsoll;

namespace {

template <class T>
std::string printed(const Result<T>& parsed) {
  return parsed.ok() ? to_text(*parsed) : parsed.error().message;
}

}  // namespace

TEST_CASE("text forms") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases", [](const TextCase& text_case) -> TextResults {
    const std::string in = text_case.input("in");
    if (text_case.run == "graph") {
      const std::string out = printed(graph_from_text(in));
      const auto again = graph_from_text(out);
      if (again.ok()) CHECK(to_text(*again) == out);
      return {{"out", out}};
    }
    if (text_case.run == "network") {
      const std::string out = printed(network_from_text(in));
      const auto again = network_from_text(out);
      if (again.ok()) CHECK(to_text(*again) == out);
      return {{"out", out}};
    }
    if (text_case.run == "unfinished") {
      const std::string out = printed(unfinished_plan_from_text(in));
      const auto again = unfinished_plan_from_text(out);
      if (again.ok()) CHECK(to_text(*again) == out);
      return {{"out", out}};
    }
    REQUIRE(text_case.run == "plan");
    const auto plan = plan_from_text(in);
    const std::string out = printed(plan);
    if (plan.ok()) {
      CHECK(printed(plan_from_text(out)) == out);
      // JSON preserves everything that the text does.
      const auto through_json = plan_from_json(to_json(*plan));
      CHECK(printed(through_json) == out);
    }
    return {{"out", out}};
  });
}

// Any text is either read or refused, in bounded time and without a crash; a text that was read prints canonically.
TEST_CASE("damaged texts are errors and nothing worse") {
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases")) {
    const std::string good = read_text_case(entry.path()).input("in");
    const std::string kind = read_text_case(entry.path()).run;
    const auto check = [](const auto& parse, const std::string& text) {
      const auto parsed = parse(text);
      if (parsed.ok()) REQUIRE(printed(parse(to_text(*parsed))) == to_text(*parsed));
      else REQUIRE(parsed.error().message.find("line ") != std::string::npos);
    };
    for (size_t at = 0; at < good.size(); at += 2) {
      for (const char c : {'\n', ' ', '"', '%', '9', '#', '-', '\\', '\xc3', '\0'}) {
        std::string text = good;
        text[at] = c;
        if (kind == "graph") check([](const std::string& it) { return graph_from_text(it); }, text);
        else if (kind == "network") check([](const std::string& it) { return network_from_text(it); }, text);
        else if (kind == "unfinished") check([](const std::string& it) { return unfinished_plan_from_text(it); }, text);
        else check([](const std::string& it) { return plan_from_text(it); }, text);
      }
    }
  }
}
