// What: decides which values are stored in bf16 or f16 instead of f32.
// Before: fuse. Every value is f32 or of whole numbers, as in the model.
// After:  Value::reduced of every output of a node is the type in which the value, and its gradient, are stored. The
//         types, and what operators infer, remain f32: bf16 is a way to store an f32 value, and f16 another.
//         Value::reduced of a trained weight that is read in bf16 alone is bf16: it is stored in two halves
//         (runtime/split_weight.h). Its gradient is f32. A frozen weight that is read in the narrow type alone is
//         stored in it. build_task_graph casts the other factors of products (ops/task_builder.h).
// Why here: fused nodes have no values in between. Layouts are chosen by times, which depend on the precision.
//
//   x f32 ─ cast ─► bf16 ─┐                     Weight gradients, the optimizer's state, statistics and losses are
//                         Conv ─► bf16 ─► …     f32. A product reads bf16, adds in f32 and rounds its result once.
//   w bf16 ───────────────┘                     A cast is a task like any other: the planner keeps, recomputes or
//     low i16 ─► its update alone               offloads its result.
//
// Each operator has a rule (Op::precision). PyTorch's autocast has the same products; it stores results of norms,
// softmax and sums with an f32 operand in f32, which bf16 here halves. f16 is for the same values; its gradients need a
// scale (training/update.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class Precision { fp32, bf16, fp16 };

struct PrecisionRequest {
  Precision precision = Precision::fp32;
  // Shell patterns: results of the nodes with such a name or module path are f32, and their factors are not cast.
  std::vector<std::string> keep_fp32 = {};
};

// Error: usage, if a pattern matches no node.
Status assign_precision(Network& network, const PrecisionRequest& request);

}  // namespace plimsoll
