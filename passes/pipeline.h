// The list of passes, and its runner.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "passes/context.h"

namespace plimsoll {

struct Pass {
  std::string_view name;
  std::string_view summary;
  Status (*run)(Plan& plan, const Context& context);
};

std::span<const Pass> all_passes();

// The pass of this name; null: there is none.
const Pass* find_pass(std::string_view name);

// Called after each pass with its name, the plan and the seconds that the pass took. Returns false to stop there.
using PassObserver = std::function<bool(std::string_view pass, const Plan& plan, double seconds)>;

// Before: the plan has batch, sub_batch, rounds and last_sub_batch. After: it is complete except for the figures that
// compare plans (summarize.h). Returns false if the plan would reach context.ceiling, or the observer has stopped; the
// plan is then unfinished.
Result<bool> run_passes(Plan& plan, const Context& context, const PassObserver& observe = {});

// The same from the pass after `last` on, for a plan that was read: each pass is verified (verify.h), in every build,
// and so are those up to `last` before the next one runs. Before: `last` is a pass.
Result<bool> run_passes_after(std::string_view last, Plan& plan, const Context& context,
                              const PassObserver& observe = {});

}  // namespace plimsoll
