// What a backend makes of every sample, as a file that another backend's results are set beside.
#pragma once

#include <map>
#include <string>

#include "instance.h"

namespace plimsoll::test {

// By tensor: all of type f32 after all tasks, what was given as well as what was computed. In rounds of kSamples.
std::map<std::string, Values> results_of(const Op& op, const Sample& sample);

// "Relu/flat out0" → values. Appends to the file; reads all of it.
void append_results(const std::string& file, const std::string& sample, const std::map<std::string, Values>& results);
std::map<std::string, Values> read_results(const std::string& file);

}  // namespace plimsoll::test
