#include "compiler/network/simplify/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/weight_look.h"
#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr const char* kTorchLine =
    "torch.onnx.export(model.train(), x, path, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, "
    "dynamo=False)";

constexpr const char* kDynamoLine = kDynamoExportLine;

// With fewer convolutions a network predates batch normalization, or is not a convolutional network: AlexNet has five.
constexpr int kConvolutions = 8;

// "conv1.weight" and "conv1.bias", as a module names them. Folding creates tensors: onnx::Conv_497, conv1.weight_bias.
bool are_siblings(std::string_view weight, std::string_view bias) {
  const size_t dot = weight.rfind('.');
  return dot != std::string_view::npos && bias.substr(0, dot + 1) == weight.substr(0, dot + 1) &&
         bias.substr(dot + 1) == "bias";
}

// The names of what TorchScript's exporter, onnxsim, onnxruntime and onnxslim make of a convolution and the batch
// normalization after it. A module's weight and bias keep their names, and so does the bias of a convolution whose
// weight is computed, as by weight_norm.
bool is_named_by_folding(const Value& weight) {
  const std::string_view name = weight.initializer;
  return name.starts_with("onnx::Conv_") || name.starts_with("_v_") || name.starts_with("ConvBnFusion_") ||
         name.find("BatchNormalization_output_") != name.npos;
}

// torch's dynamo exporter records on a node the optimizer rule that created it.
int64_t count_told_folded(const Model& model) {
  int64_t count = 0;
  for (const ModelNode& node : model.nodes)
    count += std::any_of(node.metadata.begin(), node.metadata.end(), [](const auto& entry) {
      return entry.key == "pkg.onnxscript.rewriter.rule_name" && entry.value.find("FuseBatchNorm") != std::string::npos;
    });
  return count;
}

int64_t count_bad(const ModelTensor& tensor) {
  if (tensor.stays_outside) return tensor.bad_numbers;
  if (!tensor.data) return 0;
  WeightLook look;
  look.add(*tensor.data);
  return look.bad();
}

}  // namespace

Status find_folded_normalization(const Model& model, const Network& network, const SimplifyOptions& options,
                                 std::vector<std::string>& warnings) {
  const bool required = options.require_normalization;
  const auto found = [&](std::string what) -> Status {
    if (required)
      return Error{
          ExitCode::invalid_model, std::move(what), {"--require-bn asks for batch normalizations in training mode"}};
    warnings.push_back(std::move(what));
    return {};
  };
  if (const int64_t told = count_told_folded(model); told > 0)
    return found(
        fmt::format("the exporter folded {} into the preceding layers, according to the model's "
                    "metadata. Export it without folding: {}",
                    counted(told, "batch normalization"), kDynamoLine));
  if (const int64_t folded = model.producer == "tf2onnx" ? count_folded_by_tf2onnx(model) : 0; folded > 0)
    return found(
        fmt::format("tf2onnx folded {} of the model into other layers: {} trained as a scale and a shift at most. "
                    "plimsoll.export of the Keras model (docs/python.md) keeps them",
                    counted(folded, "batch normalization"), folded == 1 ? "it is" : "they are"));
  int convolutions = 0, with_bias = 0, renamed = 0, made = 0, frozen = 0;
  std::string first_made;
  for (const Node& node : network.nodes) {
    if (node.op == "BatchNormalization") {
      const auto mode = node.attributes.find("training_mode");
      const int64_t* training = mode == node.attributes.end() ? nullptr : std::get_if<int64_t>(&mode->second);
      if (node.opset < 14 || (training && *training != 0)) return {};  // before opset 14 the mode is unknown
      ++frozen;
    }
    if (node.op != "Conv") continue;
    ++convolutions;
    if (node.inputs.size() < 3 || !node.inputs[2].valid()) continue;
    ++with_bias;
    // A weight that is computed in the model, such as a standardized one, has no name of its own to lose.
    const Value &weight = network.values[node.inputs[1]], &bias = network.values[node.inputs[2]];
    renamed += !weight.initializer.empty() && !are_siblings(weight.name, bias.name);
    if (is_named_by_folding(weight) && is_named_by_folding(bias) && made++ == 0) first_made = weight.name;
  }
  if (frozen > 0 && network.modes_are_stated) return {};
  // torch's dynamo exporter writes the same node for a module in train() and in eval().
  if (frozen > 0 && came_from_dynamo(model)) return {};
  // If the file states the modes, the user is asked (compiler/network/modes.h).
  if (frozen > 0 && !required && (states_modes(model) || options.modes_are_given)) return {};
  const bool torch = model.producer == "pytorch";
  if (frozen > 0)
    return found(
        fmt::format("the model has {} in evaluation mode; training uses the "
                    "statistics of each batch. {}",
                    counted(frozen, "batch normalization"),
                    torch ? fmt::format("To export it for training: {}", kTorchLine)
                          : "To keep the running statistics: --modes as-exported"));
  if (made > 0 && torch)
    return found(
        fmt::format("the weight and the bias of {} of {} convolutions were computed during the export, as '{}': the "
                    "model was probably exported for evaluation, with its batch normalizations folded into the "
                    "convolutions. Export it for training: {}",
                    made, convolutions, first_made, kTorchLine));
  // VGG has biases and no normalization by design, and its weights keep their names.
  if (convolutions >= kConvolutions && with_bias * 4 >= convolutions * 3 && renamed * 2 >= convolutions && torch)
    return found(
        fmt::format("{} of {} convolutions have a bias, none is followed by a batch normalization, and {} weights "
                    "lost their names: the model was probably exported for evaluation, with its batch normalizations "
                    "folded into the convolutions. Export it for training: {}",
                    with_bias, convolutions, renamed, kTorchLine));
  if (required)
    return found(fmt::format(
        "the model has no batch normalization. If the original module has some, the exporter folded them: {}",
        kTorchLine));
  return {};
}

bool states_modes(const Model& model) {
  return model.producer == "pytorch" && !came_from_dynamo(model);
}

void find_quantized_weights(const Model& model, std::vector<std::string>& warnings) {
  constexpr int64_t kElements = 64;  // smaller tensors are hardly the weights of a layer
  int64_t count = 0;
  std::string first;
  for (const ModelTensor& tensor : model.initializers) {
    const bool layer = tensor.dims.size() > 1 && elements_of(tensor).value_or(0) >= kElements;
    if (tensor.type != ElementType::i8 || !layer) continue;
    if (++count == 1) first = tensor.name;
  }
  if (count > 0)
    warnings.push_back(fmt::format(
        "{} of 8-bit integers, '{}'{}: the model is quantized, and these weights are not trained. Compile the float32 "
        "model that it was made from",
        counted(count, "tensor"), first, count > 1 ? " and others" : ""));
}

void find_nothing_to_train(const Network& network, std::vector<std::string>& warnings) {
  const bool any =
      std::any_of(network.values.begin(), network.values.end(), [](const Value& value) { return value.trainable; });
  if (any) return;
  // torch.onnx.export(…, export_params=False) makes every parameter an input without a value.
  std::set<std::string> without_value;
  for (const Node& node : network.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && is_weight(slot_of(node.op, i)) &&
          network.values[node.inputs[i]].kind == ValueKind::input)
        without_value.insert(network.values[node.inputs[i]].name);
  std::string advice;
  if (!without_value.empty())
    advice = fmt::format(". {} {} read as {}, but the file has no value for an input: export the model with its "
                         "parameters (export_params=True), for example '{}'",
                         counted(static_cast<int64_t>(without_value.size()), "input"),
                         is_or_are(static_cast<int64_t>(without_value.size())),
                         without_value.size() == 1 ? "a weight" : "weights", *without_value.begin());
  warnings.push_back("the model has nothing to train: no gradient reaches a float32 initializer" + advice);
}

Status find_bad_weights(const Model& model, const Network& network, bool strict, std::vector<std::string>& warnings) {
  std::unordered_set<std::string_view> read;
  for (const Value& value : network.values)
    if (!value.initializer.empty() && (value.trainable || value.kind == ValueKind::statistic))
      read.insert(value.initializer);
  int64_t bad = 0, tensors = 0;
  std::vector<std::string> lines;
  for (const ModelTensor& tensor : model.initializers) {
    if (tensor.type != ElementType::f32 || !read.contains(tensor.name)) continue;
    const int64_t here = count_bad(tensor);
    if (here == 0) continue;
    bad += here;
    if (++tensors <= 10) lines.push_back(fmt::format("'{}': {}", tensor.name, here));
  }
  if (bad == 0) return {};
  const std::string message =
      fmt::format("{} in {} {} NaN or infinite", counted(bad, "weight"), counted(tensors, "tensor"), is_or_are(bad));
  if (strict) return Error{ExitCode::invalid_model, message, std::move(lines)};
  std::string shown;
  for (const std::string& line : lines) shown += (shown.empty() ? "" : ", ") + line;
  warnings.push_back(fmt::format("{}: {}{}", message, shown, tensors > 10 ? ", …" : ""));
  return {};
}

}  // namespace plimsoll
