// Reuse distances: how many bytes an iteration accesses between two uses of the same bytes. They determine the cache
// level in which an operand is found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Per distinct task, by signature(), and per operand: the distinct bytes accessed since its last access; 0 for an
// absent operand. Tasks run in graph order with updates as early as possible, iteration after iteration. Tasks with the
// same signature share the median of each operand. Plans move tasks and insert copies, so this is an expectation.
//
// A recomputed task runs right before the first backward task that reads its output. If there is none, its operands
// count as not cached.
//
//   conv1  relu1  conv2 … conv2.backward        x1 of relu1:           the bytes of conv1's other operands
//     └─x1──┘                                    w2 of conv2.backward:  everything accessed since conv2
//
// Source: Mattson et al., "Evaluation techniques for storage hierarchies" (1970): stack distances, in bytes.
std::map<std::string, std::vector<int64_t>> reuse_bytes(const TaskGraph& graph, int64_t samples);

}  // namespace plimsoll
