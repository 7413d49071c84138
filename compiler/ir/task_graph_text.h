// The text form of task graphs, for dumps, bug reports and tests: one fact per line, names instead of numbers,
// canonical.
//
//   graph three-convs v1 batch=64
//   tensor %x input f32[N,3,64,64] onnx=input.1
//   tensor %c1.W weight f32[16,3,3,3]:Ohwi16o persistent onnx=c1.weight
//   tensor %c1.Y activation f32[N,16,64,64]:nChw16c
//   task c1.forward Conv forward layer=c1 ConvForward{pads=[1,1,1,1]} read %x read %c1.W absent write %c1.Y flops=…
//   task r1.forward Relu forward layer=r1 ReluForward{} read %c1.Y write %r1.Y in_place %c1.Y %r1.Y
//   …
//   input %x
//   parameter %c1.W initializer=c1.weight stored=f32[16,3,3,3]
//   loss %loss
//
// An operand that the kernel sees with other dimensions states them: `read %p.Y as f32[N,512]`. `once`: may not be
// recomputed. `read twice`: in two passes. `remember %bn.mean %bn.var`: a recomputation reads these and does not write
// them. `mixes_samples`: splitting the batch changes the result. `whole_batch`: splitting the batch makes the result
// wrong. `attention="fused" layout="nhwc, as asked"` at the end of the first line: as in a network.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

std::string to_text(const TaskGraph& graph);

// to_text(graph_from_text(text)) is the canonical form of `text`. `what` names the text in errors. Error:
// invalid_model, with line and column; also for sizes that exceed 63 bits at the graph's batch.
Result<TaskGraph> graph_from_text(std::string_view text, const std::string& what = "task graph");

}  // namespace plimsoll
