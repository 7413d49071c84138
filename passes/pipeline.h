// The pipeline: the list of passes that make a plan, and functions that run it.
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
// compare it with other plans (summarize.h). Returns false if the plan would reach context.ceiling, or if the observer
// has stopped the passes; the plan is then unfinished.
//
// `last`: null, or for a plan that was read from a file, the one of all_passes() that ran last on it. Only the passes
// after it then run. In every build, the promises of the passes up to `last` are verified first (verify.h), and then
// those of each pass that runs.
Result<bool> run_passes(Plan& plan, const Context& context, const PassObserver& observe = {},
                        const Pass* last = nullptr);

}  // namespace plimsoll
