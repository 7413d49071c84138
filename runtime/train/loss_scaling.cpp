#include "runtime/train/loss_scaling.h"

#include <algorithm>
#include <cstdio>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

constexpr double kInitialScale = 65536;
constexpr int64_t kGrowthInterval = 2000;
// One over the scale must be an f32, and a gradient of 1 must not be infinite in one.
constexpr double kLeastScale = 0x1p-24, kMostScale = 0x1p64;

}  // namespace

LossScaling scaling_at_start(const Program& program, const ScalingOptions& options) {
  if (program.scales_loss) return {.scale = options.initial.value_or(kInitialScale)};
  if (options.initial || options.growth_interval)
    throw TrainerError(Exit::usage,
                       std::string(options.initial ? "--init-scale" : "--growth-interval") +
                           ": this trainer does not scale its loss, because it does not compute in f16; `plimsoll "
                           "compile … --precision fp16` compiles one that does");
  return {};
}

bool scaled(LossScaling& scaling, bool overflowed, const ScalingOptions& options) {
  if (scaling.scale == 0) return true;
  if (overflowed) {
    ++scaling.skipped;
    scaling.good = 0;
    if (scaling.scale <= kLeastScale) return false;
    scaling.scale = std::max(scaling.scale / 2, kLeastScale);
    return true;
  }
  if (++scaling.good < options.growth_interval.value_or(kGrowthInterval)) return true;
  scaling.good = 0;
  if (scaling.scale < kMostScale) scaling.scale = std::min(scaling.scale * 2, kMostScale);
  return true;
}

std::string in_words(const LossScaling& scaling, int64_t iterations) {
  char text[64];
  std::snprintf(text, sizeof text, "loss scale %g, updates of %lld of ", scaling.scale,
                static_cast<long long>(scaling.skipped));
  return text + counted(iterations, "iteration") + " skipped";
}

}  // namespace plimsoll::train
