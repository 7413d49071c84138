// --print-after and --dump: the network and the plan after each pass, and the task graph between them. Every dump can
// be read back (dump_file.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

class PassDump {
 public:
  // `print_after`: a pass's name, "all" or empty. `directory`: empty for none. `print` receives the output of
  // --print-after.
  PassDump(std::string print_after, std::string directory, std::function<void(std::string_view)> print)
      : print_after_(std::move(print_after)), directory_(std::move(directory)), print_(std::move(print)) {}

  void after(const std::string& pass, const Network& network);
  void after(const std::string& pass, const Plan& plan);
  // Writes the collected dumps. Error: usage, if no pass has the requested name.
  Status finish(const TaskGraph& graph);

 private:
  bool wanted() const { return !print_after_.empty() || !directory_.empty(); }

  std::string print_after_, directory_;
  std::function<void(std::string_view)> print_;
  struct Text {
    std::string pass, suffix, text;
  };
  std::vector<Text> networks_;
  std::vector<Text> plans_;  // of the passes of the chosen plan
};

}  // namespace plimsoll
