// vDNN (Rhu et al., MICRO 2016): the inputs X of layers are offloaded while the layer runs forward, and prefetched one
// layer ahead of the backward, with a barrier at the end of every layer.
//
//   compute   | conv1 |  relu  | pool  | …  | pool' |  relu' | conv1' |       each bar is also the end of a layer:
//   offload    xxxxx x1|       |xxx x2 |    |       |        |        |       the next one waits for the copies
//   prefetch                                |xxx x1 |        |        |
//
// What the paper says, and how open points were read:
//   offload    Section III-B. X is read only while layer n runs forward, so its copy starts as layer n starts. The
//              compute stream waits for a copy at the end of layer n, and then X is released. An X that several layers
//              read is offloaded by the last of them (Refcnt) if any of them is of a kind that offloads. An X that no
//              backward task reads is released and not copied. The model's inputs are never copied off: they are loaded
//              again.
//   all, conv  vDNN_all: X of every layer that extracts features; vDNN_conv: X of the CONV layers. The classifier, from
//              the first FC after the last CONV, is left alone. CONV and FC are tasks with at least two operations per
//              sample and element of a matrix or of filters. CONV works on more dimensions than samples and features.
//              If a network has no CONV, its FC layers take that role, and it has no classifier.
//   prefetch   Section III-B, figure 10: when the backward of layer n starts, layers n-1, n-2 … are searched for one
//              whose X is off the device. A CONV whose X is resident ends the window, even if X never left. Layer ids
//              are the order of the forward tasks, in graphs with branches too. A layer with several X fetches all of
//              them. At the end of layer n's backward, compute waits for the prefetch. Figure 10 has no rule for an X
//              that it did not find in time: here it is fetched right before its first reader. The prefetch at the last
//              POOL or FC of a group takes memory a layer early: the paper's 4.8 GB for VGG-16(128) omit it
//              (docs/papers.md), ours do not.
//   :m, :p     the algorithm with the smallest workspace, or the fastest, for every task (Policy::algorithms).
//   dyn        Section III-C, with the fast evaluator instead of its profiling passes. First no offload, vDNN_conv and
//              vDNN_all, in this order, with the fastest algorithms. Then vDNN_conv and vDNN_all with algorithms
//              downgraded layer by layer where they do not fit. The first that fits is taken. If none fits, the one
//              with the lowest peak is taken; the paper tests for this case first, by vDNN_all(m).
//
// All of these work with any sub-batch; the paper runs whole batches.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program vdnn_all(const ScheduleRequest& request);
schedule::Program vdnn_conv(const ScheduleRequest& request);
schedule::Program vdnn_dyn(const ScheduleRequest& request);  // with AlgorithmKind::fitting

}  // namespace plimsoll
