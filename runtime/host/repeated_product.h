// A product of matrices in f32 that runs many times in a kernel, by oneDNN: y = op(a) · op(b), or y += it. If b is the
// same each time, it is brought once into the layout that oneDNN multiplies fastest.
//
//   workspace  | b in that layout, if it is packed | scratchpad |
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/host/engine.h"

namespace plimsoll::host {

class RepeatedProduct {
 public:
  struct Sizes {
    int64_t rows, columns, inner;
    bool transpose_a = false, transpose_b = false;
    bool accumulates = false;
    bool packs = false;
  };

  explicit RepeatedProduct(const Sizes& sizes);

  int64_t workspace_bytes() const { return packed_bytes_ + scratchpad_bytes_; }
  // Sets b, and packs it.
  void begin(const float* b, std::byte* workspace);
  void run(const float* a, float* y);

 private:
  dnnl::matmul product_;
  dnnl::reorder packing_;  // empty: b is used as it is
  dnnl::memory a_, b_, packed_, y_, scratchpad_, packing_scratchpad_;
  int64_t packed_bytes_ = 0, scratchpad_bytes_ = 0;
};

}  // namespace plimsoll::host
