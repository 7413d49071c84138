// How much an iteration touches between two uses of the same bytes: what decides in which cache they lie.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// For every distinct task, by signature(): of each operand the distinct bytes that were touched since it was, the tasks
// in the order of the graph with updates as early as they may, iteration after iteration; 0 for an absent one. Tasks with
// one signature share the median of each operand. Plans move tasks and bring other bytes between: this is what to expect.
//
// As it is run again, a task runs right before the first task of the backward that reads what it makes anew; where there is
// none, nothing has been touched for as long as it takes to forget it.
//
//   conv1  relu1  conv2 … conv2.backward        x1 of relu1:           the bytes of conv1's other operands
//     └─x1──┘                                    w2 of conv2.backward:  all that was touched since conv2
//
// Source: Mattson et al., "Evaluation techniques for storage hierarchies" (1970): stack distances, in bytes.
std::map<std::string, std::vector<int64_t>> reuse_bytes(const TaskGraph& graph, int64_t samples);

}  // namespace plimsoll
