// SoftmaxForward {x, y}   SoftmaxBackward {y, dy, dx}     all [outer, classes, inner]
// LogSoftmaxForward and LogSoftmaxBackward likewise, a row a thread's.
// A row of -∞ alone, an attention's query that sees no key, is a row of zeros, as PyTorch's scaled_dot_product_attention has it.
// Classes that lie side by side are a block's work; classes that lie apart are a thread's, beside those of the neighbours.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/reduce.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kSoftmaxThreads = 128;

struct SoftmaxShape {
  int64_t outer, classes, inner;
  explicit SoftmaxShape(const TensorDesc& x) : outer(x.dim(0)), classes(x.dim(1)), inner(x.dim(2)) {}
  int64_t columns() const { return outer * inner; }
};

// The largest of a row: less -∞ each would be NaN, less 0 each is e^-∞ = 0.
__device__ float finite_or_zero(float largest) { return largest == -INFINITY ? 0 : largest; }

__global__ void row_kernel(int64_t classes, const float* from, float* to) {
  const float* const x = from + blockIdx.x * classes;
  float* const y = to + blockIdx.x * classes;
  float largest = x[0];
  for (int64_t c = threadIdx.x; c < classes; c += kSoftmaxThreads) largest = x[c] > largest ? x[c] : largest;
  largest = finite_or_zero(cuda::block_max<kSoftmaxThreads>(largest));
  double sum = 0;
  for (int64_t c = threadIdx.x; c < classes; c += kSoftmaxThreads) sum += static_cast<double>(expf(x[c] - largest));
  sum = cuda::block_sum_for_all<kSoftmaxThreads>(sum);
  const float factor = sum == 0 ? 0 : static_cast<float>(1 / sum);
  for (int64_t c = threadIdx.x; c < classes; c += kSoftmaxThreads) y[c] = expf(x[c] - largest) * factor;
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

template <bool kAdd>
__global__ void row_gradient_kernel(int64_t classes, const float* result, const float* slope, float* to) {
  const float *const y = result + blockIdx.x * classes, *const dy = slope + blockIdx.x * classes;
  float* const dx = to + blockIdx.x * classes;
  double sum = 0;
  for (int64_t c = threadIdx.x; c < classes; c += kSoftmaxThreads) sum += static_cast<double>(y[c]) * static_cast<double>(dy[c]);
  const float dot = static_cast<float>(cuda::block_sum_for_all<kSoftmaxThreads>(sum));
  for (int64_t c = threadIdx.x; c < classes; c += kSoftmaxThreads) {
    const float value = y[c] * (dy[c] - dot);
    dx[c] = kAdd ? dx[c] + value : value;
  }
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
__global__ void log_gradient_kernel(int64_t columns, int64_t classes, int64_t inner, const float* result, const float* slope,
                                    float* to) {
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
    if (s.inner == 1) return cuda::launch("softmax", row_kernel, s.outer, kSoftmaxThreads, context, s.classes, x, y);
    cuda::launch("softmax", column_kernel, cuda::blocks_for(s.columns()), cuda::kThreads, context, s.columns(), s.classes,
                 s.inner, x, y);
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
        return cuda::launch("softmax's gradient", row_gradient_kernel<kAdd>, s.outer, kSoftmaxThreads, context, s.classes, y, dy, dx);
      cuda::launch("softmax's gradient", column_gradient_kernel<kAdd>, cuda::blocks_for(s.columns()), cuda::kThreads, context,
                   s.columns(), s.classes, s.inner, y, dy, dx);
    });
  });
})

PLIMSOLL_CUDA_KERNEL(LogSoftmaxForward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("log softmax", log_kernel, cuda::blocks_for(s.columns()), cuda::kThreads, context, s.columns(), s.classes, s.inner,
                 cuda::in(operand, 0), cuda::out(operand, 1));
  });
})

PLIMSOLL_CUDA_KERNEL(LogSoftmaxBackward, {
  const SoftmaxShape s(operands[0].tensor);
  return cuda::by_flag(cuda::adds(operands[2]), [&](auto add) -> std::unique_ptr<Kernel> {
    return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("log softmax's gradient", log_gradient_kernel<decltype(add)::value>, cuda::blocks_for(s.columns()), cuda::kThreads,
                   context, s.columns(), s.classes, s.inner, cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
    });
  });
})

}  // namespace plimsoll
