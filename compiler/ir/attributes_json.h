// Kernel attributes as JSON: for profilers and for recorded tasks.
#pragma once

#include "compiler/ir/attributes.h"
#include "compiler/support/json.h"

namespace plimsoll {

// An object. JSON has no infinite numbers: they are "inf" and "-inf", as runtime/profile/profiler.cpp reads them.
Json json_of(const Attributes& attributes);

}  // namespace plimsoll
