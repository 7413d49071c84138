// Broadcasts from rank 0. To be called by all ranks, between rounds. With one rank, these do nothing.
#pragma once

#include "runtime/program.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/parameters.h"
#include "runtime/train/team.h"

namespace plimsoll::train {

// The run's position, which rank 0 has read from the checkpoint.
void share_progress(Progress& progress, Team& team);

// Weights, statistics and optimizer state.
void share_parameters(const Program& program, ParameterPort& port, Team& team);

// Each rank's running statistics are of its own samples; no gradient depends on them. Saved models and evaluations use
// those of rank 0.
void share_statistics(const Program& program, ParameterPort& port, Team& team);

}  // namespace plimsoll::train
