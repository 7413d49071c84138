// Verifies the promise of a pass ("After" in its header) right after it has run. So an error names the pass that broke
// a promise, not a later one that relied on it. Builds with -DPLIMSOLL_HARDENED=ON, as the tests use, do this in every
// pipeline. The figures that copy_rounds, summarize and needs write are left to the checker. This is no substitute for
// the checker (compiler/check), which verifies finished plans in every build.
#pragma once

#include <string_view>

#include "passes/context.h"

namespace plimsoll {

#ifdef _GLIBCXX_ASSERTIONS
inline constexpr bool kVerifyPasses = true;
#else
inline constexpr bool kVerifyPasses = false;
#endif

// Error: internal, naming the pass, the step and what is wrong with it. Linear in the accesses of the plan.
Status verify_after(std::string_view pass, const Plan& plan, const Context& context);

}  // namespace plimsoll
