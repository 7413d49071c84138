// Numbers of a flag: in the argument itself, or in a file.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

// Parses "1,0.5,2"; or the name of a text file of numbers, separated by commas, blanks or line breaks; or of a .npy
// file of one dimension, f32 or f64. Errors name the flag: usage if there are no numbers; unreadable_input for a bad
// file.
Result<std::vector<float>> read_numbers(const char* flag, const std::string& given);

}  // namespace plimsoll
