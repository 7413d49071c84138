// And of booleans, with broadcasting.   WholeArithmetic {a, b, y}   (compiler/ops/whole.h)
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/whole.h"

namespace plimsoll {

const Op op_And{.name = "And",
                .first_opset = 7,
                .inputs = {Slot::number},
                .required_inputs = 2,
                .samples_rule = SamplesRule::broadcast,
                .flat = true,
                .elements = Elements::tested,
                .evaluate =
                    [](const KnownCall& call) {
                      return evaluate_binary(
                          call.inputs,
                          {.ints = [](Dim a, Dim b) { return MaybeDim(Dim{a.value && b.value}); }, .boolean = true});
                    },
                .infer = infer_logic,
                .forward = [](TaskBuilder& build) { forward_logic(build, kAnd); },
                .any_type = true,
                .samples = logic_samples};

}  // namespace plimsoll
