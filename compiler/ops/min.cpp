// Min of two tensors with broadcasting: y is the smaller of a and b, NaN if one is NaN.   (compiler/ops/extreme.h)
// compiler/network/simplify/spellings.cpp rewrites any other number of operands as a chain of these, or as Identity.
#include <cmath>

#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/extreme.h"

namespace plimsoll {

const Op op_Min{.name = "Min",
                .first_opset = 6,
                .samples_rule = SamplesRule::broadcast,
                .sample_numbers = SampleNumbers::only_shape,
                .evaluate = [](const KnownCall& call) {
                  return evaluate_two_by_two(call.inputs,
                    {.ints = symbolic::smallest,
                     .reals = [](double a, double b) { return std::isnan(a) || a < b ? a : b; }});
                },
                .infer = infer_extreme,
                .forward = [](TaskBuilder& build) { forward_binary(build, "BinaryMin"); },
                .backward = [](TaskBuilder& build) { backward_extreme(build, "MinShare"); },
                .any_type = true,
                .layout_of = binary_layout,
                .samples = extreme_samples};

}  // namespace plimsoll
