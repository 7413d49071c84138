// moDNN: X. Chen, D. Z. Chen and X. S. Hu, "moDNN: memory optimal DNN training on GPUs", DATE 2018.
//
//   equation 1  what all data blocks take together: network_wide_bytes (rules/modnn.h counts it as the paper does)
//   equation 2  the least that any schedule takes, SW + max M(t, 1): what is resident through the run, and the largest
//               task with its operands at a sub-batch of one
//   equation 3  the sub-batch: modnn_sub_batch()
//   Algorithm 1 tasks in order over a linked list of memory: modnn()
//
// Algorithm 1, for each task t of the order:
//   1  what t reads comes back, what t writes gets its block: best fit (pool/list_pool.h)
//   2  where no block is large enough, others leave, the one that is wanted last first, until there is
//        (a) never what t touches
//        (b) not what no task has read since it was made; nor since it came back early, or that would have been for nothing
//   3  where none is left that may leave, the memory is defragmented: rule (b) is dropped, and what stays is moved together
//   4  the fastest algorithm whose workspace fits in the largest free block
//   5  with the bytes still free, what later tasks read comes early, in the order of those tasks, as long as it is
//      predicted to be useful (line 16)
//   6  t runs; afterwards blocks that nobody reads again are free (lines 29 to 31)
//
// Where the paper is silent or wrong, it was read so:
//   - Equation 3 sets bytes against a number of samples. The dimensions agree, and it does what the text promises, as
//     b ← ⌊b (M - SW) / max M(t, b)⌋, from the whole batch down until it no longer falls. Rounds are made even afterwards.
//   - SW is weights, their state and their gradients: the latter "always reside" too, and do not grow with b.
//   - The prediction of line 16 is left out of the paper "due to space". Here: a block is useful early when it and all
//     that the tasks before its reader still need fit together, so that nothing has to leave for it; and when it would
//     come late if it waited for one task more. Of several blocks the first that is not useful ends the search.
//   - Freed besides the inputs: workspaces, and outputs that nobody reads.
//   - A transfer still under way when its block is taken: the taker waits (passes/sync.h). A block that was copied out
//     once is not copied again.
//   - Ties: the larger block leaves, then the one with the lower id. Images are loaded again, not copied out.
//   - Defragmentation copies everything out and back in the paper. Addresses are decided ahead of time here, so what is
//     moved together costs nothing, only as much leaves as it takes, and a block that comes early has it done too.
//   - A task that does not fit even alone enlarges the pool; the planner sees that the budget is not met.
//   - Sub-batches change the statistics of batch normalization; the compiler says so. Dropout draws a mask for each.
//
// The replay decides what leaves and when. The addresses of the plan are those of the `place` pass, which knows all
// lifetimes and is never worse than the list.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

Status modnn(Plan& plan, const Context& context);
Result<int64_t> modnn_sub_batch(const CandidateOf& candidate, int64_t batch, int64_t budget);

}  // namespace plimsoll
