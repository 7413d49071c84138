// Pad {x, y}: each element of y is one of x, or the fill value.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// After the last axis that changes, everything is one unit.
struct PadShape {
  int axes = 0;
  int64_t in[kMaxRank] = {}, out[kMaxRank] = {}, begin[kMaxRank] = {};
  int64_t unit = 1, elements = 0;

  PadShape(const PadAttrs& attrs, const TensorDesc& given, const TensorDesc& result) : elements(result.elements()) {
    if (attrs.begin.size() != given.rank()) throw KernelError("Pad: as many pads as axes are needed");
    const TensorDesc x = cuda::as_it_lies(given), y = cuda::as_it_lies(result);
    const IntList pads = cuda::as_it_lies(attrs.begin, given.layout);
    size_t axis = x.rank();
    while (axis > 0 && pads[axis - 1] == 0 && x.dim(axis - 1) == y.dim(axis - 1)) unit *= x.dim(--axis);
    axes = static_cast<int>(axis);
    for (size_t i = 0; i < axis; ++i) {
      in[i] = x.dim(i);
      out[i] = y.dim(i);
      begin[i] = pads[i];
    }
  }
};

// `unit` and `elements` count groups of kAtOnce elements.
template <int kAtOnce, class Index, class T>
__global__ void pad_kernel(PadShape shape, T value, const T* x, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.elements) return;
  Index rest = static_cast<Index>(number) / static_cast<Index>(shape.unit);
  int64_t source = static_cast<int64_t>(static_cast<Index>(number) % static_cast<Index>(shape.unit)),
          stride = shape.unit;
  for (int axis = shape.axes - 1; axis >= 0; --axis) {
    const Index next = rest / static_cast<Index>(shape.out[axis]);
    const int64_t at = static_cast<int64_t>(rest - next * static_cast<Index>(shape.out[axis])) - shape.begin[axis];
    rest = next;
    if (at < 0 || at >= shape.in[axis]) return cuda::store_few(y + kAtOnce * number, cuda::few_of<kAtOnce>(value));
    source += at * stride;
    stride *= shape.in[axis];
  }
  cuda::store_few(y + kAtOnce * number, cuda::load_few<kAtOnce>(x + kAtOnce * source));
}

// Integers and booleans: one at a time.
template <class T>
std::unique_ptr<Kernel> pad_as_it_is(const PadShape& shape, double value) {
  return cuda::kernel([shape, value](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("pad", pad_kernel<1, int64_t, T>, cuda::blocks_for(shape.elements), cuda::kThreads, context, shape,
                 static_cast<T>(value), reinterpret_cast<const T*>(operand[0]), reinterpret_cast<T*>(operand[1]));
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Pad, {
  cuda::need_one_order(operands);
  const PadShape shape(attrs, operands[0].tensor, operands[1].tensor);
  if (const DataType type = operands[0].tensor.type; type != DataType::f32)
    return by_type(type, [&](auto zero) { return pad_as_it_is<decltype(zero)>(shape, attrs.value); });
  const float value = static_cast<float>(attrs.value);
  return cuda::by_row(shape.unit, [&](auto at_once) {
    return cuda::by_index(shape.elements, [&](auto index) -> std::unique_ptr<Kernel> {
      using Index = decltype(index);
      constexpr int kAtOnce = decltype(at_once)::value;
      PadShape few = shape;
      few.unit /= kAtOnce;
      few.elements /= kAtOnce;
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("pad", pad_kernel<kAtOnce, Index, float>, cuda::blocks_for(few.elements), cuda::kThreads, context,
                     few, value, cuda::in(operand, 0), cuda::out(operand, 1));
      });
    });
  });
})

}  // namespace plimsoll
