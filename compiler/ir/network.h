// A model as it was imported: values and nodes in topological order, shapes known but for the number of samples.
// Plain data; what an operator means is said in compiler/ops/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/tensor_type.h"
#include "compiler/support/ids.h"

namespace plimsoll {

enum class ValueKind {
  input,         // fed by the trainer, one per iteration: samples, labels
  intermediate,  // made by a node
  parameter,     // an initializer that lies in the arena: trained if `trainable`, else a frozen weight
  statistic,     // running mean or variance of a batch normalization: moved by the forward pass, never by the optimizer
  constant,      // known while compiling and used by the compiler only (shapes, axes, ratios): never in the arena
};

// The elements of a constant, row-major. Integers and booleans as int64, reals as double.
struct ConstantData {
  std::vector<int64_t> ints = {};
  std::vector<double> reals = {};
};

struct Value {
  std::string name = {};  // the ONNX name, unique in the network
  ValueKind kind = ValueKind::intermediate;
  TensorType type = {};
  bool trainable = false;                          // of parameters
  bool undecided = false;                          // of trainable ones: neither the file nor the place says that it is trained
  std::optional<ConstantData> constant = {};       // of constants
  std::string initializer = {};                    // of parameters and statistics: the ONNX initializer that holds its data
};

// An ONNX attribute as it stands in the file. Tensors only as far as the compiler evaluates them.
using NodeAttribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, ConstantData>;

// What the compiler says of a node. No attribute of a file can.
struct NodeMarks {
  bool relu = false;          // the node ends in a Relu (ops/fused_relu.h)
  bool classes_last = false;  // of a loss: scores are [N, d…, C], of every token of a sequence
  double label_smoothing = 0;  // of a loss: the share of a label that all classes have in equal parts
  bool transposed_a = false;  // of a MatMul: the last two dimensions of its first input are swapped
  bool transposed_b = false;  // and of its second
  bool detached = false;      // of an Identity: no gradient flows through it
  std::optional<int64_t> padding_index = {};  // of a Gather: the row that gets no gradient; from the end where negative
  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

struct Node {
  std::string name = {};                 // never empty: made from the first output where ONNX has none
  std::string op = {};                   // "Conv"; Plimsoll's own (Reorder) never come from a file
  int opset = 0;                         // of the operator's domain in this model
  std::vector<ValueId> inputs = {};      // invalid id: optional input left out
  std::vector<ValueId> outputs = {};
  std::map<std::string, NodeAttribute> attributes = {};
  NodeMarks marks = {};
  std::string module_path = {};          // "layer1.0.conv1" of PyTorch, where the model tells
};

// How far the passes of compiler/network/pipeline.h went.
enum class NetworkStage { imported, trainable, fused, laid_out };

struct Network {
  std::string name = {};
  bool modes_are_stated = false;  // training_mode of every BatchNormalization is its module's; else a 0 may be the exporter's default
  IdVector<ValueId, Value> values = {};
  IdVector<NodeId, Node> nodes = {};  // topological: a node stands after the makers of its inputs
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
  NetworkStage stage = NetworkStage::imported;
  // What the file says of training, and what it leaves open: make_trainable asks.
  bool states_modes = false;         // of each normalization and dropout
  std::string perhaps_merged = {};   // weights that were perhaps not shared in the model, in a sentence; empty: none
};

}  // namespace plimsoll
