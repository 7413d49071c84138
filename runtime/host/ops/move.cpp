// Move {x, y}   Join {x0, x1, …, y}   GatherWhole {table, indices, y}: moves elements of any width. Plain layouts.
// GatherWhole has the shapes of GatherForward (gather.cpp). An invalid index gives the smallest integer, which is not a
// valid index either.
#include <algorithm>
#include <cstring>

#include "runtime/attrs/whole.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/rows.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Loops over y: {y, x}; x starts at `start`.
struct MovedLoops {
  Loops<2> loops;
  int64_t start = 0;

  MovedLoops(const MoveAttrs& attrs, const TensorDesc& x, const TensorDesc& y) {
    std::vector<int64_t> strides(x.rank(), 1);
    for (size_t i = x.rank(); i-- > 1;) strides[i - 1] = strides[i] * x.dim(i);
    for (size_t i = 0; i < x.rank(); ++i) start += attrs.starts[i] * strides[i];
    loops.around(1, {1, 1});
    int64_t stride = 1;
    for (size_t i = y.rank(); i-- > 0; stride *= y.dim(i)) {
      const int64_t along = attrs.order[i];
      loops.around(y.dim(i), {stride, along < 0 ? 0 : attrs.steps[i] * strides[static_cast<size_t>(along)]});
    }
  }
};

}  // namespace

std::vector<Algorithm> Move::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Move::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const MovedLoops moved(attrs, operands[0].tensor, operands[1].tensor);
  return by_width(operands[1].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([moved](const RunContext&, std::byte* const* operand) {
      const Loops<2>& loops = moved.loops;
      const T* x = reinterpret_cast<const T*>(operand[0]) + moved.start;
      T* y = reinterpret_cast<T*>(operand[1]);
      const int64_t length = loops.counts[0], y_step = loops.strides[0][0], x_step = loops.strides[1][0];
      host::for_rows(loops, [=](const auto& offsets) {
        T* to = y + offsets[0];
        const T* from = x + offsets[1];
        for (int64_t j = 0; j < length; ++j) to[j * y_step] = from[j * x_step];
      });
    });
  });
}

std::vector<Algorithm> Join::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Join::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  struct Part { int64_t at, bytes; };  // of a row
  const TensorDesc& whole = operands.back().tensor;
  const size_t axis = static_cast<size_t>(attrs.axis);
  if (axis >= whole.rank()) throw KernelError("an axis outside of the tensor");
  int64_t rows = 1, inside = bytes_of(whole.type), at = 0;
  for (size_t i = 0; i < axis; ++i) rows *= whole.dim(i);
  for (size_t i = axis + 1; i < whole.rank(); ++i) inside *= whole.dim(i);
  std::vector<Part> parts;
  for (size_t i = 0; i + 1 < operands.size(); ++i) {
    parts.push_back({at, operands[i].tensor.dim(axis) * inside});
    at += parts.back().bytes;
  }
  return host::flat_kernel([rows, pitch = at, parts](const RunContext&, std::byte* const* operand) {
    std::byte* const y = operand[parts.size()];
#pragma omp parallel for schedule(static) if (rows * pitch > 65536)
    for (int64_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < parts.size(); ++i)
        std::memcpy(y + row * pitch + parts[i].at, operand[i] + row * parts[i].bytes,
                    static_cast<size_t>(parts[i].bytes));
  });
}

std::vector<Algorithm> GatherWhole::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GatherWhole::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc &table = operands[0].tensor, &y = operands[2].tensor;
  const int64_t tables = table.rank() == 3 ? table.dim(0) : 1, rows = table.dim(table.rank() - 2),
                count = y.dim(y.rank() - 2), width = y.dim(y.rank() - 1);
  return by_type(table.type, [&](auto zero) {
    return by_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
        const T* from = reinterpret_cast<const T*>(operand[0]);
        const Index* indices = reinterpret_cast<const Index*>(operand[1]);
        T* to = reinterpret_cast<T*>(operand[2]);
#pragma omp parallel for schedule(static) if (tables * count * width > 16384)
        for (int64_t i = 0; i < tables * count; ++i) {
          const int64_t given = static_cast<int64_t>(indices[i % count]), row = given < 0 ? given + rows : given;
          if (row < 0 || row >= rows) std::fill_n(to + i * width, width, std::numeric_limits<T>::lowest());
          else std::copy_n(from + (i / count * rows + row) * width, width, to + i * width);
        }
      });
    });
  });
}

}  // namespace plimsoll
