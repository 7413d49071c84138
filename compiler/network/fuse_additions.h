// Melts an Add into the node that made one of its terms, where that node's operator has a kernel that does both (Op::addend).
//
//   x ─ Conv ─ BatchNormalization ─ a ─┐                  x ─ Conv ─ BatchNormalization(+ s) ─ y
//                                     Add ─ y      ⇒                        │
//   s ─────────────────────────────────┘                  s ────────────────┘
//
// Why: the Add reads a, which nobody else does and which was written a moment ago: that pass and the one that wrote it are saved, and a is
// nowhere. The backward's tasks are the same.
//
// Before: types are inferred, and Relus stand by themselves.   After: a melted node stands where the Add stood, for its addend may be
// made after what it had of its own; it has the Add's output and its own name. A Relu behind it can be melted as ever (fuse.h).
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_additions(Network& network);

}  // namespace plimsoll
