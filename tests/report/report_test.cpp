#include "compiler/ir/plan_text.h"
#include "compiler/report/csv.h"
#include "compiler/report/explanation.h"
#include "compiler/report/figures.h"
#include "compiler/report/network_report.h"
#include "compiler/report/plan_diff.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/table.h"
#include "tests/text_case.h"

#include <sstream>

using namespace plimsoll;

namespace {

void check_width(const std::string& report) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(width_of(line) <= kReportWidth);
  }
}

std::string without_colors(std::string text) {
  for (const char* code : {"\x1b[1m", "\x1b[2m", "\x1b[0m"})
    for (size_t at; (at = text.find(code)) != std::string::npos;) text.erase(at, std::string(code).size());
  return text;
}

}  // namespace

TEST_CASE("reports of plans") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases", [](const TextCase& text_case) -> TextResults {
    const auto plan = plan_from_text(text_case.input("plan"), text_case.path.filename().string());
    if (!plan.ok()) FAIL(plan.error().message);
    const PlanFacts facts = facts_of(*plan);
    const std::string report = report_plan(*plan, facts, false);
    check_width(report);
    CHECK(without_colors(report_plan(*plan, facts, true)) == report);
    CHECK(report_plan(*plan, facts, true) != report);
    TextResults results = {{"report", report}};
    // RUN: --explain=NAME adds the explanation of one tensor or layer, and --csv=… the figures in machine-readable
    // form.
    if (const std::string name = text_case.option("explain"); !name.empty()) {
      const auto explained = explain(*plan, facts, name, false);
      if (explained.ok()) check_width(*explained);
      results.emplace_back("explain", explained.ok()
                                          ? *explained
                                          : explained.error().message + "\n" + explained.error().notes.at(0) + "\n");
    }
    if (text_case.option("csv") == "layers") results.emplace_back("csv", report_csv(*plan, facts, CsvTable::layers));
    if (text_case.option("csv") == "tensors") results.emplace_back("csv", report_csv(*plan, facts, CsvTable::tensors));
    if (text_case.option("csv") == "steps") results.emplace_back("csv", report_csv(*plan, facts, CsvTable::steps));
    return results;
  });
}

TEST_CASE("a number is never cut out of why a tensor is live at the peak") {
  auto plan = plan_from_text(
      read_text_case(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases" / "recompute.test").input("plan"));
  REQUIRE(plan.ok());
  for (const double factor : {1.0, 3.7e3, 3.7e9, 3.7e15}) {
    Plan slow = *plan;
    for (const StepId id : ids_of(slow.steps)) {
      slow.steps[id].start *= factor;
      slow.steps[id].end *= factor;
    }
    const std::string report = report_peak(slow, facts_of(slow), false, 20);
    INFO(report);
    check_width(report);
    CHECK(report.find("for ") != std::string::npos);
    CHECK(report.find("…") == std::string::npos);  // the names are short, and so is the output
  }
}

TEST_CASE("what changed from one plan to another") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "diffs", [](const TextCase& text_case) -> TextResults {
    const auto before = plan_from_text(text_case.input("before"), "before"),
               after = plan_from_text(text_case.input("after"), "after");
    if (!before.ok()) FAIL(before.error().message);
    if (!after.ok()) FAIL(after.error().message);
    const std::string diff = report_diff(*before, *after, false);
    check_width(diff);
    CHECK(without_colors(report_diff(*before, *after, true)) == diff);
    return {{"diff", diff}};
  });
}

TEST_CASE("the report of a network counts operators and parameters") {
  Network network{.name = "tiny"};
  const auto value = [&](const char* name, ValueKind kind, Dims dims, bool trainable = false) {
    return network.values.push_back(
        {.name = name, .kind = kind, .type = {.dims = std::move(dims)}, .trainable = trainable});
  };
  const ValueId x = value("x", ValueKind::input, {kBatch, {3}, {8}, {8}});
  const ValueId w = value("conv.weight", ValueKind::parameter, {{16}, {3}, {3}, {3}}, true);
  const ValueId frozen = value("stem.weight", ValueKind::parameter, {{3}});
  const ValueId mean = value("bn.running_mean", ValueKind::statistic, {{16}});
  const ValueId y = value("y", ValueKind::intermediate, {kBatch, {16}, {8}, {8}});
  const ValueId z = value("z", ValueKind::intermediate, {kBatch, {16}, {8}, {8}});
  network.nodes.push_back({.name = "conv", .op = "Conv", .inputs = {x, w}, .outputs = {y}});
  network.nodes.push_back({.name = "bn", .op = "BatchNormalization", .inputs = {y, frozen, mean}, .outputs = {z}});
  network.nodes.push_back({.name = "conv2", .op = "Conv", .inputs = {z, w}, .outputs = {y}});
  network.inputs = {x};
  network.outputs = {z};
  const std::string report = report_network(network, {"dropped an Identity"}, false);
  check_width(report);
  CHECK(without_colors(report_network(network, {"dropped an Identity"}, true)) == report);
  CHECK(report ==
        "tiny\n"
        "\n"
        "inputs\n"
        "  x  f32[N,3,8,8]\n"
        "\n"
        "outputs\n"
        "  z  f32[N,16,8,8]\n"
        "\n"
        "operators, 3 nodes\n"
        "  Conv                2  ██████████████████████████████\n"
        "  BatchNormalization  1  ███████████████\n"
        "\n"
        "parameters\n"
        "              tensors  elements    bytes\n"
        "  trained           1       432  1.7 KiB\n"
        "  frozen            1         3     12 B\n"
        "  statistics        1        16     64 B\n"
        "  --weights lists them\n"
        "  largest: conv.weight, f32[16,3,3,3], 1.7 KiB\n"
        "\n"
        "notes\n"
        "  dropped an Identity\n");
  CHECK(report_weights(network) ==
        "trained    conv.weight      f32[16,3,3,3]  conv\n"
        "frozen     stem.weight      f32[3]         bn\n"
        "statistic  bn.running_mean  f32[16]        bn\n");

  // Of two outputs, the first depends on one layer, the other on both.
  const ValueId head = value("head", ValueKind::intermediate, {kBatch, {16}, {8}, {8}});
  network.nodes.push_back({.name = "head", .op = "Conv", .inputs = {x, w}, .outputs = {head}});
  network.outputs = {head, z};
  CHECK(report_weights(network).find("trained    conv.weight ") == 0);
  network.values[network.nodes[NodeId(1)].inputs[1]].trainable = true;
  CHECK(report_weights(network).find("by output  stem.weight") != std::string::npos);
  network.outputs = {head};
  CHECK(report_weights(network).find("dropped    stem.weight") != std::string::npos);
}

TEST_CASE("names are cut in the middle, by characters") {
  CHECK(shortened("layer4.2.conv3.weights", 12) == "laye…weights");
  CHECK(shortened("%/layer1/layer1.0/downsample/downsample.0/Conv_output_0", 40) ==
        "%…layer1.0…downsample.0/Conv_output_0");
  // not "……"
  CHECK(shortened("%/layer1/layer1.0/downsample/downsample.0/Conv_output_0", 30) == "%…layer1.0…ple.0/Conv_output_0");
  CHECK(shortened("/layer1/layer1.0/Conv", 21) == "/layer1/layer1.0/Conv");
  // What differs between layers stays: numbers, and the node at the end.
  constexpr std::string_view kQuery = "bert.encoder.layer.11.attention.self.query/node_MatMul_39";
  CHECK(shortened(kQuery, 57) == kQuery);
  CHECK(shortened(kQuery, 45) == "…layer.11.attention.self.query/node_MatMul_39");
  CHECK(shortened(kQuery, 31) == "…layer.11…query/node_MatMul_39");
  CHECK(shortened(kQuery, 20) == "…layer.…de_MatMul_39");
  CHECK(shortened("%encoder.layers.0.blocks.1.mlp.fc1.weight", 36) == "%…layers.0.blocks.1.mlp.fc1.weight");
  CHECK(shortened("from encoder.bn.forward to decoder.bn.forward", 40) == "from encoder…forward to decoder…forward");
  CHECK(shortened("/encoder/layer.3/attention/query/MatMul", 30) == "…layer.3…query/MatMul");
  CHECK(shortened("größe", 5) == "größe");
  CHECK(shortened("größe", 3) == "g…e");
  CHECK(shortened("a\nb\x1b[1m", 20) == "a?b?[1m");
}

// Half as many tasks in each of twice as many rounds are as many in an iteration.
TEST_CASE("a diff counts recomputed tasks over an iteration, as it does bytes and seconds") {
  const auto plan_of = [](int64_t rounds, int64_t recomputed) {
    Plan plan{.batch = 8, .sub_batch = 8 / rounds, .rounds = rounds};
    const TaskId task = plan.tasks.push_back({.name = "t", .layer = "t"});
    plan.steps.push_back({.task = task});
    for (int64_t i = 0; i < recomputed; ++i) plan.steps.push_back({.task = task, .recompute = true});
    return plan;
  };
  const auto tasks_in = [&](const Plan& before, const Plan& after) {
    const PlanDifference found = difference_of(before, facts_of(before), after, facts_of(after));
    std::string text;
    for (const DiffFigure& figure : found.figures)
      if (figure.what == "tasks recomputed") text += figure.before + " " + figure.after;
    return text;
  };
  CHECK(tasks_in(plan_of(2, 6), plan_of(4, 6)) == "12 24");
  CHECK(tasks_in(plan_of(2, 6), plan_of(4, 3)) == "");
}

TEST_CASE("the figures of a plan are of one iteration, and its overhead is over the unconstrained plan") {
  Plan plan{.sub_batch = 8, .rounds = 3, .last_sub_batch = 8};
  plan.summary = {.arena_bytes = 4096, .offloaded_bytes = 600, .prefetched_bytes = 300, .iteration_seconds = 1.5};
  const TensorId a = plan.tensors.push_back({.name = "a", .bytes = 100});
  const TensorId b = plan.tensors.push_back({.name = "b", .bytes = 20});
  const TaskId task = plan.tasks.push_back({.name = "t", .writes = {a, b}});
  plan.steps.push_back({.task = task});
  plan.steps.push_back({.task = task, .recompute = true});
  const PlanFigures figures = figures_of(plan, 1.2);
  CHECK(figures.moved_bytes() == 900);
  CHECK(figures.recomputed_tasks == 3);
  CHECK(figures.recomputed_bytes == 360);
  CHECK(format_overhead(figures.overhead) == "+25%");
  CHECK(format_overhead(0.004) == "+0.4%");
  CHECK(format_overhead(-0.0004) == "0%");
  CHECK(format_overhead(-0.02) == "-2%");
  CHECK(csv_figures(figures).starts_with("4096,8,3,1.5,"));
  // A smaller last round recomputes its share. The trainer copies whole buffers in it, too.
  plan.last_sub_batch = 2;
  const PlanFigures smaller = figures_of(plan, 1.2);
  CHECK(smaller.recomputed_bytes == 2 * 120 + 30);
  CHECK(smaller.recomputed_tasks == 3);
  CHECK(smaller.moved_bytes() == 900);
}
