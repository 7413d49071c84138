// GatherForward  {table, indices, y}       table [rows, width], indices [count] i32 or i64, y [count, width]
// GatherBackward {indices, dy, dtable}     dtable[index] += dy
//
// Going back, the table is dealt out: a block has the rows whose number leaves its own when divided by kDecks, and as many
// columns as it has threads. It walks all indices and adds, in their order, what is for it. No atomics: the same bits
// every time. An index that is no row gives NaN, loud, and no stray access.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kColumns = 128;
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

__global__ void gather_kernel(int64_t elements, int64_t width, Indices indices, const float* table, const void* at, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= elements) return;
  const int64_t i = number / width, row = indices.at(at, i);
  y[number] = row < 0 ? nanf("") : table[row * width + number - i * width];
}

__global__ void scatter_kernel(int64_t count, int64_t width, Indices indices, const void* at, const float* dy, float* dtable) {
  const int64_t deck = int64_t{blockIdx.x} % kDecks, column = int64_t{blockIdx.x} / kDecks * kColumns + threadIdx.x;
  if (column >= width) return;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = indices.at(at, i);
    if (row >= 0 && row % kDecks == deck) dtable[row * width + column] += dy[i * width + column];
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GatherForward, {
  const Indices indices{operands[1].tensor.type == DataType::i64, operands[0].tensor.dim(0)};
  const int64_t width = operands[2].tensor.dim(1), elements = operands[2].tensor.elements();
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("gather", gather_kernel, cuda::blocks_for(elements), cuda::kThreads, context, elements, width, indices,
                 cuda::in(operand, 0), operand[1], cuda::out(operand, 2));
  });
})

PLIMSOLL_CUDA_KERNEL(GatherBackward, {
  const Indices indices{operands[0].tensor.type == DataType::i64, operands[2].tensor.dim(0)};
  const int64_t count = operands[1].tensor.dim(0), width = operands[1].tensor.dim(1);
  const size_t bytes = cuda::adds(operands[2]) ? 0 : static_cast<size_t>(operands[2].tensor.bytes());
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    if (bytes > 0) cuda::check(cudaMemsetAsync(operand[2], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
    cuda::launch("gather's gradient", scatter_kernel, cuda::divided_up(width, kColumns) * kDecks, kColumns, context, count,
                 width, indices, operand[0], cuda::in(operand, 1), cuda::out(operand, 2));
  });
})

}  // namespace plimsoll
