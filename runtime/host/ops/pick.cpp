// ArgPick {x, y}               x [outer, n, inner] of any type, y [outer, inner] i64: the index of the largest or
// smallest
// TopK {x, values, indices}    values and indices [outer, k, inner]: the k largest or smallest, in order
// OneHot {indices, y}          indices [outer, inner], y [outer, depth, inner]
#include "runtime/attrs/elements.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// NaN counts as the largest.
template <class T>
bool is_above(T a, T b) {
  if constexpr (std::is_same_v<T, float>)
    if (a != a || b != b) return a != a && b == b;
  return a > b;
}

// Whether element a precedes b.
template <class T>
bool goes_first(bool least, T a, T b) {
  return least ? is_above(b, a) : is_above(a, b);
}

}  // namespace

std::vector<Algorithm> ArgPick::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ArgPick::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc& desc = operands[0].tensor;
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([attrs, outer = desc.dim(0), n = desc.dim(1), inner = desc.dim(2)](
                                 const RunContext&, std::byte* const* operand) {
      const T* x = reinterpret_cast<const T*>(operand[0]);
      int64_t* y = reinterpret_cast<int64_t*>(operand[1]);
#pragma omp parallel for schedule(static) if (outer * n * inner > 16384)
      for (int64_t line = 0; line < outer * inner; ++line) {
        const T* at = x + line / inner * n * inner + line % inner;
        int64_t best = 0;
        for (int64_t i = 1; i < n; ++i)
          if (attrs.last ? !goes_first(attrs.least, at[best * inner], at[i * inner])
                         : goes_first(attrs.least, at[i * inner], at[best * inner]))
            best = i;
        y[line] = best;
      }
    });
  });
}

std::vector<Algorithm> TopK::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> TopK::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc& desc = operands[0].tensor;
  const int64_t k = operands[2].tensor.dim(1);  // the values may be absent
  return by_type(desc.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([least = attrs.least, outer = desc.dim(0), n = desc.dim(1), inner = desc.dim(2), k](
                                 const RunContext&, std::byte* const* operand) {
      const T* x = reinterpret_cast<const T*>(operand[0]);
      T* values = reinterpret_cast<T*>(operand[1]);
      int64_t* indices = reinterpret_cast<int64_t*>(operand[2]);
#pragma omp parallel for schedule(static) if (outer * n * inner > 16384)
      for (int64_t line = 0; line < outer * inner; ++line) {
        const T* from = x + line / inner * n * inner + line % inner;
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
          if (values) values[to + j * inner] = from[best * inner];
          indices[to + j * inner] = before = best;
        }
      }
    });
  });
}

std::vector<Algorithm> OneHot::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> OneHot::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc& desc = operands[1].tensor;
  return by_type(desc.type, [&](auto zero) {
    return by_type(operands[0].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      const T off = number_as<T>(attrs.off), on = number_as<T>(attrs.on);
      return host::flat_kernel([=, depth = desc.dim(1), inner = desc.dim(2), n = desc.elements()](
                                   const RunContext&, std::byte* const* operand) {
        const Index* indices = reinterpret_cast<const Index*>(operand[0]);
        T* y = reinterpret_cast<T*>(operand[1]);
#pragma omp parallel for schedule(static) if (n > 16384)
        for (int64_t i = 0; i < n; ++i) {
          const int64_t at = i / inner % depth,
                        given = static_cast<int64_t>(indices[i / inner / depth * inner + i % inner]);
          y[i] = (given < 0 ? given + depth : given) == at ? on : off;
        }
      });
    });
  });
}

}  // namespace plimsoll
