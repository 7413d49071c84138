// Takes the two transpositions of attention's keys apart where an exporter has merged them, and merges them again.
//
//   k.view(N, S, H, d).transpose(1, 2)            [N,S,H,d] → [N,H,S,d]     Transpose {0,2,1,3}: the heads
//   q @ k.transpose(-2, -1)                       [N,H,S,d] → [N,H,d,S]     Transpose {0,1,3,2}: the keys
//   TorchScript's exporter writes one node        [N,S,H,d] → [N,H,d,S]     Transpose {0,2,3,1}
//
//   k.view(S, N·H, d).transpose(0, 1)             [S,N·H,d] → [N·H,S,d]     Transpose {1,0,2}
//   torch.bmm(q, k.transpose(-2, -1))             [N·H,S,d] → [N·H,d,S]     Transpose {0,2,1}
//   TorchScript's exporter writes one node        [S,N·H,d] → [N·H,d,S]     Transpose {1,2,0}
//
// Why: the attention operator reads keys as [N,H,S,d] or [N·H,S,d]. Files of nanoGPT and of torch.nn.MultiheadAttention
// do not compute these.
//
// Before: fuse_composites has not run; between the two functions it makes the second transposition a part of the
// product.
#pragma once

#include <vector>

#include "compiler/ir/network.h"

namespace plimsoll {

// After: no Transpose has the permutation {0,2,3,1} or {1,2,0}; each is two nodes. Returns what the first of each two
// makes.
std::vector<ValueId> separate_turns(Network& network);

// Merges those of `heads` that are still read by a transposition of keys alone.   After: the same function.
void merge_turns(Network& network, const std::vector<ValueId>& heads);

}  // namespace plimsoll
