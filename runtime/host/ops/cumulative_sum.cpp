// CumulativeSum {x, y}: [outer, n, inner] along the middle dimension, for f32, i32 or i64. Elements are added in order.
#include "runtime/attrs/cumulative.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Integers wrap around on overflow.
template <class T>
T added(T a, T b) {
  if constexpr (std::is_same_v<T, float>) return a + b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
}

template <class T, bool Accumulate>
void cumulate(const CumulativeSumAttrs& attrs, int64_t outer, int64_t n, int64_t inner, const T* x, T* y) {
#pragma omp parallel for schedule(static) if (outer * n * inner > 16384)
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / inner * n * inner + line % inner;
    T sum{0};
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = first + (attrs.reverse ? n - 1 - step : step) * inner;
      const T before = sum, item = x[i];
      sum = added(sum, item);
      const T result = attrs.exclusive ? before : sum;
      y[i] = Accumulate ? added(y[i], result) : result;
    }
  }
}

}  // namespace

std::vector<Algorithm> CumulativeSum::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> CumulativeSum::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc& desc = operands[1].tensor;
  if (desc.rank() != 3 || desc.type == DataType::u8) throw KernelError("CumulativeSum of " + std::string(name_of(desc.type)));
  const bool adds = operands[1].access == Access::update;
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([=, outer = desc.dim(0), n = desc.dim(1), inner = desc.dim(2)](const RunContext&, std::byte* const* operand) {
      const T* x = reinterpret_cast<const T*>(operand[0]);
      T* y = reinterpret_cast<T*>(operand[1]);
      adds ? cumulate<T, true>(attrs, outer, n, inner, x, y) : cumulate<T, false>(attrs, outer, n, inner, x, y);
    });
  });
}

}  // namespace plimsoll
