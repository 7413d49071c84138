// Builds a model layer by layer, as a torch.nn.Module is written down: every layer is called by its module path
// ("layer1.0.conv1"), from which its weights ("layer1.0.conv1.weight") and its node ("/layer1/layer1.0/conv1/Conv") are
// named as PyTorch's exporter names them. Keeps the shapes, and the first error: builders need not look at it before
// the end.
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
  bool ceil = false;               // sizes are rounded up
  bool count_include_pad = false;  // of average pools
};

// Of the last layer of networks without batch normalization, whose features are large: the loss then begins near that
// of a guess.
inline constexpr double kLastGain = 0.1;

// An initializer before its elements exist.
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
  // A value of the graph. `dims` leave out the first dimension, which is the batch: {channels, height, width}.
  struct Value {
    std::string name;
    std::vector<int64_t> dims;
  };

  // `batch` 0: symbolic N.
  GraphWriter(std::string name, int64_t batch);

  Value input(const std::string& name, std::vector<int64_t> dims);
  Value token_input(const std::string& name, std::vector<int64_t> dims);  // int64: numbers of tokens
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
  // torch.nn.Linear. `gain` 2 before a ReLU (He), 1 else (Xavier).
  Value linear(const std::string& module, const Value& x, int64_t features, double gain = 2);
  // The same with weights that other layers use, too, made by weight(); a bias without a name is none.
  Value linear(const std::string& module, const Value& x, const InitialWeight& weight, const InitialWeight& bias);
  Value add(const std::string& module, const Value& a, const Value& b) { return binary(module, "Add", a, b); }
  Value mul(const std::string& module, const Value& a, const Value& b) { return binary(module, "Mul", a, b); }
  Value concat(const std::string& module, const std::vector<Value>& parts);  // along the channels
  // Equal parts along an axis of `dims`.
  std::vector<Value> split(const std::string& module, const Value& x, int64_t parts, size_t axis = 0);
  // Takes away the axis 1, whose extent is one.
  Value squeeze(const std::string& module, const Value& x);
  // --- what transformers are made of; sequences are [tokens, width]
  // Rows of a table at the numbers `ids`.
  Value embedding(const std::string& module, const Value& ids, const InitialWeight& table);
  Value layer_norm(const std::string& module, const Value& x, double epsilon = 1e-5);
  // x · weight + bias on the last axis, of a weight [in, out] or, `transposed` (as torch.nn.Linear has it), [out, in]. A bias
  // without a name is none.
  Value project(const std::string& module, const Value& x, const InitialWeight& weight, bool transposed,
                const InitialWeight& bias);
  Value add_weight(const std::string& module, const Value& x, const InitialWeight& weight);
  Value reshape(const std::string& module, const Value& x, std::vector<int64_t> dims);
  Value transpose(const std::string& module, const Value& x, const std::vector<size_t>& perm);  // of `dims`
  Value matmul(const std::string& module, const Value& a, const Value& b);
  Value scale(const std::string& module, const Value& x, double factor);
  Value softmax(const std::string& module, const Value& x);  // on the last axis
  // Scores [heads, tokens, tokens] where a token looks at itself or one before it, else minus infinity.
  Value causal(const std::string& module, const Value& scores);
  // x Φ(x) spelled out as exporters do: by the error function, or by tanh.
  Value gelu(const std::string& module, const Value& x, bool by_tanh);
  // A weight of [1, …], once for every sample of `like`.
  Value for_every_sample(const std::string& module, const InitialWeight& weight, const Value& like);
  Value pick(const std::string& module, const Value& x, int64_t index);  // along the first of `dims`, which goes

  // Rows and columns [first, first + size).
  Value crop(const std::string& module, const Value& x, Extent first, Extent size);

  // A trained initializer (or, not `trained`, a statistic) for the layers that take one.
  InitialWeight weight(std::string name, std::vector<int64_t> dims, double deviation, float value = 0,
                       bool trained = true);

  // Error: usage, "resnet18: layer 'conv1' cannot be: " + `what`. The first one stays.
  void fail(const std::string& module, const std::string& what);

  // The model without its initializers, which the file gets from initial_weights(). Error: usage, the first layer that
  // cannot be, with the numbers.
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
  std::map<std::string, int64_t> uses_;  // of node names
  std::map<int64_t, std::string> masks_;  // causal ones, by their tokens
  Status status_;
};

}  // namespace plimsoll
