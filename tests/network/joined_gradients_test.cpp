// Gradients of a value that several nodes read: added by a task, or by the kernel that computes the last of them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/network/loss.h"
#include "compiler/network/output_loss.h"
#include "compiler/network/precision.h"
#include "compiler/ops/op.h"
#include "compiler/training/build.h"
#include "written_network.h"

namespace plimsoll {
namespace {

struct ResidualBuilder : test::WrittenNetwork {
  ValueId conv(ValueId x, const std::string& weight) {
    const ValueId w = value(weight, ValueKind::parameter, {{4}, {4}, {3}, {3}});
    return node("Conv", {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }

  // r = relu(conv(x)) is read by a convolution and by the addition after it, or after a further operator.
  TaskGraph graph(bool between, const TrainingOptions& options, Precision precision = Precision::fp32) {
    const ValueId r = node("Relu", {conv(value("x", ValueKind::input, {kBatch, {4}, {5}, {5}}), "w1")});
    ValueId branch = conv(r, "w2");
    if (between) branch = node("Sigmoid", {branch});
    network.outputs = {node("ReduceMean", {node("Add", {r, branch})}, {{"keepdims", int64_t{0}}})};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(network, LossKind::output, notes).ok());
    REQUIRE(assign_precision(network, {.precision = precision}).ok());
    auto made = build_task_graph(network, options);
    REQUIRE(made.ok());
    return std::move(*made);
  }
};

size_t sums(const TaskGraph& graph) {
  size_t count = 0;
  for (const Task& task : graph.tasks) count += task.kind == TaskKind::backward && task.kernel == "BinaryAdd";
  return count;
}

std::vector<Task> adding(const TaskGraph& graph) {
  std::vector<Task> found;
  for (const Task& task : graph.tasks)
    if (task.kernel == "ConvBackwardData" && task.operands.size() > 3) found.push_back(task);
  return found;
}

}  // namespace

TEST_CASE("a convolution adds the other gradient of its input, and may take its bytes") {
  const TaskGraph apart = ResidualBuilder().graph(true, {.batch = 2});
  CHECK(sums(apart) == 1);
  CHECK(adding(apart).empty());

  const TaskGraph joined = ResidualBuilder().graph(true, {.batch = 2, .join_gradients = true});
  CHECK(sums(joined) == 0);
  const std::vector<Task> found = adding(joined);
  REQUIRE(found.size() == 1);
  const Operand &dx = found[0].operands[2], &addend = found[0].operands[3];
  CHECK(addend.access == Access::read);
  CHECK(addend.type.dims == dx.type.dims);
  CHECK(found[0].in_place == std::vector<Task::InPlace>{{addend.tensor, dx.tensor}});
  // What reads the gradient of r is the backward of the Relu, and it reads the sum.
  const auto reader = std::find_if(joined.tasks.begin(), joined.tasks.end(),
                                   [](const Task& task) { return task.kernel == "ReluBackward"; });
  REQUIRE(reader != joined.tasks.end());
  const std::vector<TensorId> read = reader->reads();
  CHECK(std::find(read.begin(), read.end(), dx.tensor) != read.end());
  CHECK(std::find(read.begin(), read.end(), addend.tensor) == read.end());
  CHECK(joined.tasks.size() + 1 == apart.tasks.size());
}

TEST_CASE("the sum is not written over a gradient that the convolution itself reads") {
  const TaskGraph joined = ResidualBuilder().graph(false, {.batch = 2, .join_gradients = true});
  const std::vector<Task> found = adding(joined);
  REQUIRE(found.size() == 1);
  CHECK(found[0].operands[1].tensor == found[0].operands[3].tensor);  // both branches have the sum's gradient
  CHECK(found[0].in_place.empty());
}

TEST_CASE("gradients in bf16 are added by a convolution, too") {
  const TaskGraph graph = ResidualBuilder().graph(true, {.batch = 2, .join_gradients = true}, Precision::bf16);
  CHECK(sums(graph) == 0);
  const std::vector<Task> found = adding(graph);
  REQUIRE(found.size() == 1);
  for (const size_t slot : {2, 3}) CHECK(graph.tensors[found[0].operands[slot].tensor].type.type == DataType::bf16);
}

}  // namespace plimsoll
