// ReduceProd: the product (compiler/ops/reduce.h).
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce.h"
#include "compiler/support/bytes.h"

namespace plimsoll {

namespace reduceprod {

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto axes = call.list("axes", 1);
  if (!data || data->real() || data->dims.size() != 1 || !data->elements() || !axes || axes->size() > 1)
    return std::nullopt;
  Dim product{1};
  for (size_t i = 0; i < static_cast<size_t>(*data->elements()); ++i) {
    const Dim item = data->integer(i);
    const auto value = checked_mul(product.value, item.value);
    if (!value || (product.batch && item.batch)) return std::nullopt;
    product = {*value, product.batch || item.batch};
  }
  return KnownValue{
      .element = data->element, .dims = call.integer("keepdims", 1) ? Dims{{1}} : Dims{}, .ints = {product}};
}

}  // namespace reduceprod

const Op op_ReduceProd{.name = "ReduceProd",
                       .inputs = {Slot::data, Slot::constant},
                       .attributes = attribute::of_reduction(18),
                       .evaluate = reduceprod::evaluate,
                       .infer = infer_reduce,
                       .forward = [](TaskBuilder& build) { forward_reduce_by(build, 1); },
                       .backward = [](TaskBuilder& build) { backward_reduce_by(build, 1, true); },
                       .layout_of = reduce_layout,
                       .precision = PrecisionRule::single,
                       .samples = [] { return reduce_samples(18, 0.5, 1.5); }};

}  // namespace plimsoll
