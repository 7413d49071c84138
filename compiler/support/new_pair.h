// Two files that appear together. The first refers to the second by name, like a model to its weights. The second is
// written first. If there is an old pair, its second file stays until the first file is replaced. So the second file
// has two possible names, and a new pair takes the one not in use. Whenever the process ends, the first file refers to
// a matching second one.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "compiler/support/new_file.h"

namespace plimsoll {

struct PairNames {
  std::string path;                   // of the first file
  std::array<std::string, 2> beside;  // names for the second, in the same directory; reserved for this pair
};

// `text` returns the first file for a given name of the second; `fill` writes the second. Returns the name of the
// second. Error: unwritable_output, or that of `fill`; the old files are then unchanged.
Result<std::string> write_pair(const PairNames& names,
                               const std::function<std::string(const std::string& beside)>& text,
                               const std::function<Status(NewFile&)>& fill);

}  // namespace plimsoll
