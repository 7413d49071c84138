#include "compiler/import/graph_edit.h"

#include <algorithm>

namespace plimsoll {

void add_initializer(onnx::ModelProto& model, onnx::TensorProto tensor) {
  onnx::GraphProto& graph = *model.mutable_graph();
  if (model.ir_version() < 4) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(tensor.name());
    onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  *graph.add_initializer() = std::move(tensor);
}

void remove_makers(onnx::GraphProto& graph, const std::unordered_set<std::string>& outputs) {
  if (outputs.empty()) return;
  auto& nodes = *graph.mutable_node();
  const auto gone = std::remove_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.output_size() == 1 && outputs.contains(node.output(0));
  });
  nodes.erase(gone, nodes.end());
}

}  // namespace plimsoll
