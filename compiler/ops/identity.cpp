// Identity: y is x; no task. A `detached` Identity (the attribute is not part of ONNX) passes no gradient: nothing
// upstream is trained through it.
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace identity {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  return std::vector{node.input_type(0)};
}

void backward(TaskBuilder& build) {
  if (!build.node().node().marks.detached) backward_alias(build);
}

std::vector<Sample> samples() {
  return {{.name = "image", .inputs = {{.dims = {kBatch, {32}, {3}, {4}}}}},
          {.name = "parameter", .inputs = {{.dims = {{3}, {4}}, .kind = ValueKind::parameter}}}};
}

Known evaluate(const KnownCall& call) {
  if (!call.known(0)) return std::nullopt;
  return *call.known(0);
}

std::optional<RowsOfInputs> rows(const KnownCall& call) {
  const Dims* x = call.dims(0);
  if (!x || x->empty()) return std::nullopt;
  return RowsOfInputs{.rows = {{0, 0, x->front().value}}};
}

}  // namespace identity

const Op op_Identity{.name = "Identity",
                     .moves_only = true,
                     .elements = Elements::shown,
                     .sample_numbers = SampleNumbers::kept,
                     .evaluate = identity::evaluate,
                     .evaluate_spaced = [](const KnownCall&, const Progression& first) { return std::optional(first); },
                     .rows = identity::rows,
                     .infer = identity::infer,
                     .forward = forward_alias,
                     .backward = identity::backward,
                     .layout = LayoutRule::elementwise,
                     .marks = {.detached = true},
                     .adds_up = adds_up_first,
                     .samples = identity::samples};

}  // namespace plimsoll
