// Reads the files of --dump.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/ir/unfinished_plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

using Dump = std::variant<Network, TaskGraph, UnfinishedPlan, Plan>;

// The first word of a text form after comments: "network", "graph", "unfinished" or "plan". Anything else is
// not a text form.
std::string_view first_word(std::string_view text);

// The form is recognized by its first word. Errors: unreadable_input, for any other file; those of the parsers and of
// check_network.
Result<Dump> read_dump(const std::string& path);

}  // namespace plimsoll
