#include "compiler/ops/reduce.h"

#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {
namespace {

struct Reduction {
  Dims kept = {};     // with the input's rank
  Dims result = {};   // as ONNX defines it
  int64_t count = 1;  // elements reduced to one, per sample
  bool samples = false;  // the sample dimension is reduced

  bool changes_nothing() const { return count == 1 && !samples; }
};

Result<Reduction> reduction_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  PLIMSOLL_ASSIGN(const auto given, axes_of(node, 1, x.size()));
  std::vector<size_t> axes = given.value_or(std::vector<size_t>{});
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
    for (size_t i = 0; i < x.size(); ++i) axes.push_back(i);
  const bool keep = node.integer("keepdims", 1) != 0;
  Reduction reduction{.kept = x};
  for (const size_t axis : axes) {
    reduction.samples |= x[axis].batch;
    reduction.count *= x[axis].value;
    reduction.kept[axis] = Dim{1};
  }
  for (size_t i = 0; i < x.size(); ++i)
    if (keep || std::find(axes.begin(), axes.end(), i) == axes.end()) reduction.result.push_back(reduction.kept[i]);
  return reduction;
}

double scale_of(const Reduction& reduction, bool mean) {
  return mean ? 1.0 / static_cast<double>(reduction.count) : 1.0;
}

// A round sees only part of the samples: it contributes its share of the iteration's mean or sum.
Attributes share_of(const TaskBuilder& build, const Reduction& reduction, bool mean) {
  if (!mean) return to_attributes(SampleSumAttrs{});
  if (build.batch_is_whole()) return to_attributes(SampleSumAttrs{.of_round = true});
  const double scale = scale_of(reduction, true) / static_cast<double>(build.batch());
  return to_attributes(SampleSumAttrs{.scale = scale, .mean = true});
}

}  // namespace

Result<std::vector<TensorType>> infer_reduce(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 has kernels, the input is " + to_string(x));
  PLIMSOLL_ASSIGN(const Reduction reduction, reduction_of(node));
  return std::vector{TensorType{x.type, reduction.result}};
}

LayoutRule reduce_layout(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  const Dims kept = reduction_of(node).value().kept;
  const bool spatial = x.size() == 4 && kept == Dims{x[0], x[1], Dim{1}, Dim{1}};
  return spatial && node.input(0).kind != ValueKind::parameter ? LayoutRule::channels : LayoutRule::plain;
}

void forward_reduce(TaskBuilder& build, bool mean) {
  const Reduction reduction = reduction_of(build.node()).value();
  if (reduction.changes_nothing()) return forward_alias(build);
  build.task({.kernel = reduction.samples ? "SumSamples" : "SumToShape",
              .attributes = reduction.samples ? share_of(build, reduction, mean)
                                              : to_attributes(ScaleAttrs{.scale = scale_of(reduction, mean)}),
              .operands = {build.read_input(0), viewed(build.write_output(0), reduction.kept)},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

void backward_reduce(TaskBuilder& build, bool mean) {
  const Reduction reduction = reduction_of(build.node()).value();
  if (reduction.changes_nothing()) return backward_alias(build);
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  build.task({.kernel = reduction.samples ? "SpreadSamples" : "BroadcastTo",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = reduction.samples ? share_of(build, reduction, mean)
                                              : to_attributes(ScaleAttrs{.scale = scale_of(reduction, mean)}),
              .operands = {viewed(build.read_gradient(0), reduction.kept), build.write_gradient(0)},
              .flops = flops_per_element(build.node().input_type(0), 1)});
}

void forward_reduce_by(TaskBuilder& build, int64_t flops) {
  const Reduction reduction = reduction_of(build.node()).value();
  if (reduction.changes_nothing()) return forward_alias(build);
  build.task({.kernel = build.node().node().op + "Forward",
              .operands = {build.read_input(0), viewed(build.write_output(0), reduction.kept)},
              .flops = flops_per_element(build.node().input_type(0), flops)});
}

void backward_reduce_by(TaskBuilder& build, int64_t flops, bool twice) {
  const Reduction reduction = reduction_of(build.node()).value();
  if (reduction.changes_nothing()) return backward_alias(build);
  const bool parameter = build.node().input(0).kind == ValueKind::parameter;
  build.task({.kernel = build.node().node().op + "Backward",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .operands = {build.read_input(0), viewed(build.read_output(0), reduction.kept),
                           viewed(build.read_gradient(0), reduction.kept), build.write_gradient(0)},
              .in_place = {{0, 3}},
              .flops = flops_per_element(build.node().input_type(0), 2 * flops),
              .twice = twice ? std::vector<int>{0} : std::vector<int>{}});
}

std::vector<Sample> reduce_samples(int axes_as_input, double low, double high) {
  using Ints = std::vector<int64_t>;
  const auto sample = [&](std::string name, Dims dims, Ints axes, int64_t keep, int opset) {
    Sample made{.name = std::move(name),
                .inputs = {{.dims = std::move(dims), .low = low, .high = high}},
                .attributes = {{"keepdims", keep}},
                .opset = opset};
    if (opset < axes_as_input) {
      made.attributes["axes"] = axes;
    } else {
      made.inputs.push_back({.dims = {{static_cast<int64_t>(axes.size())}},
                             .kind = ValueKind::constant,
                             .constant = {axes.begin(), axes.end()},
                             .type = DataType::i64});
    }
    return made;
  };
  return {sample("spatial", {kBatch, {32}, {3}, {5}}, {2, 3}, 1, 11),
          sample("dropped", {kBatch, {32}, {3}, {5}}, {-1, -2}, 0, 18),
          sample("last", {kBatch, {4}, {7}}, {-1}, 1, 18),
          sample("middle", {kBatch, {4}, {7}}, {1}, 0, 11),
          sample("of_one", {kBatch, {1}, {7}}, {1}, 0, 18),
          sample("several", {kBatch, {3}, {2}, {4}, {5}}, {1, 3}, 1, 18),
          sample("samples", {kBatch, {7}}, {0}, 0, 18),
          sample("everything", {kBatch, {3}, {5}}, {0, 1, 2}, 0, 11)};
}

}  // namespace plimsoll
