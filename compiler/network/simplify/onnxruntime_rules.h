// How each operator of onnxruntime is written by operators of ONNX, for onnxruntime_operators.h, which lists them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll {

inline constexpr std::string_view kClassicalDomain = "ai.onnx.ml";

// What is known of the model's values before any shape is inferred.
struct KnownForms {
  std::unordered_map<std::string, size_t> ranks = {};
  std::unordered_map<std::string, std::vector<int64_t>> weights = {};  // dimensions of initializers
  std::unordered_map<std::string, std::string> makers = {};            // value → operator

  // How many axes a reduction removes; the greatest number: not known.
  size_t dropped_axes(const ModelNode& node) const;
};

class FusedNode : public spelling::Writer {
 public:
  FusedNode(const Spelling& spelling, const KnownForms& forms) : Writer(spelling), forms_(forms) {}

  std::optional<size_t> rank(const std::string& name) const {
    const auto found = forms_.ranks.find(name);
    return found == forms_.ranks.end() ? std::nullopt : std::optional(found->second);
  }
  const std::vector<int64_t>* weight_dims(size_t i) const {
    const auto found = forms_.weights.find(input(i));
    return found == forms_.weights.end() ? nullptr : &found->second;
  }
  bool is_product(const std::string& name) const {
    const auto found = forms_.makers.find(name);
    return found != forms_.makers.end() && (found->second == "MatMul" || found->second == "Gemm");
  }
  std::string plus(const std::string& x, size_t i) { return input(i).empty() ? x : write("Add", {x, input(i)}); }
  // `scale` and `bias`: inputs of the node. `missing`: the epsilon if the node states none.
  std::string normalized(const char* op, const std::string& x, size_t scale, std::optional<size_t> bias,
                         float missing) {
    std::vector<std::string> inputs = {x, input(scale)};
    if (bias && !input(*bias).empty()) inputs.push_back(input(*bias));
    const std::string y = write(op, inputs);
    set_real("epsilon", real("epsilon", missing));
    return y;
  }
  // Three parts of the last axis: of equal lengths, unless the node states them or a weight's shape does.
  std::vector<std::string> three_parts(const std::string& x, int64_t axis, const std::vector<int64_t>* whole) {
    spelling::Ints lengths;
    if (const ModelAttribute* given = find_attribute(node(), "qkv_hidden_sizes")) lengths = given->integers();
    else if (whole && !whole->empty() && whole->back() % 3 == 0) lengths = spelling::Ints(3, whole->back() / 3);
    if (lengths.size() == 3) return split(x, axis, lengths);
    write("Split", {x});
    set_integer("axis", axis);
    set_integer("num_outputs", 3);
    return outputs(3);
  }

 private:
  const KnownForms& forms_;
};

using FusedRule = Result<spelling::Nodes> (*)(FusedNode&);

// Null: the node is none of them.
FusedRule find_fused_rule(const ModelNode& node, int64_t opset);

}  // namespace plimsoll
