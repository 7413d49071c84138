// SoftmaxForward {x, y}   SoftmaxBackward {y, dy, dx}     all [outer, classes, inner]
// LogSoftmaxForward and LogSoftmaxBackward likewise; x and dx may be in bf16 there, and y and dy are f32
// A row that contains only -∞ (an attention query that sees no key) becomes a row of zeros, as in PyTorch's
// scaled_dot_product_attention.
#include <cmath>
#include <limits>

#include "runtime/host/exponentials.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/math.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kSoftmaxStretch = 64;  // elements of the inner dimension at a time
constexpr int64_t kSoftmaxLanes = 16;

struct SoftmaxShape {
  int64_t outer, classes, inner, stretches;
  explicit SoftmaxShape(const TensorDesc& x)
      : outer(x.dim(0)),
        classes(x.dim(1)),
        inner(x.dim(2)),
        stretches((inner + kSoftmaxStretch - 1) / kSoftmaxStretch) {}
  int64_t units() const { return outer * stretches; }
  int64_t work() const { return outer * classes * inner; }
};

// The largest element of a row, or 0 for -∞: subtracting -∞ would give NaN, subtracting 0 gives e^-∞ = 0.
float finite_or_zero(float largest) { return largest == -std::numeric_limits<float>::infinity() ? 0 : largest; }

// y is rounded once: in bf16, exponentials are not stored there. Of long rows they are computed twice.
template <class T>
constexpr bool kStoresExponentials = std::is_same_v<T, float>;

constexpr int64_t kBufferedClasses = 2048;

// Contiguous classes. Exponentials are stored at `kept` if it is not null.
template <class T>
void forward_row(const T* x, T* y, int64_t n, float* kept) {
  const float largest = finite_or_zero(host::largest_of(x, n));
  const auto sum = host::exponentials(x, n, largest, kept).template total<float>();
  const float factor = sum == 0 ? 0 : 1.0F / sum;
  if (kept) {
    for (int64_t j = 0; j < n; ++j) y[j] = kept[j] * factor;
  } else {
    for (int64_t j = 0; j < n; ++j) y[j] = host::exp_of(x[j] - largest) * factor;
  }
}

void forward_row(const float* x, float* y, int64_t n) { forward_row(x, y, n, y); }
void forward_row(const Bf16* x, Bf16* y, int64_t n) {
  float kept[kBufferedClasses];
  forward_row(x, y, n, n <= kBufferedClasses ? kept : nullptr);
}

// Classes `step` apart, up to kSoftmaxStretch adjacent rows.
template <class T>
void forward_stretch(const T* x, T* y, int64_t n, int64_t step, int64_t count) {
  float largest[kSoftmaxStretch], sum[kSoftmaxStretch];
  for (int64_t p = 0; p < count; ++p) {
    largest[p] = x[p];
    sum[p] = 0;
  }
  for (int64_t c = 1; c < n; ++c)
    for (int64_t p = 0; p < count; ++p)
      largest[p] = x[c * step + p] > largest[p] ? static_cast<float>(x[c * step + p]) : largest[p];
  for (int64_t p = 0; p < count; ++p) largest[p] = finite_or_zero(largest[p]);
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t p = 0; p < count; ++p) {
      const float e = host::exp_of(x[c * step + p] - largest[p]);
      if constexpr (kStoresExponentials<T>) y[c * step + p] = e;
      sum[p] += e;
    }
  }
  for (int64_t p = 0; p < count; ++p) sum[p] = sum[p] == 0 ? 0 : 1.0F / sum[p];
  for (int64_t c = 0; c < n; ++c)
    for (int64_t p = 0; p < count; ++p) {
      if constexpr (kStoresExponentials<T>) y[c * step + p] *= sum[p];
      else y[c * step + p] = host::exp_of(x[c * step + p] - largest[p]) * sum[p];
    }
}

template <class T>
std::unique_ptr<Kernel> forward(const SoftmaxShape s) {
  return host::flat_kernel([s](const RunContext&, std::byte* const* operand) {
    const T* x = host::in<T>(operand, 0);
    T* y = host::out<T>(operand, 1);
#pragma omp parallel for schedule(static) if (s.work() > 4096)
    for (int64_t i = 0; i < s.units(); ++i) {
      const int64_t first = i % s.stretches * kSoftmaxStretch, at = i / s.stretches * s.classes * s.inner + first;
      if (s.inner == 1) {
        forward_row(x + at, y + at, s.classes);
      } else {
        forward_stretch(x + at, y + at, s.classes, s.inner, std::min(kSoftmaxStretch, s.inner - first));
      }
    }
  });
}

template <bool Accumulate, class T>
void backward_row(const T* y, const T* dy, T* dx, int64_t n) {
  float lanes[kSoftmaxLanes] = {};
  int64_t c = 0;
  for (; c + kSoftmaxLanes <= n; c += kSoftmaxLanes)
    for (int64_t l = 0; l < kSoftmaxLanes; ++l) lanes[l] += y[c + l] * dy[c + l];
  for (int64_t l = 0; c < n; ++c, ++l) lanes[l] += y[c] * dy[c];
  float dot = 0;
  for (const float lane : lanes) dot += lane;
  for (int64_t j = 0; j < n; ++j) {
    const float value = y[j] * (dy[j] - dot);
    dx[j] = Accumulate ? dx[j] + value : value;
  }
}

template <bool Accumulate, class T>
void backward_stretch(const T* y, const T* dy, T* dx, int64_t n, int64_t step, int64_t count) {
  float dot[kSoftmaxStretch] = {};
  for (int64_t c = 0; c < n; ++c)
    for (int64_t p = 0; p < count; ++p) dot[p] += y[c * step + p] * dy[c * step + p];
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t p = 0; p < count; ++p) {
      const int64_t i = c * step + p;
      const float value = y[i] * (dy[i] - dot[p]);
      dx[i] = Accumulate ? dx[i] + value : value;
    }
  }
}

template <bool Accumulate, class T>
std::unique_ptr<Kernel> backward(const SoftmaxShape s) {
  return host::flat_kernel([s](const RunContext&, std::byte* const* operand) {
    const T *y = host::in<T>(operand, 0), *dy = host::in<T>(operand, 1);
    T* dx = host::out<T>(operand, 2);
#pragma omp parallel for schedule(static) if (s.work() > 8192)
    for (int64_t i = 0; i < s.units(); ++i) {
      const int64_t first = i % s.stretches * kSoftmaxStretch, at = i / s.stretches * s.classes * s.inner + first;
      if (s.inner == 1) {
        backward_row<Accumulate>(y + at, dy + at, dx + at, s.classes);
      } else {
        backward_stretch<Accumulate>(y + at, dy + at, dx + at, s.classes, s.inner,
                                     std::min(kSoftmaxStretch, s.inner - first));
      }
    }
  });
}

// The logarithms of a row with elements `step` apart: log_of(sum) is subtracted once per row.
template <class X>
void log_forward(const X* x, float* y, int64_t n, int64_t step) {
  float largest = x[0];
  for (int64_t c = 1; c < n; ++c) largest = x[c * step] > largest ? static_cast<float>(x[c * step]) : largest;
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += static_cast<double>(host::exp_of(x[c * step] - largest));
  const float log = static_cast<float>(std::log(sum));
  for (int64_t c = 0; c < n; ++c) y[c * step] = (x[c * step] - largest) - log;
}

template <class X>
void log_backward(const float* y, const float* dy, X* dx, int64_t n, int64_t step, bool adds) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += static_cast<double>(dy[c * step]);
  const float all = static_cast<float>(sum);
  for (int64_t c = 0; c < n; ++c) {
    const float value = dy[c * step] - host::exp_of(y[c * step]) * all;
    dx[c * step] = adds ? dx[c * step] + value : value;
  }
}

// body(offset of a row of classes)
template <class Body>
void for_rows(const SoftmaxShape& s, Body body) {
#pragma omp parallel for schedule(static) if (s.work() > 4096)
  for (int64_t i = 0; i < s.outer * s.inner; ++i) body(i / s.inner * s.classes * s.inner + i % s.inner);
}

}  // namespace

std::vector<Algorithm> SoftmaxForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SoftmaxForward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const SoftmaxShape s(operands[0].tensor);
  return host::by_real(operands[0].tensor.type, [&](auto zero) { return forward<decltype(zero)>(s); });
}

std::vector<Algorithm> SoftmaxBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SoftmaxBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const SoftmaxShape s(operands[0].tensor);
  if (operands[2].tensor.type == DataType::bf16) return backward<false, Bf16>(s);
  return operands[2].access == Access::update ? backward<true, float>(s) : backward<false, float>(s);
}

std::vector<Algorithm> LogSoftmaxForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> LogSoftmaxForward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const SoftmaxShape s(operands[0].tensor);
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return host::flat_kernel([s](const RunContext&, std::byte* const* operand) {
      const auto* x = host::in<decltype(zero)>(operand, 0);
      float* y = host::out(operand, 1);
      for_rows(s, [=](int64_t at) { log_forward(x + at, y + at, s.classes, s.inner); });
    });
  });
}

std::vector<Algorithm> LogSoftmaxBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> LogSoftmaxBackward::make(const Attrs&, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  const SoftmaxShape s(operands[0].tensor);
  const bool adds = operands[2].access == Access::update;
  return host::by_real(operands[2].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return host::flat_kernel([s, adds](const RunContext&, std::byte* const* operand) {
      const float *y = host::in(operand, 0), *dy = host::in(operand, 1);
      auto* dx = host::out<decltype(zero)>(operand, 2);
      for_rows(s, [=](int64_t at) { log_backward(y + at, dy + at, dx + at, s.classes, s.inner, adds); });
    });
  });
}

}  // namespace plimsoll
