// Operands in bf16 on a GPU (runtime/precision.h). No kernel takes them as they are yet, so each runs on f32 copies.
#include "runtime/precision.h"

#include <cstring>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll {
namespace {

__global__ void widen_kernel(int64_t n, const uint16_t* x, float* y) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
  memcpy(y + i, &bits, sizeof bits);
}

// As narrowed() on the host: to nearest, ties to even; NaN stays NaN.
__global__ void narrow_kernel(int64_t n, const float* x, uint16_t* y) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  uint32_t bits;
  memcpy(&bits, x + i, sizeof bits);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  y[i] = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

bool has_bf16_kernel(std::string_view, std::span<const OperandDesc>) { return false; }

void widen_elements(const RunContext& context, const std::byte* from, std::byte* to, int64_t elements) {
  cuda::launch("widening", widen_kernel, cuda::blocks_for(elements), cuda::kThreads, context, elements,
               reinterpret_cast<const uint16_t*>(from), reinterpret_cast<float*>(to));
}

void narrow_elements(const RunContext& context, const std::byte* from, std::byte* to, int64_t elements) {
  cuda::launch("rounding", narrow_kernel, cuda::blocks_for(elements), cuda::kThreads, context, elements,
               reinterpret_cast<const float*>(from), reinterpret_cast<uint16_t*>(to));
}

}  // namespace plimsoll
