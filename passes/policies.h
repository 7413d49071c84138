// The table of policies. Each policy is a named recipe of options for the passes.
#pragma once

#include <span>
#include <string_view>

#include "passes/policy.h"

namespace plimsoll {

std::span<const Policy> all_policies();

// Error: usage, listing all names.
Result<Policy> find_policy(std::string_view name);

}  // namespace plimsoll
