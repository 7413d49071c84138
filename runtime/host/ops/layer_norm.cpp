// LayerNormForward  {x, scale, bias, y, mean, deviation}                            x [rows, columns]
// LayerNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// RmsNormForward, RmsNormBackward: the same slots and formulas with a mean of 0 and without Σg; slot `mean` is absent.
//
// Each row is processed by one thread. dscale and dbias are sums over rows: each chunk of rows writes its share to the
// workspace, and the chunks are added in order. Their number follows from the number of rows, so the bits do not
// depend on the number of threads.
#include "runtime/attrs/layer_norm.h"

#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/row_statistics.h"
#include "runtime/host/work_items.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

template <bool centered, class T>
class LayerNormForwardKernel final : public Kernel {
 public:
  LayerNormForwardKernel(const LayerNormAttrs& attrs, std::span<const OperandDesc> operands)
      : epsilon_(attrs.epsilon), rows_(operands[0].tensor.dim(0)), columns_(operands[0].tensor.dim(1)) {}

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    const T* x = host::in<T>(operands, 0);
    const float *scale = host::in(operands, 1), *bias = host::in(operands, 2);
    T* y = host::out<T>(operands, 3);
    float *means = host::out(operands, 4), *deviations = host::out(operands, 5);
    const int64_t n = columns_;
#pragma omp parallel for schedule(static) if (rows_ * n > 8192)
    for (int64_t i = 0; i < rows_; ++i) {
      const T* from = x + i * n;
      T* to = y + i * n;
      const auto [mean, d] = host::row_statistics<centered>(from, n, epsilon_);
      const auto put = [&, mean = mean, d = d](auto scaled) {
        host::Planes<1>::map(to, 0, n,
                             [=](auto load, int64_t j) { return scaled(load, j, (load(from + j) - mean) * d); });
      };
      if (scale && bias) put([=](auto load, int64_t j, auto h) { return h * load(scale + j) + load(bias + j); });
      else if (scale) put([=](auto load, int64_t j, auto h) { return h * load(scale + j); });
      else if (bias) put([=](auto load, int64_t j, auto h) { return h + load(bias + j); });
      else put([](auto, int64_t, auto h) { return h; });
      if (means) means[i] = mean;
      if (deviations) deviations[i] = d;
    }
  }

 private:
  double epsilon_;
  int64_t rows_, columns_;
};

template <bool centered, class T>
class LayerNormBackwardKernel final : public Kernel {
 public:
  explicit LayerNormBackwardKernel(std::span<const OperandDesc> operands)
      : rows_(operands[0].tensor.dim(0)), columns_(operands[0].tensor.dim(1)) {
    for (size_t i = 0; i < 2; ++i) {
      sums_ = sums_ || operands[6 + i].access != Access::absent;
      adds_[i] = operands[6 + i].access == Access::update;
    }
    chunks_ = std::min(rows_, std::clamp<int64_t>(rows_ / 16, 32, host::kManyItems));
  }

  int64_t workspace_bytes() const { return chunks_ * share_bytes(); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    float* shares = reinterpret_cast<float*>(workspace);
#pragma omp parallel for schedule(static) if (rows_ * columns_ > 8192)
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
      float* const share = sums_ ? shares + chunk * 2 * columns_ : nullptr;
      if (share) std::fill_n(share, 2 * columns_, 0.0F);
      for (int64_t i = chunk * rows_ / chunks_; i < (chunk + 1) * rows_ / chunks_; ++i) row(operands, i, share);
    }
    if (!sums_) return;
    for (size_t which = 0; which < 2; ++which) {
      float* to = host::out(operands, 6 + which);
      if (!to) continue;
      const bool adds = adds_[which];
      host::add_shares(shares + static_cast<int64_t>(which) * columns_, chunks_, 2 * columns_, columns_,
                       [=](int64_t j, float sum) { to[j] = sum + (adds ? to[j] : 0.0F); });
    }
  }

 private:
  int64_t share_bytes() const { return sums_ ? 2 * columns_ * static_cast<int64_t>(sizeof(float)) : 0; }

  // dx may overwrite dy or x: each row is read completely before it is written.
  void row(std::byte* const* operands, int64_t i, float* share) const {
    const int64_t n = columns_;
    const T *x = host::in<T>(operands, 0) + i * n, *dy = host::in<T>(operands, 1) + i * n;
    const float* scale = host::in(operands, 2);
    const float mean = centered ? host::in(operands, 3)[i] : 0.0F, d = host::in(operands, 4)[i];
    using Rows = host::Planes<1>;
    const auto h = [=](auto load, int64_t j) { return (load(x + j) - mean) * d; };
    if (share) {
      Rows::map(share, 0, n, [=](auto load, int64_t j) { return load(share + j) + load(dy + j) * h(load, j); });
      Rows::map(share + n, 0, n, [=](auto load, int64_t j) { return load(share + n + j) + load(dy + j); });
    }
    T* dx = host::out<T>(operands, 5);
    if (!dx) return;
    dx += i * n;
    const auto gradient = [&](auto g) {  // g = dy · scale
      const double count = static_cast<double>(n);
      const float middle = centered ? static_cast<float>(host::vector_sum(n, g) / count) : 0.0F;
      const float along = static_cast<float>(
          host::vector_sum(n, [=](auto load, int64_t j) { return g(load, j) * h(load, j); }) / count);
      Rows::map(dx, 0, n, [=](auto load, int64_t j) { return d * (g(load, j) - middle - h(load, j) * along); });
    };
    if (scale) gradient([=](auto load, int64_t j) { return load(dy + j) * load(scale + j); });
    else gradient([=](auto load, int64_t j) { return load(dy + j); });
  }

  int64_t rows_, columns_, chunks_;
  bool sums_ = false, adds_[2] = {};
};

}  // namespace

// Defines the functions of both kernels of a normalization.
#define PLIMSOLL_ROW_NORM(name, centered)                                                                       \
  std::vector<Algorithm> name##Forward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; } \
  std::unique_ptr<Kernel> name##Forward::make(const Attrs& attrs, std::span<const OperandDesc> operands,        \
                                              std::string_view) {                                               \
    return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {                   \
      return std::make_unique<LayerNormForwardKernel<centered, decltype(zero)>>(attrs, operands);               \
    });                                                                                                         \
  }                                                                                                             \
  std::vector<Algorithm> name##Backward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {      \
    return {{.workspace_bytes = LayerNormBackwardKernel<centered, float>(operands).workspace_bytes()}};         \
  }                                                                                                             \
  std::unique_ptr<Kernel> name##Backward::make(const Attrs&, std::span<const OperandDesc> operands,             \
                                               std::string_view) {                                              \
    return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {                   \
      return std::make_unique<LayerNormBackwardKernel<centered, decltype(zero)>>(operands);                     \
    });                                                                                                         \
  }

PLIMSOLL_ROW_NORM(LayerNorm, true)
PLIMSOLL_ROW_NORM(RmsNorm, false)

}  // namespace plimsoll
