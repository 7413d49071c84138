// GatherForward  {table, indices, y}       table [rows, width], indices [count] i32 or i64, y [count, width]
// GatherBackward {indices, dy, dtable}     dtable[index] += dy
// PaddedGatherBackward: the same, except for one row of the table, whose gradient is 0.
// Several tables may share the indices: [tables, rows, width], y [tables, count, width].
//
// In the backward, each stretch of a table's columns is processed by one thread, which adds the rows in order, so the
// bits do not depend on the number of threads. An invalid index gives NaN: the error is visible, and no memory outside
// the arrays is accessed. y and dy may be in bf16, and the table, too, where it is no parameter; dtable is f32.
#include <algorithm>
#include <limits>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kGatherStretch = 64;  // columns

struct Indices {
  bool wide;
  int64_t rows;

  // -1: there is no such row.
  int64_t at(const std::byte* indices, int64_t i) const {
    const int64_t index =
        wide ? reinterpret_cast<const int64_t*>(indices)[i] : reinterpret_cast<const int32_t*>(indices)[i];
    const int64_t row = index < 0 ? index + rows : index;
    return row >= 0 && row < rows ? row : -1;
  }
};

struct GatherShape {
  int64_t tables, rows, count, width;
  GatherShape(const TensorDesc& table, const TensorDesc& y)
      : tables(table.rank() == 3 ? table.dim(0) : 1), rows(table.dim(table.rank() - 2)), count(y.dim(y.rank() - 2)),
        width(y.dim(y.rank() - 1)) {}
};

std::unique_ptr<Kernel> gather_backward(std::span<const OperandDesc> operands, int64_t left_out);

template <class X, class Y>
std::unique_ptr<Kernel> gather_forward(const GatherShape& shape, const Indices& indices) {
  return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const X* table = host::in<X>(operand, 0);
    Y* y = host::out<Y>(operand, 2);
    const int64_t width = shape.width, picked = shape.tables * shape.count;
#pragma omp parallel for schedule(static) if (picked * width > 16384)
    for (int64_t i = 0; i < picked; ++i) {
      const int64_t row = indices.at(operand[1], i % shape.count);
      Y* to = y + i * width;
      if (row < 0) {
        std::fill_n(to, width, std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      const X* from = table + (i / shape.count * shape.rows + row) * width;
      for (int64_t j = 0; j < width; ++j) to[j] = static_cast<float>(from[j]);
    }
  });
}

}  // namespace

std::vector<Algorithm> GatherForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GatherForward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const GatherShape shape(operands[0].tensor, operands[2].tensor);
  const Indices indices{operands[1].tensor.type == DataType::i64, shape.rows};
  return host::by_real(operands[0].tensor.type, [&](auto x) {
    return host::by_real(operands[2].tensor.type,
                         [&](auto y) { return gather_forward<decltype(x), decltype(y)>(shape, indices); });
  });
}

std::vector<Algorithm> GatherBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GatherBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return gather_backward(operands, -1);
}

std::vector<Algorithm> PaddedGatherBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PaddedGatherBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                   std::string_view) {
  return gather_backward(operands, attrs.row);
}

namespace {

std::unique_ptr<Kernel> gather_backward(std::span<const OperandDesc> operands, int64_t left_out) {
  const GatherShape shape(operands[2].tensor, operands[1].tensor);
  const Indices indices{operands[0].tensor.type == DataType::i64, shape.rows};
  const bool adds = operands[2].access == Access::update;
  return host::by_real(operands[1].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const T* dy = host::in<T>(operand, 1);
      float* dtable = host::out(operand, 2);
      const int64_t width = shape.width, stretches = (width + kGatherStretch - 1) / kGatherStretch;
      if (!adds) host::for_elements(shape.tables * shape.rows * width, [=](int64_t i) { dtable[i] = 0; });
#pragma omp parallel for schedule(static) if (shape.tables * shape.count * width > 16384)
      for (int64_t s = 0; s < shape.tables * stretches; ++s) {
        const int64_t table = s / stretches, first = s % stretches * kGatherStretch,
                      n = std::min(kGatherStretch, width - first);
        for (int64_t i = 0; i < shape.count; ++i) {
          const int64_t row = indices.at(operand[0], i);
          if (row < 0 || row == left_out) continue;
          float* to = dtable + (table * shape.rows + row) * width + first;
          const T* from = dy + (table * shape.count + i) * width + first;
          for (int64_t j = 0; j < n; ++j) to[j] += from[j];
        }
      }
    });
  });
}

}  // namespace

}  // namespace plimsoll
