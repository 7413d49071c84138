// Slice {x, y}   SliceBackward {dy, dx}   Transpose {x, y}: the same elements, traversed with other strides.
#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

std::vector<int64_t> strides_of(const TensorDesc& desc) {
  std::vector<int64_t> strides(desc.rank(), 1);
  for (size_t i = desc.rank(); i-- > 1;) strides[i - 1] = strides[i] * desc.dim(i);
  return strides;
}

// One thread per step of the loops {to, from}, with four adjacent elements or one.
template <int kAtOnce, bool kAdd, class Index, class T>
__global__ void copy_kernel(Index n, cuda::DeviceLoops<2> loops, T* to, const T* from) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<2> at = cuda::place(loops, static_cast<Index>(number));
  cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(from + at.of[1]);
  if constexpr (kAdd) {
    const cuda::Few<kAtOnce> there = cuda::load_few<kAtOnce>(to + at.of[0]);
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = there.of[k] + few.of[k];
  }
  cuda::store_few(to + at.of[0], few);
}

// A copy along loops {to, from}; `start` is the offset of one of them in its operand.
struct StridedCopy {
  bool by_four;
  int64_t steps;
  cuda::DeviceLoops<2> loops;

  explicit StridedCopy(const Loops<2>& over, int64_t start = 0)
      : by_four(cuda::four_at_once(over) && start % 4 == 0), steps(over.count(0) / (by_four ? 4 : 1)),
        loops(cuda::on_device(over, by_four ? 4 : 1)) {}

  // To element `to_start` of `to`, from element `from_start` of `from`. An element of a type of four or eight bytes is
  // one float, or two.
  void run(const RunContext& context, const OperandDesc& result, std::byte* to, int64_t to_start, const std::byte* from,
           int64_t from_start) const {
    cuda::by_real(result.tensor.type, [&](auto zero) {
      using T = decltype(zero);
      cuda::by_flag(by_four, [&](auto four) {
        cuda::by_adding<T>(result, [&](auto adds) {
          cuda::by_index(steps, [&](auto index) {
            using Index = decltype(index);
            cuda::launch("strided copy", copy_kernel < decltype(four)::value ? 4 : 1, decltype(adds)::value, Index, T >,
                         cuda::blocks_for(steps), cuda::kThreads, context, static_cast<Index>(steps), loops,
                         reinterpret_cast<T*>(to) + to_start, reinterpret_cast<const T*>(from) + from_start);
          });
        });
      });
    });
  }
};

// The part of `whole` that a slice selects: loops over the slice, with its strides and those of the whole.
struct Window {
  Loops<2> loops;     // part, whole
  int64_t start = 0;  // in the whole

  Window(const SliceAttrs& attrs, const TensorDesc& part, const TensorDesc& whole) {
    const std::vector<int64_t> inner = strides_of(part), outer = strides_of(whole);
    loops.around(1, {1, 1});
    for (size_t axis = part.rank(); axis-- > 0;) {
      loops.around(part.dim(axis), {inner[axis], outer[axis] * attrs.steps[axis]});
      start += attrs.starts[axis] * outer[axis];
    }
  }
};

// If x and y are contiguous along different axes, tiles pass through shared memory, so that both are accessed in whole
// cache lines. One padding column keeps the columns of a tile in different banks.
constexpr int kStridedTile = 32, kTileRows = 8;

template <bool kAdd, class T>
__global__ void strided_transpose_kernel(int64_t columns, int64_t lines, int64_t x_step, int64_t y_step,
                                         cuda::DeviceLoops<2> around, T* y, const T* x) {
  __shared__ float tile[kStridedTile][kStridedTile + 1];
  const int64_t across = (columns + kStridedTile - 1) / kStridedTile, down = (lines + kStridedTile - 1) / kStridedTile;
  const int64_t square = int64_t{blockIdx.x} % (across * down);
  const cuda::Places<2> at = cuda::place(around, static_cast<uint64_t>(int64_t{blockIdx.x} / (across * down)));
  const int64_t column = square % across * kStridedTile, line = square / across * kStridedTile;
  const int a = static_cast<int>(threadIdx.x) % kStridedTile, b = static_cast<int>(threadIdx.x) / kStridedTile;
  for (int i = b; i < kStridedTile; i += kTileRows)
    if (column + i < columns && line + a < lines)
      tile[i][a] = cuda::load_one(x + at.of[1] + (column + i) * x_step + line + a);
  __syncthreads();
  for (int i = b; i < kStridedTile; i += kTileRows) {
    if (column + a >= columns || line + i >= lines) continue;
    T* const to = y + at.of[0] + (line + i) * y_step + column + a;
    cuda::store_one(to, kAdd ? cuda::load_one(to) + tile[a][i] : tile[a][i]);
  }
}

// Words per element: moved without interpretation. An element in 16 bits is one.
int64_t words_of(const TensorDesc& desc) { return std::max<int64_t>(1, bytes_of(desc.type) / 4); }

// Loops over y in its order: {y, x}. `along` is the loop along which x is contiguous; 0: only the innermost.
struct Turned {
  Loops<2> loops;
  size_t along = 0;

  Turned(const TransposeAttrs& attrs, const TensorDesc& x, const TensorDesc& y) {
    const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
    const int64_t words = words_of(x);
    loops.around(words, {1, 1});
    for (size_t axis = y.rank(); axis-- > 0;)
      loops.around(y.dim(axis), {words * to[axis], words * from[static_cast<size_t>(attrs.perm[axis])]});
    for (size_t i = 1; i < loops.depth(); ++i)
      if (loops.strides[1][i] == 1) along = i;
  }
};

std::unique_ptr<Kernel> transpose(const Turned& turned, const OperandDesc& result) {
  const Loops<2>& loops = turned.loops;
  Loops<2> others;
  for (size_t i = 1; i < loops.depth(); ++i)
    if (i != turned.along) others.around(loops.counts[i], {loops.strides[0][i], loops.strides[1][i]});
  const int64_t columns = loops.counts[0], lines = loops.counts[turned.along];
  const int64_t x_step = loops.strides[1][0], y_step = loops.strides[0][turned.along];
  const int64_t blocks =
      others.count(0) * cuda::divided_up(columns, kStridedTile) * cuda::divided_up(lines, kStridedTile);
  const cuda::DeviceLoops<2> around = cuda::on_device(others);
  return cuda::by_real(result.tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return cuda::by_adding<T>(result, [&](auto adds) -> std::unique_ptr<Kernel> {
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("transpose", strided_transpose_kernel<decltype(adds)::value, T>, blocks, kStridedTile * kTileRows,
                     context, columns, lines, x_step, y_step, around, cuda::out<T>(operand, 1),
                     cuda::in<T>(operand, 0));
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Slice, {
  cuda::need_plain(operands);
  const Window window(attrs, operands[1].tensor, operands[0].tensor);
  return cuda::kernel([copy = StridedCopy(window.loops, window.start), start = window.start, result = operands[1]](
                          const RunContext& context, std::byte* const* operand, std::byte*) {
    copy.run(context, result, operand[1], 0, operand[0], start);
  });
})

PLIMSOLL_CUDA_KERNEL(SliceBackward, {
  cuda::need_plain(operands);
  Window window(attrs, operands[0].tensor, operands[1].tensor);
  std::swap(window.loops.strides[0], window.loops.strides[1]);
  return cuda::kernel([copy = StridedCopy(window.loops, window.start), start = window.start, result = operands[1],
                       bytes = static_cast<size_t>(operands[1].tensor.bytes())](const RunContext& context,
                                                                                std::byte* const* operand, std::byte*) {
    if (!cuda::adds(result))
      cuda::check(cudaMemsetAsync(operand[1], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
    copy.run(context, result, operand[1], start, operand[0], 0);
  });
})

PLIMSOLL_CUDA_KERNEL(Transpose, {
  cuda::need_plain(operands);
  const Turned turned(attrs, operands[0].tensor, operands[1].tensor);
  if (turned.along != 0 && turned.loops.strides[1][0] != 1) return transpose(turned, operands[1]);
  return cuda::kernel([copy = StridedCopy(turned.loops), result = operands[1]](const RunContext& context,
                                                                               std::byte* const* operand, std::byte*) {
    copy.run(context, result, operand[1], 0, operand[0], 0);
  });
})

}  // namespace plimsoll
