// An oracle for the checker that shares nothing with it: executes a plan with the streams interleaved at random, on an
// arena whose bytes remember which value they hold, and tells what goes wrong. What the checker accepts must never go
// wrong; it is a sample, so what goes wrong in no run may still be unsafe.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Empty: every read found the value that the task graph wants, in this interleaving; with several rounds, in one of the first round
// and one of a round between, too. Else the first that did not.
// Kernels and copies take time: they read from their beginning to their end, and what they write is garbage until then.
std::string run_interleaved(const Plan& plan, uint64_t seed);

}  // namespace plimsoll
