#include "passes/search/state.h"

#include <algorithm>

#include "passes/search/host_pool.h"

namespace plimsoll::search {
namespace {

// Traces that recompute everything several times are rejected, except for graphs with few tasks, where such a trace may
// be the only one that fits.
constexpr size_t kLongest = 4, kLongestOfFew = 2'000;
constexpr int kShrinkings = 8;  // attempts to shrink the host pool; the last one empties it as far as possible

}  // namespace

State Workbench::evaluate(Decisions decisions, int64_t limit, Seconds wanted) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const bool simulated = last_.outcome.seconds < never || !last_.outcome.possible();
  if (last_.work > 0 && limit == last_.limit && decisions == static_cast<const Decisions&>(last_.decisions) &&
      (simulated || wanted == Seconds::where_it_fits)) {
    work += last_.work;
    return last_;
  }
  State state{.limit = limit, .spare = spare};
  const size_t longest = std::max(kLongest * model.order.size(), model.order.size() + kLongestOfFew);
  bool possible = lower_decisions(model, decisions, trace, longest);
  if (possible) state.outcome = evaluator.time_copies(trace, limit, wanted);
  // Recomputing a tensor may extend the time of others in the pool, so the pool is measured again after each change.
  for (int turn = 1; possible && pool_limit != kNoLimit && pool_bytes(model, trace) > pool_limit; ++turn) {
    pool_binds = true;
    possible = turn <= kShrinkings && shrink_pool(model, trace, turn < kShrinkings ? pool_limit : -1, decisions);
    if (!possible) break;
    work += static_cast<int64_t>(trace.size());
    possible = lower_decisions(model, decisions, trace, longest);
    if (possible) state.outcome = evaluator.time_copies(trace, limit, wanted);
  }
  if (!possible) {
    state.outcome = {.seconds = never, .busy_seconds = never, .peak_bytes = kNoLimit, .excess = kNoLimit};
  } else if (wanted == Seconds::where_it_fits && !state.outcome.fits(limit)) {
    state.outcome.seconds = state.outcome.busy_seconds = never;
  }
  state.decisions = std::move(decisions);
  state.work = static_cast<int64_t>(trace.size());
  work += state.work;
  last_ = state;
  return state;
}

}  // namespace plimsoll::search
