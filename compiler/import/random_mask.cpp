#include "compiler/import/random_mask.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/import/fold.h"
#include "compiler/import/load.h"
#include "compiler/import/tensor_data.h"

namespace plimsoll {
namespace {

using GraphNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

bool is(const onnx::NodeProto* node, std::string_view op) {
  return node && is_onnx_domain(node->domain()) && node->op_type() == op && node->output_size() >= 1;
}

bool in_unit_interval(const onnx::NodeProto& random) {
  const auto *low = find_attribute(random, "low"), *high = find_attribute(random, "high");
  return (!low || low->f() == 0) && (!high || high->f() == 1);
}

bool makes_floats(const onnx::NodeProto& cast) {
  if (cast.op_type() == "CastLike") return true;  // like what it is drawn for
  const auto* to = find_attribute(cast, "to");
  return to && is_real(static_cast<int>(to->i()));
}

class Finder {
 public:
  Finder(const GraphNodes& nodes, const std::unordered_set<std::string>& outputs) : outputs_(outputs) {
    for (const onnx::NodeProto& node : nodes) {
      for (const std::string& output : node.output()) makers_[output] = &node;
      for (const std::string& input : node.input()) ++readers_[input];
    }
  }

  // The mask that ends in this node.
  std::optional<RandomMask> at(const onnx::NodeProto& last, std::unordered_set<std::string>& steps) const {
    if (is(&last, "Bernoulli") && last.input_size() == 1) return RandomMask{.like = last.input(0), .probability = {}};
    if (is(&last, "Floor") && last.input_size() == 1) return of_floor(last, steps);
    if (!(is(&last, "Cast") || is(&last, "CastLike")) || last.input_size() == 0 || !makes_floats(last)) return std::nullopt;
    const onnx::NodeProto* compare = maker(last.input(0));
    if (!compare || compare->input_size() != 2) return std::nullopt;
    const bool less = is(compare, "Less") || is(compare, "LessOrEqual"), greater = is(compare, "Greater") || is(compare, "GreaterOrEqual");
    if (!less && !greater) return std::nullopt;
    const int drawn = less ? 0 : 1;
    const onnx::NodeProto* random = maker(compare->input(drawn));
    if (!is(random, "RandomUniformLike") || random->input_size() != 1 || !in_unit_interval(*random)) return std::nullopt;
    // PyTorch 2 converts p to the type of what was drawn.
    const std::string& compared = compare->input(1 - drawn);
    const onnx::NodeProto* converted = maker(compared);
    const bool like_drawn = is(converted, "CastLike") && converted->input_size() == 2 && converted->input(1) == random->output(0);
    if (!read(compare->output(0), 1) || !read(random->output(0), like_drawn ? 2 : 1) || (like_drawn && !read(compared, 1))) return std::nullopt;
    steps.insert({compare->output(0), random->output(0)});
    if (like_drawn) steps.insert(compared);
    return RandomMask{.like = random->input(0), .probability = like_drawn ? converted->input(0) : compared};
  }

 private:
  // A number in [0, 1) and p, rounded down: 1 with probability p.
  std::optional<RandomMask> of_floor(const onnx::NodeProto& last, std::unordered_set<std::string>& steps) const {
    const onnx::NodeProto* sum = maker(last.input(0));
    if (!is(sum, "Add") || sum->input_size() != 2 || !read(sum->output(0), 1)) return std::nullopt;
    for (int drawn = 0; drawn < 2; ++drawn) {
      const onnx::NodeProto* random = maker(sum->input(drawn));
      if (!is(random, "RandomUniformLike") || random->input_size() != 1 || !in_unit_interval(*random) || !read(random->output(0), 1)) continue;
      steps.insert({sum->output(0), random->output(0)});
      return RandomMask{.like = random->input(0), .probability = sum->input(1 - drawn)};
    }
    return std::nullopt;
  }

  const onnx::NodeProto* maker(const std::string& name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? nullptr : found->second;
  }
  bool read(const std::string& name, int times) const { return readers_.at(name) == times && !outputs_.contains(name); }

  const std::unordered_set<std::string>& outputs_;
  std::map<std::string, const onnx::NodeProto*> makers_ = {};
  std::map<std::string, int> readers_ = {};
};

}  // namespace

RandomMasks find_random_masks(const GraphNodes& nodes, const std::unordered_set<std::string>& outputs) {
  RandomMasks masks;
  const Finder finder(nodes, outputs);
  for (const onnx::NodeProto& node : nodes)
    if (const auto mask = finder.at(node, masks.steps)) masks.by_output.emplace(node.output(0), *mask);
  return masks;
}

bool replace_random_masks(GraphNodes& nodes, const std::unordered_set<std::string>& outputs) {
  const RandomMasks masks = find_random_masks(nodes, outputs);
  for (onnx::NodeProto& node : nodes) {
    const auto mask = node.output_size() > 0 ? masks.by_output.find(node.output(0)) : masks.by_output.end();
    if (mask == masks.by_output.end()) continue;
    if (node.op_type() == "Bernoulli") {
      node.set_op_type("Identity");
      node.clear_attribute();
    } else {
      if (node.op_type() == "Floor") node.set_op_type("Identity");
      node.set_input(0, mask->second.probability);
    }
  }
  const auto gone = std::remove_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.output_size() == 1 && masks.steps.contains(node.output(0));
  });
  nodes.erase(gone, nodes.end());
  return !masks.by_output.empty();
}

}  // namespace plimsoll
