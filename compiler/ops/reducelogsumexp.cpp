// ReduceLogSumExp: log Σ e^x, without overflow (compiler/ops/reduce.h).
#include "compiler/ops/reduce.h"

namespace plimsoll {

const Op op_ReduceLogSumExp{.name = "ReduceLogSumExp",
                            .inputs = {Slot::data, Slot::constant},
                            .attributes = attribute::of_reduction(18),
                            .infer = infer_reduce,
                            .forward = [](TaskBuilder& build) { forward_reduce_by(build, 12); },
                            .backward = [](TaskBuilder& build) { backward_reduce_by(build, 12, false); },
                            .layout_of = reduce_layout,
                            .precision = PrecisionRule::single,
                            .samples = [] { return reduce_samples(18, -2, 2); }};

}  // namespace plimsoll
