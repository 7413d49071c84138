// ReduceProd: the product (compiler/ops/reduce.h).
#include "compiler/ops/reduce.h"

namespace plimsoll {

const Op op_ReduceProd{.name = "ReduceProd",
                       .inputs = {Slot::data, Slot::constant},
                       .attributes = attribute::of_reduction(18),
                       .infer = infer_reduce,
                       .forward = [](TaskBuilder& build) { forward_reduce_by(build, 1); },
                       .backward = [](TaskBuilder& build) { backward_reduce_by(build, 1, true); },
                       .layout_of = reduce_layout,
                       .samples = [] { return reduce_samples(18, 0.5, 1.5); }};

}  // namespace plimsoll
