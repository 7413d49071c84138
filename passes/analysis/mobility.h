// Which residencies end soon. Dymem groups tensors by this property (its Algorithm 3).
#pragma once

#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Per residency: true if only the first task after its beginning accesses the tensor. A copy off the device that is
// still in flight does not count, because its end is not decided by the order.
//
//   conv1  relu1  conv2  …  conv1'
//   a####  a                          soon
//          b####  b         b         stays
std::vector<bool> ends_soon(const Plan& plan);

}  // namespace plimsoll
