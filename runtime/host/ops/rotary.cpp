// Rotary {x, cos, sin, y}: pairs of elements of a row are turned (compiler/ops/rotary.cpp). Plain layouts.
#include "runtime/attrs/rotary.h"

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/row_loops.h"

namespace plimsoll {
namespace {

struct Turn {
  Loops<2> rows = {};
  int64_t pairs = 0;  // of a row
  bool backward = false, adds = false;
};

// y may be x: both elements of a pair are read before they are written. kWhole: an angle for each element.
template <bool kInterleaved, bool kWhole, class T>
void turn(const Turn& turn, const T* x, const float* cos, const float* sin, T* y) {
  const int64_t rows = turn.rows.count(0), pairs = turn.pairs, width = kWhole ? 2 * pairs : pairs;
  const bool adds = turn.adds;
  const float back = turn.backward ? 1.0F : 0.0F;
#pragma omp parallel for schedule(static) if (rows * pairs > 8192)
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = turn.rows.offset(1, row, 0) * width;
    const T* const from = x + 2 * pairs * row;
    T* const to = y + 2 * pairs * row;
    const float *const c = cos + at, *const s = sin + at;
#pragma omp simd
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t first = kInterleaved ? 2 * i : i, second = kInterleaved ? 2 * i + 1 : i + pairs;
      const int64_t one = kWhole ? first : i, other = kWhole ? second : i;
      const float a = from[first], b = from[second];
      // The gradient is the product with the transposed matrix: the sines change their places and their signs.
      const float left = back != 0 ? -s[other] : s[one], right = back != 0 ? -s[one] : s[other];
      const float turned = a * c[one] - b * left, beside = b * c[other] + a * right;
      to[first] = adds ? static_cast<float>(to[first]) + turned : turned;
      to[second] = adds ? static_cast<float>(to[second]) + beside : beside;
    }
  }
}

}  // namespace

std::vector<Algorithm> Rotary::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Rotary::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc &x = operands[0].tensor, &angles = operands[1].tensor;
  const Turn how{.rows = loops_over_rows(x, angles),
                 .pairs = row_length(x) / 2,
                 .backward = attrs.backward,
                 .adds = operands[3].access == Access::update};
  const bool whole = row_length(angles) == row_length(x), interleaved = attrs.interleaved;
  return host::by_real(x.type, [&](auto zero) {
    using T = decltype(zero);
    return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const T* from = host::in<T>(operand, 0);
      const float *cos = host::in(operand, 1), *sin = host::in(operand, 2);
      T* to = host::out<T>(operand, 3);
      if (interleaved) whole ? turn<true, true>(how, from, cos, sin, to) : turn<true, false>(how, from, cos, sin, to);
      else whole ? turn<false, true>(how, from, cos, sin, to) : turn<false, false>(how, from, cos, sin, to);
    });
  });
}

}  // namespace plimsoll
