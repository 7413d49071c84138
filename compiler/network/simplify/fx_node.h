// The call of PyTorch that a node comes from. torch's dynamo exporter writes it into the node's metadata, as text:
//
//   pkg.torch.onnx.fx_node = %loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default](
//                                args = (%linear, %y, None, 1, -100, 0.1), kwargs = {})
//
// It holds arguments that have no attribute in ONNX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ir/model.h"

namespace plimsoll {

// Whether the node comes from a call of torch.ops.`target`: "aten.detach.default". False for files of other exporters.
bool is_call_of(const ModelNode& node, std::string_view target);

// The label_smoothing of the F.cross_entropy that the node comes from; 0 if there is none. The exporter leaves it out
// of the node SoftmaxCrossEntropyLoss.
double smoothing_of_call(const ModelNode& node);

// The padding_idx of the F.embedding that the node comes from.
struct CalledPadding {
  bool is_embedding = false;           // false: the node comes from no such call
  std::optional<int64_t> row = {};  // nullopt: the call has no padding_idx
};
CalledPadding padding_of_call(const ModelNode& node);

// Whether the node comes from a Tensor.clamp() whose lower or upper bound is a number in the code.
bool is_clamp_by_number(const ModelNode& node, bool is_lower);

// Whether the recurrent node comes from a call whose initial states are the results of torch.zeros(), as nn.LSTM makes
// them if none are given.
bool is_called_with_zeros(const ModelNode& node);

}  // namespace plimsoll
