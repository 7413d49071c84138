// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016): the forward keeps the tensors that cross a few
// splits of the network and drops the rest. The backward recomputes each segment from its split.
//
//   stay      0 . . . 0 . . . 0 . . .     one level: m = 0 at splits, m = 1 between; O(sqrt n) with sqrt n splits
//   stay      0 2 1 1 0 2 1 1 0 1 0 0     two levels: a recomputed segment keeps its own splits, 1, and recomputes the
//             |       |       |           pieces between those once more, 2: mirror counts above 1; k splits at each of
//             keep    keep    keep        log_{k+1} n levels take O(k log n)
//
// The paper's algorithms, and how open points were read:
//   Algorithm 3   memory planning with a budget B, line by line, over the forward tasks in their order. A split keeps
//                 every tensor written before it and read forward after it (on a chain, the paper's single tensor v).
//                 C, the set of candidate splits, is left to the user in the paper. Here it is the places where a local
//                 minimum of tensors crosses: the ends of residual blocks and of the cells of a recurrent network. A
//                 second search takes every place. The paper's y omits the last segment, and x and y both count v. The
//                 first is corrected here, because y sets B; the second is kept.
//   Appendix A    B = sqrt(x y) from the x and y that B = 0 gives, then six values on [B/sqrt 2, sqrt 2 B], by ratio.
//                 The paper's script takes sqrt(x y / 2), three times, and a linear grid: not followed. The best plan
//                 is not estimated, but chosen by the evaluator's peak.
//   recursion     Section 4.4: d levels have budgets B_1 > … > B_d in geometric progression from all outputs down to
//                 the largest one (d = 1 is B = sqrt(x y)), scaled by the same six factors. Each level plans the
//                 segments of the previous one with Algorithm 3.
//   last segment  Algorithms 1 and 2 also drop and recompute the last segment, although its backward follows at once.
//                 Here it stays, at every level: this does not raise the peak beyond y, and saves a recomputation.
//   a limit       The paper minimizes memory with one level; so do we without a limit. With a limit, the smallest
//                 number of levels that meets it is taken, and the fastest of its plans. If none meets it (limit 0: by
//                 request), the lowest peak of all levels is taken.
// Model inputs stay, as in the paper, and so do outputs that may not be recomputed.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program sublinear(const ScheduleRequest& request);

}  // namespace plimsoll
