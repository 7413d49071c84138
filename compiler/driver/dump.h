// --print-after, --dump and --stop-after: the network after each pass, the task graph, and the chosen plan after each
// pass. Every dump can be read back (dump_file.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/ir/unfinished_plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

// What is to be done with the dumps. Empty: nothing.
struct DumpRequest {
  std::string print_after = {};  // a pass's name, or "all"
  std::string directory = {};
  std::string stop_after = {};  // a pass's name
};

class PassDump {
 public:
  // `print` receives the output of print_after.
  PassDump(DumpRequest request, std::function<void(std::string_view)> print)
      : request_(std::move(request)), print_(std::move(print)) {}

  bool wanted() const {
    return !request_.print_after.empty() || !request_.directory.empty() || !request_.stop_after.empty();
  }

  // Each returns false if no pass is to run after this one. What runs nevertheless is not dumped.
  bool after(std::string_view pass, const Network& network);
  bool after(const TaskGraph& graph);
  bool after(const UnfinishedPlan& plan);
  bool after_check(const Plan& plan);

  bool stopped() const { return stopped_; }
  // Before the search for a plan, which may take long. Error: usage, if the pass to stop after should have run by now.
  Status check_before_planning() const;
  // Prints and writes the dumps. Error: usage, if a pass that was asked for has not run.
  Status finish() const;
  // Of the pass that it has stopped at. Before: stopped().
  const std::string& last_text() const { return texts_.back().text; }

 private:
  struct Text {
    std::string pass, suffix, text;
    size_t head = 0;  // where the network, graph or plan itself begins
  };
  bool add(Text text);
  // Otherwise its text is not made.
  bool needs(std::string_view pass) const;
  Error did_not_run(const std::string& pass) const;

  DumpRequest request_;
  std::function<void(std::string_view)> print_;
  std::vector<Text> texts_;
  std::vector<std::string> ran_;
  bool stopped_ = false;
};

}  // namespace plimsoll
