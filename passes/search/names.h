// All parts of the search use the names of schedule/ as their own.
#pragma once

#include "passes/schedule/levels.h"
#include "passes/schedule/lower.h"

namespace plimsoll::search {

using namespace schedule;
using schedule::Model;  // not the one of compiler/ir/model.h, which a source may include too

}  // namespace plimsoll::search
