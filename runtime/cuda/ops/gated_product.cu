// GatedProductForward {a, b, y}: y = g(a) · b
// GatedProductBackward {a, b, dy, da, db}: da = dy · b · g'(a), db = dy · g(a)
#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/ops/gates.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// da and db may overwrite a, b or dy: each thread reads its position before it writes there. Either may be absent;
// gradients of parameters are accumulated.
template <class Gate, class T>
__global__ void gated_backward_kernel(int64_t n, Gate gate, const T* a, const T* b, const T* dy, bool add_a, bool add_b,
                                      T* da, T* db) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const float x = cuda::load_one(a + i), other = cuda::load_one(b + i), slope = cuda::load_one(dy + i);
  if (da) cuda::store_one(da + i, slope * other * gate.slope(x) + (add_a ? cuda::load_one(da + i) : 0.0F));
  if (db) cuda::store_one(db + i, slope * gate.value(x) + (add_b ? cuda::load_one(db + i) : 0.0F));
}

template <class Gate>
std::unique_ptr<Kernel> gated_backward(std::span<const OperandDesc> operands, Gate gate) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool add_a = cuda::adds(operands[3]), add_b = cuda::adds(operands[4]);
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("gradient of a gated product", gated_backward_kernel<Gate, T>, cuda::blocks_for(n), cuda::kThreads,
                   context, n, gate, cuda::in<T>(operand, 0), cuda::in<T>(operand, 1), cuda::in<T>(operand, 2), add_a,
                   add_b, cuda::out<T>(operand, 3), cuda::out<T>(operand, 4));
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatedProductForward, {
  if (attrs.gelu) return cuda::map2(operands, cuda::GatedFactor{cuda::GeluGate{attrs.by_tanh}});
  return cuda::map2(operands, cuda::GatedFactor{cuda::SwishGate{static_cast<float>(attrs.alpha)}});
})

PLIMSOLL_CUDA_KERNEL(GatedProductBackward, {
  if (attrs.gelu) return gated_backward(operands, cuda::GeluGate{attrs.by_tanh});
  return gated_backward(operands, cuda::SwishGate{static_cast<float>(attrs.alpha)});
})

}  // namespace plimsoll
