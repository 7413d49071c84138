#include "compiler/network/loss_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "compiler/network/edit.h"

namespace plimsoll {
namespace {

// An option that applies only to some of the losses that are added. Others, and the model's own, would ignore it.
struct LossOption {
  std::string_view flag;
  bool given, of_classes, of_binary;
};

std::vector<LossOption> options_of(const LossRequest& request) {
  return {{"--class-axis", request.class_axis.has_value(), true, true},
          {"--ignore-index", request.ignore_index.has_value(), true, false},
          {"--class-weights", !request.class_weights.empty(), true, true},
          {"--pos-weight", !request.positive_weights.empty(), false, true},
          {"--label-smoothing", request.label_smoothing.has_value(), true, true},
          {"--mixed-labels", request.mixed_labels, true, false}};
}

std::string losses_of(const LossOption& option) {
  if (!option.of_classes) return "bce-logits";
  return option.of_binary ? "softmax-cross-entropy or bce-logits" : "softmax-cross-entropy";
}

Status check_weights(std::string_view flag, const std::vector<float>& weights, int64_t classes, bool one_for_all) {
  if (weights.empty()) return {};
  const auto count = std::ssize(weights);
  if (count != classes && !(one_for_all && count == 1))
    return Error{ExitCode::usage, fmt::format("{} has {} weights, but there are {} classes", flag, count, classes)};
  if (std::any_of(weights.begin(), weights.end(), [](float w) { return !(w >= 0) || std::isinf(w); }))
    return Error{ExitCode::usage, fmt::format("{} must be at least 0", flag)};
  return {};
}

void add_weights(Network& network, Node& loss, size_t input, const char* name, const std::vector<float>& weights) {
  if (weights.empty()) return;
  const TensorType type{DataType::f32, {{static_cast<int64_t>(weights.size())}}};
  const ValueId value = add_value(network, name, ValueKind::parameter, type);
  network.values[value].initializer = name;
  loss.inputs.resize(std::max(loss.inputs.size(), input + 1));
  loss.inputs[input] = value;
}

}  // namespace

Status check_loss_options(const LossRequest& request, const std::optional<std::string>& own) {
  const bool classes = request.kind == LossKind::softmax_cross_entropy,
             binary = request.kind == LossKind::binary_cross_entropy;
  for (const LossOption& option : options_of(request)) {
    if (!option.given) continue;
    if (own)
      return Error{
          ExitCode::usage,
          fmt::format("{} applies to a loss that Plimsoll adds; the model has its own loss, {}", option.flag, *own)};
    if (!(classes && option.of_classes) && !(binary && option.of_binary))
      return Error{ExitCode::usage, fmt::format("{} requires --loss {}", option.flag, losses_of(option))};
  }
  if (binary && request.class_axis && request.class_weights.empty() && request.positive_weights.empty())
    return Error{ExitCode::usage, "--class-axis with --loss bce-logits requires --class-weights or --pos-weight"};
  if (const auto smoothing = request.label_smoothing; smoothing && !(*smoothing >= 0 && *smoothing <= 1))
    return Error{ExitCode::usage, fmt::format("--label-smoothing {} is not between 0 and 1", *smoothing)};
  return {};
}

Result<std::optional<size_t>> axis_of_weights(const Network& network, ValueId logits, const LossRequest& request) {
  const bool of_classes = request.class_weights.size() > 1;
  if (!of_classes && request.positive_weights.size() <= 1) return std::optional<size_t>();
  const Value& output = network.values[logits];
  const Dims& dims = output.type.dims;
  const auto rank = std::ssize(dims);
  std::vector<size_t> axes;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!dims[i].batch) axes.push_back(i);
  if (!request.class_axis && axes.size() == 1) return std::optional(axes[0]);
  const char* const flag = of_classes ? "--class-weights" : "--pos-weight";
  Error error{ExitCode::usage, fmt::format("output '{}' is {}: which axis the weights of {} belong to is ambiguous; "
                                           "choose it with --class-axis K",
                                           output.name, to_string(output.type), flag)};
  if (axes.empty())
    error.message = fmt::format("{} has several weights, but output '{}' is {}, without classes", flag, output.name,
                                to_string(output.type));
  for (const size_t axis : axes)
    error.notes.push_back(fmt::format("--class-axis {}: {} classes", axis, dims[axis].value));
  if (!request.class_axis) return error;
  const int64_t at = *request.class_axis < 0 ? *request.class_axis + rank : *request.class_axis;
  if (at >= 0 && at < rank && !dims[static_cast<size_t>(at)].batch) return std::optional(static_cast<size_t>(at));
  error.message = fmt::format("--class-axis {}: this axis of output '{}', {}, {}", *request.class_axis, output.name,
                              to_string(output.type), at < 0 || at >= rank ? "does not exist" : "is the batch");
  return error;
}

Status weigh(Network& network, Node& loss, const LossRequest& request, int64_t classes) {
  const bool binary = request.kind == LossKind::binary_cross_entropy;
  if (const auto index = request.ignore_index; index && *index >= classes)
    return Error{
        ExitCode::usage,
        fmt::format("--ignore-index {} is not a label: there are {} classes; expected one of them or a negative number",
                    *index, classes)};
  PLIMSOLL_TRY(check_weights("--class-weights", request.class_weights, classes, binary));
  PLIMSOLL_TRY(check_weights("--pos-weight", request.positive_weights, classes, binary));
  if (request.ignore_index) loss.attributes["ignore_index"] = *request.ignore_index;
  if (request.label_smoothing.value_or(0) > 0) loss.marks.label_smoothing = *request.label_smoothing;
  add_weights(network, loss, 2, kClassWeights, request.class_weights);
  add_weights(network, loss, 3, kPositiveWeights, request.positive_weights);
  return {};
}

}  // namespace plimsoll
