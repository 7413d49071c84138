// ReduceMax: the largest element (compiler/ops/reduce.h). Ties share the gradient evenly, as with torch.amax.
#include "compiler/ops/reduce.h"

namespace plimsoll {

const Op op_ReduceMax{.name = "ReduceMax",
                      .inputs = {Slot::data, Slot::constant},
                      .attributes = attribute::of_reduction(18),
                      .infer = infer_reduce,
                      .forward = [](TaskBuilder& build) { forward_reduce_by(build, 1); },
                      .backward = [](TaskBuilder& build) { backward_reduce_by(build, 1, true); },
                      .layout_of = reduce_layout,
                      .samples = [] { return reduce_samples(18, -1, 1); }};

}  // namespace plimsoll
