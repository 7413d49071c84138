// ONNX models for tests, built node by node.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/import/onnx.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// A directory that is removed at the end of the test.
struct ScratchDirectory {
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plimsoll-import-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::filesystem::path path;
};

class ModelBuilder {
 public:
  onnx::ModelProto model;

  explicit ModelBuilder(int opset = 17, int ir = 8) {
    model.set_ir_version(ir);
    model.set_producer_name("test");
    model.mutable_graph()->set_name("g");
    model.add_opset_import()->set_version(opset);
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  // A dimension is a number or a symbol.
  ModelBuilder& input(const std::string& name, const std::vector<std::string>& dims,
                      int element = onnx::TensorProto::FLOAT) {
    auto& info = *graph().add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(element);
    type.mutable_shape();
    for (const std::string& dim : dims) {
      auto& to = *type.mutable_shape()->add_dim();
      if (!dim.empty() && (isdigit(dim[0]) || dim[0] == '-')) to.set_dim_value(std::stoll(dim));
      else if (!dim.empty()) to.set_dim_param(dim);
    }
    return *this;
  }
  ModelBuilder& output(const std::string& name) {
    auto& info = *graph().add_output();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    return *this;
  }

  // f32, element i is first + i · step.
  ModelBuilder& weight(const std::string& name, const std::vector<int64_t>& dims, float first = 0, float step = 0.25f) {
    auto& tensor = *graph().add_initializer();
    fill(tensor, dims, onnx::TensorProto::FLOAT);
    tensor.set_name(name);
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    for (int64_t i = 0; i < count; ++i) append(tensor, first + static_cast<float>(i) * step);
    return *this;
  }
  ModelBuilder& integers(const std::string& name, const std::vector<int64_t>& items) {
    auto& tensor = *graph().add_initializer();
    tensor = list(items);
    tensor.set_name(name);
    return *this;
  }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = {}) {
    auto& made = *graph().add_node();
    fill(made, op, inputs, outputs, name);
    return made;
  }
  // A Constant node with a list, or with one number of rank 0.
  ModelBuilder& constant(const std::string& name, const std::vector<int64_t>& items) {
    tensor_attribute(node("Constant", {}, {name}), "value", list(items));
    return *this;
  }
  ModelBuilder& constant_scalar(const std::string& name, int64_t item) {
    onnx::TensorProto tensor = list({item});
    tensor.clear_dims();
    tensor_attribute(node("Constant", {}, {name}), "value", tensor);
    return *this;
  }
  ModelBuilder& constant_real(const std::string& name, std::vector<float> items, bool scalar = false) {
    onnx::TensorProto tensor;
    fill(tensor, {}, onnx::TensorProto::FLOAT);
    if (!scalar) tensor.add_dims(static_cast<int64_t>(items.size()));
    for (const float item : items) append(tensor, item);
    tensor_attribute(node("Constant", {}, {name}), "value", tensor);
    return *this;
  }
  // {3x3 convolution with padding, Relu}: conv, w, b → name.
  ModelBuilder& conv(const std::string& x, const std::string& w, const std::string& b, const std::string& y,
                     const std::string& name = {}) {
    std::vector<std::string> inputs = {x, w};
    if (!b.empty()) inputs.push_back(b);
    ints(node("Conv", inputs, {y}, name), "pads", {1, 1, 1, 1});
    return *this;
  }

  static void fill(onnx::NodeProto& made, const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::string& name) {
    made.set_op_type(op);
    made.set_name(name);
    for (const std::string& in : inputs) made.add_input(in);
    for (const std::string& out : outputs) made.add_output(out);
  }
  static void ints(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& items) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const int64_t item : items) attribute.add_ints(item);
  }
  static void integer(onnx::NodeProto& node, const std::string& name, int64_t item) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(item);
  }
  static void real(onnx::NodeProto& node, const std::string& name, float item) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(item);
  }
  static void text(onnx::NodeProto& node, const std::string& name, const std::string& item) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(item);
  }
  static void tensor_attribute(onnx::NodeProto& node, const std::string& name, const onnx::TensorProto& tensor) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor;
  }
  static onnx::TensorProto list(const std::vector<int64_t>& items) {
    onnx::TensorProto tensor;
    fill(tensor, {static_cast<int64_t>(items.size())}, onnx::TensorProto::INT64);
    for (const int64_t item : items) append(tensor, item);
    return tensor;
  }

  std::string bytes() const { return model.SerializeAsString(); }

  // The model as import_onnx() reads it, through a file.
  Result<ImportedModel> import(const ImportOptions& options = {.batch = 4}) const {
    const ScratchDirectory directory;
    return import_onnx(directory.write("m.onnx", bytes()), options);
  }

 private:
  static void fill(onnx::TensorProto& tensor, const std::vector<int64_t>& dims, int element) {
    tensor.set_data_type(element);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.mutable_raw_data();
  }
  template <class T>
  static void append(onnx::TensorProto& tensor, T item) {
    tensor.mutable_raw_data()->append(reinterpret_cast<const char*>(&item), sizeof item);
  }
};

// x[N,3,8,8] → Conv(w, b) → Relu → y: the smallest model that trains.
inline ModelBuilder small_model(int opset = 17, int ir = 8) {
  ModelBuilder build(opset, ir);
  build.input("x", {"N", "3", "8", "8"}).weight("w", {4, 3, 3, 3}).weight("b", {4});
  build.conv("x", "w", "b", "c", "conv");
  build.node("Relu", {"c"}, {"y"}, "relu");
  build.output("y");
  return build;
}

inline const Value* find_value(const Network& network, const std::string& name) {
  for (const Value& value : network.values)
    if (value.name == name) return &value;
  return nullptr;
}

inline const Node* find_node(const Network& network, const std::string& name) {
  for (const Node& node : network.nodes)
    if (node.name == name) return &node;
  return nullptr;
}

// "ok", or "4: message | note | note".
template <class T>
std::string outcome(const Result<T>& result) {
  if (result.ok()) return "ok";
  std::string text = std::to_string(static_cast<int>(result.error().code)) + ": " + result.error().message;
  for (const std::string& note : result.error().notes) text += " | " + note;
  return text;
}

}  // namespace plimsoll
