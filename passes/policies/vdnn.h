// vDNN (Rhu et al., MICRO 2016): the inputs X of layers go to the host while the layer runs forward and come back one layer
// ahead of the backward pass, with a barrier at the end of every layer.
//
//   compute   | conv1 |  relu  | pool  | …  | pool' |  relu' | conv1' |       each bar is also the end of a layer:
//   offload    xxxxx x1|       |xxx x2 |    |       |        |        |       the next one waits for the copies
//   prefetch                                |xxx x1 |        |        |
//
// What the paper says, and how it was read where it leaves something open:
//   offload    Section III-B. X is read only while layer n runs forward, so its copy starts as layer n starts; the compute
//              stream waits for it at the end of layer n if there was one, and then X is released. An X that several
//              layers read goes with the last of them (Refcnt) if any of them is of a kind that offloads.
//              An X that no backward task reads is released and not copied. The model's inputs are never copied off: they
//              are loaded again.
//   all, conv  vDNN_all: X of every layer that extracts features; vDNN_conv: X of the CONV layers. The classifier, from the
//              first FC behind the last CONV, is left alone. CONV and FC are the tasks with two operations or more for each
//              sample and element of a matrix or of filters; CONV works on more dimensions than samples and features. Where
//              a network has no CONV, its FC stand in for them, and it has no classifier.
//   prefetch   Section III-B, figure 10: as the backward of layer n starts, layers n-1, n-2 … are searched for one whose X
//              is still away; a CONV whose X is not away ends the window, even if it never left. Layer ids are the order of
//              the forward tasks, in graphs with branches too. A layer with several X gets them all. At the end of layer
//              n's backward, compute waits for the prefetch. What figure 10 did not find in time (it has no rule for it) is
//              fetched right before its first reader. The prefetch at the last POOL or FC of a group takes memory a layer
//              early: the paper's 4.8 GB for VGG-16(128) leave it out (docs/papers.md), we do not.
//   :m, :p     the algorithm with the smallest workspace, or the fastest, for every task (Policy::algorithms).
//   dyn        Section III-C, its profiling passes with the fast evaluator as the profiler: vDNN_all(m) first, to see
//              whether anything fits; then no offload, vDNN_conv and vDNN_all, in this order, with the fastest algorithms;
//              then vDNN_conv and vDNN_all with algorithms that are downgraded layer by layer where they do not fit.
//              Without a limit the second pass succeeds. Where nothing fits, the plan with the lowest peak stands.
//
// Each is asked with any sub-batch; the paper runs whole batches.
#pragma once

#include "passes/context.h"

namespace plimsoll {

Status vdnn_all(Plan& plan, const Context& context);
Status vdnn_conv(Plan& plan, const Context& context);
Status vdnn_dyn(Plan& plan, const Context& context);  // with AlgorithmKind::fitting

}  // namespace plimsoll
