#include "passes/search/state.h"

#include <algorithm>

namespace plimsoll::search {
namespace {

// A schedule that runs everything several times is none that anybody wants; of few tasks, it may be the only one.
constexpr size_t kLongest = 4, kLongestOfFew = 2'000;

}  // namespace

State Workbench::evaluate(Fates fates, int64_t limit, Seconds wanted) {
  State state{.fates = std::move(fates), .limit = limit};
  constexpr double never = std::numeric_limits<double>::infinity();
  const size_t longest = std::max(kLongest * model.order.size(), model.order.size() + kLongestOfFew);
  if (weave_possible(weaver_, state.fates, trace, longest)) {
    state.outcome = timer_.time(trace, limit, wanted);
    if (wanted == Seconds::where_it_fits && !state.outcome.fits(limit)) state.outcome.seconds = state.outcome.busy_seconds = never;
  } else {
    state.outcome = {.seconds = never, .busy_seconds = never, .peak_bytes = kNoLimit, .excess = kNoLimit};
  }
  work += static_cast<int64_t>(trace.size());
  return state;
}

}  // namespace plimsoll::search
