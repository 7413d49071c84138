// SoftmaxForward {x, y}   SoftmaxBackward {y, dy, dx}     all [outer, classes, inner]
// LogSoftmaxForward and LogSoftmaxBackward likewise, one thread per row.
// A row that contains only -∞ (an attention query that sees no key) becomes a row of zeros, as in PyTorch's
// scaled_dot_product_attention. If classes are contiguous, a block processes a row; otherwise a thread does, and
// adjacent threads process adjacent rows.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
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

// body(the first of kAtOnce classes) for this thread's share of a row.
template <int kAtOnce, class Body>
__device__ void for_classes(int64_t classes, Body body) {
  for (int64_t c = int64_t{kAtOnce} * threadIdx.x; c < classes; c += kAtOnce * kSoftmaxThreads) body(c);
}

template <int kAtOnce>
__global__ void row_kernel(int64_t classes, const float* from, float* to) {
  const float* const x = from + blockIdx.x * classes;
  float* const y = to + blockIdx.x * classes;
  float largest = x[0];
  for_classes<kAtOnce>(classes, [&](int64_t c) {
    for (const float v : cuda::load_few<kAtOnce>(x + c).of) largest = v > largest ? v : largest;
  });
  largest = finite_or_zero(cuda::block_max<kSoftmaxThreads>(largest));
  double sum = 0;
  for_classes<kAtOnce>(classes, [&](int64_t c) {
    for (const float v : cuda::load_few<kAtOnce>(x + c).of) sum += static_cast<double>(expf(v - largest));
  });
  sum = cuda::block_sum_for_all<kSoftmaxThreads>(sum);
  const float factor = sum == 0 ? 0 : static_cast<float>(1 / sum);
  for_classes<kAtOnce>(classes, [&](int64_t c) {
    cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(x + c);
    for (float& v : few.of) v = expf(v - largest) * factor;
    cuda::store_few(y + c, few);
  });
}

__global__ void column_kernel(int64_t columns, int64_t classes, int64_t inner, const float* from, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  const float* const x = from + start;
  float* const y = to + start;
  float largest = x[0];
  for (int64_t c = 1; c < classes; ++c) largest = x[c * inner] > largest ? x[c * inner] : largest;
  largest = finite_or_zero(largest);
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += expf(x[c * inner] - largest);
  const float factor = sum == 0 ? 0 : 1.0F / sum;
  for (int64_t c = 0; c < classes; ++c) y[c * inner] = expf(x[c * inner] - largest) * factor;
}

template <int kAtOnce, bool kAdd>
__global__ void row_gradient_kernel(int64_t classes, const float* result, const float* slope, float* to) {
  const float *const y = result + blockIdx.x * classes, *const dy = slope + blockIdx.x * classes;
  float* const dx = to + blockIdx.x * classes;
  double sum = 0;
  for_classes<kAtOnce>(classes, [&](int64_t c) {
    const cuda::Few<kAtOnce> p = cuda::load_few<kAtOnce>(y + c), g = cuda::load_few<kAtOnce>(dy + c);
    for (int k = 0; k < kAtOnce; ++k) sum += static_cast<double>(p.of[k]) * static_cast<double>(g.of[k]);
  });
  const float dot = static_cast<float>(cuda::block_sum_for_all<kSoftmaxThreads>(sum));
  for_classes<kAtOnce>(classes, [&](int64_t c) {
    const cuda::Few<kAtOnce> p = cuda::load_few<kAtOnce>(y + c), g = cuda::load_few<kAtOnce>(dy + c);
    cuda::Few<kAtOnce> made = kAdd ? cuda::load_few<kAtOnce>(dx + c) : cuda::Few<kAtOnce>{};
    for (int k = 0; k < kAtOnce; ++k) {
      const float value = p.of[k] * (g.of[k] - dot);
      made.of[k] = kAdd ? made.of[k] + value : value;
    }
    cuda::store_few(dx + c, made);
  });
}

template <bool kAdd>
__global__ void column_gradient_kernel(int64_t columns, int64_t classes, int64_t inner, const float* result,
                                       const float* slope, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= columns) return;
  const int64_t start = number / inner * classes * inner + number % inner;
  float dot = 0;
  for (int64_t c = 0; c < classes; ++c) dot += result[start + c * inner] * slope[start + c * inner];
  for (int64_t c = 0; c < classes; ++c) {
    const int64_t i = start + c * inner;
    const float value = result[i] * (slope[i] - dot);
    to[i] = kAdd ? to[i] + value : value;
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
  return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
    const float* const x = cuda::in(operand, 0);
    float* const y = cuda::out(operand, 1);
    if (s.inner == 1)
      return cuda::by_row(s.classes, [&](auto at_once) {
        cuda::launch("softmax", row_kernel<decltype(at_once)::value>, s.outer, kSoftmaxThreads, context, s.classes, x,
                     y);
      });
    cuda::launch("softmax", column_kernel, cuda::blocks_for(s.columns()), cuda::kThreads, context, s.columns(),
                 s.classes, s.inner, x, y);
  });
})

PLIMSOLL_CUDA_KERNEL(SoftmaxBackward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
      constexpr bool kAdd = decltype(add)::value;
      const float *const y = cuda::in(operand, 0), *const dy = cuda::in(operand, 1);
      float* const dx = cuda::out(operand, 2);
      if (s.inner == 1)
        return cuda::by_row(s.classes, [&](auto at_once) {
          cuda::launch("softmax's gradient", row_gradient_kernel<decltype(at_once)::value, kAdd>, s.outer,
                       kSoftmaxThreads, context, s.classes, y, dy, dx);
        });
      cuda::launch("softmax's gradient", column_gradient_kernel<kAdd>, cuda::blocks_for(s.columns()), cuda::kThreads,
                   context, s.columns(), s.classes, s.inner, y, dy, dx);
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
