// OneHot: along a new axis, one value at the index and another elsewhere.   OneHot {indices, y}
// The depth and both values are known at compile time.
#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/elements.h"

namespace plimsoll {
namespace one_hot {

struct Shape {
  size_t axis = 0;
  int64_t depth = 0;
  double off = 0, on = 1;
};

Result<Shape> shape_of(const NodeView& node) {
  Shape shape;
  const auto depth = node.constant_real(1);
  if (!depth || !node.has_input(2) || !node.input(2).constant)
    return node.unsupported("depth and values (inputs 1 and 2) are not known at compile time");
  const ConstantData& values = *node.input(2).constant;
  if (values.ints.size() + values.reals.size() != 2) return node.invalid("values (input 2) are not two numbers");
  shape.off = values.reals.empty() ? static_cast<double>(values.ints[0]) : values.reals[0];
  shape.on = values.reals.empty() ? static_cast<double>(values.ints[1]) : values.reals[1];
  shape.depth = static_cast<int64_t>(*depth);
  if (shape.depth < 1) return node.invalid("its depth is " + std::to_string(shape.depth));
  PLIMSOLL_ASSIGN(shape.axis, axis_of(node, node.integer("axis", -1), node.input_type(0).rank() + 1));
  return shape;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs indices, a depth and values");
  PLIMSOLL_ASSIGN(const Shape shape, shape_of(node));
  Dims dims = node.input_type(0).dims;
  PLIMSOLL_TRY(product_of(node, dims, 0, dims.size()));
  dims.insert(dims.begin() + static_cast<int64_t>(shape.axis), Dim{shape.depth});
  return std::vector{TensorType{node.input_type(2).type, dims}};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Shape shape = shape_of(node).value();
  const Dims& x = node.input_type(0).dims;
  const Dim outer = product_of(node, x, 0, shape.axis).value(),
            inner = product_of(node, x, shape.axis, x.size()).value();
  build.task({.kernel = "OneHot",
              .attributes = to_attributes(OneHotAttrs{.off = shape.off, .on = shape.on}),
              .operands = {viewed(build.read_input(0), {outer, inner}),
                           viewed(build.write_output(0), {outer, {shape.depth}, inner})}});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, SampleInput indices, int64_t axis, SampleInput values) {
    return Sample{.name = std::move(name),
                  .inputs = {std::move(indices),
                             {.kind = ValueKind::constant, .constant = {5}, .type = DataType::i64},
                             std::move(values)},
                  .attributes = {{"axis", axis}}};
  };
  const SampleInput labels{.dims = {kBatch, {3}}, .type = DataType::i64, .low = -2, .high = 7};
  return {sample("classes", labels, -1, {.dims = {{2}}, .kind = ValueKind::constant, .constant = {0, 1}}),
          sample("smoothed", labels, 1, {.dims = {{2}}, .kind = ValueKind::constant, .constant = {0.02, 0.9}}),
          sample("whole", {.dims = {kBatch}, .type = DataType::i32, .low = 0, .high = 5}, -1,
                 {.dims = {{2}}, .kind = ValueKind::constant, .constant = {0, 1}, .type = DataType::i64})};
}

Known evaluate(const KnownCall& call) {
  const KnownValue *indices = call.known(0), *depth = call.known(1), *values = call.known(2);
  if (!indices || !depth || !values || indices->real() || depth->real() || !indices->elements()) return std::nullopt;
  if (depth->elements() != 1 || values->elements() != 2) return std::nullopt;
  const Dim classes = depth->integer(0);
  const auto axis = constants::axis_of(call.integer("axis", -1), indices->dims.size() + 1);
  const int64_t most = kKnownLimit / std::max<int64_t>(*indices->elements(), 1);
  if (!axis || classes.batch || classes.value < 1 || classes.value > most) return std::nullopt;
  Dims dims = indices->dims;
  dims.insert(dims.begin() + static_cast<int64_t>(*axis), classes);
  const constants::Extents e = constants::extents(dims, *axis);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < e.outer * e.at * e.inner; ++i) {
    const Dim given = indices->integer(i / e.inner / e.at * e.inner + i % e.inner);
    if (given.batch) return std::nullopt;
    const int64_t at = given.value < 0 ? given.value + classes.value : given.value;
    chosen.push_back(at == static_cast<int64_t>(i / e.inner % e.at) ? 1 : 0);
  }
  return constants::picked(*values, std::move(dims), chosen);
}

}  // namespace one_hot

const Op op_OneHot{.name = "OneHot",
                   .first_opset = 9,
                   .inputs = {Slot::data, Slot::constant, Slot::constant},
                   .required_inputs = 3,
                   .attributes = {attribute::integer("axis")},
                   .flat = true,
                   .evaluate = one_hot::evaluate,
                   .infer = one_hot::infer,
                   .forward = one_hot::forward,
                   .any_type = true,
                   .samples = one_hot::samples};

}  // namespace plimsoll
