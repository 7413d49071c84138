#include "compiler/network/simplify/unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/network/simplify/module_path.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {
constexpr int kNamesShown = 3;

// onnxruntime's optimizer writes operators of its own, one of them without a domain. Other tools write them, too.
bool is_of_onnxruntime(const ModelNode& node) {
  return node.domain.starts_with("com.microsoft") || node.op == "SimplifiedLayerNormalization";
}

// The training graph of onnxruntime's generate_artifacts() holds the backward pass: "ConvGrad", "InPlaceAccumulatorV2".
bool is_of_backward_pass(const ModelNode& node) {
  return is_of_onnxruntime(node) && (node.op.ends_with("Grad") || node.op.starts_with("InPlaceAccumulator"));
}

// tf2onnx leaves these in the file under TensorFlow's names if it cannot convert them.
bool is_of_tensorflow(const ModelNode& node) {
  return is_of_onnx(node) && (node.op == "Erfc" || node.op.ends_with("PartitionedCall") ||
                              node.op.starts_with("Stateless") || node.op.starts_with("TensorList"));
}

// "QLinearConv", "DynamicQuantizeLinear", "MatMulInteger"; onnxruntime's "QGemm", "QAttention", "DynamicQuantizeLSTM".
bool is_quantized(const ModelNode& node) {
  const std::string& op = node.op;
  return op.find("QuantizeLinear") != op.npos || op.starts_with("QLinear") || op.ends_with("Integer") ||
         (is_of_onnxruntime(node) && (op.starts_with("Q") || op.find("Quantize") != op.npos || op.ends_with("NBits") ||
                                      op.find("Integer") != op.npos));
}

// Also the PyTorch module, if dynamo's exporter wrote the node: names of TorchScript's exporter begin with it.
std::string shown_name(const ModelNode& node) {
  const std::string& name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0];
  const std::string module = is_by_dynamo(node) ? module_path_of(node) : "";
  return module.empty() ? fmt::format("'{}'", name) : fmt::format("'{}' of module '{}'", name, module);
}
}  // namespace

bool is_loop_of_keras(const ModelNode& node) { return node.op == "Loop" && node.name.ends_with("/while_loop"); }

void Unsupported::add_operator(const ModelNode& node, const Op* op, std::string advice) {
  const bool is_new = std::ranges::find(advice_, advice) == advice_.end();
  if (!advice.empty() && is_new) advice_.push_back(std::move(advice));
  quantized_ = quantized_ || is_quantized(node);
  classical_ = classical_ || node.domain == "ai.onnx.ml";
  std::string title = is_of_onnx(node) ? node.op : node.domain + "::" + node.op;
  if (op && op->of_onnx()) title += fmt::format(" (supported in opsets {} to {})", op->first_opset, op->last_opset);
  const auto [at, fresh] = group_of_.emplace(title, groups_.size());
  if (fresh) groups_.push_back({.title = title});
  by_onnxruntime_ = by_onnxruntime_ || is_of_onnxruntime(node);
  has_backward_pass_ = has_backward_pass_ || is_of_backward_pass(node);
  in_blocks_ = in_blocks_ || node.domain == "com.microsoft.nchwc";
  of_tensorflow_ = of_tensorflow_ || is_of_tensorflow(node);
  loop_of_keras_ = loop_of_keras_ || is_loop_of_keras(node);
  Group& group = groups_[at->second];
  if (group.nodes++ < kNamesShown) group.first += (group.first.empty() ? "" : ", ") + shown_name(node);
}

Status Unsupported::status(int64_t opset) const {
  if (groups_.empty() && messages_.empty()) return {};
  if (groups_.empty() && messages_.size() == 1) return Error{ExitCode::unsupported, messages_[0]};
  Error error{ExitCode::unsupported, {}};
  const auto groups = static_cast<int64_t>(groups_.size());
  if (!groups_.empty())
    error.message = fmt::format("{} of the model (opset {}) {} not supported", counted(groups, "operator"), opset,
                                is_or_are(groups));
  else
    error.message =
        fmt::format("{} of the model are not supported", counted(static_cast<int64_t>(messages_.size()), "node"));
  for (const Group& group : groups_)
    error.notes.push_back(fmt::format("{}: {}, {}{}", group.title, counted(group.nodes, "node"), group.first,
                                      group.nodes > kNamesShown ? ", …" : ""));
  error.notes.insert(error.notes.end(), advice_.begin(), advice_.end());
  if (quantized_)
    error.notes.push_back(
        "the model is quantized: it computes in 8 bits or less, and its rounded weights cannot be trained; compile the "
        "float32 model that it was made from, and quantize the trained one");
  if (classical_)
    error.notes.push_back(
        "operators of ai.onnx.ml are classical models (trees, kernels, encoders of categories), which are not trained "
        "by gradients; of a pipeline, export the network alone");
  if (in_blocks_)
    error.notes.push_back(
        "onnxruntime has arranged the weights of these convolutions for the processor that it ran on: compile the file "
        "that it read, or limit it to ORT_ENABLE_EXTENDED");
  else if (has_backward_pass_)
    error.notes.push_back(
        "this is a training graph of onnxruntime, which already holds the backward pass: compile the model that "
        "generate_artifacts() read");
  else if (by_onnxruntime_ && !quantized_)
    error.notes.push_back(
        "onnxruntime defines some of these operators, and ONNX does not: if onnxruntime's optimizer wrote this file, "
        "compile the file that it read, or limit it to ORT_ENABLE_BASIC");
  if (of_tensorflow_)
    error.notes.push_back(
        "some of these are operators of TensorFlow, which tf2onnx could not convert: onnxruntime does not run this "
        "file either. plimsoll.export of a Keras model (docs/python.md) converts more of them");
  if (loop_of_keras_)
    error.notes.push_back(
        "a recurrent layer of Keras is a loop: plimsoll.export of the Keras model (docs/python.md) unrolls it, and so "
        "does unroll=True of the layer");
  for (size_t i = 0; i < std::min(messages_.size(), kMessagesShown); ++i) error.notes.push_back(messages_[i]);
  if (messages_.size() > kMessagesShown)
    error.notes.push_back(
        fmt::format("… and {} more", counted(static_cast<int64_t>(messages_.size() - kMessagesShown), "node")));
  return error;
}

}  // namespace plimsoll
