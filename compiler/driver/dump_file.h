// What --dump wrote, as an input again.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

using Dump = std::variant<Network, TaskGraph, Plan>;

// The first word of a text form, behind comments: "network", "graph" or "plan". Anything else: no text form.
std::string_view first_word(std::string_view text);

// Told apart by their first words. Errors: unreadable_input, where it is none of them; of the parsers and of check_network.
Result<Dump> read_dump(const std::string& path);

}  // namespace plimsoll
