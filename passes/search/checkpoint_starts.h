// Start schedules with checkpoints at regular intervals (Chen et al.), on one or two levels.
//
//   one level   K . . . K . . . K . . . K      K kept (or offloaded), . recomputed from the K before it
//   two levels  K . 1 . K . 1 . K . 1 . K      1 stays when its segment is recomputed, . is recomputed from it
#pragma once

#include "passes/search/state.h"

namespace plimsoll::search {

struct Checkpoints {
  int segments = 1;
  int parts = 1;            // of each segment; 1: one level
  bool cheap_only = false;  // within a segment, recompute only tensors of at most the median price per byte
  bool offloaded = false;
};

// Segments have equal shares of the bytes held for the backward. A checkpoint is every tensor that crosses the
// boundary.
Decisions checkpoint_decisions(const Model& model, const Checkpoints& checkpoints);

}  // namespace plimsoll::search
