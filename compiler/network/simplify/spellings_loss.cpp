// SoftmaxCrossEntropyLoss with probabilities as labels. ONNX allows only class indices; nevertheless PyTorch's
// exporters write this node for F.cross_entropy(scores, probabilities), the loss of mixup and distillation.
#include "compiler/network/simplify/fx_node.h"
#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {

namespace {

// Over the given axes, or over all; reduced dimensions are removed.
std::string reduce(Writer& w, const char* op, const std::string& x, const Ints& axes) {
  std::vector<std::string> inputs = {x};
  const bool listed = !axes.empty() && w.opset() >= 13;
  if (listed) inputs.push_back(w.integers(axes, {{static_cast<int64_t>(axes.size())}}));
  const std::string result = w.write(op, inputs);
  if (!axes.empty() && !listed) w.set("axes", axes);
  w.set_integer("keepdims", 0);
  return result;
}

}  // namespace

// As torch.nn.CrossEntropyLoss: for each pixel -Σ_c weight_c · label_c · log softmax(scores)_c. The mean divides by the
// number of pixels, regardless of the weights, and no label is ignored. label_smoothing moves the labels towards
// 1 / (number of classes).
Result<Nodes> class_loss_of_probabilities(Writer& w) {
  const Dims* const labels = w.dims(1);
  if (!labels || w.element(1) != ElementType::f32 || *labels != w.x() || labels->size() < 2) return Nodes{};
  w.write("LogSoftmax", {w.input(0)});
  w.set_integer("axis", 1);
  w.give(1);
  const std::string of_classes = w.last();
  std::string labels_used = w.input(1);
  if (const double smoothing = smoothing_of_call(w.node()); smoothing > 0) {
    const auto classes = static_cast<double>((*labels)[1].value);
    labels_used = w.write("Mul", {labels_used, w.number(static_cast<float>(1 - smoothing))});
    labels_used = w.write("Add", {labels_used, w.number(static_cast<float>(smoothing / classes))});
  }
  std::string products = w.write("Mul", {of_classes, labels_used});
  if (!w.input(2).empty()) {
    Ints of_channels(labels->size(), 1);
    of_channels[1] = -1;
    const std::string weights = w.write("Reshape", {w.input(2)}, "shape", of_channels);
    products = w.write("Mul", {products, weights});
  }
  const std::string likelihoods = reduce(w, "ReduceSum", products, {1});
  const std::string reduction = w.text("reduction", "mean");
  w.write("Neg", {reduction == "none" ? likelihoods
                                      : reduce(w, reduction == "sum" ? "ReduceSum" : "ReduceMean", likelihoods, {})});
  return w.finish();
}

}  // namespace plimsoll::spelling
