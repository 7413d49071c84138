// Concat {x0, x1, …, y}   Split {x, y0, y1, …}   Zero {y}
//
// The whole is a matrix with a row for every step of the preceding axes, in which the pieces are next to each other.
//   Blocked channels: [N, C, H, W] is stored as [N, C/16, H, W, 16], so a piece of whole blocks is contiguous there,
//   too.
// The whole and each piece are f32 or bf16.
#include <cstring>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

class PiecesKernel final : public Kernel {
 public:
  // `pieces` are slots [first_piece, last_piece); `whole` is a slot.
  PiecesKernel(const PiecesAttrs& attrs, std::span<const OperandDesc> operands, size_t whole, size_t first_piece,
               size_t last_piece, bool gather)
      : whole_(whole), gather_(gather), type_(operands[whole].tensor.type) {
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
      pieces_.push_back({.slot = slot, .type = operands[slot].tensor.type, .at = at, .width = width, .adds = adds});
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
        const int64_t row = i / chunks, first = i % chunks * kPieceChunk,
                      n = std::min(kPieceChunk, piece.width - first);
        const int64_t in_whole = row * width_ + piece.at + first, in_piece = row * piece.width + first;
        const Place of_whole{operands[whole_], type_, in_whole}, of_piece{operands[piece.slot], piece.type, in_piece};
        if (gather_) copy(of_piece, of_whole, n, piece.adds);
        else copy(of_whole, of_piece, n, piece.adds);
      }
    }
  }

 private:
  struct Place {
    std::byte* tensor;
    DataType type;
    int64_t at;
  };

  static void copy(const Place& source, const Place& target, int64_t n, bool adds) {
    if (source.type == target.type && !adds) {
      const int64_t width = bytes_of(source.type);
      std::memcpy(target.tensor + target.at * width, source.tensor + source.at * width, static_cast<size_t>(n * width));
      return;
    }
    host::by_real(source.type, [&](auto x) {
      host::by_real(target.type, [&](auto y) {
        const auto* from = reinterpret_cast<const decltype(x)*>(source.tensor) + source.at;
        auto* to = reinterpret_cast<decltype(y)*>(target.tensor) + target.at;
        if (adds) {
          for (int64_t j = 0; j < n; ++j) to[j] = to[j] + static_cast<float>(from[j]);
        } else {
          for (int64_t j = 0; j < n; ++j) to[j] = static_cast<float>(from[j]);
        }
      });
    });
  }

  struct Piece {
    size_t slot;
    DataType type;
    int64_t at, width;  // elements within a row of the whole
    bool adds;
  };
  size_t whole_;
  bool gather_;
  DataType type_;
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
  const int64_t n = operands[0].tensor.bytes();
  return host::flat_kernel([n](const RunContext&, std::byte* const* operand) {
    auto* y = operand[0];
    host::for_elements(n, [=](int64_t i) { y[i] = std::byte{0}; });
  });
}

}  // namespace plimsoll
