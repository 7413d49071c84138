// One node of a network as its operator sees it: attributes with defaults, types and constants of its inputs, and
// errors that name the node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

class NodeView {
 public:
  NodeView(const Network& network, const Node& node) : network_(network), node_(node) {}

  const Network& network() const { return network_; }
  const Node& node() const { return node_; }
  int opset() const { return node_.opset; }

  size_t input_count() const { return node_.inputs.size(); }
  bool has_input(size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  bool has_output(size_t i) const { return i < node_.outputs.size() && node_.outputs[i].valid(); }
  const Value& input(size_t i) const { return network_.values[node_.inputs[i]]; }
  const TensorType& input_type(size_t i) const { return input(i).type; }
  const TensorType& output_type(size_t i) const { return network_.values[node_.outputs[i]].type; }

  bool has(std::string_view attribute) const;
  int64_t integer(std::string_view attribute, int64_t missing) const;
  double real(std::string_view attribute, double missing) const;
  std::string text(std::string_view attribute, std::string_view missing) const;
  std::vector<int64_t> integers(std::string_view attribute, std::vector<int64_t> missing = {}) const;
  const std::vector<int64_t>* find_integers(std::string_view attribute) const;  // null: the node has none

  // The value of an input that is known at compile time: axes, target shapes, ratios. nullopt: absent or not constant.
  std::optional<std::vector<int64_t>> constant_integers(size_t input) const;
  std::optional<double> constant_real(size_t input) const;
  std::optional<std::vector<double>> constant_reals(size_t input) const;

  // "node 'conv1' (Conv, layer1.0.conv1): <what>"
  Error invalid(std::string_view what) const { return error(ExitCode::invalid_model, what); }
  Error unsupported(std::string_view what) const { return error(ExitCode::unsupported, what); }
  std::string describe() const;

 private:
  Error error(ExitCode code, std::string_view what) const;
  const Network& network_;
  const Node& node_;
};

}  // namespace plimsoll
