// SuperNeurons (Wang et al., PPoPP 2018): liveness; outputs that are expensive to recompute are offloaded, through a
// cache that keeps what fits; cheap outputs are evicted and recomputed; workspaces take the free bytes.
//
//   CONV ─ ACT ─ LRN ─ POOL ─ CONV ─ ACT ─┬─ …        x  a checkpoint: offloaded
//    x   ╰──── segment ────╯    x   ╰seg╯ FORK        segment  recomputed from the checkpoint before it
//
// Layers   A checkpoint is the output of a task that computes much (CONV, FC), reads several activations (JOIN, CONCAT)
//          or writes several, a tensor that several forward tasks read (FORK), a model input (DATA), and every output
//          that may not be recomputed. Section 3.3.2 says "only CONV", but table 1 needs the others (ResNet-50: 455 MiB
//          with them, 1592 without).
// Order    depth-first, as Algorithm 1; the branches of a fan are visited in graph order. `b -> get_next()` is read as
//          the layer's, and the counter of a join as reset once, by the visit that passes it.
// Copies   section 3.3.1: an output is offloaded during the forward of the next CONV, and prefetched during the
//          backward of the following CONV. If that does not fit the limit, copies go where there is room
//          (schedule/copies.h). For the recomputing strategies without a limit, the limit is the peak with every copy
//          right at its need: in figure 10b CONV2 is back two steps ahead (1132 MiB), in table 1 nothing is back ahead
//          (ResNet-50: 455 MiB, 514 otherwise).
// Cache    section 3.3.2, Algorithm 2, decided ahead of time. Over the known order, LRU.out always takes the tensor
//          that was touched longest ago and is still needed, which is the one whose last forward use came first. So the
//          shortest prefix of that list is evicted with which the rest fits. Lines 13 and 20 (an eviction may not free
//          enough contiguous bytes) have no counterpart: addresses are assigned when all is known. Operands of the
//          running and the next task are locked. A miss is prefetched. Cheap tensors share the cache: they are evicted
//          without a copy. Without a limit there is no cache: everything that may be evicted is, as in figure 10 and
//          table 1.
// Again    section 3.4: a segment is recomputed when a backward task needs one of its tensors.
//            speed   the whole segment once; its tensors stay until they have been used
//            memory  up to the needed tensor, each time; nothing stays except the operands of the requesting task
//            cost    speed for segments with Σ l_f + l_b(last) <= max(l_i), else memory. l_f: outputs, without the
//                    checkpoint's; l_b: all tensors of the last layer's backward, each once; max(l_i): the largest sum
//                    over the slots of one task, where a tensor in two slots counts twice (an LRN's dx lies in dy: 17,
//                    not 20, in table 1)
//          An output that no backward task reads is recomputed only on the way to another. Batch statistics are not
//          updated twice, and a dropout draws the same mask: the trainer's kernels ensure both (the authors' release
//          does neither). A checkpoint stays while its segment's tensors are used: the backward of the previous layer
//          needs it anyway.
// Workspace section 3.5: the fastest algorithm whose workspace fits in the bytes that are free at that step.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program superneurons_offload(const ScheduleRequest& request);  // copies only; nothing is recomputed
schedule::Program superneurons_speed(const ScheduleRequest& request);
schedule::Program superneurons_memory(const ScheduleRequest& request);
schedule::Program superneurons_cost(const ScheduleRequest& request);

}  // namespace plimsoll
