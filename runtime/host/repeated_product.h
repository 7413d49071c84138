// A product of matrices that runs many times in a kernel, by oneDNN: y = op(a) · op(b), with a row added or not, or
// y += it. If b is the same each time, it can be brought once into the layout that oneDNN multiplies fastest.
//
//   workspace  | b in that layout, if it is packed | scratchpad |
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/host/engine.h"

namespace plimsoll::host {

// The first implementation that allocates nothing when it runs (see ops/matmul.cpp), or else, for f32, the first.
// Throws a KernelError if there is none.
dnnl::matmul::primitive_desc preferred(const std::vector<dnnl::matmul::primitive_desc>& offered, DataType factors);

class RepeatedProduct {
 public:
  struct Sizes {
    int64_t rows, columns, inner;
    bool transpose_a = false, transpose_b = false;
    bool accumulates = false;
    bool packs = false;
    bool adds_row = false;                                     // a row in f32 is added to every row of y
    DataType factors = DataType::f32, result = DataType::f32;  // f32 or bf16
  };

  // Throws a KernelError if the factors are narrow and oneDNN has only an implementation that allocates in each run.
  explicit RepeatedProduct(const Sizes& sizes);

  int64_t workspace_bytes() const { return packed_bytes_ + scratchpad_bytes_; }
  // Sets b, and packs it. `row`: to add, if sizes say so.
  void begin(const void* b, std::byte* workspace, const float* row = nullptr);
  void run(const void* a, void* y);

 private:
  dnnl::matmul product_;
  dnnl::reorder packing_;  // empty: b is used as it is
  dnnl::memory a_, b_, packed_, y_, row_, scratchpad_, packing_scratchpad_;
  int64_t packed_bytes_ = 0, scratchpad_bytes_ = 0;
};

}  // namespace plimsoll::host
