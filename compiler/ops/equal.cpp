// Equal with broadcasting: y is a boolean, a = b.   Compare {a, b, y}   (compiler/ops/whole.h)
#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/whole.h"

namespace plimsoll {

const Op op_Equal{.name = "Equal",
                  .first_opset = 7,
                  .inputs = {Slot::number},
                  .required_inputs = 2,
                  .samples_rule = SamplesRule::broadcast,
                  .elements = Elements::tested,
                  .evaluate = [](const KnownCall& call) { return evaluate_relation<std::equal_to<>>(call.inputs); },
                  .infer = infer_relation,
                  .forward = [](TaskBuilder& build) { forward_relation(build, kEqual); },
                  .backward = zero_gradient,
                  .any_type = true,
                  .samples = relation_samples};

}  // namespace plimsoll
