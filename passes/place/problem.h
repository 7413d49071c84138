// Dynamic storage allocation: buffers with lifetimes get addresses such that no two overlap in both time and space. It
// is independent of tensors and plans; the pass (passes/place.h) and the `place` command share it.
//
//      offset                        time →   0  1  2  3  4
//        12 +-----+
//           |  c  |                  a   [0, 4)  size 4
//         8 +--+--+--+               b   [0, 2)  size 4      lower bound 12: a, b and c are live at time 1
//           |  b  | d|               c   [1, 3)  size 4      height      12
//         4 +-----+--+--+            d   [2, 4)  size 4
//           |     a     |
//         0 +-----------+
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll::placement {

struct Buffer {
  std::string id = {};  // for messages and files; ignored by the solvers
  int64_t lower = 0;    // half-open: live in [lower, upper)
  int64_t upper = 0;
  int64_t size = 0;     // bytes; a buffer of 0 may lie anywhere
};

struct Problem {
  std::vector<Buffer> buffers = {};
};

struct Solution {
  std::vector<int64_t> offsets = {};  // of each buffer
  int64_t height = 0;                 // largest offset + size
};

// The beginnings and ends of buffers that take bytes, in order of time. At equal times ends come first, since lifetimes
// are half-open, and then buffers in the problem's order.
struct Event {
  int64_t time;
  bool begins;
  size_t buffer;
  friend auto operator<=>(const Event&, const Event&) = default;
};
std::vector<Event> events_of(const Problem& problem);

// Requires non-empty lifetimes, non-negative sizes, and a total size below 2^62. Error: unreadable_input.
Status check(const Problem& problem);

// The maximum over time of the sum of live sizes: a lower bound on the height of every placement.
int64_t lower_bound(const Problem& problem);

// Verifies a solution by a sweep over time, independently of how it was found. Error: verification_failed, naming the
// buffers.
Status validate(const Problem& problem, const Solution& solution);

}  // namespace plimsoll::placement
