#include "compiler/network/simplify/random_mask.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/network/simplify/fold.h"
#include "compiler/ir/known_value.h"

namespace plimsoll {
namespace {

bool is(const ModelNode* node, std::string_view op) {
  return node && is_of_onnx(*node) && node->op == op && node->outputs.size() >= 1;
}

bool in_unit_interval(const ModelNode& random) {
  const auto *low = find_attribute(random, "low"), *high = find_attribute(random, "high");
  return (!low || low->real() == 0) && (!high || high->real() == 1);
}

bool makes_floats(const ModelNode& cast) {
  if (cast.op == "CastLike") return true;  // like the tensor it is drawn for
  const auto* to = find_attribute(cast, "to");
  return to && is_real(to->element());
}

class Finder {
 public:
  Finder(const std::vector<ModelNode>& nodes, const std::unordered_set<std::string>& outputs) : outputs_(outputs) {
    for (const ModelNode& node : nodes) {
      for (const std::string& output : node.outputs) makers_[output] = &node;
      for (const std::string& input : node.inputs) ++readers_[input];
    }
  }

  // The mask whose last step is this node.
  std::optional<RandomMask> at(const ModelNode& last, std::unordered_set<std::string>& steps) const {
    std::optional<RandomMask> mask;
    if (is(&last, "Bernoulli") && last.inputs.size() == 1)
      mask = RandomMask{.like = last.inputs[0], .probability = {}};
    else if (is(&last, "Floor") && last.inputs.size() == 1)
      mask = of_floor(last);
    else
      mask = of_comparison(last);
    if (mask)
      for (const ModelNode* step : mask->steps) steps.insert(step->outputs[0]);
    return mask;
  }

 private:
  std::optional<RandomMask> of_comparison(const ModelNode& last) const {
    if (!(is(&last, "Cast") || is(&last, "CastLike")) || last.inputs.empty() || !makes_floats(last))
      return std::nullopt;
    const ModelNode* compare = maker(last.inputs[0]);
    if (!compare || compare->inputs.size() != 2) return std::nullopt;
    const bool less = is(compare, "Less") || is(compare, "LessOrEqual"),
               greater = is(compare, "Greater") || is(compare, "GreaterOrEqual");
    if (!less && !greater) return std::nullopt;
    const std::string& numbers = compare->inputs[less ? 0 : 1];
    std::optional<RandomMask> mask = drawn_as(numbers);
    if (!mask) return std::nullopt;
    // PyTorch 2 converts p to the type of the drawn numbers.
    const std::string& compared = compare->inputs[less ? 1 : 0];
    const ModelNode* converted = maker(compared);
    const bool like_drawn =
        is(converted, "CastLike") && converted->inputs.size() == 2 && converted->inputs[1] == numbers;
    if (!read(compare->outputs[0], 1) || !read(numbers, like_drawn ? 2 : 1) || (like_drawn && !read(compared, 1)))
      return std::nullopt;
    mask->probability = like_drawn ? converted->inputs[0] : compared;
    if (like_drawn) mask->steps.push_back(converted);
    mask->steps.push_back(compare);
    return mask;
  }

  // A number in [0, 1) plus p, rounded down: 1 with probability p.
  std::optional<RandomMask> of_floor(const ModelNode& last) const {
    const ModelNode* sum = maker(last.inputs[0]);
    if (!is(sum, "Add") || sum->inputs.size() != 2 || !read(sum->outputs[0], 1)) return std::nullopt;
    for (int drawn = 0; drawn < 2; ++drawn) {
      std::optional<RandomMask> mask = drawn_as(sum->inputs[drawn]);
      if (!mask || !read(sum->inputs[drawn], 1)) continue;
      mask->probability = sum->inputs[1 - drawn];
      mask->steps.push_back(sum);
      return mask;
    }
    return std::nullopt;
  }

  // The first steps of a mask, if these numbers are drawn in [0, 1). plimsoll.export copies the numbers of
  // Tensor.uniform_() into the tensor. Exporters write the copy as an Expand to the tensor's shape, or as a CastLike.
  std::optional<RandomMask> drawn_as(const std::string& numbers) const {
    const ModelNode* random = maker(numbers);
    const ModelNode* written = nullptr;
    if ((is(random, "Expand") || is(random, "CastLike")) && random->inputs.size() == 2)
      random = maker((written = random)->inputs[0]);
    if (!is(random, "RandomUniformLike") || random->inputs.size() != 1 || !in_unit_interval(*random))
      return std::nullopt;
    RandomMask mask{.like = random->inputs[0], .probability = {}, .steps = {random}};
    if (!written) return mask;
    const ModelNode* shape = written->op == "Expand" ? maker(written->inputs[1]) : nullptr;
    const bool same = shape ? is(shape, "Shape") && shape->inputs == std::vector{mask.like}
                            : written->op == "CastLike" && written->inputs[1] == mask.like;
    if (!same || !read(random->outputs[0], 1)) return std::nullopt;
    mask.steps.push_back(written);
    return mask;
  }

  const ModelNode* maker(const std::string& name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? nullptr : found->second;
  }
  bool read(const std::string& name, int times) const { return readers_.at(name) == times && !outputs_.contains(name); }

  const std::unordered_set<std::string>& outputs_;
  std::map<std::string, const ModelNode*> makers_ = {};
  std::map<std::string, int> readers_ = {};
};

}  // namespace

RandomMasks find_random_masks(const std::vector<ModelNode>& nodes, const std::unordered_set<std::string>& outputs) {
  RandomMasks masks;
  const Finder finder(nodes, outputs);
  for (const ModelNode& node : nodes)
    if (const auto mask = finder.at(node, masks.steps)) masks.by_output.emplace(node.outputs[0], *mask);
  return masks;
}

std::unordered_set<std::string> probabilities_of(const Model& model, const GraphUses& uses, const RandomMasks& masks) {
  std::unordered_set<std::string> names;
  for (const auto& [output, mask] : masks.by_output) {
    const auto readers = uses.readers.find(mask.probability);
    if (readers == uses.readers.end()) continue;
    const auto is_of_mask = [&](int reader) {
      if (reader < 0) return false;
      const ModelNode& node = model.nodes[static_cast<size_t>(reader)];
      const bool is_step = !node.outputs.empty() && masks.steps.contains(node.outputs[0]);
      return is_step || (is(&node, "Div") && masks.by_output.contains(node.inputs[0]));
    };
    if (std::ranges::all_of(readers->second, is_of_mask)) names.insert(readers->first);
  }
  return names;
}

std::optional<ModelNode> drawn_mask(const ModelNode& source, const Dims* like, const KnownValue* probability,
                                    NodeInputs& inputs, int& followed) {
  const bool said =
      like && probability && probability->real() && probability->splat() &&
      std::all_of(like->begin(), like->end(), [](Dim dim) { return !dim.batch || dim == kBatch; });
  if (!said) return std::nullopt;
  const std::optional<int64_t> exported = inputs.exported_batch();
  std::vector<int64_t> shape;
  bool has_samples = std::any_of(like->begin(), like->end(), [](Dim dim) { return dim.batch; });
  for (const Dim dim : *like) {
    const bool is_batch = !has_samples && exported && *exported > 1 && dim.value == *exported;
    if (is_batch) inputs.meet();
    const bool follows = is_batch && inputs.follow();
    followed += follows;
    has_samples = has_samples || follows;
    shape.push_back(dim.batch || follows ? -1 : dim.value);
  }
  return ModelNode{.op = "Bernoulli",
                   .name = source.name,
                   .outputs = {source.outputs[0]},
                   .attributes = {{.name = "shape", .value = std::move(shape)},
                                  {.name = "probability", .value = static_cast<float>(probability->number(0))}},
                   .metadata = source.metadata};
}

}  // namespace plimsoll
