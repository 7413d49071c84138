// A test oracle for the checker, without shared code: executes a plan with randomly interleaved streams on an arena
// that tracks the value of every byte, and reports errors. A plan that the checker accepts must never fail here. It
// only samples interleavings, so a plan that never fails may still be unsafe.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Returns an empty string if every read found the value that the task graph specifies, in this interleaving; with
// several rounds, also in one of the first round and one of a middle round. Otherwise describes the first wrong read.
// Kernels and copies take time: they read during their whole duration, and their output is garbage until they end.
std::string run_interleaved(const Plan& plan, uint64_t seed);

}  // namespace plimsoll
