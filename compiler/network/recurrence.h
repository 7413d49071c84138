// The forms of a recurrent network.
#pragma once

namespace plimsoll {

// How LSTM and GRU nodes are computed, if both are possible. The importer makes one form; the driver asks for each.
enum class Recurrence {
  unrolled,   // step by step
  fused,      // all steps of a direction by one operator
  automatic,  // the planner chooses between both (docs/decisions/recurrent.md); not for the importer
};

}  // namespace plimsoll
