// And of booleans, with broadcasting.   WholeArithmetic {a, b, y}   (compiler/ops/whole.h)
#include "compiler/ops/whole.h"

namespace plimsoll {

const Op op_And{.name = "And",
               .first_opset = 7,
               .infer = infer_logic,
               .forward = [](TaskBuilder& build) { forward_logic(build, kAnd); },
               .any_type = true,
               .samples = logic_samples};

}  // namespace plimsoll
