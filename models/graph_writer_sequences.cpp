// The layers of transformers.
#include <cmath>
#include <limits>

#include "models/graph_writer.h"
#include "models/proto.h"

namespace plimsoll {

GraphWriter::Value GraphWriter::embedding(const std::string& module, const Value& ids, const InitialWeight& table) {
  Value rows{node(module, "Gather", {table.name, ids.name}).output(0), ids.dims};
  rows.dims.push_back(table.dims.at(1));
  return rows;
}

GraphWriter::Value GraphWriter::layer_norm(const std::string& module, const Value& x, double epsilon) {
  const int64_t width = x.dims.back();
  onnx::NodeProto& made =
      node(module, "LayerNormalization",
           {x.name, weight(module + ".weight", {width}, 0, 1).name, weight(module + ".bias", {width}, 0).name});
  set(made, "axis", int64_t{-1});
  set(made, "epsilon", epsilon);
  return {made.output(0), x.dims};
}

GraphWriter::Value GraphWriter::project(const std::string& module, const Value& x, const InitialWeight& weight,
                                        bool transposed, const InitialWeight& bias) {
  std::string matrix = weight.name;
  if (transposed) {
    onnx::NodeProto& turned = node(module, "Transpose", {matrix});
    set(turned, "perm", {1, 0});
    matrix = turned.output(0);
  }
  Value y{node(module, "MatMul", {x.name, matrix}).output(0), x.dims};
  y.dims.back() = weight.dims.at(transposed ? 0 : 1);
  return bias.name.empty() ? y : add_weight(module, y, bias);
}

GraphWriter::Value GraphWriter::add_weight(const std::string& module, const Value& x, const InitialWeight& weight) {
  return {node(module, "Add", {x.name, weight.name}).output(0), x.dims};
}

GraphWriter::Value GraphWriter::reshape(const std::string& module, const Value& x, std::vector<int64_t> dims) {
  std::vector<int64_t> target = {0};  // keeps the number of samples
  target.insert(target.end(), dims.begin(), dims.end());
  const std::string shape = constant(module, target);
  return {node(module, "Reshape", {x.name, shape}).output(0), std::move(dims)};
}

GraphWriter::Value GraphWriter::transpose(const std::string& module, const Value& x, const std::vector<size_t>& perm) {
  std::vector<int64_t> with_samples = {0}, dims;
  for (const size_t axis : perm) {
    with_samples.push_back(static_cast<int64_t>(axis) + 1);
    dims.push_back(x.dims.at(axis));
  }
  onnx::NodeProto& made = node(module, "Transpose", {x.name});
  set(made, "perm", with_samples);
  return {made.output(0), std::move(dims)};
}

GraphWriter::Value GraphWriter::matmul(const std::string& module, const Value& a, const Value& b) {
  Value y{node(module, "MatMul", {a.name, b.name}).output(0), a.dims};
  y.dims.back() = b.dims.back();
  return y;
}

GraphWriter::Value GraphWriter::by_number(const std::string& module, const std::string& op, const Value& x,
                                          double number) {
  const std::string given = constant(module, scalar(static_cast<float>(number)));
  return {node(module, op, {x.name, given}).output(0), x.dims};
}

GraphWriter::Value GraphWriter::scale(const std::string& module, const Value& x, double factor) {
  return by_number(module, "Mul", x, factor);
}

GraphWriter::Value GraphWriter::softmax(const std::string& module, const Value& x) {
  onnx::NodeProto& made = node(module, "Softmax", {x.name});
  set(made, "axis", int64_t{-1});
  return {made.output(0), x.dims};
}

GraphWriter::Value GraphWriter::causal(const std::string& module, const Value& scores) {
  const int64_t tokens = scores.dims.back();
  std::string& mask = masks_[tokens];
  if (mask.empty()) {
    onnx::TensorProto lower;
    lower.set_data_type(onnx::TensorProto::BOOL);
    lower.add_dims(tokens);
    lower.add_dims(tokens);
    std::string& bytes = *lower.mutable_raw_data();
    for (int64_t row = 0; row < tokens; ++row)
      for (int64_t column = 0; column < tokens; ++column) bytes.push_back(column <= row ? '\1' : '\0');
    mask = constant(module, lower);
  }
  const std::string least = constant(module, scalar(-std::numeric_limits<float>::infinity()));
  return {node(module, "Where", {mask, scores.name, least}).output(0), scores.dims};
}

GraphWriter::Value GraphWriter::gelu(const std::string& module, const Value& x, bool by_tanh) {
  if (!by_tanh) {
    const Value gate = by_number(module, "Add", unary(module, "Erf", by_number(module, "Div", x, std::sqrt(2.0))), 1);
    return scale(module, mul(module, x, gate), 0.5);
  }
  const Value cubic = scale(module, by_number(module, "Pow", x, 3), 0.044715);
  const Value inner = scale(module, add(module, x, cubic), 0.79788456080286536);
  const Value gate = by_number(module, "Add", tanh(module, inner), 1);
  return mul(module, scale(module, x, 0.5), gate);
}

GraphWriter::Value GraphWriter::for_every_sample(const std::string& module, const InitialWeight& weight,
                                                 const Value& like) {
  onnx::NodeProto& count = node(module, "Shape", {like.name});
  set(count, "start", int64_t{0});
  set(count, "end", int64_t{1});
  const std::string samples = count.output(0);
  const std::vector<int64_t> dims(weight.dims.begin() + 1, weight.dims.end());
  const std::string rest = constant(module, dims);
  onnx::NodeProto& shape = node(module, "Concat", {samples, rest});
  set(shape, "axis", int64_t{0});
  const std::string target = shape.output(0);
  return {node(module, "Expand", {weight.name, target}).output(0), dims};
}

GraphWriter::Value GraphWriter::pick(const std::string& module, const Value& x, int64_t index) {
  onnx::TensorProto at;
  at.set_data_type(onnx::TensorProto::INT64);
  at.set_raw_data(std::string(reinterpret_cast<const char*>(&index), sizeof index));
  const std::string given = constant(module, at);
  onnx::NodeProto& made = node(module, "Gather", {x.name, given});
  set(made, "axis", int64_t{1});
  return {made.output(0), {x.dims.begin() + 1, x.dims.end()}};
}

}  // namespace plimsoll
