// Concat {x0, x1, …, y}   Split {x, y0, y1, …}   Zero {y}
//
// The whole is a matrix with a row for every step of the preceding axes in memory order, in which the pieces are next
// to each other. The list of pieces is passed as the kernel's argument, so that many pieces need one launch:
//
//   piece     0         1     2
//   blocks  | 0 1 2 3 | 4 | 5 6 |      a block has a stretch of one piece
#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/tensors.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 30;  // per launch

// Pieces that are copied the same way: all in groups of four elements, or all one by one; all accumulated, or all
// written.
struct PieceList {
  static constexpr int kAtMost = 96;  // fits 4 KiB

  int count = 0;
  int32_t ends[kAtMost];    // cumulative number of blocks, including this piece
  int64_t at[kAtMost];      // offset of the piece in a row of the whole, in elements
  int64_t widths[kAtMost];  // elements of the piece per row
  std::byte* of[kAtMost];

  int64_t blocks() const { return count == 0 ? 0 : ends[count - 1]; }
};

template <bool kGather, bool kFour, bool kAdd, class Index, class T>
__global__ void pieces_kernel(const __grid_constant__ PieceList pieces, int64_t rows, int64_t pitch, T* whole) {
  constexpr int64_t kAtOnce = kFour ? 4 : 1;
  const auto [piece, block] = cuda::share_of_block(pieces);
  const int64_t width = pieces.widths[piece], number = block * blockDim.x + threadIdx.x;
  const Index steps = static_cast<Index>(width / kAtOnce);
  const Index row = static_cast<Index>(number) / steps, step = static_cast<Index>(number) - row * steps;
  if (static_cast<int64_t>(row) >= rows) return;
  const int64_t along = static_cast<int64_t>(step) * kAtOnce;
  T* const in_piece = reinterpret_cast<T*>(pieces.of[piece]) + static_cast<int64_t>(row) * width + along;
  T* const in_whole = whole + static_cast<int64_t>(row) * pitch + pieces.at[piece] + along;
  T* const to = kGather ? in_whole : in_piece;
  const T* const from = kGather ? in_piece : in_whole;
  if constexpr (kFour) {
    cuda::put_few<kAdd>(to, cuda::load_few<4>(from));
  } else {
    cuda::store_one(to, kAdd ? cuda::load_one(to) + cuda::load_one(from) : cuda::load_one(from));
  }
}

struct Piece {
  size_t slot;
  int64_t at, width;  // in elements of a row of the whole
  bool adds, by_four;
  int64_t blocks(int64_t rows) const { return cuda::blocks_for(rows * (by_four ? width / 4 : width)); }
};

struct Pieces {
  size_t whole;
  bool gather;
  DataType type;
  int64_t rows = 1, width = 1;
  std::vector<Piece> pieces = {};

  // `pieces` are slots [first_piece, last_piece); `whole` is a slot.
  Pieces(const PiecesAttrs& attrs, std::span<const OperandDesc> operands, size_t whole_slot, size_t first_piece,
         size_t last_piece, bool gathers)
      : whole(whole_slot), gather(gathers), type(operands[whole_slot].tensor.type) {
    cuda::need_one_order(operands);
    const Layout layout = operands[whole].tensor.layout;
    const TensorDesc all = cuda::as_it_lies(operands[whole].tensor);
    if (attrs.axis < 0 || static_cast<size_t>(attrs.axis) >= all.rank())
      throw KernelError("an axis outside of the tensor");
    const size_t axis = cuda::axis_as_it_lies(static_cast<size_t>(attrs.axis), layout);
    for (size_t i = 0; i < axis; ++i) rows *= all.dim(i);
    for (size_t i = axis; i < all.rank(); ++i) width *= all.dim(i);
    const int64_t inside = width / std::max<int64_t>(1, all.dim(axis));
    int64_t at = attrs.first * inside;
    for (size_t slot = first_piece; slot < last_piece; ++slot) {
      const int64_t piece = cuda::as_it_lies(operands[slot].tensor).dim(axis) * inside;
      const bool by_four = piece % 4 == 0 && at % 4 == 0 && width % 4 == 0;
      pieces.push_back({slot, at, piece, cuda::adds(operands[gather ? whole : slot]), by_four});
      if (pieces.back().blocks(rows) > kMostBlocks)
        throw KernelError("a piece of " + std::to_string(rows * piece) + " elements in one launch");
      at += piece;
    }
    if (at > width) throw KernelError("pieces longer than the whole");
    // Groups pieces that are copied the same way: the order does not matter, because pieces do not overlap.
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return kind(a) < kind(b); });
  }

  static int kind(const Piece& piece) { return 2 * (piece.adds ? 1 : 0) + (piece.by_four ? 1 : 0); }

  void launch(const PieceList& list, const Piece& like, const RunContext& context, std::byte* of_whole) const {
    int64_t most = 0;  // the largest thread number within a piece
    for (int i = 0; i < list.count; ++i) most = std::max<int64_t>(most, int64_t{list.ends[i]} * cuda::kThreads);
    const auto launched = [&](auto zero, auto add) {
      using T = decltype(zero);
      cuda::by_flag(gather, [&](auto gathers) {
        cuda::by_flag(like.by_four, [&](auto four) {
          cuda::by_index(most, [&](auto index) {
            cuda::launch("copy of pieces",
                         pieces_kernel<decltype(gathers)::value, decltype(four)::value, decltype(add)::value,
                                       decltype(index), T>,
                         list.blocks(), cuda::kThreads, context, list, rows, width, reinterpret_cast<T*>(of_whole));
          });
        });
      });
    };
    if (is_narrow(type)) return cuda::by_narrow(type, [&](auto zero) { launched(zero, std::false_type{}); });
    cuda::by_flag(like.adds, [&](auto add) { launched(float{}, add); });
  }

  void run(const RunContext& context, std::byte* const* operands) const {
    std::byte* const of_whole = operands[whole];
    PieceList list;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const int64_t blocks = piece.blocks(rows);
      if (list.count == PieceList::kAtMost || list.blocks() + blocks > kMostBlocks ||
          (list.count > 0 && kind(pieces[i - 1]) != kind(piece))) {
        launch(list, pieces[i - 1], context, of_whole);
        list.count = 0;
      }
      list.at[list.count] = piece.at;
      list.widths[list.count] = piece.width;
      list.of[list.count] = operands[piece.slot];
      list.ends[list.count] = static_cast<int32_t>(list.blocks() + blocks);
      ++list.count;
    }
    if (list.count > 0) launch(list, pieces.back(), context, of_whole);
  }
};

std::unique_ptr<Kernel> copy_of(const Pieces& pieces) {
  return cuda::kernel(
      [pieces](const RunContext& context, std::byte* const* operands, std::byte*) { pieces.run(context, operands); });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Concat,
                     return copy_of(Pieces(attrs, operands, operands.size() - 1, 0, operands.size() - 1, true));)
PLIMSOLL_CUDA_KERNEL(Split, return copy_of(Pieces(attrs, operands, 0, 1, operands.size(), false));)

PLIMSOLL_CUDA_KERNEL(Zero, {
  const size_t bytes = static_cast<size_t>(operands[0].tensor.bytes());
  return cuda::kernel([bytes](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::check(cudaMemsetAsync(operand[0], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
  });
})

}  // namespace plimsoll
