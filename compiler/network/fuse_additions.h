// Fuses an Add into the node that computes one of its terms, if that node's operator has a kernel that does both
// (Op::addend).
//
//   x ─ Conv ─ BatchNormalization ─ a ─┐                  x ─ Conv ─ BatchNormalization(+ s) ─ y
//                                     Add ─ y      ⇒                        │
//   s ─────────────────────────────────┘                  s ────────────────┘
//
// Why: the Add is the only reader of a, which was written just before. The fused kernel saves one write and one read of
// a, and a needs no memory. The tasks of the backward pass are the same.
//
// Before: types are inferred, and Relus are separate nodes.   After: the fused node takes the position of the Add,
// because its addend may be computed after its own inputs. It has the Add's output and keeps its own name. A following
// Relu can still be fused (fuse.h).
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

void fuse_additions(Network& network);

}  // namespace plimsoll
