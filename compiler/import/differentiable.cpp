#include "compiler/import/differentiable.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/import/fold.h"
#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/tensor_data.h"
#include "compiler/import/weight_roles.h"
#include "compiler/ops/activation.h"

namespace plimsoll {
namespace {

// Operators without a gradient that have no kernels. compiler/ops knows the others.
constexpr std::array<std::string_view, 17> kFlat = {
    "And", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "NonZero", "Not",
    "OneHot", "Or", "Shape", "Size", "Xor"};

bool has_slope(const onnx::NodeProto& node, int input) {
  const std::string& op = node.op_type();
  if (std::find(kFlat.begin(), kFlat.end(), op) != kFlat.end()) return false;
  if (const Op* known = op == "Cast" ? nullptr : find_op(op); known && known->backward == zero_gradient) return false;
  if (op == "CastLike" && input == 1) return false;  // only its type is read
  if (op == "Where" && input == 0) return false;
  if ((op == "Gather" || op == "GatherElements" || op == "ScatterElements") && input == 1) return false;
  if ((op == "SoftmaxCrossEntropyLoss" || op == "NegativeLogLikelihoodLoss") && input > 0) return false;  // labels, weights of classes
  if (op == "RotaryEmbedding" && input > 0) return false;  // tables of angles: no exporter's are trained
  if (op != "Cast") return true;
  const onnx::AttributeProto* to = find_attribute(node, "to");
  return !to || is_real(static_cast<int>(to->i()));
}

}  // namespace

bool is_detached(const onnx::NodeProto& node, const ModelFile& file) {
  if (node.op_type() != "Identity" || !is_onnx_domain(node.domain()) || node.output_size() != 1) return false;
  if (file.author && file.author->detached.contains(node.output(0))) return true;
  return std::any_of(node.metadata_props().begin(), node.metadata_props().end(), [](const auto& entry) {
    return entry.key() == "pkg.torch.onnx.fx_node" && entry.value().find("torch.ops.aten.detach.default") != std::string::npos;
  });
}

std::unordered_set<std::string> reached_by_gradients(const ModelFile& file, const GraphOrder& order) {
  const onnx::GraphProto& graph = file.model.graph();
  std::unordered_set<std::string> reached;
  for (const auto& output : graph.output()) reached.insert(output.name());
  for (auto index = order.nodes.rbegin(); index != order.nodes.rend(); ++index) {
    const onnx::NodeProto& node = graph.node(*index);
    if (std::none_of(node.output().begin(), node.output().end(), [&](const std::string& name) { return reached.contains(name); }))
      continue;
    if (is_detached(node, file)) continue;
    for (int i = 0; i < node.input_size(); ++i)
      if (has_slope(node, i)) reached.insert(node.input(i));
  }
  if (file.author) {
    for (const onnx::TensorProto& tensor : graph.initializer())
      if (!file.author->trained.contains(tensor.name())) reached.erase(tensor.name());
    return reached;
  }
  for (const auto& [name, kind] : exporter_marks(graph))
    if (kind != "PARAMETER") reached.erase(name);
  return reached;
}

}  // namespace plimsoll
