#include "passes/search/state.h"

namespace plimsoll::search {

State Workbench::evaluate(Fates fates, int64_t limit) {
  State state{.fates = std::move(fates), .limit = limit};
  weave_possible(model, state.fates, trace);
  state.outcome = time_copies(model, evaluator, trace, limit);
  work += static_cast<int64_t>(trace.size());
  return state;
}

}  // namespace plimsoll::search
