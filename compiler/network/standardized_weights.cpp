#include "compiler/network/standardized_weights.h"

#include <vector>

#include "compiler/network/pattern.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace {

// The mean of each channel of x [1, C, rest].
bool averages_channels(const Match& match, std::string_view name) {
  const NodeView mean = match.node(name);
  const auto axes = axes_of(mean, 1, 3);
  return axes.ok() && *axes && (**axes == std::vector<size_t>{2} || **axes == std::vector<size_t>{0, 2});
}

// [C, 1] or [1, C, 1].
bool is_of_channels(const Match& match, const Dims& dims) {
  const Dim channels = match.type("x").dims[1];
  return dims == Dims{channels, {1}} || dims == Dims{{1}, channels, {1}};
}

bool standardizes(const Match& match) {
  const Dims& x = match.type("x").dims;
  if (x.size() != 3 || x[0] != Dim{1} || x[1].batch || x[2].batch) return false;
  for (const std::string_view mean : {"mean", "mean_of_squares", "mean_again"})
    if (!averages_channels(match, mean)) return false;
  // What is subtracted, divided by, multiplied and added.
  for (const std::string_view node : {"off", "off_again", "normal", "scaled", "shifted"})
    for (size_t i = 0; i < 2; ++i) {
      const NodeView view = match.node(node);
      if (view.input_type(i).dims != x && !is_of_channels(match, view.input_type(i).dims)) return false;
    }
  const auto is_factor = [&](std::string_view name) {
    return match.value(name).kind != ValueKind::constant && match.type(name).type == DataType::f32 &&
           !match.type(name).depends_on_batch() && match.type(name).elements().fixed == x[1].value;
  };
  return is_factor("scale") && is_factor("bias") && match.node("shifted").output_type(0).dims == x;
}

std::map<std::string, NodeAttribute> of_standardization(const Match& match) {
  return {{"epsilon", match.number("epsilon")}};
}

Term maybe_unsqueezed(const Term& a) {
  using namespace pattern;
  return one_of({node("Unsqueeze", {a}), a});
}

std::vector<Pattern> make_standardizations() {
  using namespace pattern;
  const Term x = hole("x");
  const auto off = [&](std::string_view name, std::string_view mean) {
    return node("Sub", {x, maybe_unsqueezed(node("ReduceMean", {x}).named(mean))}).named(name);
  };
  const Term off_again = off("off_again", "mean_again");
  const Term squares = one_of({node("Mul", {off_again, off_again}), node("Pow", {off_again, number(2)})});
  const Term variance = maybe_unsqueezed(node("ReduceMean", {squares}).named("mean_of_squares"));
  const Term root = node("Sqrt", {node("Add", {variance, any_number("epsilon")})});
  const Term normal = sole(node("Div", {off("off", "mean"), root}).named("normal"));
  const Term scaled = sole(node("Mul", {normal, maybe_unsqueezed(hole("scale"))}).named("scaled"));
  return {{.becomes = "InstanceNormalization",
           .opset = 22,
           .inputs = {"x", "scale", "bias"},
           .tree = node("Add", {scaled, maybe_unsqueezed(hole("bias"))}).named("shifted"),
           .where = standardizes,
           .attributes = of_standardization}};
}

}  // namespace

void fuse_standardized_weights(Network& network) {
  static const std::vector<Pattern> kPatterns = make_standardizations();
  replace_matches(network, kPatterns);
}

}  // namespace plimsoll
