// Checks what each pass promises ("After" in its header), right after it has run. Builds with -DPLIMSOLL_HARDENED=ON,
// as the tests use, run it in every pipeline. So the pass that broke a promise is named, and not a later one that
// relied on it. It is no substitute for the checker (compiler/check), which judges finished plans in every build.
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
