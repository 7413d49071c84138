// The call that torch's dynamo exporter made a node of. Each node's metadata holds it as text:
//
//   pkg.torch.onnx.fx_node = %loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default](
//                                args = (%linear, %y, None, 1, -100, 0.1), kwargs = {})
//
// It says what ONNX has no place for.
#pragma once

#include <string_view>

#include "compiler/ir/model.h"

namespace plimsoll {

// Whether the node comes from a call of torch.ops.`target`: "aten.detach.default". False for files of other exporters.
bool is_call_of(const ModelNode& node, std::string_view target);

// The label_smoothing of the F.cross_entropy that the node comes from; 0 if there is none. The exporter leaves it out of
// the node SoftmaxCrossEntropyLoss.
double smoothing_of_call(const ModelNode& node);

}  // namespace plimsoll
