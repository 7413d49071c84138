// GroupNormalization: the channels of each sample in num_groups groups, each by its own mean and variance. Scale and
// bias are per group before opset 21, per channel since. The kernels are in channel_normalization.h.
#include "compiler/ops/channel_normalization.h"

namespace plimsoll {
namespace group_normalization {

int64_t groups_of(const NodeView& node) { return node.integer("num_groups", 0); }

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(const int64_t channels, channels_of(node));
  const int64_t groups = groups_of(node);
  if (groups < 1 || channels % groups != 0)
    return node.invalid(std::to_string(groups) + " groups of the channels of " + to_string(node.input_type(0).dims));
  return infer_channel_normalization(node, groups, node.opset() < 21 ? groups : channels);
}

void forward(TaskBuilder& build) { forward_channel_normalization(build, groups_of(build.node())); }
void backward(TaskBuilder& build) { backward_channel_normalization(build, groups_of(build.node())); }

std::vector<Sample> samples() {
  const auto groups = [](int64_t count) { return std::map<std::string, NodeAttribute>{{"num_groups", count}}; };
  std::vector<Sample> all = {channel_normalization_sample("image", {kBatch, {6}, {3}, {4}}, 6, groups(2)),
                             channel_normalization_sample("series", {kBatch, {4}, {9}}, 4, groups(4)),
                             channel_normalization_sample("volume", {kBatch, {4}, {2}, {3}, {3}}, 4, groups(1)),
                             channel_normalization_sample("by_group", {kBatch, {6}, {5}}, 3, groups(3)),
                             channel_normalization_sample("many", {kBatch, {32}, {2}, {2}}, 32, groups(8)),
                             channel_normalization_sample("swish", {kBatch, {6}, {3}, {4}}, 6, groups(2)),
                             channel_normalization_sample("by_group_swish", {kBatch, {6}, {5}}, 3, groups(3)),
                             channel_normalization_sample("large_swish", {kBatch, {2}, {33}, {37}}, 2, groups(1)),
                             channel_normalization_sample("blocked_swish", {kBatch, {32}, {3}, {5}}, 32, groups(8)),
                             channel_normalization_sample("by_group_blocked_swish", {kBatch, {48}, {2}, {3}}, 2,
                                                          groups(2)),
                             channel_normalization_sample("blocked", {kBatch, {48}, {3}, {3}}, 48, groups(2)),
                             channel_normalization_sample("blocked_whole", {kBatch, {32}, {9}, {8}}, 32, groups(1))};
  for (Sample& sample : all) {
    if (sample.name.starts_with("by_group")) sample.opset = 18;
    if (sample.name.ends_with("swish")) sample.marks.activation = FusedActivation::swish;
  }
  return all;
}

}  // namespace group_normalization

const Op op_GroupNormalization{
    .name = "GroupNormalization",
    .first_opset = 18,
    .inputs = {Slot::data, Slot::weight, Slot::weight},
    .required_inputs = 3,
    .attributes = {attribute::real("epsilon").since(18), attribute::integer("num_groups").since(18),
                   attribute::integer("stash_type").since(21)},
    .samples_rule = SamplesRule::first_input,
    .infer = group_normalization::infer,
    .forward = group_normalization::forward,
    .backward = group_normalization::backward,
    .layout = LayoutRule::blocks,
    .absorbs = only_swish,
    .samples = group_normalization::samples};

}  // namespace plimsoll
