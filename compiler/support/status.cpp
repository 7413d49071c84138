#include "compiler/support/status.h"

namespace plimsoll {

void internal_error(const char* file, int line, const std::string& what) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace plimsoll
