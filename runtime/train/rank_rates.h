// A trainer's --measure-ranks: how fast the ranks of this run add up, for `plimsoll compile --rank-costs`.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/team.h"

namespace plimsoll::train {

// By all ranks at once; rank 0 writes the file and says what it holds. Takes a second or a few. Throws TrainerError: usage
// where the program is of one rank, unwritable_output.
void measure_ranks(const Program& program, Team& team, const std::string& path, bool quiet);

}  // namespace plimsoll::train
