// LambUpdate {w, g, m, v, ratio, factor?}: You et al. 2020, like apex's FusedLAMB and timm.optim.Lamb without their
// gradient clipping, which ClipFactor does. The step count is iteration + 1; m and v are initially zero. `ratio` is the
// factor of the step: |w| / |u|, or 1 if one of them is 0 or the weight has no decay.
//
// The first pass updates m and v, and writes the sums of squares of each stretch of w and u to the workspace. They are
// added in order, in double precision, so the bits do not depend on the number of threads. The second pass recomputes u
// and updates w.
#include <algorithm>
#include <cmath>

#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {
namespace {

constexpr int64_t kLambStretch = 16384;

class LambKernel final : public Kernel {
 public:
  LambKernel(const LambAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs), elements_(operands[0].tensor.padded_elements()),
        stretches_((elements_ + kLambStretch - 1) / kLambStretch), clears_(operands[1].access == Access::update),
        scaled_(operands.size() > kFactor) {}

  int64_t workspace_bytes() const { return 2 * stretches_ * static_cast<int64_t>(sizeof(double)); }

  void run(const RunContext& context, std::byte* const* operand, std::byte* workspace) override {
    float* const g = host::out(operand, 1);
    if (!context.discard) step(context, operand, reinterpret_cast<double*>(workspace));
    else *host::out(operand, kRatio) = 1;
    if (clears_) host::for_elements(elements_, [=](int64_t i) { g[i] = 0; });
  }

 private:
  static constexpr size_t kRatio = 4, kFactor = 5;

  void step(const RunContext& context, std::byte* const* operand, double* squares) const {
    // Scalars are double, as in Python; elements are float.
    const LambAttrs now = with_numbers(attrs_, context.numbers);
    const double count = static_cast<double>(context.iteration + 1);
    const float seen1 = static_cast<float>(1 - std::pow(now.beta1, count));
    const float root = static_cast<float>(std::sqrt(1 - std::pow(now.beta2, count)));
    const float beta1 = static_cast<float>(now.beta1), rest1 = static_cast<float>(1 - now.beta1);
    const float beta2 = static_cast<float>(now.beta2), rest2 = static_cast<float>(1 - now.beta2);
    const float epsilon = static_cast<float>(now.epsilon), decay = static_cast<float>(now.weight_decay);
    const float factor = scaled_ ? *host::in(operand, kFactor) : 1;
    float* const w = host::out(operand, 0);
    const float* const g = host::in(operand, 1);
    float* const m = host::out(operand, 2);
    float* const v = host::out(operand, 3);
    const auto direction = [=](int64_t i) { return m[i] / seen1 / (std::sqrt(v[i]) / root + epsilon) + decay * w[i]; };
#pragma omp parallel for schedule(static) if (stretches_ > 1)
    for (int64_t s = 0; s < stretches_; ++s) {
      double of_w = 0, of_u = 0;
      for (int64_t i = s * kLambStretch; i < std::min(elements_, (s + 1) * kLambStretch); ++i) {
        const float gradient = factor * g[i];
        m[i] = beta1 * m[i] + rest1 * gradient;
        v[i] = beta2 * v[i] + rest2 * gradient * gradient;
        const double u = direction(i), weight = w[i];
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
    host::for_elements(elements_, [=](int64_t i) { w[i] -= size * direction(i); });
  }

  LambAttrs attrs_;
  int64_t elements_, stretches_;
  bool clears_, scaled_;
};

}  // namespace

std::vector<Algorithm> LambUpdate::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = LambKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> LambUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<LambKernel>(attrs, operands);
}

}  // namespace plimsoll
