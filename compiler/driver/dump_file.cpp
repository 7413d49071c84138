#include "compiler/driver/dump_file.h"

#include <fmt/format.h>

#include "compiler/ir/network_text.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/network/check.h"
#include "compiler/support/output.h"

namespace plimsoll {

std::string_view first_word(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos && line[begin] != '#')
      return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

Result<Dump> read_dump(const std::string& path) {
  PLIMSOLL_ASSIGN(const std::string text, read_file(path));
  const std::string_view word = first_word(text);
  if (word == "network") {
    PLIMSOLL_ASSIGN(Network network, network_from_text(text, path));
    if (const Status status = check_network(network); !status.ok())
      return Error{status.error().code, path + ": " + status.error().message, status.error().notes};
    return Dump(std::move(network));
  }
  if (word == "graph") {
    PLIMSOLL_ASSIGN(TaskGraph graph, graph_from_text(text, path));
    return Dump(std::move(graph));
  }
  if (word == "unfinished") {
    PLIMSOLL_ASSIGN(UnfinishedPlan plan, unfinished_plan_from_text(text, path));
    return Dump(std::move(plan));
  }
  if (word == "plan") {
    PLIMSOLL_ASSIGN(Plan plan, plan_from_text(text, path));
    return Dump(std::move(plan));
  }
  return Error{
      ExitCode::unreadable_input,
      fmt::format(
          "{} is not a dump of a network, a task graph or a plan: its first word must be network, graph, unfinished or "
          "plan",
          path)};
}

}  // namespace plimsoll
