#include "passes/search/state.h"

#include <algorithm>

namespace plimsoll::search {
namespace {

// A schedule that runs everything several times is none that anybody wants; of few tasks, it may be the only one.
constexpr size_t kLongest = 4, kLongestOfFew = 2'000;

}  // namespace

State Workbench::evaluate(Fates fates, int64_t limit) {
  State state{.fates = std::move(fates), .limit = limit};
  const size_t longest = std::max(kLongest * model.order.size(), model.order.size() + kLongestOfFew);
  if (weave_possible(model, state.fates, trace, longest)) {
    state.outcome = time_copies(model, evaluator, trace, limit);
  } else {
    const double never = std::numeric_limits<double>::infinity();
    state.outcome = {.seconds = never, .busy_seconds = never, .peak_bytes = kNoLimit, .excess = kNoLimit};
  }
  work += static_cast<int64_t>(trace.size());
  return state;
}

}  // namespace plimsoll::search
