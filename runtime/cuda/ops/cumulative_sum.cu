// CumulativeSum {x, y}: [outer, n, inner] along the middle dimension, for f32, i32 or i64. One thread processes a line
// of n, so that elements are added in order, as on the host: such lines are as short as a sentence.
#include "runtime/attrs/cumulative.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Integers wrap around on overflow.
template <class T>
__device__ T summed(T a, T b) {
  if constexpr (std::is_same_v<T, float>) return a + b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
}

template <class T>
__global__ void cumulate_kernel(int64_t lines, int64_t n, int64_t inner, bool exclusive, bool reverse, bool add,
                                const T* x, T* y) {
  const int64_t line = cuda::thread_number();
  if (line >= lines) return;
  const int64_t first = line / inner * n * inner + line % inner;
  T sum{0};
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = first + (reverse ? n - 1 - step : step) * inner;
    const T before = sum;
    sum = summed(sum, x[i]);
    const T result = exclusive ? before : sum;
    y[i] = add ? summed(y[i], result) : result;
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(CumulativeSum, {
  cuda::need_plain(operands);
  const TensorDesc& desc = operands[1].tensor;
  if (desc.rank() != 3 || desc.type == DataType::u8)
    throw KernelError("CumulativeSum of " + std::string(name_of(desc.type)));
  const int64_t lines = desc.dim(0) * desc.dim(2);
  const int64_t n = desc.dim(1);
  const int64_t inner = desc.dim(2);
  const bool add = cuda::adds(operands[1]);
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("cumulative sum", cumulate_kernel<T>, cuda::blocks_for(lines), cuda::kThreads, context, lines, n,
                   inner, attrs.exclusive, attrs.reverse, add, reinterpret_cast<const T*>(operand[0]),
                   reinterpret_cast<T*>(operand[1]));
    });
  });
})

}  // namespace plimsoll
