// Broadcasting as loops over memory: what numpy's rules say of operands becomes a nest of loops with one stride per
// operand, 0 where the operand is stretched. Neighbouring loops that are one walk through memory are merged, so that
// operands of one shape are a single loop, whatever their rank and layout.
//
//   x [8,64,56,56], s [1,64,1,1]   plain:    64·8 rows:  {8, 64, 3136}      strides x {200704, 3136, 1}  s {0, 1, 0}
//                                  nChw16c:              {8, 4, 3136, 16}           {200704, 50176, 16, 1}  {0, 16, 0, 1}
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll::host {

// Channels per block of an activation's layout; 0 for plain.
inline int64_t block_of(Layout layout) { return layout == Layout::nChw16c ? 16 : layout == Layout::nChw8c ? 8 : 0; }

// The dimensions as they lie in memory, with leading ones up to `rank`. With `block` > 0, that of the operands around, a
// tensor of one pixel per channel ([C,1,1] beside nChw16c) is taken as blocked too: its bytes are the same.
inline std::vector<int64_t> physical_dims(const TensorDesc& desc, size_t rank, int64_t block) {
  std::vector<int64_t> dims(rank - std::min(rank, desc.rank()), 1);
  dims.insert(dims.end(), desc.dims.begin(), desc.dims.end());
  if (block == 0) return dims;
  if (rank != 4) throw KernelError("a blocked layout among operands of rank " + std::to_string(rank));
  const bool blocked = desc.layout != Layout::plain;
  if (!blocked && dims[2] * dims[3] != 1) throw KernelError("operands of different layouts");
  if (dims[1] == 1) return {dims[0], 1, dims[2], dims[3], 1};
  if (dims[1] % block != 0) throw KernelError(std::to_string(dims[1]) + " channels in blocks of " + std::to_string(block));
  return {dims[0], dims[1] / block, dims[2], dims[3], block};
}

template <size_t K>
struct Loops {
  std::vector<int64_t> counts;                   // outermost first; at least one loop
  std::array<std::vector<int64_t>, K> strides;  // in elements

  size_t depth() const { return counts.size(); }
  // Elements in loops [first, last).
  int64_t count(size_t first, size_t last) const {
    int64_t n = 1;
    for (size_t i = first; i < last; ++i) n *= counts[i];
    return n;
  }
  // Where operand `k` stands in step `at` of the loops [0, last).
  int64_t offset(size_t k, int64_t at, size_t last) const {
    int64_t offset = 0;
    for (size_t i = last; i-- > 0; at /= counts[i]) offset += at % counts[i] * strides[k][i];
    return offset;
  }
};

template <size_t K>
Loops<K> loops_over(const std::array<TensorDesc, K>& operands) {
  size_t rank = 0;
  int64_t block = 0;
  for (const TensorDesc& desc : operands) {
    rank = std::max(rank, desc.rank());
    block = std::max(block, block_of(desc.layout));
  }
  std::array<std::vector<int64_t>, K> dims;
  for (size_t k = 0; k < K; ++k) dims[k] = physical_dims(operands[k], rank, block);

  Loops<K> loops;
  std::array<int64_t, K> stride;
  stride.fill(1);
  // From the innermost outwards; reversed at the end.
  for (size_t axis = dims[0].size(); axis-- > 0;) {
    int64_t count = 1;
    for (size_t k = 0; k < K; ++k) count = std::max(count, dims[k][axis]);
    if (count == 1) continue;
    std::array<int64_t, K> step;
    bool merges = !loops.counts.empty();
    for (size_t k = 0; k < K; ++k) {
      if (dims[k][axis] != 1 && dims[k][axis] != count) throw KernelError("operands do not broadcast to one another");
      step[k] = dims[k][axis] == 1 ? 0 : stride[k];
      stride[k] *= dims[k][axis];
      merges = merges && step[k] == loops.strides[k].back() * loops.counts.back();
    }
    if (merges) {
      loops.counts.back() *= count;
      continue;
    }
    loops.counts.push_back(count);
    for (size_t k = 0; k < K; ++k) loops.strides[k].push_back(step[k]);
  }
  if (loops.counts.empty()) {
    loops.counts.push_back(1);
    for (size_t k = 0; k < K; ++k) loops.strides[k].push_back(1);
  }
  std::reverse(loops.counts.begin(), loops.counts.end());
  for (size_t k = 0; k < K; ++k) std::reverse(loops.strides[k].begin(), loops.strides[k].end());
  return loops;
}

}  // namespace plimsoll::host
