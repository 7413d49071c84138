// GatherForward  {table, indices, y}       table [rows, width], indices [count] i32 or i64, y [count, width]
// GatherBackward {indices, dy, dtable}     dtable[index] += dy
// or of many tables by the same indices: [tables, rows, width], y [tables, count, width].
//
// Going back, each table is dealt out: a block has the rows whose number leaves its own when divided by kDecks, and as many
// columns as it has threads. It walks all indices and adds, in their order, what is for it. No atomics: the same bits
// every time. An index that is no row gives NaN, loud, and no stray access.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kGatherColumns = 128;
constexpr int64_t kDecks = 64;

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

__global__ void gather_kernel(GatherShape shape, Indices indices, const float* tables, const void* at, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= shape.tables * shape.count * shape.width) return;
  const int64_t i = number / shape.width, table = i / shape.count, row = indices.at(at, i - table * shape.count);
  y[number] = row < 0 ? nanf("") : tables[(table * shape.rows + row) * shape.width + number - i * shape.width];
}

__global__ void scatter_kernel(GatherShape shape, int64_t blocks, Indices indices, const void* at, const float* dy, float* dtables) {
  const int64_t deck = int64_t{blockIdx.x} % kDecks, block = int64_t{blockIdx.x} / kDecks;
  const int64_t table = block / blocks, column = (block - table * blocks) * kGatherColumns + threadIdx.x;
  if (column >= shape.width) return;
  for (int64_t i = 0; i < shape.count; ++i) {
    const int64_t row = indices.at(at, i);
    if (row >= 0 && row % kDecks == deck)
      dtables[(table * shape.rows + row) * shape.width + column] += dy[(table * shape.count + i) * shape.width + column];
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatherForward, {
  const GatherShape shape = shape_of(operands[0].tensor, operands[2].tensor);
  const Indices indices{operands[1].tensor.type == DataType::i64, shape.rows};
  const int64_t elements = operands[2].tensor.elements();
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("gather", gather_kernel, cuda::blocks_for(elements), cuda::kThreads, context, shape, indices,
                 cuda::in(operand, 0), operand[1], cuda::out(operand, 2));
  });
})

PLIMSOLL_CUDA_KERNEL(GatherBackward, {
  const GatherShape shape = shape_of(operands[2].tensor, operands[1].tensor);
  const Indices indices{operands[0].tensor.type == DataType::i64, shape.rows};
  const int64_t blocks = cuda::divided_up(shape.width, kGatherColumns);  // of a table
  const size_t bytes = cuda::adds(operands[2]) ? 0 : static_cast<size_t>(operands[2].tensor.bytes());
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    if (bytes > 0) cuda::check(cudaMemsetAsync(operand[2], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
    cuda::launch("gather's gradient", scatter_kernel, shape.tables * blocks * kDecks, kGatherColumns, context, shape,
                 blocks, indices, operand[0], cuda::in(operand, 1), cuda::out(operand, 2));
  });
})

}  // namespace plimsoll
