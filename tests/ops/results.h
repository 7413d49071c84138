// A backend's results on every sample, in a file for comparison with another backend's.
#pragma once

#include <map>
#include <string>

#include "instance.h"

namespace plimsoll::test {

// By tensor: all f32 tensors after all tasks, inputs as well as results. In rounds of kSamples.
std::map<std::string, Values> results_of(const Op& op, const Sample& sample);

// "Relu/flat out0" → values. Writing appends to the file; reading reads the whole file.
void append_results(const std::string& file, const std::string& sample, const std::map<std::string, Values>& results);
std::map<std::string, Values> read_results(const std::string& file);

}  // namespace plimsoll::test
