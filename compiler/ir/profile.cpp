#include "compiler/ir/profile.h"

namespace plimsoll {
namespace {

constexpr size_t kUsualBytes = 160;  // room for most signatures

}  // namespace

std::string signature(const Task& task, int64_t samples) {
  std::string text;
  text.reserve(kUsualBytes);
  text += task.kernel;
  text += '{';
  text += to_string(task.attributes);
  text += '}';
  for (const Operand& operand : task.operands) {
    switch (operand.access) {
      case Access::absent: text += " absent"; continue;
      case Access::read: text += " read "; break;
      case Access::write: text += " write "; break;
      case Access::update: text += " update "; break;
    }
    append(text, operand.type.at(samples));
  }
  return text;
}

}  // namespace plimsoll
