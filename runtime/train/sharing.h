// What rank 0 has becomes what all ranks have. By every rank, between rounds; of one rank, nothing happens.
#pragma once

#include "runtime/program.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/parameters.h"
#include "runtime/train/team.h"

namespace plimsoll::train {

// Where the run stands: rank 0 has read the checkpoint.
void share_progress(Progress& progress, Team& team);

// Weights, statistics and optimizer state.
void share_parameters(const Program& program, ParameterPort& port, Team& team);

// Each rank's running statistics are those of its own samples, and no gradient depends on them. What is saved is rank
// 0's, and so is what evaluation sees.
void share_statistics(const Program& program, ParameterPort& port, Team& team);

}  // namespace plimsoll::train
