#include "models/graph_writer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "models/proto.h"

namespace plimsoll {
namespace {

constexpr int kIrVersion = 8;
constexpr int kOpset = 17;

// "layer1.0.conv1" becomes "/layer1/layer1.0/conv1/": PyTorch writes a child named by a number with its parent's name.
std::string scope(const std::string& module) {
  std::string path = "/", parent;
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    std::string part = module.substr(begin, end - begin);
    if (!parent.empty() && std::isdigit(static_cast<unsigned char>(part[0]))) part = parent + "." + part;
    path += part + "/";
    parent = std::move(part);
    begin = end + 1;
  }
  return path;
}

void declare(onnx::ValueInfoProto& info, const GraphWriter::Value& value, int64_t batch,
             onnx::TensorProto::DataType element = onnx::TensorProto::FLOAT) {
  info.set_name(value.name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(element);
  onnx::TensorShapeProto::Dimension& first = *type.mutable_shape()->add_dim();
  if (batch == 0) {
    first.set_dim_param("N");
  } else {
    first.set_dim_value(batch);
  }
  for (const int64_t dim : value.dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace

int64_t InitialWeight::elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

GraphWriter::GraphWriter(std::string name, int64_t batch) : name_(std::move(name)), batch_(batch) {}

void GraphWriter::fail(const std::string& module, const std::string& what) {
  if (status_.ok())
    status_ = Error{ExitCode::usage, name_ + ": layer '" + module + "' cannot be: " + what};
}

bool GraphWriter::is_image(const std::string& module, const Value& x) {
  if (x.dims.size() == 3) return true;
  fail(module, "its input " + shape(x.dims) + " is not of the form [N,channels,height,width]");
  return false;
}

onnx::NodeProto& GraphWriter::node(const std::string& module, const std::string& op,
                                   const std::vector<std::string>& inputs) {
  std::string name = scope(module) + op;
  const int64_t before = uses_[name]++;
  if (before > 0) name += "_" + std::to_string(before);
  onnx::NodeProto& made = *graph_.add_node();
  made.set_name(name);
  made.set_op_type(op);
  for (const std::string& input : inputs) made.add_input(input);
  made.add_output(name + "_output_0");
  return made;
}

InitialWeight GraphWriter::weight(std::string name, std::vector<int64_t> dims, double deviation, float value,
                                  bool trained) {
  weights_.push_back({std::move(name), std::move(dims), deviation, value, trained});
  return weights_.back();
}

std::string GraphWriter::constant(const std::string& module, const onnx::TensorProto& tensor) {
  onnx::NodeProto& made = node(module, "Constant", {});
  onnx::AttributeProto& attribute = *made.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = tensor;
  return made.output(0);
}

std::string GraphWriter::constant(const std::string& module, const std::vector<int64_t>& numbers) {
  onnx::TensorProto tensor;
  tensor.add_dims(static_cast<int64_t>(numbers.size()));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)));
  return constant(module, tensor);
}

GraphWriter::Value GraphWriter::input(const std::string& name, std::vector<int64_t> dims) {
  const Value value{name, std::move(dims)};
  declare(*graph_.add_input(), value, batch_);
  return value;
}

GraphWriter::Value GraphWriter::token_input(const std::string& name, std::vector<int64_t> dims) {
  const Value value{name, std::move(dims)};
  declare(*graph_.add_input(), value, batch_, onnx::TensorProto::INT64);
  return value;
}

void GraphWriter::output(const Value& value, const std::string& name) {
  for (onnx::NodeProto& made : *graph_.mutable_node()) {
    for (std::string& output : *made.mutable_output())
      if (output == value.name) output = name;
    for (std::string& input : *made.mutable_input())
      if (input == value.name) input = name;
  }
  declare(*graph_.add_output(), {name, value.dims}, batch_);
}

GraphWriter::Value GraphWriter::conv(const std::string& module, const Value& x, const ConvLayer& layer) {
  if (!status_.ok() || !is_image(module, x)) return x;
  const Extent padded{x.dims[1] + 2 * layer.pad.h, x.dims[2] + 2 * layer.pad.w};
  if (padded.h < layer.kernel.h || padded.w < layer.kernel.w) {
    fail(module, "its kernel is " + shape(layer.kernel) + ", and its input with padding is only " + shape(padded) +
                     "; a larger input= helps");
    return x;
  }
  if (x.dims[0] % layer.group != 0 || layer.channels % layer.group != 0) {
    fail(module, std::to_string(x.dims[0]) + " to " + std::to_string(layer.channels) + " channels do not divide into " +
                     std::to_string(layer.group) + " groups");
    return x;
  }
  const int64_t taps = x.dims[0] / layer.group * layer.kernel.h * layer.kernel.w;
  std::vector<std::string> inputs = {x.name, weight(module + ".weight",
                                                    {layer.channels, x.dims[0] / layer.group, layer.kernel.h,
                                                     layer.kernel.w},
                                                    std::sqrt(2.0 / static_cast<double>(taps)))
                                                 .name};
  if (layer.bias) inputs.push_back(weight(module + ".bias", {layer.channels}, 0).name);
  onnx::NodeProto& made = node(module, "Conv", inputs);
  set(made, "dilations", {1, 1});
  set(made, "group", layer.group);
  set(made, "kernel_shape", {layer.kernel.h, layer.kernel.w});
  set(made, "pads", {layer.pad.h, layer.pad.w, layer.pad.h, layer.pad.w});
  set(made, "strides", {layer.stride.h, layer.stride.w});
  return {made.output(0),
          {layer.channels, (padded.h - layer.kernel.h) / layer.stride.h + 1,
           (padded.w - layer.kernel.w) / layer.stride.w + 1}};
}

GraphWriter::Value GraphWriter::conv_transpose(const std::string& module, const Value& x, const ConvLayer& layer) {
  if (!status_.ok() || !is_image(module, x)) return x;
  const int64_t taps = x.dims[0] * layer.kernel.h * layer.kernel.w / (layer.stride.h * layer.stride.w);
  std::vector<std::string> inputs = {
      x.name, weight(module + ".weight", {x.dims[0], layer.channels, layer.kernel.h, layer.kernel.w},
                     std::sqrt(1.0 / static_cast<double>(std::max<int64_t>(taps, 1))))
                  .name};
  if (layer.bias) inputs.push_back(weight(module + ".bias", {layer.channels}, 0).name);
  onnx::NodeProto& made = node(module, "ConvTranspose", inputs);
  set(made, "dilations", {1, 1});
  set(made, "group", int64_t{1});
  set(made, "kernel_shape", {layer.kernel.h, layer.kernel.w});
  set(made, "pads", {layer.pad.h, layer.pad.w, layer.pad.h, layer.pad.w});
  set(made, "strides", {layer.stride.h, layer.stride.w});
  return {made.output(0),
          {layer.channels, (x.dims[1] - 1) * layer.stride.h + layer.kernel.h - 2 * layer.pad.h,
           (x.dims[2] - 1) * layer.stride.w + layer.kernel.w - 2 * layer.pad.w}};
}

GraphWriter::Value GraphWriter::batch_norm(const std::string& module, const Value& x, double epsilon) {
  if (!status_.ok()) return x;
  const int64_t channels = x.dims.at(0);
  onnx::NodeProto& made = node(module, "BatchNormalization",
                               {x.name, weight(module + ".weight", {channels}, 0, 1).name,
                                weight(module + ".bias", {channels}, 0).name,
                                weight(module + ".running_mean", {channels}, 0, 0, false).name,
                                weight(module + ".running_var", {channels}, 0, 1, false).name});
  const std::string name = made.name();
  made.add_output(name + "_output_1");
  made.add_output(name + "_output_2");
  set(made, "epsilon", epsilon);
  set(made, "momentum", 0.9);
  set(made, "training_mode", int64_t{1});
  return {made.output(0), x.dims};
}

GraphWriter::Value GraphWriter::unary(const std::string& module, const std::string& op, const Value& x) {
  return {node(module, op, {x.name}).output(0), x.dims};
}

GraphWriter::Value GraphWriter::relu6(const std::string& module, const Value& x) {
  const std::string low = constant(module, scalar(0.0f)), high = constant(module, scalar(6.0f));
  return {node(module, "Clip", {x.name, low, high}).output(0), x.dims};
}

GraphWriter::Value GraphWriter::binary(const std::string& module, const std::string& op, const Value& a,
                                       const Value& b) {
  if (status_.ok() && a.dims != b.dims) fail(module, "it joins " + shape(a.dims) + " and " + shape(b.dims));
  return {node(module, op, {a.name, b.name}).output(0), a.dims};
}

// If sizes are rounded up, the last window must begin inside the input or its leading padding (as in PyTorch). A window
// that does not makes the size equal to that of rounding down.
GraphWriter::Value GraphWriter::pool(const std::string& module, const std::string& op, const Value& x,
                                     const PoolLayer& layer) {
  if (!status_.ok() || !is_image(module, x)) return x;
  const auto size = [](int64_t input, int64_t kernel, int64_t stride, int64_t pad, bool ceil) {
    const int64_t down = (input + 2 * pad - kernel) / stride + 1;
    const bool more = (input + 2 * pad - kernel) % stride != 0 && down * stride < input + pad;
    return down + (ceil && more ? 1 : 0);
  };
  const Extent padded{x.dims[1] + 2 * layer.pad.h, x.dims[2] + 2 * layer.pad.w};
  if (padded.h < layer.kernel.h || padded.w < layer.kernel.w) {
    fail(module, "its window is " + shape(layer.kernel) + ", and its input with padding is only " + shape(padded) +
                     "; a larger input= helps");
    return x;
  }
  const auto rounded = [&](bool ceil) {
    return Extent{size(x.dims[1], layer.kernel.h, layer.stride.h, layer.pad.h, ceil),
                  size(x.dims[2], layer.kernel.w, layer.stride.w, layer.pad.w, ceil)};
  };
  const Extent out = rounded(layer.ceil);
  const bool ceil = !(out == rounded(false));
  onnx::NodeProto& made = node(module, op, {x.name});
  if (ceil) set(made, "ceil_mode", int64_t{1});
  if (op == "AveragePool" && layer.count_include_pad) set(made, "count_include_pad", int64_t{1});
  set(made, "kernel_shape", {layer.kernel.h, layer.kernel.w});
  set(made, "pads", {layer.pad.h, layer.pad.w, layer.pad.h, layer.pad.w});
  set(made, "strides", {layer.stride.h, layer.stride.w});
  return {made.output(0), {x.dims[0], out.h, out.w}};
}

GraphWriter::Value GraphWriter::global_average_pool(const std::string& module, const Value& x) {
  if (!status_.ok() || !is_image(module, x)) return x;
  return {node(module, "GlobalAveragePool", {x.name}).output(0), {x.dims[0], 1, 1}};
}

GraphWriter::Value GraphWriter::local_response_norm(const std::string& module, const Value& x) {
  onnx::NodeProto& made = node(module, "LRN", {x.name});
  set(made, "alpha", 5e-4);  // ONNX divides alpha by the size
  set(made, "beta", 0.75);
  set(made, "bias", 2.0);
  set(made, "size", int64_t{5});
  return {made.output(0), x.dims};
}

GraphWriter::Value GraphWriter::dropout(const std::string& module, const Value& x, double ratio) {
  const std::string dropped = constant(module, scalar(static_cast<float>(ratio)));
  const std::string training = constant(module, scalar(true));
  return {node(module, "Dropout", {x.name, dropped, training}).output(0), x.dims};
}

GraphWriter::Value GraphWriter::flatten(const std::string& module, const Value& x) {
  onnx::NodeProto& made = node(module, "Flatten", {x.name});
  set(made, "axis", int64_t{1});
  int64_t features = 1;
  for (const int64_t dim : x.dims) features *= dim;
  return {made.output(0), {features}};
}

GraphWriter::Value GraphWriter::linear(const std::string& module, const Value& x, int64_t features, double gain) {
  if (!status_.ok()) return x;
  const int64_t inputs = x.dims.at(0);
  const InitialWeight w =
      weight(module + ".weight", {features, inputs}, std::sqrt(gain / static_cast<double>(inputs)));
  return linear(module, x, w, weight(module + ".bias", {features}, 0));
}

GraphWriter::Value GraphWriter::linear(const std::string& module, const Value& x, const InitialWeight& weight,
                                       const InitialWeight& bias) {
  std::vector<std::string> inputs = {x.name, weight.name};
  if (!bias.name.empty()) inputs.push_back(bias.name);
  onnx::NodeProto& made = node(module, "Gemm", inputs);
  set(made, "alpha", 1.0);
  set(made, "beta", 1.0);
  set(made, "transB", int64_t{1});
  return {made.output(0), {weight.dims[0]}};
}

GraphWriter::Value GraphWriter::concat(const std::string& module, const std::vector<Value>& parts) {
  Value joined = parts.at(0);
  std::vector<std::string> inputs = {joined.name};
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::vector<int64_t>& dims = parts[i].dims;
    if (status_.ok() && !std::equal(dims.begin() + 1, dims.end(), joined.dims.begin() + 1, joined.dims.end()))
      fail(module, "it joins " + shape(parts[0].dims) + " and " + shape(dims));
    joined.dims[0] += dims[0];
    inputs.push_back(parts[i].name);
  }
  onnx::NodeProto& made = node(module, "Concat", inputs);
  set(made, "axis", int64_t{1});
  joined.name = made.output(0);
  return joined;
}

std::vector<GraphWriter::Value> GraphWriter::split(const std::string& module, const Value& x, int64_t parts,
                                                   size_t axis) {
  const int64_t each = x.dims.at(axis) / parts;
  const std::string sizes = constant(module, std::vector<int64_t>(static_cast<size_t>(parts), each));
  onnx::NodeProto& made = node(module, "Split", {x.name, sizes});
  set(made, "axis", static_cast<int64_t>(axis) + 1);
  std::vector<Value> values;
  for (int64_t i = 0; i < parts; ++i) {
    if (i > 0) made.add_output(made.name() + "_output_" + std::to_string(i));
    Value& value = values.emplace_back(Value{made.output(static_cast<int>(i)), x.dims});
    value.dims[axis] = each;
  }
  return values;
}

GraphWriter::Value GraphWriter::squeeze(const std::string& module, const Value& x) {
  const std::string axes = constant(module, {1});
  return {node(module, "Squeeze", {x.name, axes}).output(0), {x.dims.begin() + 1, x.dims.end()}};
}

GraphWriter::Value GraphWriter::crop(const std::string& module, const Value& x, Extent first, Extent size) {
  if (!status_.ok() || !is_image(module, x)) return x;
  const std::string starts = constant(module, {first.h, first.w});
  const std::string ends = constant(module, {first.h + size.h, first.w + size.w});
  const std::string axes = constant(module, {2, 3});
  return {node(module, "Slice", {x.name, starts, ends, axes}).output(0), {x.dims[0], size.h, size.w}};
}

Result<onnx::ModelProto> GraphWriter::finish() && {
  PLIMSOLL_TRY(status_);
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("plimsoll");
  model.add_opset_import()->set_version(kOpset);
  graph_.set_name(name_);
  *model.mutable_graph() = std::move(graph_);
  return model;
}

}  // namespace plimsoll
