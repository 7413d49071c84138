// Shared by MaxPool and AveragePool: the window, the output's shape, and the node that does nothing.
#pragma once

#include "compiler/ops/op.h"
#include "compiler/ops/window.h"
#include "runtime/attrs/pool.h"

namespace plimsoll {

// Cannot fail after infer_pool() succeeded.
PoolAttrs pool_attrs(const NodeView& node);

// The type of output 0. Errors: neither two nor three spatial dimensions, a window larger than the padded input, more
// padding than window.
Result<TensorType> infer_pool(const NodeView& node);

// A window of one pixel with stride 1, as exported for torchvision's adaptive pools.
bool pools_nothing(const PoolAttrs& attrs);

// A sample: name, input, and attributes in addition to kernel_shape.
Sample pool_sample(std::string name, Dims x, std::vector<int64_t> kernel,
                   std::map<std::string, NodeAttribute> attributes);

}  // namespace plimsoll
