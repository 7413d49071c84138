// Helpers that create ONNX protobufs in one line each, for the model builders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph_writer.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

inline std::string shape(const std::vector<int64_t>& dims) {
  std::string text = "[N";
  for (const int64_t dim : dims) text += "," + std::to_string(dim);
  return text + "]";
}

inline std::string shape(Extent extent) { return std::to_string(extent.h) + "x" + std::to_string(extent.w); }

inline void set(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void set(onnx::NodeProto& node, const std::string& name, double value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

inline void set(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

inline onnx::TensorProto scalar(float value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(&value), sizeof value));
  return tensor;
}

inline onnx::TensorProto scalar(bool value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.set_raw_data(std::string(1, value ? '\1' : '\0'));
  return tensor;
}

}  // namespace plimsoll
