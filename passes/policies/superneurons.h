// SuperNeurons (Wang et al., PPoPP 2018): liveness; outputs that are expensive to make again leave the device, through a
// cache that keeps what fits; outputs that are cheap are given up and made again; workspaces take the bytes that are free.
//
//   CONV ─ ACT ─ LRN ─ POOL ─ CONV ─ ACT ─┬─ …        x  a checkpoint: offloaded
//    x   ╰──── segment ────╯    x   ╰seg╯ FORK        segment  run again from the checkpoint before it
//
// Layers   A checkpoint is the output of a task that computes much (CONV, FC), reads several activations (JOIN, CONCAT) or makes
//          several, a tensor that several forward tasks read (FORK), an input (DATA), and whatever may not run again.
//          Section 3.3.2 says "only CONV", table 1 needs the others (ResNet-50: 455 MiB with them, 1592 without).
// Order    depth-first, as Algorithm 1; the order in which the branches of a fan are visited is the graph's.
//          Its `b -> get_next()` is read as the layer's, and the counter of a join as reset once, by the visit that passes it.
// Copies   section 3.3.1: an output leaves during the forward of the next CONV, and comes back during the backward of the
//          CONV behind. Where that does not fit the limit, copies stand where there is room (schedule/copies.h). The limit
//          of what runs again is, if no other is given, the peak with all copies at their need: figure 10b has CONV2 back
//          two steps ahead (1132 MiB), table 1 has nothing back ahead (ResNet-50: 455 MiB, 514 otherwise).
// Cache    section 3.3.2, Algorithm 2, decided ahead of time: replayed over the known order, LRU.out always takes the
//          tensor that was touched longest ago and is still wanted, and that is the one whose last forward use came first.
//          So what leaves is the beginning of that list, the shortest that lets the rest fit. Lines 13 and 20 (the
//          eviction may not free enough in one piece) have no counterpart: addresses are given when all is known. What the
//          running and the next task touch is locked. A miss comes back by prefetch. What is cheap is under the same cache: it leaves by being given up.
//          Without any limit there is no cache: everything leaves that may, as in figure 10 and table 1.
// Again    section 3.4: segments are run again when a backward task asks for one of their tensors.
//            speed   the whole segment once; its tensors stay until they have been used
//            memory  as far as the tensor that is asked for, each time; nothing stays but what the asking task reads
//            cost    speed for segments with Σ l_f + l_b(last) <= max(l_i), else memory. l_f: outputs, the checkpoint's not;
//                    l_b: all that the last layer's backward touches, each tensor once; max(l_i): the most that one task has
//                    in its slots, where a tensor in two of them counts twice (an LRN's dx lies in dy: 17, not 20, in table 1)
//          An output that no backward task asks for is made again on the way only. Batch statistics are not updated twice,
//          and a dropout draws the same mask: the trainer's kernels see to both (the authors' release does neither).
//          A checkpoint stays while its segment's tensors are used: the backward of the layer before wants it anyhow.
// Workspace section 3.5: the fastest algorithm whose workspace fits in the bytes that are free at that step.
#pragma once

#include "passes/context.h"

namespace plimsoll {

// Before and after: as passes/schedule/weave.h says.
Status superneurons_offload(Plan& plan, const Context& context);  // copies only: nothing runs again
Status superneurons_speed(Plan& plan, const Context& context);
Status superneurons_memory(Plan& plan, const Context& context);
Status superneurons_cost(Plan& plan, const Context& context);

}  // namespace plimsoll
