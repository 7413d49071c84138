// And of booleans, with broadcasting.   WholeArithmetic {a, b, y}   (compiler/ops/whole.h)
#include "compiler/ops/whole.h"

namespace plimsoll {

const Op op_And{.name = "And",
               .first_opset = 7,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .flat = true,
               .infer = infer_logic,
               .forward = [](TaskBuilder& build) { forward_logic(build, kAnd); },
               .any_type = true,
               .samples = logic_samples};

}  // namespace plimsoll
