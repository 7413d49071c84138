#include "passes/policies/auto.h"

#include "passes/search/frontier.h"

namespace plimsoll {

Status auto_schedule(Plan& plan, const Context& context) {
  if (context.decided) {
    schedule::put_steps(plan, *context.decided);
    return {};
  }
  const schedule::Model model = schedule::make_model(plan, context);
  const search::Frontier frontier = search::find_frontier(model, {.effort = 0});
  const search::State* chosen = &frontier.states.front();
  for (const search::State& state : frontier.states)
    if (state.outcome.fits(context.live_limit)) chosen = &state;
  search::Workbench bench(model);
  bench.evaluate(chosen->decisions, chosen->limit);
  schedule::put_steps(plan, bench.trace);
  return {};
}

}  // namespace plimsoll
