// What the uses of the float initializers say about them: their roles for the nodes that read them, not their names or
// elements.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

struct WeightRole {
  enum class Kind { parameter, epsilon };
  Kind kind = Kind::parameter;
  std::string reason = {};  // "weight of node 'fc' (Gemm)"
};

// Keyed by the initializer's name, also if it is read through nodes that only change its form (Transpose, Reshape,
// Slice, …). Parameters are: what plimsoll.export lists as trained, what torch's dynamo exporter marks as a parameter,
// and everything in a network of `plimsoll model`. Otherwise:
//   - parameter: the weight or bias of a Conv, ConvTranspose, Gemm, MatMul or recurrent layer; the scale or bias of a
//     normalization (also of one written as primitive operators); the slope of a PRelu; a bias added to the output of a
//     Conv, or of a MatMul with an initializer; a table from which a Gather selects rows by indices that come from an
//     input; in a file of tf2onnx, what a node of TensorFlow reads from a variable;
//   - epsilon: a single number that is only added to the input of a Sqrt, or only bounds it; in a file of tf2onnx,
//     which merges equal numbers, one that is compared with integers.
// What may be a number of PyTorch's exporter (perhaps_exporter_numbers) has no role. Neither have other initializers:
// names and elements identify some of them as constants (values.cpp); the rest is undecided, and the user is asked
// (compiler/network/undecided.h).
std::unordered_map<std::string, WeightRole> find_weight_roles(const Model& model, const GraphOrder& order);

// What is known of a model's initializers before it becomes a network. It holds for the same nodes, whatever the
// elements of the initializers.
struct WeightUses {
  std::unordered_map<std::string, WeightRole> roles = {};  // find_weight_roles()
  std::unordered_set<std::string> reached = {};            // reached_by_gradients() in differentiable.h
};
WeightUses find_weight_uses(const Model& model, const GraphOrder& order);

// Whether tf2onnx has named the initializer after a node that reads a variable: "dense/BiasAdd/ReadVariableOp:0". What
// it computes from variables has other names.
bool is_variable_of_tensorflow(std::string_view name);

// Whether this is a file of tf2onnx in which variables have such names. They do not where a graph of TensorFlow 1 or of
// jax2tf was frozen.
bool names_variables_of_tensorflow(const Model& model);

// Keyed by the initializer's name: PARAMETER, BUFFER, CONSTANT_TENSOR. torch's dynamo exporter records the module's
// declaration in the value_info of each.
std::unordered_map<std::string, std::string> exporter_marks(const Model& model);

}  // namespace plimsoll
