// Two files that appear together, of which the first speaks of the second by its name, as a model does of its weights. The second comes
// first; where another pair is, its second file stays until the first of the new one has taken its place. So there are two names for the
// second, and a pair takes the one that the pair before it has not. Whatever ends the process, the first file has the second that is its own.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "compiler/support/new_file.h"

namespace plimsoll {

struct PairNames {
  std::string path;                   // of the first
  std::array<std::string, 2> beside;  // names for the second, in the same directory; nobody else has a file of the latter
};

// `text` gives the first file, when the second has that name; `fill` writes the second. Gives the name that it has.
// Error: unwritable_output, or what `fill` says; then there is what was there before.
Result<std::string> write_pair(const PairNames& names, const std::function<std::string(const std::string& beside)>& text,
                               const std::function<Status(NewFile&)>& fill);

}  // namespace plimsoll
