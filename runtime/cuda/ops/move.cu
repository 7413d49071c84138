// Move {x, y}   Join {x0, x1, …, y}   GatherWhole {table, indices, y}: moves elements of any width. GatherWhole has the
// shapes of GatherForward (gather.cu). An invalid index gives the smallest integer, which is not a valid index either.
#include "runtime/attrs/whole.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Loops over {y, x}; y is contiguous in loop order.
template <class T, class Index>
__global__ void move_kernel(Index n, cuda::DeviceLoops<2> loops, const T* x, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<2> at = cuda::place(loops, static_cast<Index>(number));
  y[at.of[0]] = x[at.of[1]];
}

// A part with `width` of the `pitch` elements of each row, starting at element `at`.
template <class T>
__global__ void join_kernel(int64_t n, int64_t width, int64_t pitch, int64_t at, const T* x, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= n) return;
  const int64_t row = number / width;
  y[row * pitch + at + number - row * width] = x[number];
}

struct TableShape {
  int64_t tables, rows, count, width;
};

template <class T, class I>
__global__ void gather_whole_kernel(TableShape shape, T none, const T* tables, const I* indices, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.tables * shape.count * shape.width) return;
  const int64_t i = number / shape.width, table = i / shape.count,
                given = static_cast<int64_t>(indices[i - table * shape.count]);
  const int64_t row = given < 0 ? given + shape.rows : given;
  y[number] =
      row < 0 || row >= shape.rows ? none : tables[(table * shape.rows + row) * shape.width + number - i * shape.width];
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Move, {
  cuda::need_plain(operands);
  const TensorDesc& x = operands[0].tensor;
  const TensorDesc& y = operands[1].tensor;
  std::vector<int64_t> strides(x.rank(), 1);
  for (size_t i = x.rank(); i-- > 1;) strides[i - 1] = strides[i] * x.dim(i);
  int64_t start = 0;
  for (size_t i = 0; i < x.rank(); ++i) start += attrs.starts[i] * strides[i];
  Loops<2> loops;
  loops.around(1, {1, 1});
  int64_t stride = 1;
  for (size_t i = y.rank(); i-- > 0; stride *= y.dim(i)) {
    const int64_t along = attrs.order[i];
    loops.around(y.dim(i), {stride, along < 0 ? 0 : attrs.steps[i] * strides[static_cast<size_t>(along)]});
  }
  const cuda::DeviceLoops<2> on_device = cuda::on_device(loops);
  const int64_t n = y.elements();
  return by_width(y.type, [&](auto zero) {
    return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("move", move_kernel<T, Index>, cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n),
                     on_device, reinterpret_cast<const T*>(operand[0]) + start, reinterpret_cast<T*>(operand[1]));
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(Join, {
  cuda::need_plain(operands);
  const TensorDesc& whole = operands.back().tensor;
  const size_t axis = static_cast<size_t>(attrs.axis);
  if (axis >= whole.rank()) throw KernelError("an axis outside of the tensor");
  int64_t rows = 1;
  int64_t inside = 1;
  for (size_t i = 0; i < axis; ++i) rows *= whole.dim(i);
  for (size_t i = axis + 1; i < whole.rank(); ++i) inside *= whole.dim(i);
  std::vector<int64_t> widths;
  for (size_t i = 0; i + 1 < operands.size(); ++i) widths.push_back(operands[i].tensor.dim(axis) * inside);
  const int64_t pitch = whole.dim(axis) * inside;
  return by_width(whole.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      int64_t at = 0;
      for (size_t i = 0; i < widths.size(); at += widths[i++])
        cuda::launch("join", join_kernel<T>, cuda::blocks_for(rows * widths[i]), cuda::kThreads, context,
                     rows * widths[i], widths[i], pitch, at, reinterpret_cast<const T*>(operand[i]),
                     reinterpret_cast<T*>(operand[widths.size()]));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GatherWhole, {
  const TensorDesc& table = operands[0].tensor;
  const TensorDesc& y = operands[2].tensor;
  const TableShape shape{table.rank() == 3 ? table.dim(0) : 1, table.dim(table.rank() - 2), y.dim(y.rank() - 2),
                         y.dim(y.rank() - 1)};
  return by_type(table.type, [&](auto zero) {
    return by_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using I = decltype(index);
      const T none = std::numeric_limits<T>::lowest();
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("gather of whole numbers", gather_whole_kernel<T, I>,
                     cuda::blocks_for(shape.tables * shape.count * shape.width), cuda::kThreads, context, shape, none,
                     reinterpret_cast<const T*>(operand[0]), reinterpret_cast<const I*>(operand[1]),
                     reinterpret_cast<T*>(operand[2]));
      });
    });
  });
})

}  // namespace plimsoll
