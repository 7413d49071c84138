// CumulativeSum {x, y}: [outer, n, inner] along the middle dimension, for f32, i32 or i64; f32 may be stored in
// bf16. Elements are added in order.
#include "runtime/attrs/cumulative.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
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

// Sums are of type T.
template <class T, bool Accumulate, class X, class Y>
void cumulate(const CumulativeSumAttrs& attrs, int64_t outer, int64_t n, int64_t inner, const X* x, Y* y) {
#pragma omp parallel for schedule(static) if (outer * n * inner > 16384)
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t first = line / inner * n * inner + line % inner;
    T sum{0};
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = first + (attrs.reverse ? n - 1 - step : step) * inner;
      const T before = sum, item = x[i];
      sum = added(sum, item);
      const T result = attrs.exclusive ? before : sum;
      if constexpr (Accumulate) y[i] = added(y[i], result);
      else y[i] = result;
    }
  }
}

}  // namespace

std::vector<Algorithm> CumulativeSum::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> CumulativeSum::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  const TensorDesc& desc = operands[1].tensor;
  if (desc.rank() != 3 || desc.type == DataType::u8)
    throw KernelError("CumulativeSum of " + std::string(name_of(desc.type)));
  const bool adds = operands[1].access == Access::update;
  const auto kernel = [&](auto sum, auto from, auto to) -> std::unique_ptr<Kernel> {
    using T = decltype(sum);
    using X = decltype(from);
    using Y = decltype(to);
    return host::flat_kernel(
        [=, outer = desc.dim(0), n = desc.dim(1), inner = desc.dim(2)](const RunContext&, std::byte* const* operand) {
      const X* x = host::in<X>(operand, 0);
      Y* y = host::out<Y>(operand, 1);
      if constexpr (std::is_same_v<T, Y>) {
        if (adds) return cumulate<T, true>(attrs, outer, n, inner, x, y);
      }
      cumulate<T, false>(attrs, outer, n, inner, x, y);
    });
  };
  if (!is_real(desc.type)) return by_type(desc.type, [&](auto zero) { return kernel(zero, zero, zero); });
  return host::by_real(operands[0].tensor.type,
                       [&](auto x) { return host::by_real(desc.type, [&](auto y) { return kernel(float{}, x, y); }); });
}

}  // namespace plimsoll
