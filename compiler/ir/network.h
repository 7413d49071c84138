// An imported model: values and nodes in topological order, with all shapes known except for the number of samples.
// Plain data; compiler/ops/ defines the operators.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/forms.h"
#include "compiler/ir/tensor_type.h"
#include "compiler/support/ids.h"

namespace plimsoll {

enum class ValueKind {
  input,         // fed by the trainer in every iteration: samples, labels
  intermediate,  // output of a node
  parameter,     // an initializer stored in the arena: trained if `trainable`, else a frozen weight
  statistic,     // running mean or variance of a batch normalization: updated by the forward, never by the optimizer
  constant,      // known and used only at compile time (shapes, axes, ratios); never in the arena
};

// The elements of a constant, row-major: integers and booleans as int64, reals as double.
struct ConstantData {
  std::vector<int64_t> ints = {};
  std::vector<double> reals = {};
};

// What a constant mask [T, S] is, if it lets query i see the keys j <= i and no others.
enum class CausalMask {
  none,    // another mask, or no mask
  seen,    // true where a key is seen
  hidden,  // true where a key is hidden
  added,   // 0 where a key is seen, at most -1e4 where it is hidden
};

struct Value {
  std::string name = {};  // the ONNX name; unique in the network
  ValueKind kind = ValueKind::intermediate;
  TensorType type = {};
  // bf16, f16: of an f32 value that is stored so (network/precision.h); of a parameter: its upper half
  DataType reduced = DataType::f32;
  bool trainable = false;                          // of parameters
  bool undecided = false;  // trainable parameters: neither the file nor the use shows that it is trained
  CausalMask causal = CausalMask::none;            // of parameters that are not trained
  std::optional<ConstantData> constant = {};       // of constants
  std::string initializer = {};                    // of parameters and statistics: the ONNX initializer with their data
  // Of parameters of one element that are not trained, or that the file leaves undecided: the element.
  std::optional<double> number = {};
};

// An ONNX attribute as in the file. Tensors only if the compiler evaluates them.
using NodeAttribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, ConstantData>;

// The activation that a node applies to its result (network/fuse.h). Swish: with an alpha of 1.
enum class FusedActivation : uint8_t { none, relu, swish, hard_swish };
inline constexpr std::array<std::string_view, 4> kFusedActivations = {"none", "relu", "swish", "hard_swish"};
inline std::string_view name_of(FusedActivation each) { return kFusedActivations[static_cast<size_t>(each)]; }

// Properties that the compiler determines for a node; no attribute in a file sets them.
struct NodeMarks {
  FusedActivation activation = FusedActivation::none;
  bool classes_last = false;  // of a loss: scores are [N, d…, C], one per token of a sequence
  double label_smoothing = 0;  // of a loss: the share of a label that is spread equally over all classes
  bool transposed_a = false;  // of a MatMul: the last two dimensions of the first input are swapped
  bool transposed_b = false;  // the same for the second input
  bool detached = false;      // of an Identity: stops the gradient
  bool frozen_statistics = false;  // of a BatchNormalization: training uses the running statistics, and keeps them
  // bf16, f16: of a loss with a product, whose factors are read so (network/precision.h)
  DataType factors = DataType::f32;
  std::optional<int64_t> padding_index = {};  // of a Gather: the row without a gradient; negative: counted from the end
  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

struct Node {
  std::string name = {};                 // never empty: derived from the first output if ONNX has none
  std::string op = {};                   // "Conv"; Plimsoll's own operators (Reorder) never come from a file
  int opset = 0;                         // of the operator's domain
  std::vector<ValueId> inputs = {};      // invalid id: omitted optional input
  std::vector<ValueId> outputs = {};
  std::map<std::string, NodeAttribute> attributes = {};
  NodeMarks marks = {};
  std::string module_path = {};          // "layer1.0.conv1" of PyTorch, if the model states it
};

// The layer of the node's tasks, in plans and reports: the node's name, with the module path in front if the name does
// not include it. TorchScript's names do ("/layer1/layer1.0/conv1/Conv"); dynamo's do not, so the layer is
// "layer1.0.conv1/node_conv2d_3". Layers are unique because names are.
inline std::string layer_name(const Node& node) {
  const bool adds_path = !node.module_path.empty() && !node.name.starts_with('/');
  return adds_path ? node.module_path + "/" + node.name : node.name;
}

// How far the passes of compiler/network/pipeline.h have run.
enum class NetworkStage { imported, trainable, fused, laid_out };

struct Network {
  std::string name = {};
  // True: training_mode of every BatchNormalization was set by its module; false: a 0 may be the exporter's default.
  bool modes_are_stated = false;
  IdVector<ValueId, Value> values = {};
  IdVector<NodeId, Node> nodes = {};  // topological: a node follows the producers of its inputs
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
  NetworkStage stage = NetworkStage::imported;
  // "fused" for a part that has become one operator; its other form if it could have, and the planner chooses between
  // both.
  FormsOfParts forms = {};
  std::string layout = {};  // as Plan::layout: how assign_layouts has chosen; empty if there was no choice
  // What the file states about training, and what it leaves open; make_trainable resolves it.
  bool states_modes = false;         // the mode of each normalization and dropout is stated
  std::string perhaps_merged = {};   // a sentence about weights that the model perhaps did not share; empty: none
};

}  // namespace plimsoll
