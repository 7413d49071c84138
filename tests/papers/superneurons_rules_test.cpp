// The rules of SuperNeurons on a small, readable network: the operands of each step.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "compiler/papers/superneurons.h"

using namespace plimsoll;

namespace {

class Sketch {
 public:
  ValueId input(const std::string& name, Dims dims) { return value(name, ValueKind::input, std::move(dims)); }
  ValueId weight(const std::string& name, Dims dims) { return value(name, ValueKind::parameter, std::move(dims)); }
  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs, Dims dims) {
    const ValueId output = value(name + "_output", ValueKind::intermediate, std::move(dims));
    network.nodes.push_back({.name = name, .op = op, .opset = 17, .inputs = std::move(inputs), .outputs = {output}});
    return output;
  }
  Network network;

 private:
  ValueId value(const std::string& name, ValueKind kind, Dims dims) {
    return network.values.push_back({.name = name, .kind = kind, .type = {DataType::f32, std::move(dims)}});
  }
};

const Dims kImages = {kBatch, {3}, {8}, {8}}, kMaps = {kBatch, {4}, {8}, {8}};

//   x ─ conv1 ─ relu1 ─┬─ conv2 ─ join ─ lrn ─ pool ─ drop ─ fc (─ softmax)
//                      └────────────┘
Network residual() {
  Sketch sketch;
  const ValueId x = sketch.input("x", kImages);
  const ValueId c1 = sketch.node("Conv", "conv1", {x, sketch.weight("w1", {{4}, {3}, {3}, {3}})}, kMaps);
  const ValueId r1 = sketch.node("Relu", "relu1", {c1}, kMaps);
  const ValueId c2 = sketch.node("Conv", "conv2", {r1, sketch.weight("w2", {{4}, {4}, {3}, {3}})}, kMaps);
  const ValueId join = sketch.node("Add", "join", {c2, r1}, kMaps);
  const ValueId lrn = sketch.node("LRN", "lrn", {join}, kMaps);
  const ValueId pool = sketch.node("MaxPool", "pool", {lrn}, {kBatch, {4}, {4}, {4}});
  const ValueId drop = sketch.node("Dropout", "drop", {pool}, {kBatch, {4}, {4}, {4}});
  const ValueId flat = sketch.node("Flatten", "flatten", {drop}, {kBatch, {64}});
  const ValueId fc = sketch.node("Gemm", "fc", {flat, sketch.weight("w3", {{64}, {10}})}, {kBatch, {10}});
  sketch.network.outputs = {fc};
  return sketch.network;
}

// "conv1.forward CONV >conv1.Y": reads, > writes.
std::vector<std::string> written_out(const TaskGraph& graph) {
  std::vector<std::string> lines;
  for (const Task& task : graph.tasks) {
    std::string line = task.name + " " + task.op;
    for (const Operand& operand : task.operands) {
      line += operand.access == Access::read ? " " : " >";
      line += graph.tensors[operand.tensor].name;
    }
    lines.push_back(line);
  }
  return lines;
}

// Every tensor lives from the first step that accesses it to the last, as in the paper's liveness analysis.
Plan liveness_plan(const TaskGraph& graph) {
  Plan plan{.batch = graph.batch, .sub_batch = graph.batch};
  IdVector<TensorId, Residency> spans(graph.tensors.size(), {.first_step = -1});
  for (const Tensor& tensor : graph.tensors)
    plan.tensors.push_back({.name = tensor.name, .bytes = tensor.bytes(graph.batch), .kind = tensor.kind});
  for (const Task& task : graph.tasks) {
    const int32_t step = static_cast<int32_t>(plan.steps.size());
    plan.steps.push_back({.task = TaskId(step)});
    plan.tasks.push_back({.name = task.name,
                          .op = task.op,
                          .kind = task.kind,
                          .reads = task.reads(),
                          .writes = task.writes(),
                          .bytes_moved = task.bytes_moved(graph.batch)});
    for (const Operand& operand : task.operands) {
      Residency& span = spans[operand.tensor];
      if (span.first_step < 0) span = {.tensor = operand.tensor, .first_step = step};
      span.last_step = step;
    }
  }
  plan.residencies.assign(spans.begin(), spans.end());
  return plan;
}

}  // namespace

TEST_CASE("every layer reads and writes what the rules of SuperNeurons say") {
  const Result<TaskGraph> graph = superneurons_graph(residual(), 2);
  REQUIRE(graph.ok());
  const std::vector<std::string> expected = {
      "conv1.forward CONV >conv1.Y",
      "relu1.forward ACT conv1.Y >relu1.Y",
      "relu1.fork.forward FORK relu1.Y >relu1.fork.Y >relu1.fork.Y.2",
      "conv2.forward CONV relu1.fork.Y >conv2.Y",
      "join.forward JOIN conv2.Y relu1.fork.Y.2 >join.Y",
      "lrn.forward LRN join.Y >lrn.Y",
      "pool.forward POOL lrn.Y >pool.Y",
      "drop.forward DROPOUT pool.Y >drop.Y",
      "fc.forward FC drop.Y >fc.Y",
      "softmax.forward SOFTMAX fc.Y >softmax.Y",
      "softmax.backward SOFTMAX fc.Y softmax.Y",
      "fc.backward FC drop.Y softmax.Y >fc.dX",
      "drop.backward DROPOUT fc.dX >drop.dX",
      "pool.backward POOL lrn.Y pool.Y drop.dX >pool.dX",
      "lrn.backward LRN join.Y lrn.Y pool.dX pool.dX",  // dy, and dx in it
      "join.backward JOIN pool.dX >join.dX",
      "conv2.backward CONV relu1.fork.Y pool.dX >conv2.dX",
      "relu1.fork.backward FORK conv2.dX join.dX",
      "relu1.backward ACT conv1.Y relu1.Y conv2.dX",
      "conv1.backward CONV conv2.dX >conv1.dX"};
  CHECK(written_out(*graph) == expected);
}

TEST_CASE("a loss or a softmax of the model is the SOFTMAX layer") {
  Network network = residual();
  const std::vector<std::string> without = written_out(*superneurons_graph(network, 2));
  const ValueId labels =
      network.values.push_back({.name = "labels", .kind = ValueKind::input, .type = {.dims = {kBatch}}});
  const ValueId loss = network.values.push_back({.name = "loss", .type = {.dims = {{1}}}});
  network.nodes.push_back({.name = "softmax",
                           .op = "SoftmaxCrossEntropyLoss",
                           .opset = 17,
                           .inputs = {network.outputs[0], labels},
                           .outputs = {loss}});
  network.outputs = {loss};
  CHECK(written_out(*superneurons_graph(network, 2)) == without);
}

TEST_CASE("figures count exact bytes, and steps from one") {
  const Result<TaskGraph> graph = superneurons_graph(residual(), 2);
  REQUIRE(graph.ok());
  const SuperNeuronsFigures figures = superneurons_figures(liveness_plan(*graph));
  const int64_t image = 2 * 3 * 64 * 4, map = 2 * 4 * 64 * 4, pooled = map / 4, scores = 2 * 10 * 4;
  CHECK(figures.layers == 10);
  CHECK(figures.tensors == 11 + 6);
  CHECK(figures.network_wide_bytes == 7 * map + 2 * pooled + 2 * scores + (pooled + pooled + map + map + map + image));
  // Step 14, pool.backward: conv1.Y and relu1.Y (both read by their ReLU's backward), one copy, join.Y, lrn.Y, pool.dX,
  // and of the pool's size pool.Y and drop.dX. Conv2's output and the other copy are dead.
  CHECK(figures.peak_step == 14);
  CHECK(figures.peak_bytes == 6 * map + 2 * pooled);
  CHECK(figures.peak_live_tensors == 8);
  CHECK(figures.largest_layer_distinct_bytes == 3 * map);
  CHECK(figures.largest_layer_bytes == 4 * map);  // the LRN with its dx
}

TEST_CASE("what the paper has no layer for is refused, all of it at once") {
  Sketch sketch;
  const ValueId x = sketch.input("x", kMaps);
  const ValueId a = sketch.node("Sqrt", "first", {x}, kMaps);
  const ValueId b = sketch.node("Relu", "middle", {a}, kMaps);
  const ValueId c = sketch.node("Erf", "second", {b}, kMaps);
  const ValueId d = sketch.node("Sqrt", "third", {c}, kMaps);
  sketch.network.outputs = {d};
  const Result<TaskGraph> graph = superneurons_graph(sketch.network, 1);
  REQUIRE(!graph.ok());
  CHECK(graph.error().code == ExitCode::unsupported);
  REQUIRE(graph.error().notes.size() == 2);
  CHECK(graph.error().message == "the rules of SuperNeurons do not cover 3 of the nodes");
  CHECK(graph.error().notes[0] == "node 'first' (Sqrt) and 1 more of them");
  CHECK(graph.error().notes[1].find("second") != std::string::npos);
}

TEST_CASE("a recomputation counts to the step that it is run for") {
  const Result<TaskGraph> graph = superneurons_graph(residual(), 2);
  REQUIRE(graph.ok());
  Plan plan = liveness_plan(*graph);
  // relu1 is recomputed before its backward task, and a huge tensor lives only there.
  plan.steps = {};
  for (const TaskId task : ids_of(plan.tasks)) {
    if (plan.tasks[task].name == "relu1.backward") plan.steps.push_back({.task = TaskId(1), .recompute = true});
    plan.steps.push_back({.task = task});
  }
  plan.tensors.edit(TensorId(0)).bytes = 1 << 20;
  plan.residencies = {{.tensor = TensorId(0), .first_step = 18, .last_step = 18}};
  CHECK(superneurons_figures(plan).peak_step == 19);
  count_as_superneurons(plan);
  CHECK(plan.rules == "superneurons");
  CHECK(plan.summary.peak_step == 19);
  CHECK(plan.summary.live_bytes == 1 << 20);
}
