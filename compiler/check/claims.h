// Rule 3: bytes that two use, one after the other, are handed over only when the first is surely done with them.
// Private to compiler/check/.
#pragma once

#include <string>
#include <vector>

#include "compiler/check/happens_before.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

// Someone's use of bytes for a while: a residency, a step's workspace, a slot of the host pool.
struct Claim {
  Block block = {};
  TensorId tensor = {};         // invalid: a workspace
  int32_t from = 0;             // first step, -1: from the start
  bool forever = false;         // nobody else may ever have these bytes: persistent
  bool to_the_end = false;      // the trainer reads it when the round is over
  PerStream first = {}, last = {};  // accesses, per stream, in issue order

  void touch(StepId step, StreamKind stream) {
    const size_t s = static_cast<size_t>(stream);
    if (!first[s].valid()) first[s] = step;
    last[s] = step;
  }
};

// `in_place`: may the written tensor take over the bytes of the read one at this step? For the host pool nothing may.
//
// The claims are laid down in the order in which they begin, each over what it covers:
//
//   bytes │ a a a a a │ b b │          c takes over from a and from b: every access of theirs must happen before every
//         │     c c c c c   │          access of c. Who lay there before a was in turn done before a began.
//         └─────────────────▶ offset
//
// So only neighbours in time are compared, and the work is n log n in the number of claims.
void check_handovers(const Plan& plan, const HappensBefore& before, std::vector<Claim> claims, bool host, Verdict& verdict);

}  // namespace plimsoll
