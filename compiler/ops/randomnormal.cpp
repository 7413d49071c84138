// RandomNormal: normally distributed numbers.   (compiler/ops/random_numbers.h)
#include "compiler/ops/random_numbers.h"

namespace plimsoll {

const Op op_RandomNormal{.name = "RandomNormal",
                         .required_inputs = 0,
                         .attributes = {attribute::integer("dtype"), attribute::real("mean"), attribute::real("scale"),
                                        attribute::real("seed"), attribute::integers("shape")},
                         .infer = infer_random,
                         .forward =
                             [](TaskBuilder& build) {
                               forward_random(build, true, build.node().real("mean", 0), build.node().real("scale", 1));
                             },
                         .samples =
                             [] {
                               return random_samples({{"mean", 0.5}, {"scale", 2.0}});
                             }};

}  // namespace plimsoll
