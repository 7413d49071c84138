// Concat {x0, x1, …, y}   Split {x, y0, y1, …}   Zero {y}
//
// The whole is a matrix: a row for every step of the axes in front, the pieces side by side in it. A launch for each piece.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/plain.h"
#include "runtime/cuda/strided.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// `n` steps, of four floats or of one, in rows of `width` steps that begin `to_pitch` and `from_pitch` floats apart.
template <bool kFour, bool kAdd, class Index>
__global__ void rows_kernel(Index n, Index width, int64_t to_pitch, int64_t from_pitch, float* to, const float* from) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index row = static_cast<Index>(number) / width, step = static_cast<Index>(number) - row * width;
  const int64_t along = static_cast<int64_t>(step) * (kFour ? 4 : 1);
  float* const y = to + static_cast<int64_t>(row) * to_pitch + along;
  const float* const x = from + static_cast<int64_t>(row) * from_pitch + along;
  if constexpr (kFour) {
    cuda::store4(y, kAdd ? cuda::operator+(cuda::load4(y), cuda::load4(x)) : cuda::load4(x));
  } else {
    *y = kAdd ? *y + *x : *x;
  }
}

struct Piece {
  size_t slot;
  int64_t at, width;  // elements of a row of the whole
  bool adds;
};

struct Pieces {
  size_t whole;
  bool gather;
  int64_t rows = 1, width = 1;
  std::vector<Piece> pieces = {};

  // `pieces` are slots [first_piece, last_piece); `whole` is a slot.
  Pieces(const PiecesAttrs& attrs, std::span<const OperandDesc> operands, size_t whole_slot, size_t first_piece,
         size_t last_piece, bool gathers)
      : whole(whole_slot), gather(gathers) {
    cuda::need_plain(operands);
    const TensorDesc& all = operands[whole].tensor;
    const size_t axis = static_cast<size_t>(attrs.axis);
    if (axis >= all.rank()) throw KernelError("an axis outside of the tensor");
    for (size_t i = 0; i < axis; ++i) rows *= all.dim(i);
    for (size_t i = axis; i < all.rank(); ++i) width *= all.dim(i);
    const int64_t inside = width / std::max<int64_t>(1, all.dim(axis));
    int64_t at = attrs.first * inside;
    for (size_t slot = first_piece; slot < last_piece; ++slot) {
      const int64_t piece = operands[slot].tensor.dim(axis) * inside;
      pieces.push_back({slot, at, piece, cuda::adds(operands[gather ? whole : slot])});
      at += piece;
    }
    if (at > width) throw KernelError("pieces longer than the whole");
  }

  void run(const Piece& piece, const RunContext& context, std::byte* const* operands) const {
    float* const part = cuda::out(operands, piece.slot);
    float* const of_whole = cuda::out(operands, whole) + piece.at;
    float* const to = gather ? of_whole : part;
    const float* const from = gather ? part : of_whole;
    const int64_t to_pitch = gather ? width : piece.width, from_pitch = gather ? piece.width : width;
    const bool by_four = piece.width % 4 == 0 && piece.at % 4 == 0 && width % 4 == 0;
    const int64_t steps = by_four ? piece.width / 4 : piece.width, n = rows * steps;
    cuda::by_flag(by_four, [&](auto four) {
      cuda::by_flag(piece.adds, [&](auto add) {
        cuda::by_index(n, [&](auto index) {
          using Index = decltype(index);
          cuda::launch("copy of a piece", rows_kernel<decltype(four)::value, decltype(add)::value, Index>,
                       cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n), static_cast<Index>(steps),
                       to_pitch, from_pitch, to, from);
        });
      });
    });
  }
};

std::unique_ptr<Kernel> pieces_kernel(const Pieces& pieces) {
  return cuda::kernel([pieces](const RunContext& context, std::byte* const* operands, std::byte*) {
    for (const Piece& piece : pieces.pieces) pieces.run(piece, context, operands);
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Concat, return pieces_kernel(Pieces(attrs, operands, operands.size() - 1, 0, operands.size() - 1, true));)
PLIMSOLL_CUDA_KERNEL(Split, return pieces_kernel(Pieces(attrs, operands, 0, 1, operands.size(), false));)

PLIMSOLL_CUDA_KERNEL(Zero, {
  const size_t bytes = static_cast<size_t>(operands[0].tensor.bytes());
  return cuda::kernel([bytes](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::check(cudaMemsetAsync(operand[0], 0, bytes, cuda::stream_of(context)), "cudaMemsetAsync");
  });
})

}  // namespace plimsoll
