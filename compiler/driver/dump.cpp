#include "compiler/driver/dump.h"

#include <fmt/format.h>

#include <filesystem>

#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/support/output.h"

namespace plimsoll {

void PassDump::after(const std::string& pass, const Plan& plan) {
  if (print_after_.empty() && directory_.empty()) return;
  // The planner tries several sub-batches; a pass that comes again begins the next try.
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].first != pass) continue;
    texts_.resize(i);
    break;
  }
  texts_.push_back({pass, to_text(plan)});
}

Status PassDump::finish(const Network&, const TaskGraph& graph) {
  std::string known, previous;
  bool printed = false;
  for (const auto& [pass, text] : texts_) {
    known += (known.empty() ? "" : ", ") + pass;
    if (print_after_ == "all" || print_after_ == pass) {
      if (print_) print_(fmt::format("# after {}{}\n{}", pass, text == previous ? " (unchanged)\n" : "", text == previous ? "" : text));
      printed = true;
    }
    previous = text;
  }
  if (!print_after_.empty() && !printed)
    return Error{ExitCode::usage, fmt::format("no pass is called '{}'; passes: {}", print_after_, known)};
  if (directory_.empty()) return {};
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure) return Error{ExitCode::unwritable_output, fmt::format("cannot make {}: {}", directory_, failure.message())};
  PLIMSOLL_TRY(write_file(directory_ + "/00.tasks", to_text(graph)));
  int number = 1;
  for (const auto& [pass, text] : texts_)
    PLIMSOLL_TRY(write_file(fmt::format("{}/{:02}.{}.plan", directory_, number++, pass), text));
  return {};
}

}  // namespace plimsoll
