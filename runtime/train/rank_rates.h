// --measure-ranks: measures reductions over the ranks of this run, for `plimsoll compile --rank-costs`.
#pragma once

#include <string>

#include "runtime/program.h"
#include "runtime/train/team.h"

namespace plimsoll::train {

// Called by all ranks; rank 0 writes the file and prints a summary. Takes a few seconds. Throws TrainerError: usage if
// the program is for one rank; unwritable_output.
void measure_ranks(const Program& program, Team& team, const std::string& path, bool quiet);

}  // namespace plimsoll::train
