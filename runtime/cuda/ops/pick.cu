// ArgPick {x, y}               x [outer, n, inner] of any type, y [outer, inner] i64: the index of the largest or
// smallest
// TopK {x, values, indices}    values and indices [outer, k, inner]: the k largest or smallest, in order
// OneHot {indices, y}          indices [outer, inner], y [outer, depth, inner]
// One thread processes a line of n, as on the host.
#include "runtime/attrs/elements.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// NaN counts as the largest.
template <class T>
__device__ bool is_above(T a, T b) {
  if constexpr (std::is_same_v<T, float>)
    if (a != a || b != b) return a != a && b == b;
  return a > b;
}

// Whether element a precedes b.
template <class T>
__device__ bool goes_first(bool least, T a, T b) {
  return least ? is_above(b, a) : is_above(a, b);
}

template <class T>
__global__ void arg_pick_kernel(int64_t lines, int64_t n, int64_t inner, bool least, bool last, const T* x,
                                int64_t* y) {
  const int64_t line = cuda::thread_number();
  if (line >= lines) return;
  const T* const at = x + line / inner * n * inner + line % inner;
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (last ? !goes_first(least, at[best * inner], at[i * inner]) : goes_first(least, at[i * inner], at[best * inner]))
      best = i;
  y[line] = best;
}

template <class T>
__global__ void top_k_kernel(int64_t lines, int64_t n, int64_t inner, int64_t k, bool least, const T* x, T* values,
                             int64_t* indices) {
  const int64_t line = cuda::thread_number();
  if (line >= lines) return;
  const T* const from = x + line / inner * n * inner + line % inner;
  const int64_t to = line / inner * k * inner + line % inner;
  int64_t before = -1;  // the element selected last
  for (int64_t j = 0; j < k; ++j) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      // After the last one: smaller, or equal with a higher index.
      if (before >= 0) {
        const bool behind = goes_first(least, from[before * inner], from[i * inner]);
        const bool same = !behind && !goes_first(least, from[i * inner], from[before * inner]);
        if (!behind && !(same && i > before)) continue;
      }
      if (best < 0 || goes_first(least, from[i * inner], from[best * inner])) best = i;
    }
    if (values != nullptr) values[to + j * inner] = from[best * inner];
    indices[to + j * inner] = before = best;
  }
}

template <class T, class I>
__global__ void one_hot_kernel(int64_t n, int64_t depth, int64_t inner, T off, T on, const I* indices, T* y) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t at = i / inner % depth, given = static_cast<int64_t>(indices[i / inner / depth * inner + i % inner]);
  y[i] = (given < 0 ? given + depth : given) == at ? on : off;
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(ArgPick, {
  cuda::need_plain(operands);
  const TensorDesc& desc = operands[0].tensor;
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([attrs, n = desc.dim(1), inner = desc.dim(2), lines = desc.dim(0) * desc.dim(2)](
                            const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("pick", arg_pick_kernel<T>, cuda::blocks_for(lines), cuda::kThreads, context, lines, n, inner,
                   attrs.least, attrs.last, reinterpret_cast<const T*>(operand[0]),
                   reinterpret_cast<int64_t*>(operand[1]));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(TopK, {
  cuda::need_plain(operands);
  const TensorDesc& desc = operands[0].tensor;
  const int64_t k = operands[2].tensor.dim(1);  // the values may be absent
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel(
        [k, least = attrs.least, n = desc.dim(1), inner = desc.dim(2), lines = desc.dim(0) * desc.dim(2)](
            const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("top k", top_k_kernel<T>, cuda::blocks_for(lines), cuda::kThreads, context, lines, n, inner, k,
                   least, reinterpret_cast<const T*>(operand[0]), reinterpret_cast<T*>(operand[1]),
                   reinterpret_cast<int64_t*>(operand[2]));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(OneHot, {
  cuda::need_plain(operands);
  const TensorDesc& desc = operands[1].tensor;
  return by_type(desc.type, [&](auto zero) {
    return by_type(operands[0].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using I = decltype(index);
      const T off = number_as<T>(attrs.off);
      const T on = number_as<T>(attrs.on);
      return cuda::kernel([=, n = desc.elements(), depth = desc.dim(1), inner = desc.dim(2)](
                              const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("one hot", one_hot_kernel<T, I>, cuda::blocks_for(n), cuda::kThreads, context, n, depth, inner,
                     off, on, reinterpret_cast<const I*>(operand[0]), reinterpret_cast<T*>(operand[1]));
      });
    });
  });
})

}  // namespace plimsoll
