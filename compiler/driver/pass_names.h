// All passes, in the order in which they run: those on the network (network_passes.h), the task graph, those on the
// plan (passes/pipeline.h), and the check. --dump writes a file for each, and --from continues after it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

inline constexpr std::string_view kTaskGraphPass = "build_task_graph";
inline constexpr std::string_view kCheckPass = "check";

struct PassName {
  std::string_view name;
  std::string_view summary;
};

std::vector<PassName> pass_names();
bool is_pass(std::string_view name);
// It runs once a plan has been chosen.
bool is_pass_on_plan(std::string_view name);
std::string names_of_passes();  // "import, make_trainable, …"

}  // namespace plimsoll
