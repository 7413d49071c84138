// Dynamic storage allocation as data: buffers that live for a while, to be given addresses so that no two overlap in
// both time and space. It knows nothing of tensors; the pass (passes/place.h) and the `place` command both use it.
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

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll::placement {

struct Buffer {
  std::string id = {};  // of messages and files; the solvers do not look at it
  int64_t lower = 0;    // half-open: live in [lower, upper)
  int64_t upper = 0;
  int64_t size = 0;     // bytes; 0 lies anywhere
};

struct Problem {
  std::vector<Buffer> buffers = {};
};

struct Solution {
  std::vector<int64_t> offsets = {};  // of each buffer
  int64_t height = 0;                 // largest offset + size
};

// Every lifetime non-empty, no size negative, and all sizes together fit 62 bits. Error: unreadable_input.
Status check(const Problem& problem);

// The largest sum of the sizes that are live at one time: no placement is lower.
int64_t lower_bound(const Problem& problem);

// Judges a solution by a sweep over time, independently of how it was found. Error: verification_failed, naming the
// buffers.
Status validate(const Problem& problem, const Solution& solution);

}  // namespace plimsoll::placement
