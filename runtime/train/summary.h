// What a trainer says before its first iteration and after its last.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/dataset.h"

namespace plimsoll::train {

void print_start(const Program& program, const Dataset& data, int64_t iterations_per_epoch, const std::string& spill);
// `median_seconds` is of an iteration; 0: none was played.
void print_end(const Program& program, int64_t allocated_bytes, double median_seconds);

}  // namespace plimsoll::train
