#include "compiler/support/counted.h"

#include <fmt/format.h>

#include "compiler/support/bytes.h"

namespace plimsoll {

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", format_grouped(count), what, count == 1 ? "" : "s");
}

std::string_view is_or_are(int64_t count) { return count == 1 ? "is" : "are"; }

}  // namespace plimsoll
