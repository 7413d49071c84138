// Where the search begins: schedules made by rule, of checkpoints at regular distances (Chen et al.), on one level or two.
//
//   one level   K . . . K . . . K . . . K      K kept (or offloaded), . run again from the K before it
//   two levels  K . 1 . K . 1 . K . 1 . K      1 stays when its segment is run again, . is run again from it
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

struct SegmentSeed {
  int segments = 1;
  int parts = 1;                      // of each segment; 1: one level
  bool cheap_only = false;            // only what is cheap to run again for its bytes is given up within a segment
  bool offload_checkpoints = false;
};

// Segments hold equal shares of the bytes that wait for the backward. A checkpoint is everything that crosses the border.
Fates segment_fates(const Model& model, const SegmentSeed& seed);

}  // namespace plimsoll::search
