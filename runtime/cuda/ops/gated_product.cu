// GatedProductForward {a, b, y}: y = g(a) · b
// GatedProductBackward {a, b, dy, da, db}: da = dy · b · g'(a), db = dy · g(a)
#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/ops/gates.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// da and db may overwrite a, b or dy: each thread reads its position before it writes there. Either may be absent;
// gradients of parameters are accumulated.
template <class Gate>
__global__ void gated_backward_kernel(int64_t n, Gate gate, const float* a, const float* b, const float* dy, bool add_a,
                                      bool add_b, float* da, float* db) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const float x = a[i], other = b[i], slope = dy[i];
  if (da) da[i] = slope * other * gate.slope(x) + (add_a ? da[i] : 0.0F);
  if (db) db[i] = slope * gate.value(x) + (add_b ? db[i] : 0.0F);
}

template <class Gate>
std::unique_ptr<Kernel> gated_backward(std::span<const OperandDesc> operands, Gate gate) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool add_a = cuda::adds(operands[3]), add_b = cuda::adds(operands[4]);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("gradient of a gated product", gated_backward_kernel<Gate>, cuda::blocks_for(n), cuda::kThreads,
                 context, n, gate, cuda::in(operand, 0), cuda::in(operand, 1), cuda::in(operand, 2), add_a, add_b,
                 cuda::out(operand, 3), cuda::out(operand, 4));
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
