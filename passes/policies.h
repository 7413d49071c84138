// The policies by name: each is a recipe of what the passes are told.
#pragma once

#include <span>
#include <string_view>

#include "passes/policy.h"

namespace plimsoll {

std::span<const Policy> all_policies();

// Error: usage, with all names.
Result<Policy> find_policy(std::string_view name);

}  // namespace plimsoll
