// Pad {x, y}
#include <algorithm>
#include <cstring>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// A blocked tensor is a plain one with one more axis, [N, C / block, H, W, block]. After the last axis that changes,
// everything is one contiguous unit; a row is that axis:    | fill | copied from x | fill |
struct PadGeometry {
  IntList in, out, begin;  // the axes before the rows
  int64_t row_in = 1, row_out = 1, row_begin = 0, unit = 1;

  PadGeometry(const PadAttrs& attrs, const TensorDesc& x, const TensorDesc& y)
      : in(x.dims), out(y.dims), begin(attrs.begin) {
    if (begin.size() != in.size()) throw KernelError("Pad: as many pads as axes are needed");
    host::by_block(x.layout, [&](auto block) {
      if constexpr (block > 1) {
        if (begin[1] != 0 || in[1] != out[1]) throw KernelError("Pad: blocks of channels cannot be padded");
        in[1] /= block;
        out[1] /= block;
        unit = block;
      }
    });
    size_t axis = in.size();
    while (axis > 0 && begin[axis - 1] == 0 && in[axis - 1] == out[axis - 1]) unit *= in[--axis];
    if (axis > 0) {
      --axis;
      row_in = in[axis];
      row_out = out[axis];
      row_begin = begin[axis];
    }
    in.count = out.count = begin.count = static_cast<int32_t>(axis);
  }

  // The row of x that becomes row `row` of y; -1: padding only.
  int64_t source_row(int64_t row) const {
    int64_t source = 0, stride = 1;
    for (size_t axis = in.size(); axis-- > 0; row /= out[axis]) {
      const int64_t at = row % out[axis] - begin[axis];
      if (at < 0 || at >= in[axis]) return -1;
      source += at * stride;
      stride *= in[axis];
    }
    return source;
  }

  int64_t rows() const {
    int64_t n = 1;
    for (const int64_t d : out) n *= d;
    return n;
  }
};

template <class T>
void pad(const PadGeometry& g, T value, const T* x, T* y) {
  const int64_t rows = g.rows(), first = std::clamp<int64_t>(g.row_begin, 0, g.row_out);
  const int64_t last = std::clamp<int64_t>(g.row_begin + g.row_in, first, g.row_out);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    T* to = y + row * g.row_out * g.unit;
    const int64_t source = g.source_row(row);
    if (source < 0) {
      std::fill_n(to, g.row_out * g.unit, value);
      continue;
    }
    const T* from = x + (source * g.row_in + first - g.row_begin) * g.unit;
    std::fill(to, to + first * g.unit, value);
    std::memcpy(to + first * g.unit, from, static_cast<size_t>((last - first) * g.unit) * sizeof(T));
    std::fill(to + last * g.unit, to + g.row_out * g.unit, value);
  }
}

}  // namespace

std::vector<Algorithm> Pad::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Pad::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::by_any_type(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([g = PadGeometry(attrs, operands[0].tensor, operands[1].tensor),
                              value = static_cast<T>(attrs.value)](const RunContext&, std::byte* const* operand) {
      pad(g, value, reinterpret_cast<const T*>(operand[0]), reinterpret_cast<T*>(operand[1]));
    });
  });
}

}  // namespace plimsoll
