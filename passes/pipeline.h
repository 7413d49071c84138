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

// Called after each pass with its name, the plan and the seconds that the pass took.
using PassObserver = std::function<void(std::string_view pass, const Plan& plan, double seconds)>;

// Before: the plan has batch, sub_batch, rounds and last_sub_batch. After: it is complete except for the figures that
// compare plans (summarize.h). Returns false if the plan would reach context.ceiling; the plan is then unfinished.
Result<bool> run_passes(Plan& plan, const Context& context, const PassObserver& observe = {});

}  // namespace plimsoll
