// SoftmaxForward {x, y}   SoftmaxBackward {y, dy, dx}     all [outer, classes, inner]
// LogSoftmaxForward and LogSoftmaxBackward likewise, one thread per row.
// A row that contains only -∞ (an attention query that sees no key) becomes a row of zeros, as in PyTorch's
// scaled_dot_product_attention. If classes are contiguous, a block processes a row, 16 bytes at a time, whatever its
// length (plane_steps.h); otherwise a thread does, and adjacent threads process adjacent rows.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kSoftmaxThreads = 128;

struct SoftmaxShape {
  int64_t outer, classes, inner;
  explicit SoftmaxShape(const TensorDesc& x) : outer(x.dim(0)), classes(x.dim(1)), inner(x.dim(2)) {}
  int64_t columns() const { return outer * inner; }
};

// The largest element of a row, or 0 for -∞: subtracting -∞ would give NaN, subtracting 0 gives e^-∞ = 0.
__device__ float finite_or_zero(float largest) { return largest == -INFINITY ? 0 : largest; }

template <cuda::Step kStep, class T>
__global__ void row_kernel(int64_t classes, const T* from, T* to) {
  const cuda::RowOf<kStep> row(blockIdx.x, classes);
  const T* const x = from + row.base;
  T* const y = to + row.base;
  float largest = cuda::load_one(x + row.begin);
  cuda::for_parts<kSoftmaxThreads>(row, [&](const auto& part) {
    const auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) largest = part.has(k) && few.of[k] > largest ? few.of[k] : largest;
  });
  largest = finite_or_zero(cuda::block_max<kSoftmaxThreads>(largest));
  double sum = 0;
  cuda::for_parts<kSoftmaxThreads>(row, [&](const auto& part) {
    const auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) sum += part.has(k) ? static_cast<double>(expf(few.of[k] - largest)) : 0;
  });
  sum = cuda::block_sum_for_all<kSoftmaxThreads>(sum);
  const float factor = sum == 0 ? 0 : static_cast<float>(1 / sum);
  cuda::for_parts<kSoftmaxThreads>(row, [&](const auto& part) {
    auto few = part.load(x);
    for (float& v : few.of) v = expf(v - largest) * factor;
    part.template put<false>(y, few);
  });
}

template <class T>
__global__ void column_kernel(int64_t columns, int64_t classes, int64_t inner, const T* from, T* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  const auto x = [&](int64_t c) { return cuda::load_one(from + start + c * inner); };
  float largest = x(0);
  for (int64_t c = 1; c < classes; ++c) largest = x(c) > largest ? x(c) : largest;
  largest = finite_or_zero(largest);
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += expf(x(c) - largest);
  const float factor = sum == 0 ? 0 : 1.0F / sum;
  for (int64_t c = 0; c < classes; ++c) cuda::store_one(to + start + c * inner, expf(x(c) - largest) * factor);
}

template <cuda::Step kStep, bool kAdd, class T>
__global__ void row_gradient_kernel(int64_t classes, const T* result, const T* slope, T* to) {
  const cuda::RowOf<kStep> row(blockIdx.x, classes);
  const T *const y = result + row.base, *const dy = slope + row.base;
  T* const dx = to + row.base;
  double sum = 0;
  cuda::for_parts<kSoftmaxThreads>(row, [&](const auto& part) {
    const auto p = part.load(y), g = part.load(dy);
    for (int k = 0; k < part.kAtOnce; ++k) sum += static_cast<double>(p.of[k]) * static_cast<double>(g.of[k]);
  });
  const float dot = static_cast<float>(cuda::block_sum_for_all<kSoftmaxThreads>(sum));
  cuda::for_parts<kSoftmaxThreads>(row, [&](const auto& part) {
    const auto p = part.load(y);
    auto made = part.load(dy);
    for (int k = 0; k < part.kAtOnce; ++k) made.of[k] = p.of[k] * (made.of[k] - dot);
    part.template put<kAdd>(dx, made);
  });
}

template <bool kAdd, class T>
__global__ void column_gradient_kernel(int64_t columns, int64_t classes, int64_t inner, const T* result, const T* slope,
                                       T* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  float dot = 0;
  for (int64_t c = 0; c < classes; ++c)
    dot += cuda::load_one(result + start + c * inner) * cuda::load_one(slope + start + c * inner);
  for (int64_t c = 0; c < classes; ++c) {
    const int64_t i = start + c * inner;
    const float value = cuda::load_one(result + i) * (cuda::load_one(slope + i) - dot);
    cuda::store_one(to + i, kAdd ? cuda::load_one(to + i) + value : value);
  }
}

__global__ void log_kernel(int64_t columns, int64_t classes, int64_t inner, const float* from, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  const float* const x = from + start;
  float* const y = to + start;
  float largest = x[0];
  for (int64_t c = 1; c < classes; ++c) largest = x[c * inner] > largest ? x[c * inner] : largest;
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(expf(x[c * inner] - largest));
  const float log_of_sum = static_cast<float>(log(sum));
  for (int64_t c = 0; c < classes; ++c) y[c * inner] = (x[c * inner] - largest) - log_of_sum;
}

template <bool kAdd>
__global__ void log_gradient_kernel(int64_t columns, int64_t classes, int64_t inner, const float* result,
                                    const float* slope, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(slope[start + c * inner]);
  const float all = static_cast<float>(sum);
  for (int64_t c = 0; c < classes; ++c) {
    const int64_t i = start + c * inner;
    const float value = slope[i] - expf(result[i]) * all;
    to[i] = kAdd ? to[i] + value : value;
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(SoftmaxForward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::by_real(operands[1].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
      const T* const x = cuda::in<T>(operand, 0);
      T* const y = cuda::out<T>(operand, 1);
      if (s.inner == 1)
        return cuda::by_step_of_plane(cuda::step_of_plane(s.classes), [&](auto step) {
          cuda::launch("softmax", row_kernel<decltype(step)::value, T>, s.outer, kSoftmaxThreads, context, s.classes, x,
                       y);
        });
      cuda::launch("softmax", column_kernel<T>, cuda::blocks_for(s.columns()), cuda::kThreads, context, s.columns(),
                   s.classes, s.inner, x, y);
    });
  });
})

PLIMSOLL_CUDA_KERNEL(SoftmaxBackward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::by_real(operands[2].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return cuda::by_adding<T>(operands[2], [&](auto add) -> std::unique_ptr<Kernel> {
      return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
        constexpr bool kAdd = decltype(add)::value;
        const T *const y = cuda::in<T>(operand, 0), *const dy = cuda::in<T>(operand, 1);
        T* const dx = cuda::out<T>(operand, 2);
        if (s.inner == 1)
          return cuda::by_step_of_plane(cuda::step_of_plane(s.classes), [&](auto step) {
            cuda::launch("softmax's gradient", row_gradient_kernel<decltype(step)::value, kAdd, T>, s.outer,
                         kSoftmaxThreads, context, s.classes, y, dy, dx);
          });
        cuda::launch("softmax's gradient", column_gradient_kernel<kAdd, T>, cuda::blocks_for(s.columns()),
                     cuda::kThreads, context, s.columns(), s.classes, s.inner, y, dy, dx);
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(LogSoftmaxForward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("log softmax", log_kernel, cuda::blocks_for(s.columns()), cuda::kThreads, context, s.columns(),
                 s.classes, s.inner, cuda::in(operand, 0), cuda::out(operand, 1));
  });
})

PLIMSOLL_CUDA_KERNEL(LogSoftmaxBackward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("log softmax's gradient", log_gradient_kernel<decltype(add)::value>, cuda::blocks_for(s.columns()),
                   cuda::kThreads, context, s.columns(), s.classes, s.inner, cuda::in(operand, 0), cuda::in(operand, 1),
                   cuda::out(operand, 2));
    });
  });
})

}  // namespace plimsoll
