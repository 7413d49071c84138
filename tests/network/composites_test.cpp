// Groups of primitive nodes become one node, and groups that only look similar stay.
#include <catch2/catch.hpp>

#include <cmath>

#include "compiler/network/composites.h"

using namespace plimsoll;

namespace {

struct Chain {
  Network network;

  ValueId value(ValueKind kind, Dims dims) {
    return network.values.push_back({.name = "v" + std::to_string(network.values.size()),
                                     .kind = kind,
                                     .type = {.dims = std::move(dims)},
                                     .trainable = kind == ValueKind::parameter});
  }
  ValueId number(double value) {
    return network.values.push_back({.name = "c" + std::to_string(network.values.size()),
                                     .kind = ValueKind::constant,
                                     .constant = ConstantData{.reals = {value}}});
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, Dims dims,
               std::map<std::string, NodeAttribute> attributes = {}) {
    const ValueId made = value(ValueKind::intermediate, std::move(dims));
    network.nodes.push_back({.name = "n" + std::to_string(network.nodes.size()),
                             .op = op,
                             .opset = 15,
                             .inputs = std::move(inputs),
                             .outputs = {made},
                             .attributes = std::move(attributes)});
    return made;
  }
  std::string fused(ValueId output) {
    network.outputs = {output};
    fuse_composites(network);
    std::string ops;
    for (const Node& node : network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
    return ops;
  }
  const Node& last() { return network.nodes.back(); }
};

const Dims kTokens = {kBatch, {3}, {8}}, kOne = {kBatch, {3}, {1}}, kRow = {{8}};
const std::vector<int64_t> kLast = {-1};

// The normalization without scale and bias.
ValueId normalised(Chain& chain, ValueId x, bool by_pow, std::vector<int64_t> variance_axes = kLast) {
  const ValueId mean = chain.node("ReduceMean", {x}, kOne, {{"axes", kLast}});
  const ValueId off = chain.node("Sub", {x, mean}, kTokens);
  const ValueId squares =
      by_pow ? chain.node("Pow", {off, chain.number(2)}, kTokens) : chain.node("Mul", {off, off}, kTokens);
  const ValueId variance = chain.node("ReduceMean", {squares}, kOne, {{"axes", std::move(variance_axes)}});
  const ValueId root = chain.node("Sqrt", {chain.node("Add", {variance, chain.number(1e-6)}, kOne)}, kOne);
  return chain.node("Div", {off, root}, kTokens);
}

}  // namespace

TEST_CASE("Keras's forms of layer and RMS normalization become one node") {
  // x · f + (bias - mean · f), where f is the scale divided by the root. tf2onnx writes a mean over the last of three
  // axes as a GlobalAveragePool.
  const auto fused = [](const std::string& mean_op, bool biased) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens), scale = chain.value(ValueKind::parameter, kRow),
                  bias = chain.value(ValueKind::parameter, kRow);
    const auto average = [&](ValueId of) {
      return mean_op == "ReduceMean" ? chain.node(mean_op, {of}, kOne, {{"axes", kLast}})
                                     : chain.node(mean_op, {of}, kOne);
    };
    const ValueId mean = average(x), off = chain.node("Sub", {x, mean}, kTokens);
    const ValueId spread =
        chain.node("Add", {average(chain.node("Mul", {off, off}, kTokens)), chain.number(1e-3)}, kOne);
    const ValueId inverse = chain.node("Reciprocal", {chain.node("Sqrt", {spread}, kOne)}, kOne);
    const ValueId factor = chain.node("Mul", {inverse, scale}, kTokens);
    const ValueId product = chain.node("Mul", {x, factor}, kTokens);
    ValueId shift = chain.node("Mul", {chain.node("Neg", {mean}, kOne), factor}, kTokens);
    if (biased) shift = chain.node("Add", {shift, bias}, kTokens);
    const std::string ops = chain.fused(chain.node("Add", {product, shift}, kTokens));
    const auto expected = biased ? std::vector{x, scale, bias} : std::vector{x, scale};
    CHECK(chain.last().inputs == expected);
    return ops + " " + std::to_string(std::get<int64_t>(chain.last().attributes.at("axis")));
  };
  CHECK(fused("ReduceMean", true) == "LayerNormalization 2");
  CHECK(fused("ReduceMean", false) == "LayerNormalization 2");
  CHECK(fused("GlobalAveragePool", true) == "LayerNormalization 2");

  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens), scale = chain.value(ValueKind::parameter, kRow);
  const ValueId mean = chain.node("GlobalAveragePool", {chain.node("Mul", {x, x}, kTokens)}, kOne);
  const ValueId root = chain.node("Sqrt", {chain.node("Add", {mean, chain.number(1e-6)}, kOne)}, kOne);
  const ValueId factor = chain.node("Mul", {chain.node("Reciprocal", {root}, kOne), scale}, kTokens);
  CHECK(chain.fused(chain.node("Mul", {x, factor}, kTokens)) == "RMSNormalization");
}

TEST_CASE("Flax's form of layer normalization becomes one node") {
  // The variance is the mean of the squares minus the square of the mean, bounded by 0.
  const auto fused = [](double bound, bool factor_first, bool trained = false) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens), scale = chain.value(ValueKind::parameter, kRow),
                  bias = chain.value(ValueKind::parameter, kRow);
    const ValueId mean = chain.node("ReduceMean", {x}, kOne, {{"axes", kLast}});
    const ValueId off = chain.node("Sub", {x, mean}, kTokens);
    const ValueId squares = chain.node("ReduceMean", {chain.node("Mul", {x, x}, kTokens)}, kOne, {{"axes", kLast}});
    const ValueId variance = chain.node("Sub", {squares, chain.node("Mul", {mean, mean}, kOne)}, kOne);
    const ValueId number = chain.value(ValueKind::parameter, {});
    chain.network.values[number].trainable = trained;
    chain.network.values[number].number = bound;
    const ValueId bounded = chain.node("Max", {variance, number}, kOne);
    const ValueId root = chain.node("Sqrt", {chain.node("Add", {bounded, chain.number(1e-6)}, kOne)}, kOne);
    ValueId y;
    if (factor_first) {
      const ValueId inverse = chain.node("Reciprocal", {root}, kOne);
      y = chain.node("Mul", {off, chain.node("Mul", {inverse, scale}, kTokens)}, kTokens);
    } else {
      y = chain.node("Mul", {chain.node("Div", {off, root}, kTokens), scale}, kTokens);
    }
    const std::string ops = chain.fused(chain.node("Add", {y, bias}, kTokens));
    if (ops == "LayerNormalization") CHECK(chain.last().inputs == std::vector{x, scale, bias});
    return ops;
  };
  CHECK(fused(0, false) == "LayerNormalization");
  CHECK(fused(0, true) == "LayerNormalization");
  CHECK(fused(0.5, false) != "LayerNormalization");
  CHECK(fused(0, false, true) != "LayerNormalization");
}

TEST_CASE("a mask of every element is a dropout, one of every sample is not") {
  const auto masked = [](Dims mask_shape, double divisor) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const ValueId mask = chain.node("Bernoulli", {}, mask_shape, {{"probability", 0.75}});
    const ValueId scaled = chain.node("Div", {mask, chain.number(divisor)}, mask_shape);
    const std::string ops = chain.fused(chain.node("Mul", {x, scaled}, kTokens));
    if (ops == "Dropout") CHECK(std::get<double>(chain.last().attributes.at("ratio")) == 0.25);
    return ops;
  };
  CHECK(masked(kTokens, 0.75) == "Dropout");
  CHECK(masked({kBatch, {1}, {1}}, 0.75) == "Bernoulli Div Mul");
  CHECK(masked(kTokens, 0.5) == "Bernoulli Div Mul");
}

TEST_CASE("a layer normalization in nine nodes is one") {
  const bool by_pow = GENERATE(true, false), affine = GENERATE(true, false);
  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens);
  ValueId y = normalised(chain, x, by_pow);
  if (affine) {
    y = chain.node("Mul", {y, chain.value(ValueKind::parameter, kRow)}, kTokens);
    y = chain.node("Add", {chain.value(ValueKind::parameter, kRow), y}, kTokens);
  }
  CHECK(chain.fused(y) == "LayerNormalization");
  CHECK(chain.last().inputs.size() == (affine ? 3 : 1));
  CHECK(chain.last().inputs[0] == x);
  CHECK(std::get<double>(chain.last().attributes.at("epsilon")) == 1e-6);
  CHECK(std::get<int64_t>(chain.last().attributes.at("axis")) == 2);
}

TEST_CASE("what is no layer normalization stays as it is") {
  Chain axes;
  const ValueId y = normalised(axes, axes.value(ValueKind::input, kTokens), true, {1});
  CHECK(axes.fused(y) == "ReduceMean Sub Pow ReduceMean Add Sqrt Div");
  // A scale that is not a row of the normalized axes is not the normalization's.
  Chain scale;
  const ValueId n = normalised(scale, scale.value(ValueKind::input, kTokens), true);
  CHECK(scale.fused(scale.node("Mul", {n, scale.value(ValueKind::parameter, {{3}, {1}})}, kTokens)) ==
        "LayerNormalization Mul");
}

TEST_CASE("a Gelu spelled out is one, in every order that exporters have") {
  const int form = GENERATE(0, 1, 2);
  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens);
  const ValueId root = form == 0 ? chain.node("Div", {x, chain.number(std::sqrt(2.0))}, kTokens)
                                 : chain.node("Mul", {x, chain.number(std::sqrt(0.5))}, kTokens);
  const ValueId gate = chain.node("Add", {chain.node("Erf", {root}, kTokens), chain.number(1)}, kTokens);
  ValueId y;
  if (form == 0) y = chain.node("Mul", {chain.node("Mul", {x, gate}, kTokens), chain.number(0.5)}, kTokens);
  if (form == 1) y = chain.node("Mul", {chain.node("Mul", {x, chain.number(0.5)}, kTokens), gate}, kTokens);
  if (form == 2) y = chain.node("Mul", {x, chain.node("Mul", {gate, chain.number(0.5)}, kTokens)}, kTokens);
  CHECK(chain.fused(y) == "Gelu");
  CHECK(chain.last().inputs == std::vector{x});
  CHECK(std::get<std::string>(chain.last().attributes.at("approximate")) == "none");
}

TEST_CASE("a Gelu by tanh is one, unless somebody reads a step of it") {
  const bool read = GENERATE(false, true);
  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens);
  const ValueId cubic =
      chain.node("Mul", {chain.node("Pow", {x, chain.number(3)}, kTokens), chain.number(0.044715)}, kTokens);
  const ValueId inner =
      chain.node("Mul", {chain.node("Add", {x, cubic}, kTokens), chain.number(0.7978845608)}, kTokens);
  const ValueId gate = chain.node("Add", {chain.node("Tanh", {inner}, kTokens), chain.number(1)}, kTokens);
  ValueId y = chain.node("Mul", {chain.node("Mul", {x, chain.number(0.5)}, kTokens), gate}, kTokens);
  if (read) y = chain.node("Add", {y, gate}, kTokens);
  CHECK(chain.fused(y) == (read ? "Pow Mul Add Mul Tanh Add Mul Mul Add" : "Gelu"));
}

TEST_CASE("a product reads its operand transposed, where only the last two axes change places") {
  Chain chain;
  const ValueId q = chain.value(ValueKind::input, {kBatch, {2}, {3}, {4}}),
                k = chain.value(ValueKind::input, {kBatch, {2}, {5}, {4}});
  const std::vector<int64_t> last_two = {0, 1, 3, 2};
  const ValueId turned = chain.node("Transpose", {k}, {kBatch, {2}, {4}, {5}}, {{"perm", last_two}});
  CHECK(chain.fused(chain.node("MatMul", {q, turned}, {kBatch, {2}, {3}, {5}})) == "MatMul");
  CHECK(chain.last().inputs == std::vector{q, k});
  CHECK(chain.last().marks.transposed_b);

  Chain other;
  const ValueId a = other.value(ValueKind::input, {kBatch, {2}, {3}, {4}}),
                b = other.value(ValueKind::input, {kBatch, {5}, {2}, {4}});
  const std::vector<int64_t> heads = {0, 2, 3, 1};
  const ValueId moved = other.node("Transpose", {b}, {kBatch, {2}, {4}, {5}}, {{"perm", heads}});
  CHECK(other.fused(other.node("MatMul", {a, moved}, {kBatch, {2}, {3}, {5}})) == "Transpose MatMul");
}

namespace {

// x / √(mean of x² + 1e-6), in all the forms that exporters write.
ValueId rms_normalised(Chain& chain, ValueId x, int form) {
  const ValueId squares =
      form == 0 ? chain.node("Mul", {x, x}, kTokens) : chain.node("Pow", {x, chain.number(2)}, kTokens);
  const ValueId mean = chain.node("ReduceMean", {squares}, kOne, {{"axes", kLast}});
  const ValueId sum = chain.node("Add", {mean, chain.number(1e-6)}, kOne);
  if (form == 3) return chain.node("Mul", {x, chain.node("Pow", {sum, chain.number(-0.5)}, kOne)}, kTokens);
  const ValueId root = chain.node("Sqrt", {sum}, kOne);
  if (form == 0) return chain.node("Div", {x, root}, kTokens);
  if (form == 1) return chain.node("Mul", {chain.node("Reciprocal", {root}, kOne), x}, kTokens);
  return chain.node("Mul", {x, chain.node("Div", {chain.number(1), root}, kOne)}, kTokens);
}

}  // namespace

TEST_CASE("a normalization by the root of the mean square is one node, in every form that exporters have") {
  const int form = GENERATE(0, 1, 2, 3);
  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens), weight = chain.value(ValueKind::parameter, kRow);
  const ValueId normal = rms_normalised(chain, x, form);
  const bool left = GENERATE(true, false);
  const std::vector<ValueId> operands = left ? std::vector{weight, normal} : std::vector{normal, weight};
  CHECK(chain.fused(chain.node("Mul", operands, kTokens)) == "RMSNormalization");
  CHECK(chain.last().inputs == std::vector{x, weight});
  CHECK(std::get<double>(chain.last().attributes.at("epsilon")) == 1e-6);
  CHECK(std::get<int64_t>(chain.last().attributes.at("axis")) == 2);
}

TEST_CASE("the scale of a root mean square may be computed, and may be left out") {
  Chain gemma;
  const ValueId x = gemma.value(ValueKind::input, kTokens);
  const ValueId scale = gemma.node("Add", {gemma.value(ValueKind::parameter, kRow), gemma.number(1)}, kRow);
  CHECK(gemma.fused(gemma.node("Mul", {rms_normalised(gemma, x, 1), scale}, kTokens)) == "Add RMSNormalization");
  CHECK(gemma.last().inputs == std::vector{x, scale});

  Chain plain;
  const ValueId y = rms_normalised(plain, plain.value(ValueKind::input, kTokens), 1);
  CHECK(plain.fused(plain.node("Mul", {y, plain.value(ValueKind::input, kTokens)}, kTokens)) == "RMSNormalization Mul");

  // Another reader of the normalized value needs it without the scale.
  Chain read;
  const ValueId normal = rms_normalised(read, read.value(ValueKind::input, kTokens), 0);
  const ValueId scaled = read.node("Mul", {normal, read.value(ValueKind::parameter, kRow)}, kTokens);
  CHECK(read.fused(read.node("Add", {normal, scaled}, kTokens)) == "RMSNormalization Mul Add");
}

TEST_CASE("what is no root mean square stays as it is") {
  const auto made = [](double exponent, std::vector<int64_t> axes) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const ValueId squares = chain.node("Pow", {x, chain.number(exponent)}, kTokens);
    const ValueId mean = chain.node("ReduceMean", {squares}, kOne, {{"axes", std::move(axes)}});
    const ValueId root = chain.node("Sqrt", {chain.node("Add", {mean, chain.number(1e-6)}, kOne)}, kOne);
    return chain.fused(chain.node("Div", {x, root}, kTokens));
  };
  CHECK(made(2, {-1}) == "RMSNormalization");
  CHECK(made(3, {-1}) == "Pow ReduceMean Add Sqrt Div");
  CHECK(made(2, {1}) == "Pow ReduceMean Add Sqrt Div");
  CHECK(made(2, {0, 1, 2}) == "Pow ReduceMean Add Sqrt Div");  // over all samples
}

TEST_CASE("a layer normalization multiplied by the inverse of its root is one node") {
  Chain chain;
  const ValueId x = chain.value(ValueKind::input, kTokens);
  const ValueId off = chain.node("Sub", {x, chain.node("ReduceMean", {x}, kOne, {{"axes", kLast}})}, kTokens);
  const ValueId variance = chain.node("ReduceMean", {chain.node("Mul", {off, off}, kTokens)}, kOne, {{"axes", kLast}});
  const ValueId root = chain.node("Sqrt", {chain.node("Add", {variance, chain.number(1e-5)}, kOne)}, kOne);
  CHECK(chain.fused(chain.node("Mul", {off, chain.node("Reciprocal", {root}, kOne)}, kTokens)) == "LayerNormalization");
  CHECK(chain.last().inputs == std::vector{x});
}

TEST_CASE("channels normalized in groups, as PyTorch exports them, are one node") {
  const Dims image = {kBatch, {8}, {3}, {3}};
  const auto made = [&](Dims factors, Dims back, int64_t axis) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, image);
    const ValueId grouped = chain.node("Reshape", {x}, {kBatch, {4}, {18}});
    const ValueId normal =
        chain.node("LayerNormalization", {grouped}, {kBatch, {4}, {18}}, {{"axis", axis}, {"epsilon", 1e-3}});
    const ValueId image_again = chain.node("Reshape", {normal}, back);
    const ValueId scaled = chain.node("Mul", {image_again, chain.value(ValueKind::parameter, factors)}, back);
    const std::string ops = chain.fused(chain.node("Add", {scaled, chain.value(ValueKind::parameter, factors)}, back));
    if (ops == "GroupNormalization") {
      CHECK(chain.last().inputs.size() == 3);
      CHECK(chain.last().inputs[0] == x);
      CHECK(std::get<int64_t>(chain.last().attributes.at("num_groups")) == 4);
      CHECK(std::get<double>(chain.last().attributes.at("epsilon")) == 1e-3);
    }
    return ops;
  };
  const std::string spelled = "Reshape LayerNormalization Reshape Mul Add";
  CHECK(made({{8}, {1}, {1}}, image, 2) == "GroupNormalization");
  CHECK(made({{1}, {8}, {1}, {1}}, image, 2) == "GroupNormalization");
  CHECK(made({{1}, {3}, {1}}, image, 2) == spelled);  // scales of rows, not of channels
  CHECK(made({{8}, {1}, {1}}, image, 1) == spelled);  // all groups together
  CHECK(made({{8}, {1}}, {kBatch, {8}, {9}}, 2) == spelled);
}

TEST_CASE("an operand times its own sigmoid is a Swish") {
  const auto made = [](double alpha, bool same, bool read) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const ValueId inner = alpha == 1 ? x : chain.node("Mul", {chain.number(alpha), x}, kTokens);
    const ValueId gate = chain.node("Sigmoid", {inner}, kTokens);
    ValueId y = chain.node("Mul", {gate, same ? x : chain.value(ValueKind::input, kTokens)}, kTokens);
    if (read) y = chain.node("Add", {y, gate}, kTokens);
    const std::string ops = chain.fused(y);
    if (ops == "Swish") CHECK(std::get<double>(chain.last().attributes.at("alpha")) == alpha);
    return ops;
  };
  CHECK(made(1, true, false) == "Swish");
  CHECK(made(1.702, true, false) == "Swish");
  CHECK(made(1, false, false) == "Sigmoid Mul");
  CHECK(made(1, true, true) == "Sigmoid Mul Add");
}

TEST_CASE("a softplus that is linear above a threshold is a Softplus") {
  const auto made = [](double threshold, bool scaled, bool same = true) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const ValueId from = scaled ? chain.node("Mul", {x, chain.number(1)}, kTokens) : x;
    ValueId bent = chain.node("Softplus", {from}, kTokens);
    if (scaled) bent = chain.node("Div", {bent, chain.number(1)}, kTokens);
    const ValueId above = chain.node("Greater", {from, chain.number(threshold)}, kTokens);
    const ValueId linear = same ? x : chain.value(ValueKind::input, kTokens);
    const std::string ops = chain.fused(chain.node("Where", {above, linear, bent}, kTokens));
    if (ops == "Softplus") CHECK(chain.last().inputs == std::vector{x});
    return ops;
  };
  CHECK(made(20, false) == "Softplus");
  CHECK(made(20, true) == "Softplus");
  CHECK(made(5, false) == "Softplus Greater Where");
  CHECK(made(20, false, false) == "Softplus Greater Where");
}

TEST_CASE("the tanh approximation of a Gelu is one operator in all forms of its polynomial") {
  enum class Form { cube, of_x, of_square, root_last };
  const auto made = [](Form form, double cubic, double one) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const auto times = [&](ValueId a, ValueId b) { return chain.node("Mul", {a, b}, kTokens); };
    const ValueId root = chain.number(0.79788456), c = chain.number(cubic);
    ValueId inner;
    if (form == Form::cube) {
      const ValueId cube = chain.node("Pow", {x, chain.number(3)}, kTokens);
      inner = times(chain.node("Add", {x, times(c, cube)}, kTokens), root);
    } else {
      const ValueId square = form == Form::of_square ? times(times(x, x), c) : times(times(x, c), x);
      const ValueId from_one = chain.node("Add", {square, chain.number(one)}, kTokens);
      inner = form == Form::root_last ? times(times(x, from_one), root) : times(times(x, root), from_one);
    }
    const ValueId gate = chain.node("Add", {chain.node("Tanh", {inner}, kTokens), chain.number(1)}, kTokens);
    const std::string ops = chain.fused(times(times(x, chain.number(0.5)), gate));
    if (ops == "Gelu") CHECK(std::get<std::string>(chain.last().attributes.at("approximate")) == "tanh");
    return ops;
  };
  for (const Form form : {Form::cube, Form::of_x, Form::of_square, Form::root_last}) {
    CHECK(made(form, 0.044715, 1) == "Gelu");
    CHECK(made(form, 0.05, 1) != "Gelu");
    CHECK((made(form, 0.044715, 2) == "Gelu") == (form == Form::cube));  // which has no such number
  }
}

TEST_CASE("an operand times its own hard sigmoid is a HardSwish") {
  enum class Form { hard_sigmoid, product_first, gate_first, by_sixth };
  struct Numbers {
    double low = 0, high = 6, shift = 3, alpha = 1.0 / 6;
  };
  const auto made = [](Form form, const Numbers& numbers = {}, bool same = true, bool read = false) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens);
    const ValueId other = same ? x : chain.value(ValueKind::input, kTokens);
    if (form == Form::hard_sigmoid) {
      const ValueId gate = chain.node("HardSigmoid", {x}, kTokens, {{"alpha", numbers.alpha}});
      ValueId y = chain.node("Mul", {gate, other}, kTokens);
      if (read) y = chain.node("Add", {y, gate}, kTokens);
      return chain.fused(y);
    }
    const ValueId moved = chain.node("Add", {x, chain.number(numbers.shift)}, kTokens);
    const ValueId clip = chain.node("Clip", {moved, chain.number(numbers.low), chain.number(numbers.high)}, kTokens);
    const auto in_sixths = [&](ValueId a) {
      return form == Form::by_sixth ? chain.node("Mul", {chain.number(1.0 / 6), a}, kTokens)
                                    : chain.node("Div", {a, chain.number(6)}, kTokens);
    };
    ValueId y = form == Form::product_first ? in_sixths(chain.node("Mul", {other, clip}, kTokens))
                                            : chain.node("Mul", {in_sixths(clip), other}, kTokens);
    if (read) y = chain.node("Add", {y, clip}, kTokens);
    return chain.fused(y);
  };
  for (const Form form : {Form::hard_sigmoid, Form::product_first, Form::gate_first, Form::by_sixth}) {
    CHECK(made(form) == "HardSwish");
    CHECK(made(form, {}, false).ends_with(form == Form::product_first ? "Div" : "Mul"));
    CHECK(made(form, {}, true, true).ends_with("Add"));
  }
  CHECK(made(Form::hard_sigmoid, {.alpha = 0.2}) == "HardSigmoid Mul");
  CHECK(made(Form::product_first, {.low = 0.5}) == "Add Clip Mul Div");
  CHECK(made(Form::product_first, {.high = 1}) == "Add Clip Mul Div");
  CHECK(made(Form::gate_first, {.shift = 2}) == "Add Clip Div Mul");
}

TEST_CASE("an operand times the hyperbolic tangent of its softplus is a Mish") {
  const auto made = [](bool same, bool read) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens), bent = chain.node("Softplus", {x}, kTokens);
    const ValueId gate = chain.node("Tanh", {bent}, kTokens);
    ValueId y = chain.node("Mul", {same ? x : chain.value(ValueKind::input, kTokens), gate}, kTokens);
    if (read) y = chain.node("Add", {y, gate}, kTokens);
    const std::string ops = chain.fused(y);
    if (ops == "Mish") CHECK(chain.last().inputs == std::vector{x});
    return ops;
  };
  CHECK(made(true, false) == "Mish");
  CHECK(made(false, false) == "Softplus Tanh Mul");
  CHECK(made(true, true) == "Softplus Tanh Mul Add");
}

TEST_CASE("the logarithm of a sigmoid is one operator, whatever else reads the sigmoid") {
  const auto made = [](bool read, std::optional<float> minuend) {
    Chain chain;
    const ValueId x = chain.value(ValueKind::input, kTokens), gate = chain.node("Sigmoid", {x}, kTokens);
    ValueId y = minuend ? chain.node("Sub", {chain.number(*minuend), gate}, kTokens) : gate;
    y = chain.node("Log", {y}, kTokens);
    if (read) y = chain.node("Mul", {y, gate}, kTokens);
    const std::string ops = chain.fused(y);
    if (ops == "LogSigmoid") {
      CHECK(chain.last().inputs == std::vector{x});
      CHECK(chain.last().attributes.contains("alpha") == minuend.has_value());
    }
    return ops;
  };
  CHECK(made(false, std::nullopt) == "LogSigmoid");
  CHECK(made(true, std::nullopt) == "Sigmoid LogSigmoid Mul");
  CHECK(made(false, 1.0F) == "LogSigmoid");
  CHECK(made(true, 1.0F) == "Sigmoid LogSigmoid Mul");
  CHECK(made(false, 1.00001F) == "Sigmoid Sub Log");
}

TEST_CASE("an activation times what has its shape is a gated product") {
  const auto made = [](const std::string& activation, Dims other, bool read) {
    Chain chain;
    const ValueId a = chain.value(ValueKind::input, kTokens), b = chain.value(ValueKind::input, std::move(other));
    const ValueId gate = activation == "Sigmoid" ? chain.node("Mul", {a, chain.node("Sigmoid", {a}, kTokens)}, kTokens)
                                                 : chain.node(activation, {a}, kTokens);
    ValueId y = chain.node("Mul", {b, gate}, kTokens);
    if (read) y = chain.node("Add", {y, gate}, kTokens);
    const std::string ops = chain.fused(y);
    if (ops == "GatedProduct") CHECK(chain.last().inputs == std::vector{a, b});
    return ops;
  };
  CHECK(made("Sigmoid", kTokens, false) == "GatedProduct");
  CHECK(made("Gelu", kTokens, false) == "GatedProduct");
  CHECK(made("Relu", kTokens, false) == "Relu Mul");
  CHECK(made("Gelu", kOne, false) == "Gelu Mul");  // broadcast: the product is not elementwise
  CHECK(made("Sigmoid", kTokens, true) == "Swish Mul Add");
}

TEST_CASE("halves that are turned by angles are a Rotary") {
  enum class Other { no, trained, first_half_negated, every_second, half_of_another, read };
  const auto made = [](Other other) {
    Chain chain;
    const Dims heads = {kBatch, {2}, {3}, {8}}, half = {kBatch, {2}, {3}, {4}}, angles = {{1}, {1}, {3}, {8}};
    const ValueId x = chain.value(ValueKind::input, heads), z = chain.value(ValueKind::input, heads);
    const ValueId cos = chain.value(ValueKind::parameter, angles), sin = chain.value(ValueKind::parameter, angles);
    chain.network.values[cos].trainable = false;
    chain.network.values[sin].trainable = other == Other::trained;
    const auto list = [&](int64_t item) {
      const ValueId made = chain.number(0);
      chain.network.values[made].constant = ConstantData{.ints = {item}};
      return made;
    };
    const ValueId last = list(3), step = list(other == Other::every_second ? 2 : 1);
    const auto part = [&](ValueId from, int64_t begin) {
      return chain.node("Slice", {from, list(begin), list(begin + 4), last, step}, half);
    };
    const ValueId first = part(x, 0), second = part(other == Other::half_of_another ? z : x, 4);
    const ValueId joined = other == Other::first_half_negated
                               ? chain.node("Concat", {chain.node("Neg", {first}, half), second}, heads,
                                            {{"axis", int64_t{-1}}})
                               : chain.node("Concat", {chain.node("Neg", {second}, half), first}, heads,
                                            {{"axis", int64_t{-1}}});
    ValueId y = chain.node("Add",
                           {chain.node("Mul", {x, cos}, heads), chain.node("Mul", {sin, joined}, heads)}, heads);
    if (other == Other::read) y = chain.node("Add", {y, joined}, heads);
    const std::string ops = chain.fused(y);
    if (ops == "Rotary") CHECK(chain.last().inputs == std::vector{x, cos, sin});
    return ops;
  };
  CHECK(made(Other::no) == "Rotary");
  for (const Other other :
       {Other::trained, Other::first_half_negated, Other::every_second, Other::half_of_another, Other::read})
    CHECK(made(other).find("Rotary") == std::string::npos);
}
