// A schedule under search: fates, and what they come to under a limit on live bytes.
#pragma once

#include "passes/deadline.h"
#include "passes/schedule/apply.h"

namespace plimsoll::search {

using schedule::Evaluator;
using schedule::Fate;
using schedule::FateKind;
using schedule::Fates;
using schedule::Model;
using schedule::Op;
using schedule::Outcome;
using schedule::Trace;

// What the search may do with a tensor besides keeping it. An input is loaded again whatever it says.
struct Means {
  bool recompute = true;
  bool offload = true;
};

struct State {
  Fates fates = {};
  int64_t limit = kNoLimit;  // under which algorithms were chosen and copies timed
  Outcome outcome = {};
  int64_t work = 0;  // steps that were evaluated for the outcome
};

// Evaluates states, and counts the work: effort is a number of steps looked at, never a time, so that the same input
// gives the same plan.
class Workbench {
 public:
  explicit Workbench(const Model& model, const Deadline& deadline = {}, int64_t pool_limit = kNoLimit)
      : model(model), evaluator(model), deadline(deadline), pool_limit(pool_limit), weaver_(model), timer_(model, evaluator) {}

  // What was asked for last is not worked out once more, but counted as if it were. Fates that cannot be are corrected (weave.h),
  // and so are those that would have the host pool above its limit (host_pool.h). Where the outcome is not possible(), for the
  // schedule is out of all proportion, evaluator and trace tell nothing. Where it does not fit and seconds are wanted where it
  // does, it has none.
  using Seconds = schedule::CopyTimer::Seconds;
  State evaluate(Fates fates, int64_t limit, Seconds wanted = Seconds::always);

  const Model& model;
  Evaluator evaluator;  // of the last state evaluated
  Trace trace;          // likewise
  int64_t work = 0;     // steps evaluated so far
  Deadline deadline;
  const int64_t pool_limit;  // of what waits in the host pool, before it has addresses
  bool pool_binds = false;   // some schedule was corrected for it

 private:
  bool keep_pool(State& state, size_t longest, Seconds wanted);

  schedule::Weaver weaver_;
  schedule::CopyTimer timer_;
  State last_;
};

}  // namespace plimsoll::search
