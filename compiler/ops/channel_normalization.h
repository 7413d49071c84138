// Shared by GroupNormalization and InstanceNormalization: the channels of a sample are normalized in groups, each group
// by its own mean and variance. For InstanceNormalization a group is one channel.
//   GroupNormForward  {x, scale, bias, y, mean, deviation}
//   GroupNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias, bias?}
// Kernels see [groups of all samples, elements of a group], and a scale and a bias with one number per channel (or per
// group). For each group, its mean and the reciprocal of its standard deviation are saved for backward. With a fused
// Swish (the mark `activation`), y = swish(normalized). The backward reads the bias then, and computes the normalized
// values, of which the slope is a function, again from x.
#pragma once

#include "compiler/ops/fused_activation.h"
#include "compiler/ops/op.h"

namespace plimsoll {

// Checks x, and that scale and bias have `factors` elements. `groups` must divide the number of channels.
Result<std::vector<TensorType>> infer_channel_normalization(const NodeView& node, int64_t groups, int64_t factors);
void forward_channel_normalization(TaskBuilder& build, int64_t groups);
void backward_channel_normalization(TaskBuilder& build, int64_t groups);

// The number of channels of x [N,C,…]. Error: x has no channels, or their number is unknown.
Result<int64_t> channels_of(const NodeView& node);

// x [N,C,…], and a scale and a bias of `factors` elements.
Sample channel_normalization_sample(std::string name, Dims x, int64_t factors,
                                    std::map<std::string, NodeAttribute> attributes = {});

}  // namespace plimsoll
