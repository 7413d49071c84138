// When copies are issued. A copy takes device memory from the moment its bytes are set aside until they are given up, so
// where it stands among the tasks decides both memory and what it overlaps with.
//
//   compute   | conv1 | relu1 | conv2 | relu2 |  …      a  as woven: whoever takes the bytes of x waits for the copy
//   offload a         |xxxxxxxxxxxxxxx|                 b  as timed: bytes are given up when the copy will have finished,
//                     ^ issued, bytes wanted back          if there is room until then
//   offload b         |xxxxxxxxxxxxxxx^
//
// The same mirrored for prefetches: the latest start that has them in time, or as early as there is room.
#pragma once

#include "passes/schedule/evaluate.h"

namespace plimsoll::schedule {

// Moves offloads later and prefetches and later loads earlier, as far as live bytes stay within `limit`. The order of
// tasks stays. Leaves the evaluator with the outcome of the result.
Outcome time_copies(const Model& model, Evaluator& evaluator, Trace& trace, int64_t limit);

}  // namespace plimsoll::schedule
