// RandomUniform: uniformly distributed numbers in [low, high).   (compiler/ops/random_numbers.h)
#include "compiler/ops/random_numbers.h"

namespace plimsoll {

const Op op_RandomUniform{.name = "RandomUniform",
                          .required_inputs = 0,
                          .attributes = {attribute::integer("dtype"), attribute::real("high"), attribute::real("low"),
                                         attribute::real("seed"), attribute::integers("shape")},
                          .infer = infer_random,
                          .forward =
                              [](TaskBuilder& build) {
                                forward_random(build, false, build.node().real("low", 0), build.node().real("high", 1));
                              },
                          .samples =
                              [] {
                                return random_samples({{"low", -0.5}, {"high", 2.0}});
                              }};

}  // namespace plimsoll
