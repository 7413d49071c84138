// Products of matrices in bf16 that are computed in f32: y = alpha · op(a) · op(b) + an addend, or y += it. Blocks of a
// and b are converted to f32, multiplied by oneDNN, and added up. If y is bf16, a block of it is added up in f32, and
// then rounded. So the copies in f32 take the bytes of three blocks, whatever the matrices.
//
//   workspace  | block of a | block of b | block of y, if y is bf16 | scratchpad |
//
//   for each block of columns of y, for each block of rows of y
//     y ← the addend
//     for each block of the inner dimension, in order
//       widen a and b, y += a · b
//     round y
//
// The order of the additions depends on the sizes alone. Small matrices are multiplied several at once.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/host/repeated_product.h"

namespace plimsoll::host {

class WidenedProduct {
 public:
  // What is added to the product: factor · c, in f32 or bf16. The steps are 0 where c is broadcast.
  struct Addend {
    DataType type = DataType::f32;
    float factor = 1;
    int64_t row_step = 0, column_step = 1;
    std::vector<int64_t> at = {0};  // the first element for each product
  };
  // Several products of the same sizes. The results follow one another.
  struct Series {
    std::vector<int64_t> a = {0}, b = {0};  // the first elements of the factors
    float alpha = 1;
    std::optional<Addend> addend = {};
  };

  // `sizes.factors` is bf16. `sizes.adds_row`: an addend of one row in f32. Only a result in f32 accumulates.
  explicit WidenedProduct(const RepeatedProduct::Sizes& sizes);
  WidenedProduct(const RepeatedProduct::Sizes& sizes, const Series& series);

  int64_t workspace_bytes() const { return scratchpad_at_ + scratchpad_bytes_; }
  // As those of RepeatedProduct. Both only set addresses until run() converts blocks.
  void begin(const void* b, std::byte* workspace, const void* addend = nullptr);
  void run(const void* a, void* y);

 private:
  // The sizes of a block, and whether its product is added to y.
  struct Block {
    int64_t count, rows, columns, inner;
    bool adds;
    auto operator<=>(const Block&) const = default;
  };
  struct Product {
    dnnl::matmul primitive;
    dnnl::memory a, b, y, scratchpad;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  // The first element of a block in each dimension.
  struct Place {
    int64_t first, row, column, inner;
  };

  Product made(const Block& block);
  template <class Visit>
  void for_each_block(Visit visit) const;
  void seed(const Place& at, const Block& block, float* y) const;

  const RepeatedProduct::Sizes sizes_;
  const Series series_;
  bool seeded_, rounds_;
  Block most_;  // the sizes of a block that is not the last
  std::map<Block, Product> products_;
  Arguments scales_;  // alpha, if oneDNN needs it as an argument
  int64_t b_at_ = 0, y_at_ = 0, scratchpad_at_ = 0, scratchpad_bytes_ = 0;

  // Of one run.
  const std::byte *b_ = nullptr, *addend_ = nullptr;
  std::byte* workspace_ = nullptr;
};

}  // namespace plimsoll::host
