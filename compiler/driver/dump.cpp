#include "compiler/driver/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/ir/network_text.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/support/output.h"

namespace plimsoll {

void PassDump::after(const std::string& pass, const Network& network) {
  if (wanted()) networks_.push_back({pass, "network", to_text(network)});
}

void PassDump::after(const std::string& pass, const Plan& plan) {
  if (!wanted()) return;
  // The planner tries several sub-batches. A repeated pass name starts the next try.
  const auto before = std::find_if(plans_.begin(), plans_.end(), [&](const Text& text) { return text.pass == pass; });
  plans_.erase(before, plans_.end());
  plans_.push_back({pass, "plan", to_text(plan)});
}

Status PassDump::finish(const TaskGraph& graph) {
  if (!wanted()) return {};
  std::vector<Text> texts = networks_;
  texts.push_back({"build_task_graph", "tasks", to_text(graph)});
  texts.insert(texts.end(), plans_.begin(), plans_.end());

  std::string known, previous;
  bool printed = false;
  for (const Text& made : texts) {
    known += (known.empty() ? "" : ", ") + made.pass;
    if (print_after_ == "all" || print_after_ == made.pass) {
      const bool same = made.text == previous;
      if (print_)
        print_(fmt::format("# after {}{}\n{}", made.pass, same ? " (unchanged)\n" : "", same ? "" : made.text));
      printed = true;
    }
    previous = made.text;
  }
  if (!print_after_.empty() && !printed)
    return Error{ExitCode::usage, fmt::format("unknown pass '{}'; passes: {}", print_after_, known)};
  if (directory_.empty()) return {};
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure)
    return Error{ExitCode::unwritable_output, fmt::format("cannot create {}: {}", directory_, failure.message())};
  int number = 0;
  for (const Text& made : texts)
    PLIMSOLL_TRY(write_file(fmt::format("{}/{:02}.{}.{}", directory_, number++, made.pass, made.suffix), made.text));
  return {};
}

}  // namespace plimsoll
