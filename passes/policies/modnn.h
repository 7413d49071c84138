// moDNN: X. Chen, D. Z. Chen and X. S. Hu, "moDNN: memory optimal DNN training on GPUs", DATE 2018.
//
//   equation 1  bytes of all data blocks together: network_wide_bytes, counted as in the paper by
//               compiler/papers/modnn.h
//   equation 2  the minimum of any schedule, SW + max M(t, 1): the tensors that are resident through the run, and the
//               largest task with its operands at a sub-batch of one
//   equation 3  the sub-batch: modnn_sub_batch()
//   Algorithm 1 tasks in order over a linked list of memory blocks: modnn()
//
// Algorithm 1, for each task t of the order:
//   1  what t reads is fetched, what t writes gets its block: best fit (pool/list_pool.h)
//   2  if no free block is large enough, others are evicted, latest next use first, until one is
//        (a) never an operand of t
//        (b) not a block that no task has read since it was written, or since it was fetched early: the fetch would
//            have been useless
//   3  if no more blocks may be evicted, memory is defragmented: rule (b) is dropped, and the remaining blocks are
//      moved together
//   4  the fastest algorithm whose workspace fits in the largest free block
//   5  with the bytes still free, operands of later tasks are fetched early, in the order of those tasks, as long as
//      this is predicted to be useful (line 16)
//   6  t runs; afterwards blocks without later readers are freed (lines 29 to 31)
//
// How open or wrong points of the paper were read:
//   - Equation 3 compares bytes with a number of samples. The dimensions agree, and it does what the text promises, as
//     b ← ⌊b (M - SW) / max M(t, b)⌋, iterated from the whole batch until it no longer falls. Then rounds are made
//     even.
//   - SW is weights, their state and their gradients: the latter "always reside" too, and do not grow with b.
//   - The prediction of line 16 is omitted from the paper "due to space". Here an early fetch is useful if the block
//     fits together with everything that the tasks before its reader still need, so that nothing has to leave for it,
//     and if it would be late when issued one task later. The search ends at the first block that is not useful.
//   - Besides the inputs, workspaces and outputs without readers are freed.
//   - If a transfer is in flight when its block is taken, the new user waits (passes/sync.h). A block that was copied
//     out once is not copied out again.
//   - Ties: the larger block is evicted, then the one with the lower id. Model inputs are loaded again, not copied out.
//   - In the paper, defragmentation copies everything out and back. Here addresses are decided ahead of time, so moving
//     blocks together costs nothing. Only as many blocks as necessary are evicted. An early fetch may defragment, too.
//   - A task that does not fit even alone enlarges the pool; the planner sees that the budget is exceeded.
//   - Sub-batches change the statistics of batch normalization; the compiler says so. Dropout draws a mask for each.
//
// The replay decides which blocks are evicted, and when. The plan's addresses come from the pass `place`, which knows
// all lifetimes and is never worse than the list.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program modnn(const ScheduleRequest& request);
Result<int64_t> modnn_sub_batch(const CostsOf& costs, int64_t batch, int64_t budget);

}  // namespace plimsoll
