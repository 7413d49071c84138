#include "compiler/ops/broadcast.h"

#include "compiler/ops/dims.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {

Dims with_rank(const Dims& dims, size_t rank) {
  Dims padded(rank > dims.size() ? rank - dims.size() : 0, Dim{1});
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

Result<Dims> broadcast(const NodeView& node, const Dims& a, const Dims& b) {
  return named(node, dims::broadcast(a, b));
}

Operand viewed(Operand operand, Dims dims) {
  operand.type.dims = std::move(dims);
  return operand;
}

// SumToShape {x, y}
void give_summed_gradient(TaskBuilder& build, size_t input, const Operand& full, double scale) {
  if (!build.wants_gradient(input)) return;
  const Value& value = build.node().input(input);
  const bool parameter = value.kind == ValueKind::parameter;
  if (!parameter && scale == 1 && full.type.elements() == value.type.elements())
    return build.give_gradient(input, as_read(full));
  build.task({.kernel = "SumToShape",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(ScaleAttrs{.scale = scale}),
              .operands = {as_read(full), build.write_gradient(input)},
              .flops = flops_per_element(full.type, 1)});
}

}  // namespace plimsoll
