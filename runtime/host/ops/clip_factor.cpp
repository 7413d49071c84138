// ClipFactor {gradients…, factor}: the factor that torch.nn.utils.clip_grad_norm_ applies to all gradients, min(1,
// max_norm / (norm + 1e-6)), with the 2-norm over all of them together. The padding of a layout is zero and adds
// nothing.
// UnscaleFactor {gradients…, factor}: the same of gradients that the run's scale has multiplied, divided by that scale;
// without a norm, one over the scale. Negative if a gradient is infinite or NaN.
//
// Gradients are in f32 or bf16. Each stretch of a gradient writes its sum to the workspace. The sums are added in
// order, in double precision, so the bits do not depend on the number of threads.
#include <algorithm>
#include <cmath>

#include "runtime/attrs/bf16.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {
namespace {

constexpr int64_t kClipStretch = 16384;

struct Stretch {
  size_t slot;
  int64_t begin, end;
  bool in_bf16;
};

inline double value_of(float stored) { return static_cast<double>(stored); }
inline double value_of(uint16_t stored) { return static_cast<double>(widened(stored)); }

template <class T>
double sum_of_squares(const T* g, int64_t begin, int64_t end) {
  double parts[8] = {};  // one sum per vector lane
  int64_t at = begin;
  for (; at + 8 <= end; at += 8)
    for (int64_t k = 0; k < 8; ++k) parts[k] += value_of(g[at + k]) * value_of(g[at + k]);
  for (; at < end; ++at) parts[0] += value_of(g[at]) * value_of(g[at]);
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

class ClipFactorKernel final : public Kernel {
 public:
  ClipFactorKernel(double max_norm, bool unscales, std::span<const OperandDesc> operands)
      : max_norm_(max_norm), unscales_(unscales), factor_slot_(operands.size() - 1) {
    for (size_t slot = 0; slot < factor_slot_; ++slot) {
      const int64_t n = operands[slot].tensor.padded_elements();
      for (int64_t begin = 0; begin < n; begin += kClipStretch)
        stretches_.push_back({slot, begin, std::min(n, begin + kClipStretch),
                              operands[slot].tensor.type == DataType::bf16});
    }
  }

  int64_t workspace_bytes() const { return static_cast<int64_t>(stretches_.size() * sizeof(double)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    double* const sums = reinterpret_cast<double*>(workspace);
    const auto count = static_cast<int64_t>(stretches_.size());
#pragma omp parallel for schedule(static) if (count > 1)
    for (int64_t i = 0; i < count; ++i) {
      const Stretch& stretch = stretches_[static_cast<size_t>(i)];
      const auto sum = [&](const auto* g) { return sum_of_squares(g, stretch.begin, stretch.end); };
      sums[i] = stretch.in_bf16 ? sum(host::in<uint16_t>(operands, stretch.slot))
                                : sum(host::in(operands, stretch.slot));
    }
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += sums[i];
    *host::out(operands, factor_slot_) = factor_of(context, sum);
  }

 private:
  float factor_of(const RunContext& context, double sum) const {
    if (unscales_ && !std::isfinite(sum)) return -1;  // squares of f32 do not overflow a double
    const double given = unscales_ ? context.gradient_scale : 1, max_norm = max_norm_of(context, max_norm_);
    const double factor = max_norm > 0 ? max_norm / (std::sqrt(sum) / given + 1e-6) : 1;
    return static_cast<float>((factor > 1 ? 1 : factor) / given);  // NaN is preserved
  }

  double max_norm_;  // 0: gradients are not clipped
  bool unscales_;
  size_t factor_slot_;
  std::vector<Stretch> stretches_;
};

}  // namespace

std::vector<Algorithm> ClipFactor::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = ClipFactorKernel(attrs.max_norm, false, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> ClipFactor::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<ClipFactorKernel>(attrs.max_norm, false, operands);
}

std::vector<Algorithm> UnscaleFactor::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = ClipFactorKernel(attrs.max_norm, true, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> UnscaleFactor::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  return std::make_unique<ClipFactorKernel>(attrs.max_norm, true, operands);
}

}  // namespace plimsoll
