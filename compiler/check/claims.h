// Rule 3 (docs/plan-format.md): if two uses share bytes, the first must have finished before the second begins.
// Private to compiler/check/.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/happens_before.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

// A use of bytes over a range of steps: a residency, a workspace of a step, or a slot of the host pool.
struct Claim {
  Block block = {};
  TensorId tensor = {};         // invalid: a workspace
  int32_t from = 0;             // first step; -1: from the start
  bool forever = false;         // persistent: never shared with any other claim
  bool to_the_end = false;      // the trainer reads it at the end of the round
  PerStream first = {}, last = {};  // accesses, per stream, in issue order

  void touch(StepId step, StreamKind stream) {
    const size_t s = static_cast<size_t>(stream);
    if (!first[s].valid()) first[s] = step;
    last[s] = step;
  }
};

// Claims are processed in the order in which they begin. Each takes the bytes that it covers from their owners:
//
//   bytes │ a a a a a │ b b │          c takes bytes from a and b: every access of a and b must happen before every
//         │     c c c c c   │          access of c. The owner before a had in turn finished before a began.
//         └─────────────────▶ offset
//
// So only neighbours in time are compared, and the work is O(n log n) in the number of claims. In the arena, a tensor
// may be written over another one in place (Task::InPlace). `host`: the claims are slots of the host pool. With two
// threads, each compares the owners of one half of the memory; the verdict is the same.
void check_handovers(const Plan& plan, const HappensBefore& before, std::vector<const Claim*> claims, bool host,
                     int threads, Verdict& verdict);

}  // namespace plimsoll
