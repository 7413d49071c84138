// Broadcasting as loops over memory: NumPy's rules become a nest of loops with one stride per operand, 0 where the
// operand is broadcast. Adjacent loops that traverse memory contiguously are merged, so operands of equal shape need a
// single loop, whatever their rank and layout.
//
//   x [8,64,56,56], s [1,64,1,1]    innermost first
//     plain     counts {3136, 64, 8}        x {1, 3136, 200704}         s {0, 1, 0}
//     nChw16c   counts {16, 3136, 4, 8}     x {1, 16, 50176, 200704}    s {1, 0, 16, 0}
//     nhwc      counts {64, 25088}          x {1, 64}                   s {1, 0}
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll {

// Whether it is a layout of activations other than plain.
inline bool is_image_layout(Layout layout) { return block_of(layout) > 0 || layout == Layout::nhwc; }

// The dimensions in memory order, with leading ones up to `rank`. Together with operands in a layout `around` that is
// not plain, a tensor with one pixel per channel ([C,1,1] with nChw16c) is treated as having that layout, because its
// bytes are the same.
inline std::vector<int64_t> physical_dims(const TensorDesc& desc, size_t rank, Layout around) {
  std::vector<int64_t> dims(rank - std::min(rank, desc.rank()), 1);
  dims.insert(dims.end(), desc.dims.begin(), desc.dims.end());
  if (around == Layout::plain) return dims;
  if (rank != 4)
    throw KernelError("layout " + std::string(name_of(around)) + " among operands of rank " + std::to_string(rank));
  if (desc.layout != around && dims[2] * dims[3] != 1) throw KernelError("operands of different layouts");
  if (around == Layout::nhwc) return {dims[0], dims[2], dims[3], dims[1]};
  const int64_t block = block_of(around);
  if (dims[1] == 1) return {dims[0], 1, dims[2], dims[3], 1};
  if (dims[1] % block != 0)
    throw KernelError(std::to_string(dims[1]) + " channels in blocks of " + std::to_string(block));
  return {dims[0], dims[1] / block, dims[2], dims[3], block};
}

template <size_t K>
struct Loops {
  std::vector<int64_t> counts;                   // innermost first
  std::array<std::vector<int64_t>, K> strides;  // in elements

  size_t depth() const { return counts.size(); }

  // Adds an outer loop, or extends the outermost loop if memory is contiguous in every operand.
  void around(int64_t count, const std::array<int64_t, K>& step) {
    if (count == 1 && !counts.empty()) return;
    bool merges = !counts.empty();
    for (size_t k = 0; k < K && merges; ++k) merges = step[k] == strides[k].back() * counts.back();
    if (merges) {
      counts.back() *= count;
      return;
    }
    // A loop of one step, created by a scalar, is replaced.
    if (counts.size() == 1 && counts[0] == 1) {
      counts.clear();
      for (size_t k = 0; k < K; ++k) strides[k].clear();
    }
    counts.push_back(count);
    for (size_t k = 0; k < K; ++k) strides[k].push_back(step[k]);
  }

  // Number of steps of the loops from `first` outwards.
  int64_t count(size_t first) const {
    int64_t n = 1;
    for (size_t i = first; i < depth(); ++i) n *= counts[i];
    return n;
  }
  // body(offsets) for the steps [begin, end) of the loops from `first` outwards; offsets[k] is that of operand k. Only
  // the first offsets take divisions, the others follow by additions.
  template <class Body>
  void walk(size_t first, int64_t begin, int64_t end, Body body) const {
    std::array<int64_t, kMaxRank + 2> place = {};
    std::array<int64_t, K> offsets = {};
    for (size_t k = 0; k < K; ++k) offsets[k] = offset(k, begin, first);
    int64_t at = begin;
    for (size_t i = first; i < depth(); at /= counts[i++]) place[i] = at % counts[i];
    for (int64_t step = begin; step < end; ++step) {
      body(offsets);
      for (size_t i = first; i < depth(); ++i) {
        for (size_t k = 0; k < K; ++k) offsets[k] += strides[k][i];
        if (++place[i] < counts[i]) break;
        for (size_t k = 0; k < K; ++k) offsets[k] -= counts[i] * strides[k][i];
        place[i] = 0;
      }
    }
  }
  // The offset of operand `k` in step `at` of the loops from `first` outwards.
  int64_t offset(size_t k, int64_t at, size_t first) const {
    int64_t offset = 0;
    for (size_t i = first; i < depth(); at /= counts[i++]) offset += at % counts[i] * strides[k][i];
    return offset;
  }
};

template <size_t K>
Loops<K> loops_over(const std::array<TensorDesc, K>& operands) {
  size_t rank = 0;
  Layout around = Layout::plain;
  for (const TensorDesc& desc : operands) {
    rank = std::max(rank, desc.rank());
    if (is_image_layout(desc.layout)) around = desc.layout;
  }
  std::array<std::vector<int64_t>, K> dims;
  for (size_t k = 0; k < K; ++k) dims[k] = physical_dims(operands[k], rank, around);

  Loops<K> loops;
  std::array<int64_t, K> stride, step;
  stride.fill(1);
  step.fill(1);
  loops.around(1, step);
  for (size_t axis = dims[0].size(); axis-- > 0;) {
    int64_t count = 1;
    for (size_t k = 0; k < K; ++k) count = std::max(count, dims[k][axis]);
    for (size_t k = 0; k < K; ++k) {
      if (dims[k][axis] != 1 && dims[k][axis] != count) throw KernelError("operands do not broadcast to one another");
      step[k] = dims[k][axis] == 1 ? 0 : stride[k];
      stride[k] *= dims[k][axis];
    }
    loops.around(count, step);
  }
  return loops;
}

}  // namespace plimsoll
