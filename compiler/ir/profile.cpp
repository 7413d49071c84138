#include "compiler/ir/profile.h"

#include <fmt/format.h>

namespace plimsoll {

std::string signature(const Task& task, int64_t samples) {
  std::string text = fmt::format("{}{{{}}}", task.kernel, to_string(task.attributes));
  for (const Operand& operand : task.operands) {
    switch (operand.access) {
      case Access::absent: text += " absent"; continue;
      case Access::read: text += " read "; break;
      case Access::write: text += " write "; break;
      case Access::update: text += " update "; break;
    }
    text += to_string(operand.type.at(samples));
  }
  return text;
}

}  // namespace plimsoll
