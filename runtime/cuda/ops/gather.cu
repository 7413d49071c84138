// GatherForward  {table, indices, y}       table [rows, width], indices [count] i32 or i64, y [count, width]
// GatherBackward {indices, dy, dtable}     dtable[index] += dy
// Several tables may share the indices: [tables, rows, width], y [tables, count, width].
//
// In the backward, the rows of each table are divided into kShares shares: a block has the rows whose number modulo
// kShares is that of its share, and as many columns as it has threads. It reads all indices and adds its rows in order.
// No atomics: the same bits every time. An invalid index gives NaN: the error is visible, and no memory outside the
// arrays is accessed.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kGatherColumns = 128;
constexpr int64_t kShares = 64;

struct Indices {
  bool wide;
  int64_t rows;

  // -1: there is no such row.
  __device__ int64_t at(const void* indices, int64_t i) const {
    const int64_t index = wide ? static_cast<const int64_t*>(indices)[i] : static_cast<const int32_t*>(indices)[i];
    const int64_t row = index < 0 ? index + rows : index;
    return row >= 0 && row < rows ? row : -1;
  }
};

struct GatherShape {
  int64_t tables, rows, count, width;
};

GatherShape shape_of(const TensorDesc& table, const TensorDesc& y) {
  return {table.rank() == 3 ? table.dim(0) : 1, table.dim(table.rank() - 2), y.dim(y.rank() - 2), y.dim(y.rank() - 1)};
}

GatherShape by_few(GatherShape shape, int64_t at_once) {
  shape.width /= at_once;
  return shape;
}

// Here and below `width` counts groups of kAtOnce elements.
template <int kAtOnce, class From, class To>
__global__ void gather_kernel(GatherShape shape, Indices indices, const From* tables, const void* at, To* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.tables * shape.count * shape.width) return;
  const int64_t i = number / shape.width, table = i / shape.count, row = indices.at(at, i - table * shape.count);
  const From* const from = tables + kAtOnce * ((table * shape.rows + row) * shape.width + number - i * shape.width);
  cuda::store_few(y + kAtOnce * number, row < 0 ? cuda::few_of<kAtOnce>(nanf("")) : cuda::load_few<kAtOnce>(from));
}

template <int kAtOnce, class T>
__global__ void scatter_kernel(GatherShape shape, int64_t blocks, int64_t left_out, Indices indices, const void* at,
                               const T* dy, float* dtables) {
  const int64_t share = int64_t{blockIdx.x} % kShares, block = int64_t{blockIdx.x} / kShares;
  const int64_t table = block / blocks, column = (block - table * blocks) * kGatherColumns + threadIdx.x;
  if (column >= shape.width) return;
  for (int64_t i = 0; i < shape.count; ++i) {
    const int64_t row = indices.at(at, i);
    if (row < 0 || row % kShares != share || row == left_out) continue;
    float* const to = dtables + kAtOnce * ((table * shape.rows + row) * shape.width + column);
    auto sum = cuda::load_few<kAtOnce>(to);
    const auto slope = cuda::load_few<kAtOnce>(dy + kAtOnce * ((table * shape.count + i) * shape.width + column));
    for (int k = 0; k < kAtOnce; ++k) sum.of[k] += slope.of[k];
    cuda::store_few(to, sum);
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatherForward, {
  const GatherShape shape = shape_of(operands[0].tensor, operands[2].tensor);
  const Indices indices{operands[1].tensor.type == DataType::i64, shape.rows};
  return cuda::by_row(shape.width, [&](auto at_once) -> std::unique_ptr<Kernel> {
    constexpr int kAtOnce = decltype(at_once)::value;
    const GatherShape few = by_few(shape, kAtOnce);
    const auto made = [&]<class From, class To>(From, To) -> std::unique_ptr<Kernel> {
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("gather", gather_kernel<kAtOnce, From, To>, cuda::blocks_for(few.tables * few.count * few.width),
                     cuda::kThreads, context, few, indices, cuda::in<From>(operand, 0), operand[1],
                     cuda::out<To>(operand, 2));
      });
    };
    if (!is_narrow(operands[2].tensor.type)) return made(float{}, float{});
    return cuda::by_narrow(operands[2].tensor.type, [&](auto to) {
      return cuda::by_width_of<decltype(to)>(operands[0].tensor.type, [&](auto from) { return made(from, to); });
    });
  });
})

namespace {

std::unique_ptr<Kernel> gather_backward(std::span<const OperandDesc> operands, int64_t left_out) {
  const GatherShape shape = shape_of(operands[2].tensor, operands[1].tensor);
  const Indices indices{operands[0].tensor.type == DataType::i64, shape.rows};
  const size_t bytes = cuda::adds(operands[2]) ? 0 : static_cast<size_t>(operands[2].tensor.bytes());
  return cuda::by_row(shape.width, [&](auto at_once) -> std::unique_ptr<Kernel> {
    constexpr int kAtOnce = decltype(at_once)::value;
    const GatherShape few = by_few(shape, kAtOnce);
    const int64_t blocks = cuda::divided_up(few.width, kGatherColumns);  // per table
    return cuda::by_real(operands[1].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        if (bytes > 0) cuda::check(cudaMemsetAsync(operand[2], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
        cuda::launch("gather's gradient", scatter_kernel<kAtOnce, T>, few.tables * blocks * kShares, kGatherColumns,
                     context, few, blocks, left_out, indices, operand[0], cuda::in<T>(operand, 1),
                     cuda::out(operand, 2));
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatherBackward, { return gather_backward(operands, -1); })
PLIMSOLL_CUDA_KERNEL(PaddedGatherBackward, { return gather_backward(operands, attrs.row); })

}  // namespace plimsoll
