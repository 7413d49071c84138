// ReduceMean: the mean over the given axes, by default all (compiler/ops/reduce.h).
#include "compiler/ops/reduce.h"

namespace plimsoll {

const Op op_ReduceMean{.name = "ReduceMean",
                       .inputs = {Slot::data, Slot::constant},
                       .attributes = attribute::of_reduction(18),
                       .axes = AxesRule::changed,
                       .infer = infer_reduce,
                       .forward = [](TaskBuilder& build) { forward_reduce(build, true); },
                       .backward = [](TaskBuilder& build) { backward_reduce(build, true); },
                       .layout_of = reduce_layout,
                       .sums_samples = true,
                       .adds_up = adds_up_first,
                       .precision = PrecisionRule::single,
                       .samples = [] { return reduce_samples(18); }};

}  // namespace plimsoll
