// What MaxPool and AveragePool share: the window, the output's shape, and the node that does nothing.
#pragma once

#include "compiler/ops/op.h"
#include "compiler/ops/window.h"
#include "runtime/attrs/pool.h"

namespace plimsoll {

// Beyond infer_pool() it cannot fail.
PoolAttrs pool_attrs(const NodeView& node);

// The type of output 0. Error: neither two nor three spatial dimensions, a window that fits nowhere, more padding than window.
Result<TensorType> infer_pool(const NodeView& node);

// A window of one pixel at stride 1: torchvision's adaptive pools export it.
bool pools_nothing(const PoolAttrs& attrs);

// A sample: name, input, and attributes beside kernel_shape.
Sample pool_sample(std::string name, Dims x, std::vector<int64_t> kernel,
                   std::map<std::string, NodeAttribute> attributes);

}  // namespace plimsoll
