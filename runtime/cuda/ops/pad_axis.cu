// PadAxis {x, y}            pads one axis with elements of x: [outer, n, inner] → [outer, m, inner]
// PadAxisBackward {dy, dx}  an element of dx is the sum of all elements of dy that are copies of it, in a fixed order
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct PadAxisShape {
  int64_t outer = 1, n = 1, m = 1, inner = 1;
  int64_t begin = 0, mode = 0;

  PadAxisShape(const PadAxisAttrs& attrs, const TensorDesc& given, const TensorDesc& result)
      : begin(attrs.begin), mode(attrs.mode) {
    const TensorDesc x = cuda::as_it_lies(given), y = cuda::as_it_lies(result);
    const size_t axis = cuda::axis_as_it_lies(static_cast<size_t>(attrs.axis), given.layout);
    if (x.rank() != y.rank() || axis >= x.rank()) throw KernelError("PadAxis: no such axis");
    for (size_t i = 0; i < x.rank(); ++i) {
      if (i == axis) continue;
      if (x.dim(i) != y.dim(i)) throw KernelError("PadAxis: only one axis is padded");
      (i < axis ? outer : inner) *= x.dim(i);
    }
    n = x.dim(axis);
    m = y.dim(axis);
  }

  __device__ bool clamps() const { return mode == PadAxisAttrs::kEdge || n == 1; }
  __device__ int64_t period() const { return mode == PadAxisAttrs::kWrap ? n : 2 * (n - 1); }
  // In [0, period()).
  __device__ int64_t within(int64_t at) const { return (at % period() + period()) % period(); }

  // The element of x that element `at` of y is a copy of.
  __device__ int64_t source(int64_t at) const {
    at -= begin;
    if (clamps()) return at < 0 ? 0 : at < n ? at : n - 1;
    const int64_t there = within(at);
    return there < n ? there : period() - there;
  }
};

// Here and below `inner` counts groups of kAtOnce elements.
template <int kAtOnce, class Index>
__global__ void pad_axis_kernel(PadAxisShape s, const float* x, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= s.outer * s.m * s.inner) return;
  const Index inner = static_cast<Index>(s.inner), m = static_cast<Index>(s.m);
  const Index row = static_cast<Index>(number) / inner, outer = row / m;
  const int64_t column = static_cast<int64_t>(static_cast<Index>(number) - row * inner);
  const int64_t source = s.source(static_cast<int64_t>(row - outer * m));
  const float* const from = x + kAtOnce * ((static_cast<int64_t>(outer) * s.n + source) * s.inner + column);
  cuda::store_few(y + kAtOnce * number, cuda::load_few<kAtOnce>(from));
}

template <int kAtOnce>
__device__ void add_places(cuda::Few<kAtOnce>& sum, const float* dy, int64_t first, int64_t end, int64_t step,
                           int64_t inner) {
  for (int64_t p = first; p < end; p += step) {
    const auto slope = cuda::load_few<kAtOnce>(dy + kAtOnce * p * inner);
    for (int k = 0; k < kAtOnce; ++k) sum.of[k] += slope.of[k];
  }
}

template <int kAtOnce, bool kAdd, class Index>
__global__ void pad_axis_back_kernel(PadAxisShape s, const float* dy, float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= s.outer * s.n * s.inner) return;
  const Index inner = static_cast<Index>(s.inner), n = static_cast<Index>(s.n);
  const Index row = static_cast<Index>(number) / inner, outer = row / n;
  const int64_t column = static_cast<int64_t>(static_cast<Index>(number) - row * inner);
  const int64_t at = static_cast<int64_t>(row - outer * n);
  const float* const from = dy + kAtOnce * (static_cast<int64_t>(outer) * s.m * s.inner + column);
  auto sum = kAdd ? cuda::load_few<kAtOnce>(dx + kAtOnce * number) : cuda::few_of<kAtOnce>(0.0F);
  if (s.clamps()) {
    const int64_t here = s.begin + at, first = at == 0 || here < 0 ? 0 : here;
    const int64_t end = at == s.n - 1 || here + 1 > s.m ? s.m : here + 1;
    add_places(sum, from, first, end, 1, s.inner);
  } else {
    add_places(sum, from, s.within(s.begin + at), s.m, s.period(), s.inner);
    if (s.mode == PadAxisAttrs::kReflect && at > 0 && at < s.n - 1)
      add_places(sum, from, s.within(s.begin - at), s.m, s.period(), s.inner);
  }
  cuda::store_few(dx + kAtOnce * number, sum);
}

PadAxisShape pad_by_few(PadAxisShape shape, int64_t at_once) {
  shape.inner /= at_once;
  return shape;
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(PadAxis, {
  cuda::need_one_order(operands);
  const PadAxisShape shape(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::by_row(shape.inner, [&](auto at_once) {
    return cuda::by_index(shape.outer * shape.m * shape.inner, [&](auto index) -> std::unique_ptr<Kernel> {
      constexpr int kAtOnce = decltype(at_once)::value;
      const PadAxisShape few = pad_by_few(shape, kAtOnce);
      return cuda::kernel([few](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("pad along an axis", pad_axis_kernel<kAtOnce, decltype(index)>,
                     cuda::blocks_for(few.outer * few.m * few.inner), cuda::kThreads, context, few,
                     cuda::in(operand, 0), cuda::out(operand, 1));
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(PadAxisBackward, {
  cuda::need_one_order(operands);
  const PadAxisShape shape(attrs, operands[1].tensor, operands[0].tensor);
  return cuda::by_row(shape.inner, [&](auto at_once) {
    return cuda::by_flag(cuda::adds(operands[1]), [&](auto add) {
      return cuda::by_index(shape.outer * shape.n * shape.inner, [&](auto index) -> std::unique_ptr<Kernel> {
        constexpr int kAtOnce = decltype(at_once)::value;
        const PadAxisShape few = pad_by_few(shape, kAtOnce);
        return cuda::kernel([few](const RunContext& context, std::byte* const* operand, std::byte*) {
          cuda::launch("pad along an axis, backward",
                       pad_axis_back_kernel<kAtOnce, decltype(add)::value, decltype(index)>,
                       cuda::blocks_for(few.outer * few.n * few.inner), cuda::kThreads, context, few,
                       cuda::in(operand, 0), cuda::out(operand, 1));
        });
      });
    });
  });
})

}  // namespace plimsoll
