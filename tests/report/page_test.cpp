// The pages as files: complete, self-contained, small, deterministic. tests/browser/ tests their behaviour in a
// browser.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "compiler/ir/plan_text.h"
#include "compiler/report/page.h"
#include "compiler/report/plan_page.h"
#include "compiler/report/policy_pages.h"
#include "tests/text_case.h"

using namespace plimsoll;
using nlohmann::json;

namespace {

std::string unpacked(const std::string& page) {
  const std::string open = "id=\"data\">";
  const size_t from = page.find(open) + open.size();
  const std::string text = page.substr(from, page.find('<', from) - from);
  std::string bytes;
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (c == '=') break;
    word = word << 6 | static_cast<uint32_t>(digits.find(c));
    if ((bits += 6) >= 8) bytes += static_cast<char>(word >> (bits -= 8) & 255);
  }
  std::string plain(bytes.size() * 200 + 100000, '\0');
  uLongf size = plain.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                     bytes.size()) == Z_OK);
  plain.resize(size);
  return plain;
}

// A network of `layers` like those of a deep ResNet: names, sizes and times repeat no more than real ones.
Plan deep_plan(int layers) {
  Plan plan{.generator = "plimsoll",
            .model_name = "deep",
            .batch = 16,
            .target_kind = "host",
            .costs = "modelled",
            .policy = "auto",
            .budget_bytes = 4'000'000'000,
            .sub_batch = 16,
            .rounds = 1,
            .last_sub_batch = 16};
  uint32_t noise = 1;
  const auto random = [&](uint32_t below) { return (noise = noise * 1664525 + 1013904223) / 65536 % below; };
  std::vector<TensorId> outputs;
  double now = 0;
  int64_t offset = 0;
  const auto put = [&](TensorId tensor, int32_t last) {
    offset = (offset + 256 * random(40'000)) % 3'900'000'000;
    plan.residencies.push_back(
        {tensor, offset / 256 * 256, plan.tensors[tensor].bytes, static_cast<int32_t>(plan.steps.size()), last});
  };
  const auto run = [&](PlanTask task, int32_t last) {
    const std::vector<TensorId> writes = task.writes;
    const TaskId id = plan.tasks.push_back(std::move(task));
    for (const TensorId tensor : writes) put(tensor, last);
    const double seconds = 1e-4 + 1e-8 * random(100'000);
    plan.steps.push_back({.task = id,
                          .algorithm = random(2) ? "direct" : "winograd",
                          .workspace = {0, 1024 * random(64)},
                          .start = now,
                          .end = now + seconds});
    now += seconds;
  };
  const int32_t steps = layers * 2;
  TensorId before = plan.tensors.push_back({.name = "x", .bytes = 9'633'792, .kind = TensorKind::input});
  for (int i = 0; i < layers; ++i) {
    const std::string layer = fmt::format("layer{}.{}.conv{}", i / 900 + 1, i / 3, i % 3 + 1);
    const TensorId output = plan.tensors.push_back({.name = layer + ".Y", .bytes = 4096 * (64 + random(8) * 64)});
    outputs.push_back(output);
    run({.name = layer + ".forward", .op = "Conv", .layer = layer, .reads = {before}, .writes = {output}},
        steps - i - 1);
    before = output;
  }
  for (int i = layers; i-- > 0;) {
    const std::string layer = fmt::format("layer{}.{}.conv{}", i / 900 + 1, i / 3, i % 3 + 1);
    const TensorId gradient = plan.tensors.push_back({.name = "d" + layer + ".Y",
                                                      .bytes = plan.tensors[outputs[static_cast<size_t>(i)]].bytes,
                                                      .kind = TensorKind::activation_gradient});
    run({.name = layer + ".backward",
         .op = "Conv",
         .kind = TaskKind::backward,
         .layer = layer,
         .reads = {outputs[static_cast<size_t>(i)], before},
         .writes = {gradient}},
        std::min<int32_t>(steps - 1, static_cast<int32_t>(plan.steps.size()) + 1));
    before = gradient;
  }
  return plan;
}

}  // namespace

TEST_CASE("a page asks nothing of the network, and is the same every time") {
  const auto plan =
      plan_from_text(read_text_case(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases" / "offload.test").input("plan"));
  REQUIRE(plan.ok());
  const PlanFacts facts = facts_of(*plan);
  const std::string page = plan_page(*plan, facts, nullptr);
  for (const char* asks : {"http://", "https://", "src=", "href=", "@import", "fetch(", "XMLHttpRequest"})
    CHECK(page.find(asks) == std::string::npos);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(page == plan_page(*plan, facts, nullptr));
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(page.size() < 100'000);
}

TEST_CASE("the data of a page are the plan's") {
  const auto plan =
      plan_from_text(read_text_case(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases" / "offload.test").input("plan"));
  REQUIRE(plan.ok());
  const PlanFacts facts = facts_of(*plan);
  const auto measured = measured_from_trace(report_trace(*plan, facts), *plan);
  REQUIRE(measured.ok());
  const json data = json::parse(unpacked(plan_page(*plan, facts, &*measured)));
  CHECK(data["head"]["budget"] == plan->budget_bytes);
  CHECK(data["head"]["summary"]["live_bytes"] == plan->summary.live_bytes);
  CHECK(data["tensors"]["name"][5] == "c1.Y");
  CHECK(data["head"]["kinds"][data["tensors"]["kind"][5].get<size_t>()] == "activation");
  int64_t first = 0, of = 0;
  for (size_t i = 0; i < plan->residencies.size(); ++i)
    CHECK((first += data["blocks"]["first+"][i].get<int64_t>()) == plan->residencies[i].first_step);
  for (const StepId id : ids_of(plan->steps)) {
    const Step& step = plan->steps[id];
    CHECK((of += data["steps"]["of+"][static_cast<size_t>(id.value)].get<int64_t>()) ==
          (step.kind == StepKind::compute ? step.task.value : step.tensor.value));
  }
  CHECK(data["measured"]["layer"][0] == 9'000'000);
}

TEST_CASE("a name cannot leave the text it stands in") {
  CHECK(html_escaped("</title><script>\"&") == "&lt;/title&gt;&lt;script&gt;&quot;&amp;");
  auto plan =
      plan_from_text(read_text_case(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases" / "offload.test").input("plan"));
  plan->model_name = "</script><script>alert(1)</script>\xff";
  plan->tensors.edit(TensorId(5)).name = plan->model_name;
  const std::string page = plan_page(*plan, facts_of(*plan), nullptr);
  CHECK(page.find("alert") == page.rfind("alert"));  // escaped in the title; the data is packed
  CHECK(page.find("<script>alert") == std::string::npos);
}

TEST_CASE("a plan of 100,000 tensors makes a page under 5 MB") {
  const Plan plan = deep_plan(50'000);
  REQUIRE(plan.tensors.size() > 100'000);
  CHECK(plan_page(plan, facts_of(plan), nullptr).size() < 5'000'000);
}

namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the page of a comparison draws who fits, and says what the others need") {
  const PlanFigures quick{.arena_bytes = 100, .sub_batch = 4, .rounds = 1, .iteration_seconds = 0.5},
      slow{.arena_bytes = 90, .sub_batch = 4, .rounds = 1, .iteration_seconds = 1};
  const std::vector<BudgetEntries> budgets = {
      {"50%",
       128,
       {{.policy = "auto", .least_bytes = 64, .figures = slow, .fastest = true},
        {.policy = "<none>", .least_bytes = 3 << 20}}},
      {"100%",
       256,
       {{.policy = "auto", .least_bytes = 64, .figures = quick, .fastest = true},
        {.policy = "<none>", .least_bytes = 3 << 20, .figures = slow, .splits_statistics = true}}}};
  const std::string page =
      compare_page({.model = "a & b", .batch = 4, .unconstrained_bytes = 256, .unconstrained_seconds = 0.5}, budgets);
  CHECK(count_of(page, "data-tip=\"auto within") == 2 * 2 + 2);  // in two drawings, and at two bars
  CHECK(count_of(page, "class=\"row best\"") == 2);
  CHECK(page.find("needs 3.0 MiB") != std::string::npos);
  CHECK(page.find("&lt;none&gt;") != std::string::npos);
  CHECK(page.find("<none>") == std::string::npos);
  CHECK(page.find("a &amp; b") != std::string::npos);
  CHECK(page.find("†") != std::string::npos);
  // With one budget there is no line to draw.
  CHECK(count_of(compare_page({}, {budgets[0]}), "<svg class=\"wide\"") == 0);
}

TEST_CASE("lines of a comparison are told apart without colours, and points that are one tell of all") {
  std::vector<BudgetEntries> budgets = {{"50%", 128, {}}, {"100%", 256, {}}};
  for (int policy = 0; policy < 16; ++policy)
    for (BudgetEntries& budget : budgets) {
      const double seconds = budget.bytes == 256 && policy < 2 ? 1 : policy + 2;
      budget.entries.push_back(
          {.policy = fmt::format("p{}", policy), .figures = PlanFigures{.rounds = 1, .iteration_seconds = seconds}});
    }
  std::string page = compare_page({.model = "net", .batch = 4}, budgets);
  CHECK(page.find("p0 within 256 B: 1.00 s, 0%; transferred -, recomputed -, sub-batch 0\np1 within") !=
        std::string::npos);
  page = std::regex_replace(page, std::regex("(fill|stroke):var\\(--[a-oq-z][a-z-]*\\)"), "$1:any");
  std::set<std::string> looks, names;
  const std::regex entry("<span><svg [^>]*>(.*?)</svg>(p[0-9]+)</span>");
  for (auto at = std::sregex_iterator(page.begin(), page.end(), entry); at != std::sregex_iterator(); ++at) {
    looks.insert((*at)[1]);
    names.insert((*at)[2]);
  }
  CHECK(names.size() == 16);
  CHECK(looks.size() == 16);
}

TEST_CASE("the page of a frontier has a point for every budget") {
  Plan least{.model_name = "net", .batch = 8, .policy = "auto"};
  least.summary.unconstrained_bytes = 400;
  const std::vector<FrontierPoint> points = {{100, {.iteration_seconds = 2, .overhead = 1}},
                                             {200, {.iteration_seconds = 1.5, .overhead = 0.5}, true},
                                             {400, {.iteration_seconds = 1}}};
  const std::string page = frontier_page(least, points);
  CHECK(count_of(page, "data-tip=\"auto within") == 2 * 3);  // in two drawings
  CHECK(count_of(page, ">†</text>") == 2);
  CHECK(page.find("<td>25%</td>") != std::string::npos);
}
