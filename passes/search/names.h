// The names of schedule/ that all parts of the search use.
#pragma once

#include "passes/schedule/levels.h"
#include "passes/schedule/lower.h"

namespace plimsoll::search {

using schedule::ActivationDecision;
using schedule::at;
using schedule::DecisionKind;
using schedule::Decisions;
using schedule::kNever;
using schedule::kTransient;
using schedule::Level;
using schedule::Levels;
using schedule::Model;
using schedule::ModelTensor;
using schedule::Op;
using schedule::ResidenceDecision;
using schedule::Trace;

}  // namespace plimsoll::search
