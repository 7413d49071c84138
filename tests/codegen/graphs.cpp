#include "graphs.h"

#include <algorithm>

#include "compiler/support/bytes.h"
#include "runtime/attrs/conv.h"
#include "runtime/attrs/matmul.h"
#include "runtime/attrs/none.h"
#include "runtime/attrs/optimizer.h"
#include "runtime/attrs/scale.h"

namespace plimsoll::test {
namespace {

class Builder {
 public:
  explicit Builder(TaskGraph& graph) : graph_(graph) {}

  TensorId tensor(const std::string& name, TensorKind kind, Dims dims) {
    const bool persistent = kind == TensorKind::weight;
    const bool from_file = persistent || kind == TensorKind::input;
    const TensorId id = graph_.tensors.push_back({.name = name,
                                                  .kind = kind,
                                                  .type = {.dims = std::move(dims)},
                                                  .onnx_name = from_file ? name : "",
                                                  .persistent = persistent});
    if (kind == TensorKind::input) graph_.inputs.push_back(id);
    if (kind == TensorKind::weight) graph_.parameters.push_back({id, name, graph_.tensors[id].type});
    return id;
  }
  Operand operand(TensorId id, Access access) const { return {id, access, graph_.tensors[id].type}; }
  Operand read(TensorId id) const { return operand(id, Access::read); }
  Operand write(TensorId id) const { return operand(id, Access::write); }

  void task(const std::string& layer, TaskKind kind, const std::string& kernel, Attributes attributes,
            std::vector<Operand> operands) {
    graph_.tasks.push_back({.name = layer + "." + std::string(to_string(kind)),
                            .op = kernel,
                            .kind = kind,
                            .layer = layer,
                            .kernel = kernel,
                            .attributes = std::move(attributes),
                            .operands = std::move(operands)});
  }

 private:
  TaskGraph& graph_;
};

}  // namespace

TaskGraph regression(int64_t batch) {
  TaskGraph graph{.name = "regression", .batch = batch};
  Builder b(graph);
  const double scale = 1.0 / static_cast<double>(2 * batch);
  const TensorId x = b.tensor("x", TensorKind::input, {kBatch, {4}});
  const TensorId t = b.tensor("t", TensorKind::input, {kBatch, {2}});
  const TensorId w = b.tensor("w", TensorKind::weight, {{4}, {2}});
  const TensorId d = b.tensor("d", TensorKind::activation, {kBatch, {2}});
  const TensorId loss = b.tensor("loss", TensorKind::activation, {{1}});
  const TensorId dw = b.tensor("w.grad", TensorKind::weight_gradient, {{4}, {2}});
  b.task("product", TaskKind::forward, "MatMul", to_attributes(MatMulAttrs{.beta = -1}),
         {b.read(x), b.read(w), b.read(t), b.write(d)});
  // The kernel sums over dimensions of equal rank.
  Operand sum = b.write(loss);
  sum.type.dims = {{1}, {1}};
  b.task("loss", TaskKind::loss, "ProductSum", to_attributes(ScaleAttrs{.scale = scale}), {b.read(d), b.read(d), sum});
  b.task("product", TaskKind::backward_weights, "MatMul",
         to_attributes(MatMulAttrs{.transpose_a = true, .alpha = 2 * scale}), {b.read(x), b.read(d), {}, b.write(dw)});
  b.task("w", TaskKind::update, "SgdUpdate", {}, {b.operand(w, Access::update), b.read(dw)});
  graph.loss = loss;
  graph.output = d;
  return graph;
}

TaskGraph tower(int64_t batch, int layers) {
  TaskGraph graph{.name = "tower", .batch = batch};
  Builder b(graph);
  const Dims image = {kBatch, {4}, {8}, {8}};
  const Attributes conv = to_attributes(ConvAttrs{.pads = {1, 1, 1, 1}});
  const double scale = 1.0 / static_cast<double>(256 * batch);
  std::vector<TensorId> y{b.tensor("x", TensorKind::input, image)}, w;
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "conv" + std::to_string(i + 1);
    w.push_back(b.tensor(layer + ".weight", TensorKind::weight, {{4}, {4}, {3}, {3}}));
    const TensorId c = b.tensor(layer + ".Y", TensorKind::activation, image);
    y.push_back(b.tensor(layer + ".relu", TensorKind::activation, image));
    b.task(layer, TaskKind::forward, "ConvForward", conv, {b.read(y[y.size() - 2]), b.read(w.back()), {}, b.write(c)});
    b.task(layer + "_relu", TaskKind::forward, "ReluForward", {}, {b.read(c), b.write(y.back())});
  }
  graph.loss = b.tensor("loss", TensorKind::activation, {{1}});
  graph.output = y.back();
  Operand sum = b.write(graph.loss);
  sum.type.dims = {{1}, {1}, {1}, {1}};
  b.task("loss", TaskKind::loss, "ProductSum", to_attributes(ScaleAttrs{.scale = scale}),
         {b.read(y.back()), b.read(y.back()), sum});
  TensorId dy = b.tensor("loss.gradient", TensorKind::activation_gradient, image);
  b.task("loss", TaskKind::backward, "BroadcastTo", to_attributes(ScaleAttrs{.scale = 2 * scale}),
         {b.read(y.back()), b.write(dy)});
  for (int i = layers - 1; i >= 0; --i) {
    const size_t at = static_cast<size_t>(i);
    const std::string layer = "conv" + std::to_string(i + 1);
    const TensorId dc = b.tensor(layer + ".dY", TensorKind::activation_gradient, image);
    const TensorId dw = b.tensor(layer + ".weight.grad", TensorKind::weight_gradient, {{4}, {4}, {3}, {3}});
    b.task(layer + "_relu", TaskKind::backward_data, "ReluBackward", {}, {b.read(y[at + 1]), b.read(dy), b.write(dc)});
    b.task(layer, TaskKind::backward_weights, "ConvBackwardWeights", conv,
           {b.read(y[at]), b.read(dc), b.write(dw), {}});
    if (i > 0) {
      dy = b.tensor(layer + ".dX", TensorKind::activation_gradient, image);
      b.task(layer, TaskKind::backward_data, "ConvBackwardData", conv, {b.read(w[at]), b.read(dc), b.write(dy)});
    }
    b.task(layer + ".weight", TaskKind::update, "SgdUpdate", {}, {b.operand(w[at], Access::update), b.read(dw)});
  }
  return graph;
}

Plan naive_plan(const TaskGraph& given, int64_t sub_batch) {
  const int64_t rounds = (given.batch + sub_batch - 1) / sub_batch;
  const TaskGraph graph = rounds > 1 ? accumulating(given) : given;
  Plan plan{.generator = "plimsoll test",
            .model_name = graph.name,
            .batch = graph.batch,
            .target_kind = "host",
            .device = "cpu",
            .costs = "modelled",
            .policy = "naive",
            .sub_batch = sub_batch,
            .rounds = rounds,
            .last_sub_batch = graph.batch - (rounds - 1) * sub_batch};
  for (const Task& task : graph.tasks)
    plan.tasks.push_back({.name = task.name, .op = task.op, .kind = task.kind, .layer = task.layer});
  for (const TensorId id : graph.inputs)
    plan.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::load, .tensor = id});
  constexpr int64_t kWorkspace = 1 << 20;
  for (const TaskId id : ids_of(graph.tasks)) plan.steps.push_back({.task = id, .workspace = {0, kWorkspace}});

  int64_t offset = kWorkspace;
  for (const TensorId id : ids_of(graph.tensors)) {
    const Tensor& tensor = graph.tensors[id];
    const int64_t bytes = tensor.bytes(sub_batch);
    plan.tensors.push_back(
        {.name = tensor.name, .bytes = bytes, .kind = tensor.kind, .persistent = tensor.persistent});
    const int32_t steps = static_cast<int32_t>(plan.steps.size());
    plan.residencies.push_back({.tensor = id,
                                .offset = offset,
                                .bytes = bytes,
                                .first_step = tensor.persistent ? -1 : 0,
                                .last_step = tensor.persistent ? steps : steps - 1});
    offset += align_up(bytes);
    if (tensor.persistent) plan.summary.persistent_bytes += align_up(bytes);
  }
  plan.summary.arena_bytes = offset;
  return plan;
}

}  // namespace plimsoll::test
