// GatherElementsForward {x, indices, y}     y[…, i, …] = x[…, indices[…, i, …], …] along an axis; y has the dimensions
// of indices
// GatherElementsBackward {indices, dy, dx}  dx[…, indices[…, i, …], …] += dy[…, i, …]
// ScatterElements {x, indices, updates, y}  y = x, but updates[…, i, …] at indices[…, i, …]; absent updates are 0
//
// Each line along the axis is processed in order by one thread, so the bits do not depend on the number of threads. An
// index out of range reads NaN or the smallest integer. ScatterElements writes that to the first element of the line:
// the error is visible before any weight changes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/attrs/elements.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Lines along the axis of `picked` (as long as the indices), and their positions in `table`.
struct ElementLines {
  Loops<2> lines;  // picked, table
  int64_t length = 1, picked_step = 1, size = 1, table_step = 1;

  ElementLines(int64_t axis, const TensorDesc& picked, const TensorDesc& table) {
    lines.around(1, {1, 1});
    int64_t in_picked = 1, in_table = 1;
    for (size_t i = picked.rank(); i-- > 0; in_picked *= picked.dim(i), in_table *= table.dim(i)) {
      if (static_cast<int64_t>(i) == axis) {
        length = picked.dim(i), picked_step = in_picked, size = table.dim(i), table_step = in_table;
      } else {
        lines.around(picked.dim(i), {in_picked, in_table});
      }
    }
  }

  // body(offset of the line in picked, in table)
  template <class Body>
  void each(Body body) const {
    const int64_t count = lines.count(0);
#pragma omp parallel for schedule(static) if (count * length > 16384)
    for (int64_t i = 0; i < count; ++i) body(lines.offset(0, i, 0), lines.offset(1, i, 0));
  }

  // The element of the line; -1: the index is out of range.
  template <class Index>
  int64_t at(Index index) const {
    const int64_t given = static_cast<int64_t>(index), row = given < 0 ? given + size : given;
    return row >= 0 && row < size ? row * table_step : -1;
  }
};

template <class T>
T nothing() {
  if constexpr (!std::is_integral_v<T>) return std::numeric_limits<float>::quiet_NaN();  // float, Bf16
  else return std::numeric_limits<T>::lowest();
}

// body(Index{}): i32 or i64.
template <class Body>
decltype(auto) by_index_type(DataType type, Body body) {
  return type == DataType::i32 ? body(int32_t{}) : body(int64_t{});
}

}  // namespace

std::vector<Algorithm> GatherElementsForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GatherElementsForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view) {
  const ElementLines lines(attrs.axis, operands[2].tensor, operands[0].tensor);
  return host::by_any_type(operands[0].tensor.type, [&](auto zero) {
    return by_index_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      return host::flat_kernel([lines](const RunContext&, std::byte* const* operand) {
        const T* x = reinterpret_cast<const T*>(operand[0]);
        const Index* indices = reinterpret_cast<const Index*>(operand[1]);
        T* y = reinterpret_cast<T*>(operand[2]);
        lines.each([=, &lines](int64_t picked, int64_t table) {
          for (int64_t i = 0, at = picked; i < lines.length; ++i, at += lines.picked_step) {
            const int64_t from = lines.at(indices[at]);
            y[at] = from < 0 ? nothing<T>() : x[table + from];
          }
        });
      });
    });
  });
}

std::vector<Algorithm> GatherElementsBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GatherElementsBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                     std::string_view) {
  const ElementLines lines(attrs.axis, operands[1].tensor, operands[2].tensor);
  const int64_t n = operands[2].tensor.elements();
  const bool adds = operands[2].access == Access::update;
  return by_index_type(operands[0].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
    using Index = decltype(index);
    return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const Index* indices = reinterpret_cast<const Index*>(operand[0]);
      const float* dy = host::in(operand, 1);
      float* dx = host::out(operand, 2);
      if (!adds) host::for_elements(n, [=](int64_t i) { dx[i] = 0; });
      lines.each([=, &lines](int64_t picked, int64_t table) {
        for (int64_t i = 0, at = picked; i < lines.length; ++i, at += lines.picked_step)
          if (const int64_t to = lines.at(indices[at]); to >= 0) dx[table + to] += dy[at];
      });
    });
  });
}

std::vector<Algorithm> ScatterElements::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ScatterElements::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  const ElementLines lines(attrs.axis, operands[1].tensor, operands[3].tensor);
  const size_t bytes = static_cast<size_t>(operands[3].tensor.bytes());
  return by_type(operands[3].tensor.type, [&](auto zero) {
    return by_index_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      return host::flat_kernel([lines, bytes, add = attrs.add](const RunContext&, std::byte* const* operand) {
        if (operand[0] != operand[3]) std::memcpy(operand[3], operand[0], bytes);
        const Index* indices = reinterpret_cast<const Index*>(operand[1]);
        const T* updates = reinterpret_cast<const T*>(operand[2]);
        T* y = reinterpret_cast<T*>(operand[3]);
        lines.each([=, &lines](int64_t picked, int64_t table) {
          bool all_known = true;
          for (int64_t i = 0, at = picked; i < lines.length; ++i, at += lines.picked_step) {
            const int64_t to = lines.at(indices[at]);
            all_known = all_known && to >= 0;
            if (to < 0) continue;
            const T update = updates ? updates[at] : T{0};
            y[table + to] = add ? static_cast<T>(y[table + to] + update) : update;
          }
          if (!all_known) y[table] = nothing<T>();
        });
      });
    });
  });
}

}  // namespace plimsoll
