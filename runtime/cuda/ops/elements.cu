// GatherElementsForward {x, indices, y}     y[…, i, …] = x[…, indices[…, i, …], …] along an axis; y has the dimensions
// of indices
// GatherElementsBackward {indices, dy, dx}  dx[…, indices[…, i, …], …] += dy[…, i, …]
// ScatterElements {x, indices, updates, y}  y = x, but updates[…, i, …] at indices[…, i, …]; absent updates are 0
//
// Kernels that write by index process each line along the axis in order, with one thread: no atomics, the same bits
// every time. An index out of range reads NaN or the smallest integer. ScatterElements writes that to the first element
// of the line: the error is visible before any weight changes.
#include "runtime/attrs/elements.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// Lines along the axis of `picked` (as long as the indices), and their positions in `table`.
struct ElementLines {
  cuda::DeviceLoops<2> lines;  // picked, table
  int64_t count = 1, length = 1, picked_step = 1, size = 1, table_step = 1;

  // The position of an index within a line; -1: out of range.
  __device__ int64_t at(int64_t given) const {
    const int64_t row = given < 0 ? given + size : given;
    return row >= 0 && row < size ? row * table_step : -1;
  }
};

ElementLines lines_of(int64_t axis, const TensorDesc& picked, const TensorDesc& table) {
  ElementLines result;
  Loops<2> lines;
  lines.around(1, {1, 1});
  int64_t in_picked = 1, in_table = 1;
  for (size_t i = picked.rank(); i-- > 0; in_picked *= picked.dim(i), in_table *= table.dim(i)) {
    if (static_cast<int64_t>(i) == axis) {
      result.length = picked.dim(i), result.picked_step = in_picked, result.size = table.dim(i),
      result.table_step = in_table;
    } else {
      lines.around(picked.dim(i), {in_picked, in_table});
    }
  }
  result.count = lines.count(0);
  result.lines = cuda::on_device(lines);
  return result;
}

template <class T, class I>
__global__ void gather_elements_kernel(ElementLines lines, T none, const T* x, const I* indices, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= lines.count * lines.length) return;
  const int64_t line = number / lines.length, along = number - line * lines.length;
  const cuda::Places<2> start = cuda::place(lines.lines, static_cast<uint64_t>(line));
  const int64_t at = start.of[0] + along * lines.picked_step, from = lines.at(static_cast<int64_t>(indices[at]));
  y[at] = from < 0 ? none : x[start.of[1] + from];
}

// What an index out of range writes to the first element of its line.
template <class T>
struct OrNothing {
  bool writes = false;
  T value = {};
};

template <class T, class I>
__global__ void scatter_elements_kernel(ElementLines lines, bool add, OrNothing<T> none, const I* indices,
                                        const T* updates, T* y) {
  const int64_t line = cuda::thread_number();
  if (line >= lines.count) return;
  const cuda::Places<2> start = cuda::place(lines.lines, static_cast<uint64_t>(line));
  bool all_known = true;
  for (int64_t i = 0; i < lines.length; ++i) {
    const int64_t at = start.of[0] + i * lines.picked_step, to = lines.at(static_cast<int64_t>(indices[at]));
    all_known = all_known && to >= 0;
    if (to < 0) continue;
    const T update = updates != nullptr ? updates[at] : T{0};
    T& element = y[start.of[1] + to];
    element = add ? static_cast<T>(element + update) : update;
  }
  if (!all_known && none.writes) y[start.of[1]] = none.value;
}

template <class T>
T nothing() {
  if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::quiet_NaN();
  else return std::numeric_limits<T>::lowest();
}

// body(Index{}): i32 or i64.
template <class Body>
decltype(auto) by_index_type(DataType type, Body body) {
  return type == DataType::i32 ? body(int32_t{}) : body(int64_t{});
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatherElementsForward, {
  cuda::need_plain(operands);
  const ElementLines lines = lines_of(attrs.axis, operands[2].tensor, operands[0].tensor);
  return by_type(operands[0].tensor.type, [&](auto zero) {
    return by_index_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using I = decltype(index);
      const T none = nothing<T>();
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("gather of elements", gather_elements_kernel<T, I>, cuda::blocks_for(lines.count * lines.length),
                     cuda::kThreads, context, lines, none, reinterpret_cast<const T*>(operand[0]),
                     reinterpret_cast<const I*>(operand[1]), reinterpret_cast<T*>(operand[2]));
      });
    });
  });
})

PLIMSOLL_CUDA_KERNEL(GatherElementsBackward, {
  cuda::need_plain(operands);
  const ElementLines lines = lines_of(attrs.axis, operands[1].tensor, operands[2].tensor);
  const size_t bytes = cuda::adds(operands[2]) ? 0 : static_cast<size_t>(operands[2].tensor.bytes());
  return by_index_type(operands[0].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
    using I = decltype(index);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      if (bytes > 0) cuda::check(cudaMemsetAsync(operand[2], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
      cuda::launch("gradient of elements", scatter_elements_kernel<float, I>, cuda::blocks_for(lines.count),
                   cuda::kThreads, context, lines, true, OrNothing<float>{}, reinterpret_cast<const I*>(operand[0]),
                   cuda::in(operand, 1), cuda::out(operand, 2));
    });
  });
})

PLIMSOLL_CUDA_KERNEL(ScatterElements, {
  cuda::need_plain(operands);
  const ElementLines lines = lines_of(attrs.axis, operands[1].tensor, operands[3].tensor);
  const size_t bytes = static_cast<size_t>(operands[3].tensor.bytes());
  return by_type(operands[3].tensor.type, [&](auto zero) {
    return by_index_type(operands[1].tensor.type, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using I = decltype(index);
      const OrNothing<T> none{.writes = true, .value = nothing<T>()};
      return cuda::kernel([=, add = attrs.add](const RunContext& context, std::byte* const* operand, std::byte*) {
        if (operand[0] != operand[3])
          cuda::check(
              cudaMemcpyAsync(operand[3], operand[0], bytes, cudaMemcpyDeviceToDevice, cuda::stream_of(context)),
              "cudaMemcpyAsync");
        cuda::launch("scatter of elements", scatter_elements_kernel<T, I>, cuda::blocks_for(lines.count),
                     cuda::kThreads, context, lines, add, none, reinterpret_cast<const I*>(operand[1]),
                     reinterpret_cast<const T*>(operand[2]), reinterpret_cast<T*>(operand[3]));
      });
    });
  });
})

}  // namespace plimsoll
