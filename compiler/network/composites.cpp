#include "compiler/network/composites.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/network/pattern.h"
#include "compiler/network/prune.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace {

using Attributes = std::map<std::string, NodeAttribute>;

// --- conditions ---

// The first of the trailing axes that a ReduceMean averages over, or a GlobalAveragePool, as which tf2onnx writes it;
// nullopt if it averages over other axes.
std::optional<size_t> trailing_axis(const NodeView& mean) {
  const Dims& x = mean.input_type(0).dims;
  if (mean.node().op == "GlobalAveragePool") return x.size() > 2 ? std::optional<size_t>(2) : std::nullopt;
  const auto axes = axes_of(mean, 1, x.size());
  if (!axes.ok() || !*axes || (*axes)->empty() || mean.integer("keepdims", 1) == 0) return std::nullopt;
  const std::vector<size_t>& list = **axes;
  if (std::any_of(list.begin(), list.end(), [&](size_t axis) { return x[axis].batch; })) return std::nullopt;
  return list.back() == x.size() - 1 && list.front() + list.size() == x.size() ? std::optional(list.front())
                                                                               : std::nullopt;
}

// The dimensions without leading ones.
Dims without_leading_ones(const Dims& dims) {
  return {std::find_if(dims.begin(), dims.end(), [](Dim dim) { return dim != Dim{1}; }), dims.end()};
}

// A parameter with one number per element of the normalized row.
bool is_row_parameter(const Match& match, std::string_view name) {
  const Dims& x = match.type("x").dims;
  const size_t axis = *trailing_axis(match.node("mean"));
  return match.value(name).kind == ValueKind::parameter &&
         match.type(name).dims == Dims(x.begin() + static_cast<int64_t>(axis), x.end());
}

bool averages_rows(const Match& match) {
  const auto axis = trailing_axis(match.node("mean"));
  return axis && trailing_axis(match.node("variance")) == axis;
}
bool is_scaled(const Match& match) { return averages_rows(match) && is_row_parameter(match, "scale"); }
bool is_affine(const Match& match) { return is_scaled(match) && is_row_parameter(match, "bias"); }

bool averages_squares(const Match& match) { return trailing_axis(match.node("mean")).has_value(); }

// The scale may be computed: Gemma's is 1 + weight.
bool has_row_scale(const Match& match) {
  const auto axis = trailing_axis(match.node("mean"));
  if (!axis || match.value("scale").kind == ValueKind::constant) return false;
  const Dims& x = match.type("x").dims;
  const Dims scale = without_leading_ones(match.type("scale").dims);
  return match.type("scale").dims.size() <= x.size() &&
         scale == without_leading_ones(Dims(x.begin() + static_cast<int64_t>(*axis), x.end())) && !scale.empty();
}

// [C,1,…,1], with or without leading dimensions of size 1, for an x [N,C,…].
bool is_channel_tensor(const Match& match, std::string_view name) {
  const Dims &x = match.type("x").dims, &dims = match.type(name).dims;
  if (match.value(name).kind == ValueKind::constant || dims.size() + 1 < x.size() || dims.size() > x.size())
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != (i + 1 == dims.size() - (x.size() - 2) ? x[1] : Dim{1})) return false;
  return true;
}

bool normalizes_groups(const Match& match) {
  const NodeView normal = match.node("normal");
  const Dims &x = match.type("x").dims, &grouped = normal.input_type(0).dims;
  return normal.input_count() == 1 && x.size() >= 3 && grouped.size() == 3 && grouped[0] == x[0] && !x[1].batch &&
         !grouped[1].batch && x[1].value % grouped[1].value == 0 && normal.integer("axis", -1) == 2 &&
         match.node("back").output_type(0).dims == x && is_channel_tensor(match, "scale") &&
         is_channel_tensor(match, "bias");
}

bool turns_last_axes(const Match& match) {
  const NodeView turn = match.node("turn");
  const size_t rank = turn.output_type(0).rank();
  if (rank < 2) return false;
  std::vector<int64_t> reversed, swapped;
  for (size_t axis = 0; axis < rank; ++axis) {
    reversed.push_back(static_cast<int64_t>(rank - 1 - axis));
    swapped.push_back(static_cast<int64_t>(axis));
  }
  std::swap(swapped[rank - 2], swapped[rank - 1]);
  return turn.integers("perm", reversed) == swapped;
}

// The mask has one element per element of x, and is divided by the probability of a one.
bool masks_elements(const Match& match) {
  const double probability = match.node("mask").real("probability", 0);
  return match.value("x").kind != ValueKind::constant && match.type("x") == match.node("factor").output_type(0) &&
         std::abs(probability - match.number("divisor")) <= 1e-4 * std::abs(match.number("divisor"));
}

// From 17 on, log(1 + e^x) is x to the last bit.
bool is_linear_above(const Match& match) { return match.number("threshold") >= 17; }

// clip(x / 6 + 1 / 2, 0, 1)
bool is_hard_gate(const Match& match) {
  const NodeView gate = match.node("gate");
  return std::abs(gate.real("alpha", 0.2) - 1.0 / 6) < 1e-5 && gate.real("beta", 0.5) == 0.5;
}

// A Clip to [0, 6]: by inputs, or by attributes before opset 11.
bool is_relu6(const Match& match) {
  const NodeView clip = match.node("clip");
  const auto is = [&](size_t input, std::string_view attribute, double wanted) {
    return clip.has_input(input) ? clip.constant_real(input) == wanted : clip.real(attribute, wanted - 1) == wanted;
  };
  return is(1, "min", 0) && is(2, "max", 6);
}

// Exactly: 1 + 1e-5 keeps the logarithm finite, as its author wants it.
bool takes_from_one(const Match& match) { return match.number("minuend") == 1; }

bool is_of_one_type(const Match& match) {
  const auto is_tensor = [&](std::string_view name) { return match.value(name).kind != ValueKind::constant; };
  return is_tensor("a") && is_tensor("b") && match.type("a") == match.type("b") &&
         match.type("a").type == DataType::f32;
}

// Half of the last axis of x, from this element on.
bool is_part(const NodeView& slice, const Dims& x, int64_t first) {
  Dims part = x;
  part.back() = {x.back().value / 2};
  const bool adjacent = !slice.has_input(4) || slice.constant_integers(4) == std::vector<int64_t>{1};
  return slice.opset() >= 10 && adjacent && slice.output_type(0).dims == part &&
         slice.constant_integers(1) == std::vector<int64_t>{first};
}

// x · cos + (-second half, first half) · sin, with angles that are not trained.
bool turns_halves(const Match& match) {
  const Dims &x = match.type("x").dims, &cos = match.type("cos").dims, &sin = match.type("sin").dims;
  if (x.empty() || x.back().batch || x.back().value % 2 != 0 || cos != sin || cos.empty() || cos.back() != x.back() ||
      match.node("turned").output_type(0).dims != x)
    return false;
  const NodeView joined = match.node("joined");
  const int64_t axis = joined.integer("axis", 0), last = static_cast<int64_t>(x.size()) - 1;
  const auto is_table = [&](std::string_view name) {
    const Value& value = match.value(name);
    return value.kind == ValueKind::input || (value.kind == ValueKind::parameter && !value.trainable);
  };
  return joined.input_count() == 2 && (axis == -1 || axis == last) && is_table("cos") && is_table("sin") &&
         is_part(match.node("first"), x, 0) && is_part(match.node("second"), x, x.back().value / 2);
}

// --- attributes ---

Attributes of_layer_normalization(const Match& match) {
  return {{"axis", static_cast<int64_t>(*trailing_axis(match.node("mean")))}, {"epsilon", match.number("epsilon")}};
}

Attributes of_group_normalization(const Match& match) {
  const NodeView normal = match.node("normal");
  return {{"num_groups", normal.input_type(0).dims[1].value}, {"epsilon", normal.real("epsilon", 1e-5)}};
}

Attributes of_gelu(const Match&) { return {{"approximate", std::string("none")}}; }
Attributes of_gelu_by_tanh(const Match&) { return {{"approximate", std::string("tanh")}}; }
Attributes of_swish(const Match&) { return {{"alpha", 1.0}}; }
Attributes of_scaled_swish(const Match& match) { return {{"alpha", match.number("alpha")}}; }
Attributes of_opposite(const Match&) { return {{"alpha", -1.0}}; }  // 1 - σ(x) = σ(-x)
Attributes of_dropout(const Match& match) { return {{"ratio", 1 - match.node("mask").real("probability", 0)}}; }

Attributes of_gated_product(const Match& match) {
  const NodeView gate = match.node("gate");
  return {{"activation", gate.node().op},
          {"alpha", gate.real("alpha", 1)},
          {"approximate", gate.text("approximate", "none")}};
}

// --- the table ---

// 1 / √a.
Term inverse_root(const Term& a) {
  using namespace pattern;
  const Term root = node("Sqrt", {a});
  return one_of({node("Reciprocal", {root}), node("Div", {number(1), root}), node("Pow", {a, number(-0.5)})});
}

// a / √b, in all the forms that exporters write.
Term divided_by_root(const Term& a, const Term& b) {
  using namespace pattern;
  return one_of({node("Div", {a, node("Sqrt", {b})}), node("Mul", {a, inverse_root(b)})});
}

Term in_sixths(const Term& a) {
  using namespace pattern;
  return one_of({node("Div", {a, number(6)}), node("Mul", {a, number(1.0 / 6)})});
}

Term average(const Term& a, std::string_view name) {
  using namespace pattern;
  return one_of({node("ReduceMean", {a}).named(name), node("GlobalAveragePool", {a}).named(name)});
}

Term squared(const Term& a) {
  using namespace pattern;
  return one_of({node("Pow", {a, number(2)}), node("Mul", {a, a})});
}

// ½ · x · (1 + f), multiplied in any order.
Term halved_gate(const Term& f) {
  using namespace pattern;
  const Term x = hole("x"), half = number(0.5), gate = sole(node("Add", {sole(f), number(1)}));
  return one_of({node("Mul", {sole(node("Mul", {gate, x})), half}), node("Mul", {sole(node("Mul", {gate, half})), x}),
                 node("Mul", {gate, node("Mul", {x, half})})});
}

// A pattern comes before the patterns of its parts, and after the patterns whose results it reads.
std::vector<Pattern> make_patterns() {
  using namespace pattern;
  const Term x = hole("x"), scale = hole("scale"), bias = hole("bias"), a = hole("a"), b = hole("b");

  const Term mean = average(x, "mean");
  const Term off = node("Sub", {x, mean}).named("off");
  // Flax's variance may be below 0 by rounding, where that of the one operator is not.
  const Term of_squares = node("Max", {node("Sub", {average(squared(x), "variance"), squared(mean)}), number(0)});
  const Term variance = one_of({average(squared(off), "variance"), of_squares});
  const Term spread = node("Add", {variance, any_number("epsilon")});
  const Term layer = divided_by_root(off, spread);
  // Keras: x · f + (bias - mean · f), where f is the scale divided by the root.
  const Term factor_of_rows = node("Mul", {inverse_root(spread), scale});
  const auto shifted = [&](const Term& f) { return sole(node("Mul", {node("Neg", {mean}), f})); };
  const Term rows = sole(node("Mul", {x, factor_of_rows}));

  const Term spread_of_squares = node("Add", {average(squared(x), "mean"), any_number("epsilon")});
  const Term rms = divided_by_root(x, spread_of_squares);

  const Term grouped = node("LayerNormalization", {node("Reshape", {x})}).named("normal");
  const Term group_back = node("Reshape", {sole(grouped)}).named("back");

  const Term by_erf =
      node("Erf", {one_of({node("Div", {x, number(std::sqrt(2.0))}), node("Mul", {x, number(std::sqrt(0.5))})})});
  const Term cubic = node("Mul", {node("Pow", {x, number(3)}), number(0.044715)});
  const Term root = number(0.7978845608028654);
  // x + c · x³ may be x · (1 + c · x²).
  const Term quadratic = one_of({node("Mul", {node("Mul", {x, number(0.044715)}), x}),
                                 node("Mul", {squared(x), number(0.044715)})});
  const Term from_one = node("Add", {quadratic, number(1)});
  const Term by_tanh = node("Tanh", {one_of({node("Mul", {node("Add", {x, cubic}), root}),
                                             node("Mul", {node("Mul", {x, root}), from_one}),
                                             node("Mul", {node("Mul", {x, from_one}), root})})});

  const Term unscaled = one_of({node("Mul", {x, number(1)}), x});  // by PyTorch's beta
  const Term softplus = sole(node("Softplus", {unscaled}));
  const Term hard_gate = sole(node("HardSigmoid", {x}).named("gate"));
  const Term relu6 = sole(node("Clip", {sole(node("Add", {x, number(3)}))}).named("clip"));

  const Term mask = sole(node("Bernoulli", {}).named("mask"));
  const Term factor = sole(node("Div", {mask, any_number("divisor")}).named("factor"));
  const Term gate = sole(one_of({node("Swish", {a}).named("gate"), node("Gelu", {a}).named("gate")}));

  const Term first = sole(node("Slice", {x}).named("first")), second = sole(node("Slice", {x}).named("second"));
  const Term halves = sole(node("Concat", {sole(node("Neg", {second})), first}).named("joined"));
  const Term turned = node("Add", {sole(node("Mul", {x, hole("cos")})), sole(node("Mul", {halves, hole("sin")}))});

  return {
      {.becomes = "MatMul",
       .inputs = {"a", "b"},
       .tree = node("MatMul", {node("Transpose", {a}).named("turn"), b}),
       .where = turns_last_axes,
       .mark = [](NodeMarks& marks) { marks.transposed_a = true; }},
      {.becomes = "MatMul",
       .inputs = {"a", "b"},
       .tree = node("MatMul", {a, node("Transpose", {b}).named("turn")}),
       .where = turns_last_axes,
       .mark = [](NodeMarks& marks) { marks.transposed_b = true; }},
      {.becomes = "Dropout",
       .opset = 7,
       .inputs = {"x"},
       .tree = node("Mul", {x, factor}),
       .where = masks_elements,
       .attributes = of_dropout},

      {.becomes = "LayerNormalization",
       .opset = 17,
       .inputs = {"x", "scale", "bias"},
       .tree = node("Add", {rows, sole(node("Add", {shifted(factor_of_rows), bias}))}),
       .where = is_affine,
       .attributes = of_layer_normalization},
      {.becomes = "LayerNormalization",
       .opset = 17,
       .inputs = {"x", "scale"},
       .tree = node("Add", {rows, shifted(factor_of_rows)}),
       .where = is_scaled,
       .attributes = of_layer_normalization},
      {.becomes = "LayerNormalization",
       .opset = 17,
       .inputs = {"x", "scale", "bias"},
       .tree = node("Add", {sole(one_of({node("Mul", {sole(layer), scale}), node("Mul", {off, factor_of_rows})})),
                            bias}),
       .where = is_affine,
       .attributes = of_layer_normalization},
      {.becomes = "LayerNormalization",
       .opset = 17,
       .inputs = {"x", "scale"},
       .tree = node("Mul", {sole(layer), scale}),
       .where = is_scaled,
       .attributes = of_layer_normalization},
      {.becomes = "LayerNormalization",
       .opset = 17,
       .inputs = {"x"},
       .tree = layer,
       .where = averages_rows,
       .attributes = of_layer_normalization},
      {.becomes = "RMSNormalization",
       .opset = 23,
       .inputs = {"x", "scale"},
       .tree = one_of({node("Mul", {sole(rms), scale}),
                       node("Mul", {x, sole(node("Mul", {inverse_root(spread_of_squares), scale}))})}),
       .where = has_row_scale,
       .attributes = of_layer_normalization},
      {.becomes = "RMSNormalization",
       .opset = 23,
       .inputs = {"x"},
       .tree = rms,
       .where = averages_squares,
       .attributes = of_layer_normalization},
      {.becomes = "GroupNormalization",
       .opset = 21,
       .inputs = {"x", "scale", "bias"},
       .tree = node("Add", {sole(node("Mul", {sole(group_back), scale})), bias}),
       .where = normalizes_groups,
       .attributes = of_group_normalization},

      {.becomes = "Gelu", .opset = 20, .inputs = {"x"}, .tree = halved_gate(by_erf), .attributes = of_gelu},
      {.becomes = "Gelu", .opset = 20, .inputs = {"x"}, .tree = halved_gate(by_tanh), .attributes = of_gelu_by_tanh},
      {.becomes = "Swish",
       .opset = 24,
       .inputs = {"x"},
       .tree = node("Mul", {x, sole(node("Sigmoid", {x}))}),
       .attributes = of_swish},
      {.becomes = "Swish",
       .opset = 24,
       .inputs = {"x"},
       .tree = node("Mul", {x, sole(node("Sigmoid", {node("Mul", {x, any_number("alpha")})}))}),
       .attributes = of_scaled_swish},
      {.becomes = "HardSwish",
       .opset = 14,
       .inputs = {"x"},
       .tree = node("Mul", {x, hard_gate}),
       .where = is_hard_gate},
      {.becomes = "HardSwish",
       .opset = 14,
       .inputs = {"x"},
       .tree = in_sixths(sole(node("Mul", {x, relu6}))),
       .where = is_relu6},
      {.becomes = "HardSwish",
       .opset = 14,
       .inputs = {"x"},
       .tree = node("Mul", {x, sole(in_sixths(relu6))}),
       .where = is_relu6},
      {.becomes = "Softplus",
       .opset = 1,
       .inputs = {"x"},
       .tree = node("Where", {sole(node("Greater", {unscaled, any_number("threshold")})), x,
                              one_of({node("Div", {softplus, number(1)}), softplus})}),
       .where = is_linear_above},
      {.becomes = "Mish",
       .opset = 18,
       .inputs = {"x"},
       .tree = node("Mul", {x, sole(node("Tanh", {sole(node("Softplus", {x}))}))})},
      {.becomes = "LogSigmoid", .opset = 1, .inputs = {"x"}, .tree = node("Log", {node("Sigmoid", {x})})},
      {.becomes = "LogSigmoid",
       .opset = 1,
       .inputs = {"x"},
       .tree = node("Log", {node("Sub", {any_number("minuend"), node("Sigmoid", {x})})}),
       .where = takes_from_one,
       .attributes = of_opposite},
      {.becomes = "GatedProduct",
       .opset = 1,
       .inputs = {"a", "b"},
       .tree = node("Mul", {gate, b}),
       .where = is_of_one_type,
       .attributes = of_gated_product},
      {.becomes = "Rotary", .inputs = {"x", "cos", "sin"}, .tree = turned.named("turned"), .where = turns_halves},
  };
}

}  // namespace

void fuse_composites(Network& network) {
  static const std::vector<Pattern> kPatterns = make_patterns();
  replace_matches(network, kPatterns);
  prune_dead_nodes(network);
}

}  // namespace plimsoll
