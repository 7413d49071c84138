// Work items: what the threads of a kernel share out. Their number follows from the shapes alone. The bits of a result
// and the bytes of a workspace, which the plan knows, therefore do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "runtime/attrs/tensor.h"

namespace plimsoll::host {

// The processors of a large machine. A kernel whose work items cost workspace or additions makes at most this many.
constexpr int64_t kManyItems = 128;

// Work items that need space for intermediate values run in lanes, each with its part of the workspace. There are no
// more lanes than work items. Above 32 lanes, they have at most an eighth of the bytes that the kernel reads and
// writes, so a workspace is small compared with its operands.
constexpr int64_t lanes_of(int64_t items, int64_t lane_bytes, int64_t operand_bytes) {
  constexpr int64_t kFew = 32, kShare = 8;
  const int64_t affordable = lane_bytes == 0 ? kManyItems : operand_bytes / kShare / lane_bytes;
  return std::min({items, kManyItems, std::max(kFew, affordable)});
}

// What a kernel reads and writes.
inline int64_t bytes_of(std::span<const OperandDesc> operands) {
  int64_t bytes = 0;
  for (const OperandDesc& operand : operands)
    if (operand.access != Access::absent) bytes += operand.tensor.bytes();
  return bytes;
}

// body(work item, lane): a free thread takes a lane, and its lane takes one work item after another. So with fewer
// threads than lanes only some lanes are used, and these stay in the cache. A result must not depend on the lane.
template <class Body>
void for_work_items(int64_t items, int64_t lanes, Body body) {
  std::atomic<int64_t> next{0};
#pragma omp parallel for schedule(dynamic, 1) if (lanes > 1)
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) body(item, lane);
}

// A sum over `elements` elements for each of `sums` work items: into how many parts each is divided, which are added up
// in order afterwards. There are enough parts for all processors, but none has fewer than 16384 elements.
constexpr int64_t parts_of(int64_t sums, int64_t elements) {
  constexpr int64_t kWorthIt = 16384;
  const int64_t wanted = (kManyItems + sums - 1) / std::max<int64_t>(1, sums);
  return std::max<int64_t>(1, std::min(wanted, elements / kWorthIt));
}

// put(j, sum of shares[part · step + j] over the parts, in order), for j below n.
template <class Put>
void add_shares(const float* shares, int64_t parts, int64_t step, int64_t n, Put put) {
  constexpr int64_t kAtOnce = 64;
#pragma omp parallel for schedule(static) if (parts * n > 16384)
  for (int64_t first = 0; first < n; first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, n - first);
    double sums[kAtOnce] = {};
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t j = 0; j < count; ++j) sums[j] += static_cast<double>(shares[part * step + first + j]);
    for (int64_t j = 0; j < count; ++j) put(first + j, static_cast<float>(sums[j]));
  }
}

// [first, end): part `i` of `n` things that are divided into `parts` parts.
struct Part {
  int64_t first, end;
};
constexpr Part part_of(int64_t i, int64_t parts, int64_t n) { return {i * n / parts, (i + 1) * n / parts}; }

}  // namespace plimsoll::host
