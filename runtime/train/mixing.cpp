#include "runtime/train/mixing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/train/random.h"

namespace plimsoll::train {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Numbers from one key, one after the other.
class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  double unit() { return random_unit(key_, count_++); }
  // Box and Muller 1958; the cosine alone.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return radius * std::cos(2 * kPi * unit());
  }

 private:
  uint64_t key_, count_ = 0;
};

// The logarithm of a number from Gamma(alpha, 1), which may be too small for a double. Marsaglia and Tsang 2000; below
// 1 as they say: Gamma(alpha) is Gamma(alpha + 1) * U^(1 / alpha).
double draw_log_gamma(double alpha, Draws& draws) {
  const double raised = alpha < 1 ? alpha + 1 : alpha, d = raised - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  double log_gamma = 0;
  for (;;) {
    const double x = draws.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = 1 - draws.unit();
    if (std::log(u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    log_gamma = std::log(d * v);
    break;
  }
  return alpha < 1 ? log_gamma + std::log(1 - draws.unit()) / alpha : log_gamma;
}

}  // namespace

double draw_beta(double alpha, uint64_t key) {
  alpha = std::max(alpha, 1e-6);  // one of both, practically; the logarithms stay finite
  Draws draws(key);
  const double a = draw_log_gamma(alpha, draws), b = draw_log_gamma(alpha, draws);
  return 1 / (1 + std::exp(b - a));
}

std::string describe(const Program& program, const MixOptions& options) {
  std::string text;
  const auto add = [&](const char* name, double alpha) {
    char one[64];
    std::snprintf(one, sizeof one, ", %s %g", name, alpha);
    if (alpha > 0) text += one;
  };
  add("mixup", options.mixup);
  add("cutmix", options.cutmix);
  if (options.on() && program.classes > 0 && !program.inputs.back().mixed_labels) text += ", labels drawn";
  return text;
}

ProgramOfData::ProgramOfData(const Program& program)
    : inputs_(program.inputs.begin(), program.inputs.end()), program_(program) {
  for (ProgramInput& input : inputs_) {
    if (!input.mixed_labels) continue;
    input.desc = i32({input.desc.dim(0)});
    input.mixed_labels = false;
  }
  program_.inputs = inputs_;
}

int32_t share_of_other(const Mix& mix) {
  return static_cast<int32_t>(std::lround((1 - mix.own) * static_cast<double>(kWholeShare)));
}

Mix mix_of(const MixOptions& options, uint64_t key, int64_t sample, int64_t samples, const TensorDesc& desc) {
  // Other numbers of this key decide on crops and colors (image_source.cpp): the streams are kept apart.
  const uint64_t own_key = random_bits(random_bits(key, static_cast<uint64_t>(sample)), 0x6d6978);
  enum Drawn : uint64_t { kOther, kKind, kBeta, kLabel, kX, kY };
  Mix mix;
  mix.other = static_cast<int64_t>(random_bits(own_key, kOther) % static_cast<uint64_t>(samples));
  mix.cut = options.cutmix > 0 && (options.mixup == 0 || random_bits(own_key, kKind) % 2 == 0);
  mix.own = draw_beta(mix.cut ? options.cutmix : options.mixup, random_bits(own_key, kBeta));
  if (mix.cut) {
    // The rectangle has the sides' ratio of the image and any center; what lies outside of the image is cut off.
    const int64_t height = desc.dim(2), width = desc.dim(3);
    const double half = std::sqrt(1 - mix.own) / 2;
    const double y = random_unit(own_key, kY) * static_cast<double>(height),
                 x = random_unit(own_key, kX) * static_cast<double>(width);
    const auto within = [](double at, int64_t side) { return std::clamp<int64_t>(std::lround(at), 0, side); };
    mix.top = within(y - half * static_cast<double>(height), height);
    mix.bottom = within(y + half * static_cast<double>(height), height);
    mix.left = within(x - half * static_cast<double>(width), width);
    mix.right = within(x + half * static_cast<double>(width), width);
    mix.own =
        1 - static_cast<double>((mix.bottom - mix.top) * (mix.right - mix.left)) / static_cast<double>(height * width);
  }
  mix.keeps_label = random_unit(own_key, kLabel) < mix.own;
  return mix;
}

void mix_samples(const Mix& mix, const TensorDesc& desc, float* x, const float* other) {
  if (!mix.cut) return mix_targets(mix, desc.elements() / desc.dim(0), x, other);
  const int64_t height = desc.dim(2), width = desc.dim(3);
  for (int64_t channel = 0; channel < desc.dim(1); ++channel)
    for (int64_t y = mix.top; y < mix.bottom; ++y) {
      const int64_t row = (channel * height + y) * width;
      std::copy(other + row + mix.left, other + row + mix.right, x + row + mix.left);
    }
}

void mix_targets(const Mix& mix, int64_t count, float* targets, const float* other) {
  const auto own = static_cast<float>(mix.own);
  for (int64_t i = 0; i < count; ++i) targets[i] = own * targets[i] + (1 - own) * other[i];
}

}  // namespace plimsoll::train
