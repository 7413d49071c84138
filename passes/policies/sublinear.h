// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016): the forward pass keeps what crosses a few splits of
// the network and drops the rest; the backward pass runs each segment again from its split.
//
//   stay      0 . . . 0 . . . 0 . . .     one level: m = 0 at the splits, m = 1 between them; O(sqrt n) with sqrt n splits
//   stay      0 2 1 1 0 2 1 1 0 1 0 0     two levels: a segment that is run again keeps its own splits, 1, and runs the
//             |       |       |           pieces between those once more, 2: mirror counts above 1; k splits at each of
//             keep    keep    keep        log_{k+1} n levels take O(k log n)
//
// What the paper says, and how it was read:
//   Algorithm 3   memory planning with a budget B, line by line, over the forward tasks in their order. A split keeps all
//                 that is written before it and read forward after it (for a chain that is v, the paper's one tensor).
//                 C, the splits to choose from, is left to the user there: here the places where a local minimum of tensors
//                 crosses, which are the ends of residual blocks and of a recurrent network's cells; a second search takes
//                 every place. Its y forgets the last segment, and x and y both count v: we correct the first, since y sets
//                 B, and keep the second.
//   Appendix A    B = sqrt(x y) from the x and y that B = 0 gives, then six values on [B/sqrt 2, sqrt 2 B], by ratio.
//                 The paper's script takes sqrt(x y / 2), three times, and a linear grid: not followed. Which plan is the
//                 best is not estimated, but told by the evaluator's peak.
//   recursion     Section 4.4: d levels have budgets B_1 > … > B_d in geometric progression from all outputs down to the
//                 largest one (d = 1 is B = sqrt(x y)), scaled by the same six factors. Each level plans the segments of
//                 the one before with Algorithm 3.
//   last segment  Algorithms 1 and 2 drop and run again the last segment too, though its backward follows at once. It
//                 stays here, at every level, which costs no peak beyond y and saves a run.
//   a limit       The paper looks for the least memory with one level; so do we without a limit. With one, the first
//                 number of levels that meets it is taken, and of its plans the fastest; with none that does (limit 0: by
//                 request) the lowest peak of all levels.
// Inputs of the model stay, as in the paper; what may not run again stays too.
#pragma once

#include "passes/context.h"

namespace plimsoll {

Status sublinear(Plan& plan, const Context& context);

}  // namespace plimsoll
