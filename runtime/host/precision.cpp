// Which host kernels take operands in bf16 as they are (runtime/precision.h).
#include "runtime/precision.h"

#include <algorithm>
#include <array>

#include "runtime/bf16.h"
#include "runtime/host/engine.h"
#include "runtime/host/flat_kernel.h"

namespace plimsoll {
namespace {

// The slots whose operands must be in bf16 if they are present, as bits. Other operands are in f32 or of whole numbers,
// or may be either if `either` has their bit.
struct Bf16Kernel {
  std::string_view name;
  uint32_t reduced;
  uint32_t either = 0;
  bool in_library = false;  // oneDNN's: it has bf16 from AVX-512 on
};

constexpr uint32_t slots(std::initializer_list<int> list) {
  uint32_t bits = 0;
  for (const int slot : list) bits |= 1U << slot;
  return bits;
}

constexpr std::array kBf16Kernels = {
    Bf16Kernel{"CastTo", 0, slots({0, 1})},
    Bf16Kernel{"ConvForward", slots({0, 1}), slots({3}), true},
    Bf16Kernel{"ConvBackwardData", slots({0, 1}), slots({2}), true},
    Bf16Kernel{"ConvBackwardWeights", slots({0, 1}), 0, true},
    Bf16Kernel{"MatMul", slots({0, 1}), slots({2, 3}), true},
};

bool library_has_bf16() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core; }

}  // namespace

bool has_bf16_kernel(std::string_view kernel, std::span<const OperandDesc> operands) {
  const auto found = std::find_if(kBf16Kernels.begin(), kBf16Kernels.end(), [&](const Bf16Kernel& one) { return one.name == kernel; });
  if (found == kBf16Kernels.end() || (found->in_library && !library_has_bf16())) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::absent || ((found->either >> i) & 1) != 0) continue;
    const bool reduced = operands[i].tensor.type == DataType::bf16, expected = ((found->reduced >> i) & 1) != 0;
    if (reduced != expected) return false;
  }
  return true;
}

void widen_elements(const RunContext&, const std::byte* from, std::byte* to, int64_t elements) {
  const auto* const x = reinterpret_cast<const uint16_t*>(from);
  auto* const y = reinterpret_cast<float*>(to);
  host::for_elements(elements, [=](int64_t i) { y[i] = widened(x[i]); });
}

void narrow_elements(const RunContext&, const std::byte* from, std::byte* to, int64_t elements) {
  const auto* const x = reinterpret_cast<const float*>(from);
  auto* const y = reinterpret_cast<uint16_t*>(to);
  host::for_elements(elements, [=](int64_t i) { y[i] = narrowed(x[i]); });
}

}  // namespace plimsoll
