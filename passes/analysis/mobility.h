// Which residencies end soon: what Dymem groups tensors by (its Algorithm 3).
#pragma once

#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// Of each residency: no task but the first one behind its beginning touches the tensor there. A copy off the device that
// is still under way then does not count: nobody decides when it ends.
//
//   conv1  relu1  conv2  …  conv1'
//   a####  a                          soon
//          b####  b         b         stays
std::vector<bool> ends_soon(const Plan& plan);

}  // namespace plimsoll
