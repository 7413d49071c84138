// LambUpdate {w, g, m, v, ratio, low?, factor?}: You et al. 2020, like apex's FusedLAMB and timm.optim.Lamb without
// their gradient clipping, which ClipFactor does. The step count is that of the iterations that were not skipped; m and
// v are initially zero. `ratio` is the factor of the step: |w| / |u|, or 1 if one of them is 0 or the weight has no
// decay.
//
// The first pass updates m and v, and writes the sums of squares of each stretch of w and u to the workspace. They are
// added in order, in double precision, so the bits do not depend on the number of threads. The second pass recomputes u
// and updates w. State in bf16 is rounded in the first pass (runtime/reduced_state.h). Both passes use what is stored.
#include <algorithm>
#include <cmath>

#include "runtime/host/update.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {
namespace {

constexpr int64_t kLambStretch = 16384;

// State in f32 and in bf16.
inline float moment_of(float stored) { return stored; }
inline float moment_of(uint16_t stored) { return reduced::from_bf16(stored); }
inline void keep_moment(float* stored, float moment, uint32_t) { *stored = moment; }
inline void keep_moment(uint16_t* stored, float moment, uint32_t noise) { *stored = reduced::to_bf16(moment, noise); }

class LambKernel final : public Kernel {
 public:
  LambKernel(const LambAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs), elements_(operands[0].tensor.padded_elements()),
        stretches_((elements_ + kLambStretch - 1) / kLambStretch), clears_(operands[1].access == Access::update),
        halves_(host::is_split(operands)), scaled_(operands.size() > factor_at()),
        in_bf16_(operands[2].tensor.type == DataType::bf16), gradient_(operands[1].tensor.type) {}

  int64_t workspace_bytes() const { return 2 * stretches_ * static_cast<int64_t>(sizeof(double)); }

  void run(const RunContext& context, std::byte* const* operand, std::byte* workspace) override {
    double* const squares = reinterpret_cast<double*>(workspace);
    const bool skips = scaled_ && *host::in(operand, factor_at()) < 0;
    if (!context.discard && !skips)
      host::by_weight(halves_, gradient_, operand, kLow, [&](auto weight) {
        in_bf16_ ? step<uint16_t>(context, operand, weight, squares) : step<float>(context, operand, weight, squares);
      });
    else *host::out(operand, kRatio) = 1;
    if (clears_) host::for_elements(elements_, [g = host::out(operand, 1)](int64_t i) { g[i] = 0; });
  }

 private:
  static constexpr size_t kRatio = 4, kLow = 5;
  size_t factor_at() const { return kLow + (halves_ ? 1 : 0); }

  template <class T, class Weight>
  void step(const RunContext& context, std::byte* const* operand, Weight w, double* squares) const {
    // Scalars are double, as in Python; elements are float.
    const LambAttrs now = with_numbers(attrs_, context.numbers);
    const double count = static_cast<double>(context.iteration - context.skipped + 1);
    const float seen1 = static_cast<float>(1 - std::pow(now.beta1, count));
    const float root = static_cast<float>(std::sqrt(1 - std::pow(now.beta2, count)));
    const float beta1 = static_cast<float>(now.beta1), rest1 = static_cast<float>(1 - now.beta1);
    const float beta2 = static_cast<float>(now.beta2), rest2 = static_cast<float>(1 - now.beta2);
    const float epsilon = static_cast<float>(now.epsilon), decay = static_cast<float>(now.weight_decay);
    const float factor = scaled_ ? *host::in(operand, factor_at()) : 1;
    const auto* const g = host::in<typename Weight::Gradient>(operand, 1);
    T* const m = host::out<T>(operand, 2);
    T* const v = host::out<T>(operand, 3);
    const auto direction = [=](int64_t i) {
      return moment_of(m[i]) / seen1 / (std::sqrt(moment_of(v[i])) / root + epsilon) + decay * w.value(i);
    };
    const uint32_t key = reduced::noise_key(context.seed, context.iteration);
#pragma omp parallel for schedule(static) if (stretches_ > 1)
    for (int64_t s = 0; s < stretches_; ++s) {
      double of_w = 0, of_u = 0;
      for (int64_t i = s * kLambStretch; i < std::min(elements_, (s + 1) * kLambStretch); ++i) {
        const float gradient = factor * host::gradient_of(g[i]);
        const uint32_t noise = std::is_same_v<T, float> ? 0 : reduced::noise(key, w.value(i), gradient);
        keep_moment(m + i, beta1 * moment_of(m[i]) + rest1 * gradient, noise & 0xFFFF);
        keep_moment(v + i, beta2 * moment_of(v[i]) + rest2 * gradient * gradient, noise >> 16);
        const double u = direction(i), weight = w.value(i);
        of_w += weight * weight;
        of_u += u * u;
      }
      squares[2 * s] = of_w;
      squares[2 * s + 1] = of_u;
    }
    double of_w = 0, of_u = 0;
    for (int64_t s = 0; s < stretches_; ++s) of_w += squares[2 * s], of_u += squares[2 * s + 1];
    const bool adapts = now.weight_decay != 0 && of_w > 0 && of_u > 0;
    const float ratio = adapts ? static_cast<float>(std::sqrt(of_w) / std::sqrt(of_u)) : 1;
    *host::out(operand, kRatio) = ratio;
    const float size = static_cast<float>(context.learning_rate * rate_scale_of(context)) * ratio;
    host::for_elements(elements_, [=](int64_t i) { w.set(i, w.value(i) - size * direction(i)); });
  }

  LambAttrs attrs_;
  int64_t elements_, stretches_;
  bool clears_, halves_, scaled_, in_bf16_;
  DataType gradient_;
};

}  // namespace

std::vector<Algorithm> LambUpdate::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = LambKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> LambUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<LambKernel>(attrs, operands);
}

}  // namespace plimsoll
