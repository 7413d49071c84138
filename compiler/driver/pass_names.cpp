#include "compiler/driver/pass_names.h"

#include <algorithm>

#include "compiler/driver/network_passes.h"
#include "passes/pipeline.h"

namespace plimsoll {

std::vector<PassName> pass_names() {
  std::vector<PassName> names;
  for (const NetworkPass& pass : network_passes()) names.push_back({pass.name, pass.summary});
  names.push_back({kTaskGraphPass, "build the tasks of training and their tensors"});
  for (const Pass& pass : all_passes()) names.push_back({pass.name, pass.summary});
  names.push_back({kCheckPass, "complete the plan and check it"});
  return names;
}

bool is_pass(std::string_view name) {
  const std::vector<PassName> names = pass_names();
  return std::any_of(names.begin(), names.end(), [&](const PassName& pass) { return pass.name == name; });
}

bool is_pass_on_plan(std::string_view name) { return name == kCheckPass || find_pass(name) != nullptr; }

std::string names_of_passes() {
  std::string text;
  for (const PassName& pass : pass_names()) (text += text.empty() ? "" : ", ") += pass.name;
  return text;
}

}  // namespace plimsoll
