// WholeBatch: Plimsoll's own operator, inserted after an input (compiler/network/simplify/builder.cpp) if a model
// computes across samples: [N, d…] → [samples, d…], where attribute `samples` is the number of samples of an iteration.
// No task; its readers need all samples.
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace wholebatch {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  TensorType type = node.input_type(0);
  for (Dim& dim : type.dims) dim = Dim{dim.at(node.integer("samples", 1))};
  return std::vector{type};
}

// As many samples as the tests run with.
std::vector<Sample> samples() {
  return {{.name = "rows",
           .inputs = {{.dims = {kBatch, {3}}, .kind = ValueKind::input}},
           .attributes = {{"samples", int64_t{4}}}}};
}

}  // namespace wholebatch

const Op op_WholeBatch{.name = "WholeBatch",
                       .first_opset = 0,
                       .last_opset = 0,
                       .moves_only = true,
                       .infer = wholebatch::infer,
                       .forward = forward_alias,
                       .precision = PrecisionRule::single,
                       .samples = wholebatch::samples};

}  // namespace plimsoll
