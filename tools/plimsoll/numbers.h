// Numbers of a flag: written there, or in a file.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

// "1,0.5,2"; or the name of a file of numbers, parted by commas, blanks or lines; or of a .npy file of one dimension, f32 or f64.
// Errors, which name the flag: usage, for what are no numbers; unreadable_input, for a file that cannot be read or is none of those.
Result<std::vector<float>> read_numbers(const char* flag, const std::string& given);

}  // namespace plimsoll
