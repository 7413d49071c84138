// What cuda's kernels of recurrent networks share.
//
// A step is a product of the state with r by cuBLASLt, whose algorithms are those of MatMul, then a kernel with a
// thread for each element of the state. A step of an operand need not begin where cuBLASLt's fastest algorithms want
// it, so the products read and write the workspace.
#pragma once

#include <algorithm>
#include <array>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/matmul.h"
#include "runtime/recurrent.h"

namespace plimsoll::cuda {

inline bool present(const OperandDesc& operand) { return operand.access != Access::absent; }

inline OperandDesc matrix(int64_t rows, int64_t columns, Access access = Access::read) {
  return {.tensor = f32({rows, columns}), .access = access};
}
using ProductOperands = std::array<OperandDesc, 4>;

// Hands out parts of the workspace, on the boundaries that cuBLASLt's fastest algorithms want.
class Parts {
 public:
  explicit Parts(std::byte* workspace) : free_(workspace) {}
  float* take(int64_t floats) {
    float* const part = reinterpret_cast<float*>(free_);
    free_ += bytes_of(floats);
    return part;
  }
  std::byte* rest() const { return free_; }
  static int64_t bytes_of(int64_t floats) { return (floats * 4 + 255) / 256 * 256; }

 private:
  std::byte* free_;
};

inline std::byte* bytes(const float* at) { return reinterpret_cast<std::byte*>(const_cast<float*>(at)); }

template <class T>
T* at_step(T* all, int64_t offset) {
  return all ? all + offset : nullptr;
}

inline void copy_state(const RunContext& context, const float* from, float* to, int64_t elements) {
  if (!to) return;
  if (!from) {
    check(cudaMemsetAsync(to, 0, static_cast<size_t>(elements) * 4, stream_of(context)), "cudaMemsetAsync");
    return;
  }
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(elements) * 4, cudaMemcpyDeviceToDevice, stream_of(context)),
        "cudaMemcpyAsync of a state");
}

// Where the gates of element i of a state are.
struct GatePlaces {
  int64_t size, rows, gate[4];

  explicit GatePlaces(const RecurrentShape& s)
      : size(s.size), rows(s.rows), gate{s.gate[0], s.gate[1], s.gate[2], s.gate[3]} {}
  __device__ int64_t of(int which, int64_t i) const { return i / size * rows + of_bias(which, i); }
  __device__ int64_t of_bias(int which, int64_t i) const { return gate[which] + i % size; }
};

__device__ inline float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

// The algorithms of a product, with the workspace of the kernel around it.
inline std::vector<Algorithm> algorithms_around(const MatMulAttrs& attrs, const ProductOperands& product,
                                                int64_t bytes) {
  std::vector<Algorithm> all = MatMul::algorithms(attrs, product);
  for (Algorithm& one : all) one.workspace_bytes += bytes;
  return all;
}

// The same around two products, in one workspace. The larger result has the algorithms of the smaller one, and perhaps
// more, whose names the smaller one lacks.
inline std::vector<Algorithm> algorithms_around(const MatMulAttrs& attrs, const ProductOperands& smaller,
                                                const ProductOperands& larger, int64_t bytes) {
  std::vector<Algorithm> all = algorithms_around(attrs, smaller, bytes);
  for (const Algorithm& other : algorithms_around(attrs, larger, bytes))
    for (Algorithm& one : all)
      if (one.name == other.name) one.workspace_bytes = std::max(one.workspace_bytes, other.workspace_bytes);
  return all;
}

// Of parts that begin at these elements of operands, in bytes.
inline int64_t alignment_of(std::initializer_list<int64_t> offsets) {
  int64_t alignment = 256;
  for (const int64_t offset : offsets)
    while (offset * 4 % alignment != 0) alignment /= 2;
  return alignment;
}

}  // namespace plimsoll::cuda
