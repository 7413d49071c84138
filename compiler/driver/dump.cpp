#include "compiler/driver/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/driver/pass_names.h"
#include "compiler/driver/request.h"
#include "compiler/ir/network_text.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/support/output.h"

namespace plimsoll {

// The text before the one that is printed tells whether the pass has changed anything.
bool PassDump::needs(std::string_view pass) const {
  return !request_.print_after.empty() || !request_.directory.empty() || request_.stop_after == pass;
}

bool PassDump::add(Text text) {
  if (stopped_) return false;
  ran_.push_back(text.pass);
  stopped_ = text.pass == request_.stop_after;
  if (needs(text.pass)) texts_.push_back(std::move(text));
  return !stopped_;
}

bool PassDump::after(std::string_view pass, const Network& network) {
  return add({std::string(pass), "network", needs(pass) ? to_text(network) : ""});
}

bool PassDump::after(const TaskGraph& graph) {
  return add({std::string(kTaskGraphPass), "tasks", needs(kTaskGraphPass) ? to_text(graph) : ""});
}

bool PassDump::after(const UnfinishedPlan& plan) {
  if (!needs(plan.after)) return add({plan.after, "plan", ""});
  std::string text = to_text(plan);
  const size_t head = text.size() - to_text(plan.plan).size();
  return add({plan.after, "plan", std::move(text), head});
}

bool PassDump::after_check(const Plan& plan) {
  return add({std::string(kCheckPass), "plan", needs(kCheckPass) ? to_text(plan) : ""});
}

Error PassDump::did_not_run(const std::string& pass) const {
  return usage(
      fmt::format("pass '{}' does not run with these options; those that run are {}", pass, fmt::join(ran_, ", ")));
}

Status PassDump::check_before_planning() const {
  if (request_.stop_after.empty() || stopped_ || is_pass_on_plan(request_.stop_after)) return {};
  return did_not_run(request_.stop_after);
}

Status PassDump::finish() const {
  if (!request_.stop_after.empty() && !stopped_) return did_not_run(request_.stop_after);
  const std::string& print_after = request_.print_after;
  if (!print_after.empty() && print_after != "all" && std::find(ran_.begin(), ran_.end(), print_after) == ran_.end())
    return did_not_run(print_after);
  std::string_view previous;
  for (const Text& made : texts_) {
    const std::string_view body = std::string_view(made.text).substr(made.head);
    if (print_ && (print_after == "all" || print_after == made.pass)) {
      const bool same = body == previous;
      print_(fmt::format("# after {}{}\n{}", made.pass, same ? " (unchanged)\n" : "", same ? "" : made.text));
    }
    previous = body;
  }
  const std::string& directory = request_.directory;
  if (directory.empty()) return {};
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    return Error{ExitCode::unwritable_output, fmt::format("cannot create {}: {}", directory, failure.message())};
  int number = 0;
  for (const Text& made : texts_)
    PLIMSOLL_TRY(write_file(fmt::format("{}/{:02}.{}.{}", directory, number++, made.pass, made.suffix), made.text));
  return {};
}

}  // namespace plimsoll
