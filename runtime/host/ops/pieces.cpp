// Concat {x0, x1, …, y}   Split {x, y0, y1, …}   Zero {y}
//
// The whole is a matrix with a row for every step of the preceding axes, in which the pieces are next to each other.
//   Blocked channels: [N, C, H, W] is stored as [N, C/16, H, W, 16], so a piece of whole blocks is contiguous there,
//   too.
#include <cstring>

#include "runtime/host/flat_kernel.h"
#include "runtime/loops.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

class PiecesKernel final : public Kernel {
 public:
  // `pieces` are slots [first_piece, last_piece); `whole` is a slot.
  PiecesKernel(const PiecesAttrs& attrs, std::span<const OperandDesc> operands, size_t whole, size_t first_piece,
               size_t last_piece, bool gather)
      : whole_(whole), gather_(gather) {
    const size_t axis = static_cast<size_t>(attrs.axis);
    const auto dims_of = [&](size_t slot) {
      const TensorDesc& desc = operands[slot].tensor;
      return physical_dims(desc, desc.rank(), desc.layout);
    };
    const std::vector<int64_t> all = dims_of(whole);
    if (axis >= all.size()) throw KernelError("an axis outside of the tensor");
    for (size_t i = 0; i < axis; ++i) rows_ *= all[i];
    for (size_t i = axis; i < all.size(); ++i) width_ *= all[i];
    const int64_t inside = width_ / all[axis];
    const int64_t block = axis == 1 ? std::max<int64_t>(1, block_of(operands[whole].tensor.layout)) : 1;
    int64_t at = attrs.first / block * inside;
    for (size_t slot = first_piece; slot < last_piece; ++slot) {
      const int64_t width = dims_of(slot)[axis] * inside;
      const bool adds = operands[gather ? whole : slot].access == Access::update;
      pieces_.push_back({.slot = slot, .at = at, .width = width, .adds = adds});
      if (operands[slot].tensor.layout != operands[whole].tensor.layout)
        throw KernelError("pieces of different layouts");
      at += width;
    }
    if (at > width_) throw KernelError("pieces longer than the whole");
  }

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    // Long pieces are split, so that every thread has work.
    constexpr int64_t kPieceChunk = 16384;
    for (const Piece& piece : pieces_) {
      const int64_t chunks = (piece.width + kPieceChunk - 1) / kPieceChunk;
#pragma omp parallel for schedule(static) if (rows_ * piece.width > 16384)
      for (int64_t i = 0; i < rows_ * chunks; ++i) {
        const int64_t row = i / chunks, first = i % chunks * kPieceChunk, n = std::min(kPieceChunk, piece.width - first);
        const int64_t in_whole = row * width_ + piece.at + first, in_piece = row * piece.width + first;
        const float* from = gather_ ? host::in(operands, piece.slot) + in_piece : host::in(operands, whole_) + in_whole;
        float* to = gather_ ? host::out(operands, whole_) + in_whole : host::out(operands, piece.slot) + in_piece;
        if (piece.adds) {
          for (int64_t j = 0; j < n; ++j) to[j] += from[j];
        } else {
          std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
        }
      }
    }
  }

 private:
  struct Piece {
    size_t slot;
    int64_t at, width;  // elements within a row of the whole
    bool adds;
  };
  size_t whole_;
  bool gather_;
  int64_t rows_ = 1, width_ = 1;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Algorithm> Concat::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Concat::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<PiecesKernel>(attrs, operands, operands.size() - 1, 0, operands.size() - 1, true);
}

std::vector<Algorithm> Split::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Split::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<PiecesKernel>(attrs, operands, 0, 1, operands.size(), false);
}

std::vector<Algorithm> Zero::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Zero::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.padded_elements();
  return host::flat_kernel([n](const RunContext&, std::byte* const* operand) {
    float* y = host::out(operand, 0);
    host::for_elements(n, [=](int64_t i) { y[i] = 0; });
  });
}

}  // namespace plimsoll
