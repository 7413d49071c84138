// Builds a model layer by layer, in the style of a torch.nn.Module. Every layer is named by its module path
// ("layer1.0.conv1"), from which its weights ("layer1.0.conv1.weight") and its node ("/layer1/layer1.0/conv1/Conv") are
// named as PyTorch's exporter does. Tracks the shapes and the first error, so builders need to check only at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// Height and width.
struct Extent {
  int64_t h = 0;
  int64_t w = 0;
  constexpr Extent(int64_t both) : h(both), w(both) {}
  constexpr Extent(int64_t height, int64_t width) : h(height), w(width) {}
  friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

struct ConvLayer {
  int64_t channels = 0;  // of the output
  Extent kernel = 1;
  Extent stride = 1;
  Extent pad = 0;
  int64_t group = 1;
  bool bias = true;
};

struct PoolLayer {
  Extent kernel = 2;
  Extent stride = 2;
  Extent pad = 0;
  bool ceil = false;               // round sizes up
  bool count_include_pad = false;  // for average pools
};

// For the last layer of networks without batch normalization, whose features are large: the initial loss is then near
// that of random guessing.
inline constexpr double kLastGain = 0.1;

// An initializer whose elements do not exist yet.
struct InitialWeight {
  std::string name;
  std::vector<int64_t> dims;
  double deviation = 0;  // standard deviation around `value`; 0: all elements are `value`
  float value = 0;
  bool trained = true;   // false: a running statistic
  int64_t elements() const;
};

class GraphWriter {
 public:
  // A value of the graph. `dims` omit the first dimension, the batch: {channels, height, width}.
  struct Value {
    std::string name;
    std::vector<int64_t> dims;
  };

  // `batch` 0: symbolic N.
  GraphWriter(std::string name, int64_t batch);

  Value input(const std::string& name, std::vector<int64_t> dims);
  Value token_input(const std::string& name, std::vector<int64_t> dims);  // int64: token ids
  void output(const Value& value, const std::string& name);

  Value conv(const std::string& module, const Value& x, const ConvLayer& layer);
  Value conv_transpose(const std::string& module, const Value& x, const ConvLayer& layer);
  Value batch_norm(const std::string& module, const Value& x, double epsilon = 1e-5);
  Value relu(const std::string& module, const Value& x) { return unary(module, "Relu", x); }
  Value relu6(const std::string& module, const Value& x);
  Value sigmoid(const std::string& module, const Value& x) { return unary(module, "Sigmoid", x); }
  Value tanh(const std::string& module, const Value& x) { return unary(module, "Tanh", x); }
  Value max_pool(const std::string& module, const Value& x, const PoolLayer& layer) {
    return pool(module, "MaxPool", x, layer);
  }
  Value average_pool(const std::string& module, const Value& x, const PoolLayer& layer) {
    return pool(module, "AveragePool", x, layer);
  }
  Value global_average_pool(const std::string& module, const Value& x);
  // y = x / (bias + alpha / size · Σ x²)^0.75 over `size` = 5 channels, with the constants of Krizhevsky et al., 2012.
  Value local_response_norm(const std::string& module, const Value& x);
  Value dropout(const std::string& module, const Value& x, double ratio);
  Value flatten(const std::string& module, const Value& x);
  // torch.nn.Linear. `gain` is 2 before a ReLU (He), otherwise 1 (Xavier).
  Value linear(const std::string& module, const Value& x, int64_t features, double gain = 2);
  // The same with weights that other layers also use, created by weight(); a bias without a name means no bias.
  Value linear(const std::string& module, const Value& x, const InitialWeight& weight, const InitialWeight& bias);
  Value add(const std::string& module, const Value& a, const Value& b) { return binary(module, "Add", a, b); }
  Value mul(const std::string& module, const Value& a, const Value& b) { return binary(module, "Mul", a, b); }
  Value concat(const std::string& module, const std::vector<Value>& parts);  // along the channels
  // Equal parts along an axis of `dims`.
  std::vector<Value> split(const std::string& module, const Value& x, int64_t parts, size_t axis = 0);
  // Removes axis 1, which has size 1.
  Value squeeze(const std::string& module, const Value& x);
  // --- layers of transformers; sequences are [tokens, width]
  // Rows of a table, selected by `ids`.
  Value embedding(const std::string& module, const Value& ids, const InitialWeight& table);
  Value layer_norm(const std::string& module, const Value& x, double epsilon = 1e-5);
  // x · weight + bias along the last axis, with a weight [in, out] or, if `transposed` (as in torch.nn.Linear), [out,
  // in]. A bias without a name means no bias.
  Value project(const std::string& module, const Value& x, const InitialWeight& weight, bool transposed,
                const InitialWeight& bias);
  Value add_weight(const std::string& module, const Value& x, const InitialWeight& weight);
  Value reshape(const std::string& module, const Value& x, std::vector<int64_t> dims);
  Value transpose(const std::string& module, const Value& x, const std::vector<size_t>& perm);  // permutes `dims`
  Value matmul(const std::string& module, const Value& a, const Value& b);
  Value scale(const std::string& module, const Value& x, double factor);
  Value softmax(const std::string& module, const Value& x);  // along the last axis
  // Keeps the scores [heads, tokens, tokens] where a token attends to itself or an earlier one, and sets all others to
  // minus infinity.
  Value causal(const std::string& module, const Value& scores);
  // x Φ(x) as primitive operators, like exporters write it: by the error function, or by tanh.
  Value gelu(const std::string& module, const Value& x, bool by_tanh);
  // A weight of shape [1, …], repeated for every sample of `like`.
  Value for_every_sample(const std::string& module, const InitialWeight& weight, const Value& like);
  Value pick(const std::string& module, const Value& x, int64_t index);  // along the first of `dims`, which is removed

  // Rows and columns [first, first + size).
  Value crop(const std::string& module, const Value& x, Extent first, Extent size);

  // An initializer for layers that take one: a weight, or a statistic if `trained` is false.
  InitialWeight weight(std::string name, std::vector<int64_t> dims, double deviation, float value = 0,
                       bool trained = true);

  // Error: usage, "resnet18: layer 'conv1' cannot be: " + `what`. Only the first error is kept.
  void fail(const std::string& module, const std::string& what);

  // The model without its initializers, which the file gets from initial_weights(). Error: usage; it describes the
  // first invalid layer, with the numbers.
  Result<onnx::ModelProto> finish() &&;
  const std::vector<InitialWeight>& initial_weights() const { return weights_; }
  const Status& status() const { return status_; }

 private:
  onnx::NodeProto& node(const std::string& module, const std::string& op, const std::vector<std::string>& inputs);
  Value unary(const std::string& module, const std::string& op, const Value& x);
  Value binary(const std::string& module, const std::string& op, const Value& a, const Value& b);
  Value pool(const std::string& module, const std::string& op, const Value& x, const PoolLayer& layer);
  std::string constant(const std::string& module, const onnx::TensorProto& tensor);
  std::string constant(const std::string& module, const std::vector<int64_t>& numbers);
  Value by_number(const std::string& module, const std::string& op, const Value& x, double number);
  // False after fail(): `x` is not [channels, height, width].
  bool is_image(const std::string& module, const Value& x);

  std::string name_;
  onnx::GraphProto graph_;
  int64_t batch_;
  std::vector<InitialWeight> weights_;
  std::map<std::string, int64_t> uses_;  // by node name
  std::map<int64_t, std::string> masks_;  // causal masks, by number of tokens
  Status status_;
};

}  // namespace plimsoll
