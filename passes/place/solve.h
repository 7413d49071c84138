// Solvers of placement problems. All are deterministic: their effort is limited by an amount of work, never by time.
#pragma once

#include "passes/place/problem.h"

namespace plimsoll::placement {

// The work that may be done after the skylines of several orders, which are always filled. The lowest of these is the
// solution if it has a sufficient height. Else the exact search and shuffled orders continue.
struct Effort {
  int64_t scans = 625'000;     // entries of the skylines' trees that shuffled orders scan
  int64_t nodes = 100'000;     // placements that the exact search tries; fewer for more than 512 buffers
  int64_t nodes_above = 0;     // the part of `nodes` reserved for heights above the capacity. The search mostly finds a
                               // solution within the capacity soon, or never; it cannot prove that none exists. 0: no
                               // nodes if there is a capacity, else half of them
  int64_t capacity = 0;        // a sufficient height: the first solution within it is returned. If none is found, or
                               // without a capacity (0), the height is minimized
  // Of more than 10,000 buffers, fill a skyline in the order of their beginnings first. That is several times faster
  // than by lifetime. But copies then wait longer for the bytes of other buffers, so this is for plans without copies.
  bool by_beginning = false;
  friend bool operator==(const Effort&, const Effort&) = default;
};

// kProbe: one of many queries; milliseconds for a thousand buffers. kPlan: one of many plans; a tenth of a second.
// kQuick: interactive; a second. kThorough: up to a minute.
inline constexpr Effort kProbe{.scans = 0, .nodes = 0};
inline constexpr Effort kPlan{.nodes = 30'000, .nodes_above = 20'000};
inline constexpr Effort kQuick{};
inline constexpr Effort kThorough{.scans = 9'375'000, .nodes = 3'000'000};

// Before: check(problem). The solution is valid with every effort.
Solution solve(const Problem& problem, const Effort& effort = kQuick);

// Placement as in published systems, which place during training: buffer by buffer in the order of allocation, without
// knowledge of later buffers, by best fit from both ends of a pool (pool/two_ended_pool.h). `low`: per buffer, whether
// it lies at the low end; if all do, they lie as in a list of blocks (pool/list_pool.h). The pool's size is the maximum
// of both ends together. Placements with known lifetimes are compared with the fragmentation of this one.
Solution place_in_turn(const Problem& problem, const std::vector<bool>& low);

}  // namespace plimsoll::placement
