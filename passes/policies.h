// The policies by name: each is a recipe of what the passes are told.
#pragma once

#include <span>
#include <string_view>

#include "passes/context.h"

namespace plimsoll {

struct Policy {
  std::string_view name;
  std::string_view summary;
  OrderKind order = OrderKind::best_of;
  PlaceKind place = PlaceKind::best_of;
  bool share_memory = true;
  bool in_place = true;
};

std::span<const Policy> all_policies();

// Error: usage, with all names.
Result<Policy> find_policy(std::string_view name);

}  // namespace plimsoll
