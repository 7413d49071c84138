// Kernel attributes as JSON, for profilers and recorded tasks.
#pragma once

#include "compiler/ir/attributes.h"
#include "compiler/support/json.h"

namespace plimsoll {

// Returns an object. JSON has no infinite numbers: they become "inf" and "-inf", as runtime/profile/profiler.cpp reads
// them.
Json json_of(const Attributes& attributes);

}  // namespace plimsoll
