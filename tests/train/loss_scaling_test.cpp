// Dynamic loss scaling: when the scale changes, and what is refused.
#include "runtime/train/loss_scaling.h"

#include "code_of.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

Program scaling_program(bool scales) { return {.model = "net", .generator = "test", .scales_loss = scales}; }

}  // namespace

TEST_CASE("the scale is halved by a gradient that is not finite, and doubled after an interval without one") {
  const ScalingOptions options{.initial = 1024, .growth_interval = 3};
  LossScaling scaling = scaling_at_start(scaling_program(true), options);
  CHECK(scaling.scale == 1024);
  const auto after = [&](bool overflowed) {
    CHECK(scaled(scaling, overflowed, options));
    return scaling.scale;
  };
  CHECK(after(true) == 512);
  CHECK(after(true) == 256);
  CHECK(after(false) == 256);
  CHECK(after(false) == 256);
  CHECK(after(true) == 128);  // counting begins again
  CHECK(after(false) == 128);
  CHECK(after(false) == 128);
  CHECK(after(false) == 256);
  CHECK(after(false) == 256);
  CHECK(scaling.skipped == 3);
  CHECK(scaling.good == 1);
  CHECK(in_words(scaling, 9) == "loss scale 256, updates of 3 of 9 iterations skipped");
}

TEST_CASE("scale and interval are by default those of PyTorch's GradScaler") {
  LossScaling scaling = scaling_at_start(scaling_program(true), {});
  CHECK(scaling.scale == 65536);
  for (int i = 0; i < 1999; ++i) scaled(scaling, false, {});
  CHECK(scaling.scale == 65536);
  scaled(scaling, false, {});
  CHECK(scaling.scale == 131072);
}

TEST_CASE("a scale neither vanishes nor becomes infinite") {
  LossScaling small{.scale = 0x1p-23}, large{.scale = 0x1p63};
  CHECK(scaled(small, true, {}));
  CHECK(small.scale == 0x1p-24);
  CHECK_FALSE(scaled(small, true, {}));
  CHECK(small.scale == 0x1p-24);
  CHECK(small.skipped == 2);
  for (int i = 0; i < 3; ++i) CHECK(scaled(large, false, {.growth_interval = 1}));
  CHECK(large.scale == 0x1p64);
}

TEST_CASE("a trainer that does not compute in f16 has no scale, and refuses one") {
  LossScaling none = scaling_at_start(scaling_program(false), {});
  CHECK(none.scale == 0);
  CHECK(scaled(none, false, {}));
  CHECK(none.scale == 0);
  CHECK(none.good == 0);
  CHECK(code_of([] { scaling_at_start(scaling_program(false), {.initial = 2}); }) == Exit::usage);
  CHECK(code_of([] { scaling_at_start(scaling_program(false), {.growth_interval = 2}); }) == Exit::usage);
}
