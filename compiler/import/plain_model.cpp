#include "compiler/import/plain_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/import/external_data.h"
#include "compiler/import/load.h"
#include "compiler/import/tensor_data.h"

namespace plimsoll {
namespace {

using onnx::AttributeProto;

template <class Entries>
Metadata metadata_of(const Entries& entries) {
  Metadata metadata;
  for (const onnx::StringStringEntryProto& entry : entries) metadata.push_back({entry.key(), entry.value()});
  return metadata;
}

template <class T, class Field>
std::vector<T> list_of(const Field& field) {
  return {field.begin(), field.end()};
}

// Elements are owned by the file: holding them keeps the file alive.
using Owner = std::shared_ptr<const void>;

ModelTensor tensor_of(const onnx::TensorProto& tensor, const Owner& owner) {
  ModelTensor made{.name = tensor.name(),
                   .type = static_cast<ElementType>(tensor.data_type()),
                   .dims = list_of<int64_t>(tensor.dims())};
  if (tensor.has_raw_data()) made.data = {owner, &tensor.raw_data()};
  return made;
}

ModelAttribute attribute_of(const AttributeProto& attribute, const Owner& owner) {
  ModelAttribute made{.name = attribute.name()};
  switch (attribute.type()) {
    case AttributeProto::INT: made.value = int64_t{attribute.i()}; break;
    case AttributeProto::FLOAT: made.value = attribute.f(); break;
    case AttributeProto::STRING: made.value = attribute.s(); break;
    case AttributeProto::INTS: made.value = list_of<int64_t>(attribute.ints()); break;
    case AttributeProto::FLOATS: made.value = list_of<float>(attribute.floats()); break;
    case AttributeProto::STRINGS: made.value = list_of<std::string>(attribute.strings()); break;
    case AttributeProto::TENSOR: made.value = tensor_of(attribute.t(), owner); break;
    default: break;
  }
  return made;
}

ModelNode node_of(const onnx::NodeProto& node, const Owner& owner);

// The file's nesting is limited when it is parsed.
ModelGraph graph_of(const onnx::GraphProto& graph, const Owner& owner) {
  ModelGraph made;
  for (const onnx::ValueInfoProto& input : graph.input()) made.inputs.push_back(input.name());
  for (const onnx::NodeProto& node : graph.node()) made.nodes.push_back(node_of(node, owner));
  for (const onnx::TensorProto& tensor : graph.initializer()) made.initializers.push_back(tensor_of(tensor, owner));
  for (const onnx::ValueInfoProto& output : graph.output()) made.outputs.push_back(output.name());
  return made;
}

// nullptr: neither an If with two branches nor a SequenceMap.
std::shared_ptr<const ModelBranches> branches_of(const onnx::NodeProto& node, const Owner& owner) {
  if (!is_onnx_domain(node.domain())) return nullptr;
  const auto graph = [&](const char* name) -> const onnx::GraphProto* {
    for (const AttributeProto& attribute : node.attribute())
      if (attribute.name() == name && attribute.has_g()) return &attribute.g();
    return nullptr;
  };
  const onnx::GraphProto *where_true = graph("then_branch"), *where_false = graph("else_branch"), *each = graph("body");
  if (node.op_type() == "If" && where_true && where_false)
    return std::make_shared<ModelBranches>(
        ModelBranches{.where_true = graph_of(*where_true, owner), .where_false = graph_of(*where_false, owner)});
  if (node.op_type() == "SequenceMap" && each)
    return std::make_shared<ModelBranches>(ModelBranches{.each = graph_of(*each, owner)});
  return nullptr;
}

ModelNode node_of(const onnx::NodeProto& node, const Owner& owner) {
  ModelNode made{.op = node.op_type(),
                 .domain = node.domain(),
                 .name = node.name(),
                 .inputs = list_of<std::string>(node.input()),
                 .outputs = list_of<std::string>(node.output()),
                 .metadata = metadata_of(node.metadata_props()),
                 .branches = branches_of(node, owner)};
  for (const AttributeProto& attribute : node.attribute()) made.attributes.push_back(attribute_of(attribute, owner));
  return made;
}

DeclaredValue declared(const onnx::ValueInfoProto& value) {
  const onnx::TypeProto::Tensor& tensor = value.type().tensor_type();
  DeclaredValue made{.name = value.name(),
                     .is_tensor = value.type().has_tensor_type(),
                     .type = static_cast<ElementType>(tensor.elem_type()),
                     .metadata = metadata_of(value.metadata_props())};
  if (!tensor.has_shape()) return made;
  made.dims.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    DeclaredDim& to = made.dims->emplace_back();
    if (dim.has_dim_value()) to.size = dim.dim_value();
    to.symbol = dim.dim_param();
  }
  return made;
}

// `type`: of the file.
onnx::TensorProto proto_of(const ModelTensor& tensor, ElementType type) {
  onnx::TensorProto made;
  made.set_name(tensor.name);
  made.set_data_type(static_cast<int>(type));
  for (const int64_t dim : tensor.dims) made.add_dims(dim);
  if (!tensor.data) return made;
  if (type == tensor.type) {
    made.set_raw_data(*tensor.data);
  } else {
    std::string narrow_data(tensor.data->size() / 2, '\0');
    narrow(file_type_of(type), std::as_bytes(std::span(*tensor.data)), std::as_writable_bytes(std::span(narrow_data)));
    made.set_raw_data(std::move(narrow_data));
  }
  return made;
}

ElementType type_in_file(const Model& model, const ModelTensor& tensor) {
  const auto found = model.in_file.find(tensor.name);
  return found != model.in_file.end() && tensor.type == ElementType::f32 ? found->second : tensor.type;
}

// Before IR version 4 every initializer is an input of the graph too.
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

// The tool of onnxruntime that fuses transformers puts its name in place of the exporter's. Its models come from
// PyTorch.
constexpr std::string_view kTransformerOptimizer = "onnxruntime.transformers";

std::string producer_of(const onnx::ModelProto& model) {
  return model.producer_name() == kTransformerOptimizer ? "pytorch" : model.producer_name();
}

// onnxruntime imports all of its domains into the files that it writes, and onnxsim describes its changes.
std::string optimizer_of(const onnx::ModelProto& model) {
  if (model.producer_name() == kTransformerOptimizer) return "onnxruntime";
  for (const auto& import : model.opset_import())
    if (import.domain() == "com.microsoft.nchwc") return "onnxruntime";
  for (const auto& entry : model.metadata_props())
    if (entry.key().starts_with("onnxsim.")) return "onnxsim";
  return "";
}

using Initializers = std::map<std::string_view, const onnx::TensorProto*>;

// Whether it is `tensor` that stands there under this name.
bool has_equal(const Initializers& initializers, const std::string& name, const onnx::TensorProto& tensor) {
  const auto found = initializers.find(name);
  if (found == initializers.end()) return false;
  const onnx::TensorProto& other = *found->second;
  return other.data_type() == tensor.data_type() && other.raw_data() == tensor.raw_data() &&
         std::equal(other.dims().begin(), other.dims().end(), tensor.dims().begin(), tensor.dims().end());
}

void add_names(const onnx::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) names.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
    for (const AttributeProto& attribute : node.attribute())
      if (attribute.has_g()) add_names(attribute.g(), names);
  }
}

// Gives a value of this graph another name, also where graphs inside its nodes read it.
void rename_value(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    std::replace(node.mutable_input()->begin(), node.mutable_input()->end(), from, to);
    std::replace(node.mutable_output()->begin(), node.mutable_output()->end(), from, to);
    for (AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) rename_value(*attribute.mutable_g(), from, to);
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (onnx::ValueInfoProto& value : *values)
      if (value.name() == from) value.set_name(to);
}

// Renames the values of graphs inside nodes that have the name of an initializer that the model's graph now has: ONNX
// permits a name once. Such values are in another branch than the weight that became the initializer.
void rename_shadowing_values(onnx::GraphProto& graph, const Initializers& outer,
                             std::unordered_set<std::string>& taken) {
  for (onnx::NodeProto& node : *graph.mutable_node())
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto& inner = *attribute.mutable_g();
      std::vector<std::string> shadowing;
      for (const onnx::NodeProto& made : inner.node())
        for (const std::string& output : made.output())
          if (outer.contains(output)) shadowing.push_back(output);
      for (const std::string& name : shadowing) {
        int number = 1;
        while (!taken.insert(fmt::format("{}:{}", name, number)).second) ++number;
        rename_value(inner, name, fmt::format("{}:{}", name, number));
      }
      rename_shadowing_values(inner, outer, taken);
    }
}

// Removes from graphs inside nodes the initializers, and the nodes that only state a tensor, that the model's graph now
// has, so that they read those. A node whose output such a graph returns stays, because the graph must make it.
void read_outer_initializers(onnx::GraphProto& graph, const Initializers& outer) {
  for (onnx::NodeProto& node : *graph.mutable_node())
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto& inner = *attribute.mutable_g();
      const auto is_outer = [&](const onnx::TensorProto& tensor) { return has_equal(outer, tensor.name(), tensor); };
      auto& tensors = *inner.mutable_initializer();
      tensors.erase(std::remove_if(tensors.begin(), tensors.end(), is_outer), tensors.end());
      const auto is_outer_constant = [&](const onnx::NodeProto& made) {
        if (made.input_size() != 0 || !is_onnx_domain(made.domain()) || made.output_size() != 1) return false;
        const auto returned = [&](const onnx::ValueInfoProto& output) { return output.name() == made.output(0); };
        if (std::any_of(inner.output().begin(), inner.output().end(), returned)) return false;
        return std::any_of(made.attribute().begin(), made.attribute().end(), [&](const AttributeProto& value) {
          return value.name() == "value" && value.has_t() && has_equal(outer, made.output(0), value.t());
        });
      };
      auto& nodes = *inner.mutable_node();
      nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_outer_constant), nodes.end());
      read_outer_initializers(inner, outer);
    }
}

}  // namespace

ModelNode plain_node(const onnx::NodeProto& node) { return node_of(node, {}); }

Model plain_model(const std::shared_ptr<ModelFile>& file) {
  const onnx::GraphProto& graph = file->model.graph();
  Model model{.name = graph.name(),
              .producer = producer_of(file->model),
              .opset = opset_of(file->model),
              .optimizer = optimizer_of(file->model),
              .metadata = metadata_of(graph.metadata_props()),
              .author = file->author};
  for (const onnx::NodeProto& node : graph.node()) model.nodes.push_back(node_of(node, file));
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    ModelTensor& made = model.initializers.emplace_back(tensor_of(tensor, file));
    const auto looked = file->looked_at.find(tensor.name());
    if (looked == file->looked_at.end()) continue;
    made.stays_outside = true;
    made.bad_numbers = looked->second.bad();
  }
  for (const onnx::ValueInfoProto& value : graph.input()) model.inputs.push_back(declared(value));
  for (const onnx::ValueInfoProto& value : graph.output()) model.outputs.push_back(declared(value));
  for (const onnx::ValueInfoProto& value : graph.value_info()) model.values.push_back(declared(value));
  return model;
}

Status hold_constants(const std::shared_ptr<ModelFile>& file, Model& model,
                      const std::unordered_set<std::string>& trained) {
  ModelDirectory directory(file->path);
  std::unordered_map<std::string_view, ModelTensor*> held;  // the first of each name
  for (ModelTensor& tensor : model.initializers) held.emplace(tensor.name, &tensor);
  for (onnx::TensorProto& tensor : *file->model.mutable_graph()->mutable_initializer()) {
    if (!file->looked_at.contains(tensor.name()) || trained.contains(tensor.name())) continue;
    PLIMSOLL_TRY(normalise_data(tensor, directory, describe_initializer(tensor)));
    file->looked_at.erase(tensor.name());
    ModelTensor& mine = *held.at(tensor.name());
    mine.stays_outside = false;
    mine.data = {file, &tensor.raw_data()};
  }
  return {};
}

void write_back(Model model, ModelFile& file) {
  onnx::GraphProto& graph = *file.model.mutable_graph();
  // The model's initializers are the file's, in order, followed by new ones. New ones are added first here, because
  // their elements may belong to nodes that are removed below.
  const int initializers = graph.initializer_size();
  for (size_t i = static_cast<size_t>(initializers); i < model.initializers.size(); ++i)
    add_initializer(file.model, proto_of(model.initializers[i], type_in_file(model, model.initializers[i])));
  if (const int added = graph.initializer_size() - initializers; added > 0) {
    Initializers outer;
    for (int i = initializers; i < graph.initializer_size(); ++i)
      outer.emplace(graph.initializer(i).name(), &graph.initializer(i));
    read_outer_initializers(graph, outer);
    std::unordered_set<std::string> taken;
    add_names(graph, taken);
    rename_shadowing_values(graph, outer, taken);
  }
  std::unordered_set<std::string_view> made;
  for (const ModelNode& node : model.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  auto& nodes = *graph.mutable_node();
  const auto gone = std::remove_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.output_size() == 1 && !node.output(0).empty() && !made.contains(node.output(0));
  });
  nodes.erase(gone, nodes.end());
}

}  // namespace plimsoll
