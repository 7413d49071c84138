// ArgMax: the index of the largest element along an axis; among equal elements the first, or the last.
//   ArgPick {x, y}   (compiler/ops/pick.h)
#include "compiler/ops/activation.h"
#include "compiler/ops/pick.h"

namespace plimsoll {

const Op op_ArgMax{.name = "ArgMax",
                   .attributes = {attribute::integer("axis"), attribute::integer("keepdims"),
                                  attribute::integer("select_last_index").since(12)},
                   .infer = infer_arg,
                   .forward = [](TaskBuilder& build) { forward_arg(build, false); },
                   .backward = zero_gradient,
                   .any_type = true,
                   .samples = arg_samples};

}  // namespace plimsoll
