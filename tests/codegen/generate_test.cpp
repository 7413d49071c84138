// The text of generated directories.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "codegen/carried.h"
#include "codegen/generate.h"
#include "codegen/identifiers.h"
#include "codegen/text.h"
#include "graphs.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

std::string contents(const std::vector<GeneratedFile>& files, const std::string& path) {
  for (const GeneratedFile& file : files)
    if (file.path == path) return file.contents;
  FAIL("there is no " << path);
  return "";
}

// Joins each statement to one line.
std::string unbroken(std::string text) {
  for (size_t at; (at = text.find(",\n")) != std::string::npos;)
    text.replace(at + 1, text.find_first_not_of(' ', at + 2) - at - 1, " ");
  return text;
}

std::set<std::string> paths(const std::vector<GeneratedFile>& files) {
  std::set<std::string> all;
  for (const GeneratedFile& file : files) CHECK(all.insert(file.path).second);
  return all;
}

// The files that define the program, concatenated. CMakeLists.txt, which lists the runtime's files, and LICENSE are
// excluded.
std::string program_text(const std::vector<GeneratedFile>& files) {
  std::string text;
  for (const GeneratedFile& file : files)
    if (!file.path.starts_with("runtime/") && file.path != "CMakeLists.txt" && file.path != "LICENSE")
      text += "=== " + file.path + "\n" + file.contents;
  // The stamp changes with every source file of the runtime.
  const std::string stamp(runtime_stamp());
  for (size_t at; (at = text.find(stamp)) != std::string::npos;) text.replace(at, stamp.size(), "STAMP");
  return text;
}

// PLIMSOLL_UPDATE=1 rewrites the expectations.
void check_golden(const std::string& name, const std::string& text) {
  const std::string path = PLIMSOLL_TEST_DIR "/" + name;
  if (const char* update = std::getenv("PLIMSOLL_UPDATE"); update && *update == '1') std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  INFO("PLIMSOLL_UPDATE=1 rewrites " << path);
  CHECK(text == expected.str());
}

}  // namespace

TEST_CASE("the text of a small program is what it was") {
  const TaskGraph graph = tower(8, 1);
  auto files = generate(graph, naive_plan(graph, 3),
                        {.command = "plimsoll compile tower.onnx --batch 8 -o trainer",
                         .threads = 2,
                         .initializers = {{"conv1.weight", {128}}},
                         .model_bytes = 1000});
  REQUIRE(files.ok());
  check_golden("tower.expected", program_text(*files));
}

TEST_CASE("same input, same bytes") {
  const TaskGraph graph = tower(8, 5);
  const Plan plan = naive_plan(graph, 4);
  auto once = generate(graph, plan, {}), twice = generate(graph, plan, {});
  REQUIRE(once.ok());
  REQUIRE(twice.ok());
  REQUIRE(once->size() == twice->size());
  for (size_t i = 0; i < once->size(); ++i) {
    CHECK((*once)[i].path == (*twice)[i].path);
    CHECK((*once)[i].contents == (*twice)[i].contents);
  }
}

TEST_CASE("only the sources of used kernels are carried, and all that is common") {
  const TaskGraph graph = tower(4, 1);
  auto files = generate(graph, naive_plan(graph, 4), {});
  REQUIRE(files.ok());
  const std::set<std::string> all = paths(*files);
  for (const char* path : {"CMakeLists.txt", "README.md", "program.h", "program.cpp", "steps_0.cpp", "kernels_0.cpp",
                           "runtime/kernel.h", "runtime/attrs/kernels.def", "runtime/host/engine.cpp",
                           "runtime/host/ops/conv.cpp", "runtime/host/ops/sgd.cpp", "runtime/train/main.cpp"})
    CHECK(all.contains(path));
  CHECK(!all.contains("runtime/host/ops/adam.cpp"));
  CHECK(!all.contains("runtime/host/ops/matmul.cpp"));
  for (const std::string& path : all) CHECK(path.find("profile") == std::string::npos);
}

TEST_CASE("a trainer compiles its kernels for the types and the sizes of their operands") {
  TaskGraph graph = tower(4, 1);
  const auto project = [&] {
    auto files = generate(graph, naive_plan(graph, 4), {});
    REQUIRE(files.ok());
    return contents(*files, "CMakeLists.txt");
  };
  CHECK(project().find("\n  TYPES f32\n  MOST_ELEMENTS 1024)") != std::string::npos);  // 4 of [4,8,8]
  graph.tasks[TaskId(0)].operands[0].type.type = DataType::bf16;
  CHECK(project().find("\n  TYPES bf16 f32\n") != std::string::npos);
}

TEST_CASE("tasks that are the same work share a kernel, per algorithm") {
  const TaskGraph graph = tower(4, 10);
  Plan plan = naive_plan(graph, 4);
  const auto kernels = [&] {
    auto files = generate(graph, plan, {});
    REQUIRE(files.ok());
    const std::string text = contents(*files, "kernels_0.cpp");
    size_t count = 0;
    for (size_t at = text.find("k.add<"); at != std::string::npos; at = text.find("k.add<", at + 1)) ++count;
    return count;
  };
  // Forward, ReLU, loss and its gradient, ReLU backward, both gradients of a convolution, the update.
  CHECK(kernels() == 8);
  plan.steps[StepId(1)].algorithm = "winograd";
  CHECK(kernels() == 9);
}

TEST_CASE("run again, a task that remembers is another kernel, which reads what it remembers") {
  TaskGraph graph = regression(4);
  const TensorId found = graph.tensors.push_back({.name = "found", .kind = TensorKind::stash, .type = {.dims = {{3}}}});
  Task& first = graph.tasks[TaskId(0)];
  first.operands.push_back({found, Access::write, graph.tensors[found].type});
  first.remembers = {found};
  Plan plan = naive_plan(graph, 4);
  Plan again = plan;
  again.steps = {};
  for (const StepId id : ids_of(plan.steps)) {
    again.steps.push_back(plan.steps[id]);
    if (id.value != 3) continue;
    again.steps.push_back(plan.steps[StepId(2)]);
    again.steps.back().recompute = true;
  }
  for (Residency& residency : again.residencies) residency.last_step += residency.last_step >= 4;
  const auto files = generate(graph, again, {});
  REQUIRE(files.ok());
  const std::string steps = contents(*files, "steps_0.cpp"), kernels = unbroken(contents(*files, "kernels_0.cpp"));
  CHECK(kernels.find("write(f32({n, 2})), write(f32({3}))") != std::string::npos);
  CHECK(kernels.find("write(f32({n, 2})), read(f32({3}))") != std::string::npos);
  CHECK(steps.find("r.run(mat_mul_0, {") != std::string::npos);
  CHECK(steps.find("r.again(mat_mul_2, {") != std::string::npos);
}

TEST_CASE("a tensor that comes back to another place has a second name") {
  const TaskGraph graph = regression(4);
  Plan plan = naive_plan(graph, 4);
  // x is loaded a second time, to another address, before the gradient.
  Plan twice = plan;
  twice.steps = {};
  for (const StepId id : ids_of(plan.steps)) {
    if (id.value == 4)
      twice.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::load, .tensor = TensorId(0)});
    twice.steps.push_back(plan.steps[id]);
  }
  for (Residency& residency : twice.residencies) {
    if (residency.first_step == 0) residency.last_step = 6;
    else residency.last_step = 7;
    if (residency.tensor == TensorId(0)) residency.last_step = 3;
  }
  twice.residencies.push_back({.tensor = TensorId(0), .offset = 1 << 22, .bytes = 64, .first_step = 4, .last_step = 6});
  auto files = generate(graph, twice, {});
  REQUIRE(files.ok());
  const std::string steps = contents(*files, "steps_0.cpp");
  CHECK(steps.find("r.load(0, x_at2, 16);") != std::string::npos);
  CHECK(steps.find("{x_at2, d, none, w_grad}") != std::string::npos);
  CHECK(contents(*files, "program.h").find("x_at2 = 4194304,") != std::string::npos);
}

TEST_CASE("an initializer that model.onnx does not have is an internal error") {
  const TaskGraph graph = regression(4);
  const auto files = generate(graph, naive_plan(graph, 4), {.model_bytes = 10});
  REQUIRE(!files.ok());
  CHECK(files.error().code == ExitCode::internal);
}

TEST_CASE("evaluation does not run what was moved before the loss") {
  const TaskGraph graph = regression(4);
  Plan plan = naive_plan(graph, 4);
  std::swap(plan.steps[StepId(3)], plan.steps[StepId(4)]);  // loss after the gradient of w
  auto files = generate(graph, plan, {});
  REQUIRE(files.ok());
  const std::string steps = contents(*files, "steps_0.cpp");
  const size_t moved = steps.find("r.training().run("), loss = steps.find("r.read_loss(");
  REQUIRE(moved != std::string::npos);
  CHECK(moved < loss);
  CHECK(loss < steps.find("void backward_"));
}

TEST_CASE("identifiers are made from the model's names") {
  CHECK(identifier_of("conv1.weight") == "conv1_weight");
  CHECK(identifier_of("/layer1/layer1.0/conv1/Conv_output_0") == "layer1_0_conv1_Conv");
  CHECK(identifier_of("/attn/Split_output_1") == "attn_Split_output_1");
  CHECK(identifier_of("__a::b__") == "a_b");
  CHECK(identifier_of("17") == "t17");
  CHECK(identifier_of("\xe5\xb1\x82").empty());
  CHECK(identifier_of(std::string(90, 'n') + ".weight").size() <= 48);
  Identifiers identifiers;
  CHECK(identifiers.claim("a_b", 3) == "a_b");
  CHECK(identifiers.claim("a_b", 7) == "a_b_t7");
  CHECK(identifiers.claim("", 8) == "t8");
  CHECK(identifiers.claim("int", 9) == "int_t9");
  CHECK(identifiers.claim("NULL", 10) == "NULL_t10");
  CHECK(identifiers.claim("forward_3", 11) == "forward_3_t11");
  CHECK(identifiers.claim("X", 12) == "X");
}

TEST_CASE("a line has at most 120 columns, and a string stays whole") {
  const std::string name(60, 'a'), string = "\"" + std::string(130, ',') + "\"";
  CHECK(within_columns("  r.run(k, {" + name + ", " + name + "}, 0);  // 7 forward\n") ==
        "  r.run(k, {" + name + ",\n      " + name + "}, 0);  // 7 forward\n");
  CHECK(within_columns("  f({" + string + ", 1});\n") == "  f({" + string + ",\n      1});\n");
  CHECK(within_columns("  // " + name + " " + name + "\n") == "  // " + name + "\n  // " + name + "\n");
  // An operand is not split if the line can be broken elsewhere.
  CHECK(within_columns("  k.add<K>(k, {read(" + name +
                       "), read(f32({1, 2, 3, 4})), write(f32({1, 2, 3, 4, 5, 6, 7}))});\n") ==
        "  k.add<K>(k, {read(" + name + "), read(f32({1, 2, 3, 4})),\n      write(f32({1, 2, 3, 4, 5, 6, 7}))});\n");
}

TEST_CASE("no line of a program is longer than 120 columns") {
  TaskGraph graph = tower(4, 3);
  for (Tensor& tensor : graph.tensors)
    tensor.name = "a/module/a/module/a/module/a/module/a/module/a/module/" + tensor.name;
  auto files = generate(graph, naive_plan(graph, 4), {});
  REQUIRE(files.ok());
  for (const GeneratedFile& file : *files) {
    if (file.path.find('/') != std::string::npos || (!file.path.ends_with(".cpp") && !file.path.ends_with(".h")))
      continue;
    std::istringstream text(file.contents);
    for (std::string line; std::getline(text, line);) CHECK(line.size() <= 120);
  }
}

TEST_CASE("names become harmless") {
  CHECK(comment_safe("*/ system(\"x\"); /*") == "*/ system(_x_)_ /*");
  CHECK(comment_safe("a\nb\\") == "a_b_");
  CHECK(comment_safe("ends in a trigraph?" "?/") == "ends in a trigraph__/");
  CHECK(comment_safe("\xe2\x80\xae") == "___");
  CHECK(comment_safe(std::string(1000, 'n')).size() < 110);
  CHECK(string_literal("a\"b\\\n1\xff") == "\"a\\042b\\134\\0121\\377\"");
  CHECK(string_literal("?" "?/") == "\"\\077\\077/\"");
  CHECK(snake_case("ConvBackwardData") == "conv_backward_data");
}
