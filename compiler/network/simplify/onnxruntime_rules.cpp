#include "compiler/network/simplify/onnxruntime_rules.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

using spelling::Ints;
using spelling::Nodes;

Result<Nodes> gelu_of_onnxruntime(FusedNode& w) {
  const bool by_tanh = w.node().op == "FastGelu";
  w.write("Gelu", {w.plus(w.input(0), 1)});
  if (by_tanh) w.set_text("approximate", "tanh");
  return w.finish();
}

Result<Nodes> quick_gelu(FusedNode& w) {
  const std::string alpha = w.number(w.real("alpha", 1.702F));
  w.write("Mul", {w.input(0), w.write("Sigmoid", {w.write("Mul", {w.input(0), alpha})})});
  return w.finish();
}

Result<Nodes> matmul_of_onnxruntime(FusedNode& w) {
  if (w.integer("transBatchA", 0) != 0 || w.integer("transBatchB", 0) != 0)
    return w.unsupported("moves the first dimension of a factor (transBatchA, transBatchB)");
  const bool turned[] = {w.integer("transA", 0) != 0, w.integer("transB", 0) != 0};
  std::string factors[] = {w.input(0), w.input(1)};
  bool known = true;
  for (size_t i = 0; i < 2; ++i) known = known && (!turned[i] || w.rank(factors[i]));
  if (known) {
    for (size_t i = 0; i < 2; ++i) {
      const auto rank = static_cast<int64_t>(w.rank(factors[i]).value_or(0));
      if (!turned[i] || rank < 2) continue;
      Ints order;
      for (int64_t axis = 0; axis < rank; ++axis) order.push_back(axis);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      factors[i] = w.write("Transpose", {factors[i]}, "perm", order);
    }
    w.write("MatMul", {factors[0], factors[1]});
  } else {
    w.write("Einsum", {factors[0], factors[1]});
    w.set_text("equation",
               fmt::format("...{},...{}->...ik", turned[0] ? "ji" : "ij", turned[1] ? "kj" : "jk"));
  }
  if (const float alpha = w.real("alpha", 1); alpha != 1) {
    const std::string product = w.last(), factor = w.number(alpha);
    w.write("Mul", {product, factor});
  }
  return w.finish();
}

// Appends the activation that a FusedConv or a FusedGemm applies to x.
Status activate(FusedNode& w, const std::string& x) {
  const std::string name = w.text("activation", "");
  if (name.empty()) return {};
  std::vector<float> numbers;
  if (const ModelAttribute* given = find_attribute(w.node(), "activation_params")) {
    numbers = given->reals();
  } else {
    for (const char* number : {"activation_alpha", "activation_beta"})
      if (const ModelAttribute* one = find_attribute(w.node(), number)) numbers.push_back(one->real());
  }
  const size_t needed = name == "LeakyRelu" ? 1 : name == "HardSigmoid" || name == "Clip" ? 2 : 0;
  if (numbers.size() < needed) return w.unsupported(fmt::format("its activation '{}' lacks its parameters", name));
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "HardSwish") {
    w.write(name.c_str(), {x});
  } else if (name == "LeakyRelu") {
    w.write("LeakyRelu", {x});
    w.set_real("alpha", numbers[0]);
  } else if (name == "HardSigmoid") {
    w.write("HardSigmoid", {x});
    w.set_real("alpha", numbers[0]);
    w.set_real("beta", numbers[1]);
  } else if (name == "Clip") {
    const std::string least = w.number(numbers[0]), most = w.number(numbers[1]);
    w.write("Clip", {x, least, most});
  } else {
    return w.unsupported(fmt::format("its activation is '{}'", name));
  }
  return {};
}

Result<Nodes> product_with_activation(FusedNode& w) {
  const bool convolves = w.node().op == "FusedConv";
  std::vector<std::string> inputs = {w.input(0), w.input(1)};
  if (!w.input(2).empty()) inputs.push_back(w.input(2));
  std::string y = w.write(convolves ? "Conv" : "Gemm", inputs);
  for (const ModelAttribute& attribute : w.node().attributes)
    if (!attribute.name.starts_with("activation")) w.take_over(attribute);
  if (convolves) y = w.plus(y, 3);
  PLIMSOLL_TRY(activate(w, y));
  return w.finish();
}

// A bias is added to the product, as in the model that was fused.
Result<Nodes> skip_normalization(FusedNode& w) {
  const bool simplified = w.node().op == "SkipSimplifiedLayerNormalization";
  const size_t bias = simplified ? 3 : 4;
  for (size_t i = 1; i < 3; ++i)
    if (w.reads(i)) return w.unsupported(fmt::format("its output {} (a statistic) is read", i));
  const bool to_skip = !w.is_product(w.input(0)) && w.is_product(w.input(1));
  std::string x = w.input(0), skip = w.input(1);
  (to_skip ? skip : x) = w.plus(to_skip ? skip : x, bias);
  x = w.write("Add", {x, skip});
  w.give(3);
  x = w.last();
  if (simplified) w.normalized("RMSNormalization", x, 2, std::nullopt, 1e-12F);
  else w.normalized("LayerNormalization", x, 2, 3, 1e-12F);
  return w.finish();
}

Result<Nodes> simplified_normalization(FusedNode& w) {
  if (w.reads(1)) return w.unsupported("its output 1 (a statistic) is read");
  w.normalized("RMSNormalization", w.input(0), 1, std::nullopt, 1e-5F);
  w.set_integer("axis", w.integer("axis", -1));
  return w.finish();
}

Result<Nodes> layer_normalization_of_any_opset(FusedNode& w) {
  Nodes same = {w.node()};
  return same;
}

// The number of tokens of [samples, tokens, …], as a list of one number.
std::string tokens_of(FusedNode& w, const std::string& x) {
  const std::string shape = w.write("Shape", {x}), second = w.integers({1}, {{1}});
  return w.write("Gather", {shape, second});
}

Result<Nodes> embedding_normalization(FusedNode& w) {
  const bool lengths = w.reads(1);
  if (lengths && (w.input(7).empty() || w.integer("mask_index_type", 1) == 0))
    return w.unsupported("its output 1 (the lengths of sequences) is read, and it has no mask");
  std::string sum = w.write("Gather", {w.input(2), w.input(0)});
  std::string positions;
  if (!w.input(8).empty()) {
    positions = w.write("Gather", {w.input(3), w.input(8)});
  } else {
    const std::string zero = w.integers({0}, {{1}}), end = tokens_of(w, w.input(0));
    positions = w.write("Slice", {w.input(3), zero, end, zero});
  }
  sum = w.write("Add", {sum, positions});
  if (!w.input(1).empty() && !w.input(4).empty())
    sum = w.write("Add", {sum, w.write("Gather", {w.input(4), w.input(1)})});
  w.give(2);
  sum = w.last();
  if (lengths) {
    constexpr int64_t kAxesAsInput = 13;  // opset
    std::vector<std::string> summed = {w.input(7)};
    if (w.opset() >= kAxesAsInput) summed.push_back(w.integers({1}, {{1}}));
    w.write("ReduceSum", summed);
    if (w.opset() < kAxesAsInput) w.set("axes", {1});
    w.set_integer("keepdims", 0);
    w.give(1);
  }
  w.normalized("LayerNormalization", sum, 5, 6, 1e-12F);
  return w.finish();
}

// What is added to the scores, broadcast to [samples, heads, queries, keys]: 0 where a key counts, else a large
// negative number. `mask`: [samples, keys] or [samples, queries, keys], where other numbers than 0 count, or the
// lengths of samples. `keys`: the value that has the tokens of the keys.
Result<std::string> added_mask(FusedNode& w, const std::string& mask, const std::string& keys) {
  const std::optional<size_t> rank = w.rank(mask);
  if (!rank || *rank < 1 || *rank > 3)
    return w.unsupported(fmt::format("how many dimensions its mask '{}' has is not known, or not from 1 to 3", mask));
  std::string seen;
  if (*rank == 1) {
    const std::string first = w.integers({0}, {}), step = w.integers({1}, {});
    const std::string count = w.write("Squeeze", {tokens_of(w, keys)}, "axes", {0});
    const std::string place = w.write("Range", {first, count, step}), whole = w.write("Cast", {mask});
    w.set_integer("to", static_cast<int64_t>(ElementType::i64));
    seen = w.write("Less", {place, w.write("Unsqueeze", {whole}, "axes", {1})});
  } else {
    seen = w.write("Cast", {mask});
    w.set_integer("to", static_cast<int64_t>(ElementType::boolean));
  }
  const std::string nothing = w.number(0), hidden = w.number(w.real("mask_filter_value", -10000));
  const std::string added = w.write("Where", {seen, nothing, hidden});
  return w.write("Unsqueeze", {added}, "axes", *rank == 3 ? Ints{1} : Ints{1, 2});
}

// [samples, heads, tokens, size of a head]
std::string kept_for_later(FusedNode& w, const std::string& x, int64_t heads) {
  const std::string apart = w.write("Reshape", {x}, "shape", {0, 0, heads, -1});
  return w.write("Transpose", {apart}, "perm", {0, 2, 1, 3});
}

struct FusedAttention {
  std::string queries = {}, keys = {}, values = {};
  size_t mask = 0, bias = 0;  // inputs of the node
};

Status attend(FusedNode& w, const FusedAttention& of) {
  const int64_t heads = w.integer("num_heads", 0);
  if (heads < 1) return w.invalid("it has no num_heads");
  std::string added;
  if (!w.input(of.mask).empty()) {
    PLIMSOLL_ASSIGN(added, added_mask(w, w.input(of.mask), of.keys));
  }
  if (!w.input(of.bias).empty())
    added = added.empty() ? w.input(of.bias) : w.write("Add", {w.input(of.bias), added});
  std::vector<std::string> inputs = {of.queries, of.keys, of.values};
  if (!added.empty()) inputs.push_back(added);
  w.write("Attention", inputs);
  w.set_integer("q_num_heads", heads);
  w.set_integer("kv_num_heads", heads);
  if (w.integer("unidirectional", 0) != 0) w.set_integer("is_causal", 1);
  if (const float scale = w.real("scale", 0); scale != 0) w.set_real("scale", scale);
  return {};
}

Result<Nodes> attention_of_onnxruntime(FusedNode& w) {
  if (!w.input(4).empty() || !w.input(6).empty())
    return w.unsupported("reads a cache of past keys and values, which only inference uses");
  if (w.integer("do_rotary", 0) != 0) return w.unsupported("rotates queries and keys (do_rotary)");
  const std::string all = w.plus(w.write("MatMul", {w.input(0), w.input(1)}), 2);
  const std::vector<std::string> parts = w.three_parts(all, 2, w.weight_dims(1));
  if (w.wants(1)) {
    const int64_t heads = w.integer("num_heads", 0);
    const std::string keys = w.write("Unsqueeze", {kept_for_later(w, parts[1], heads)}, "axes", {0});
    w.concat({keys, w.write("Unsqueeze", {kept_for_later(w, parts[2], heads)}, "axes", {0})}, 0);
    w.give(1);
  }
  PLIMSOLL_TRY(attend(w, {.queries = parts[0], .keys = parts[1], .values = parts[2], .mask = 3, .bias = 5}));
  return w.finish();
}

Result<Nodes> multi_head_attention(FusedNode& w) {
  for (size_t i = 6; i < 10; ++i)
    if (!w.input(i).empty())
      return w.unsupported("reads a cache of past keys and values, which only inference uses");
  if (w.reads(3)) return w.unsupported("its output 3 (the scores) is read");
  if (w.input(1).empty() || w.input(2).empty()) return w.unsupported("one input holds the keys and values together");
  for (size_t i = 0; i < 3; ++i)
    if (const auto rank = w.rank(w.input(i)); rank && *rank != 3)
      return w.unsupported(fmt::format("its input {} has {} dimensions; only 3 are supported", i, *rank));
  std::string parts[] = {w.input(0), w.input(1), w.input(2)};
  if (!w.input(3).empty()) {
    const std::vector<std::string> biases = w.three_parts(w.input(3), 0, w.weight_dims(3));
    for (size_t i = 0; i < 3; ++i) parts[i] = w.write("Add", {parts[i], biases[i]});
  }
  for (size_t i = 1; i < 3; ++i) {
    if (!w.wants(i)) continue;
    kept_for_later(w, parts[i], w.integer("num_heads", 0));
    w.give(i);
  }
  PLIMSOLL_TRY(attend(w, {.queries = parts[0], .keys = parts[1], .values = parts[2], .mask = 4, .bias = 5}));
  return w.finish();
}

Result<Nodes> rotary_embedding_of_onnxruntime(FusedNode& w) {
  if (w.integer("is_packed_batching", 0) != 0) return w.unsupported("its samples are packed (is_packed_batching)");
  if (w.real("scale", 1) != 1) return w.unsupported("it scales positions (scale)");
  if (w.rank(w.input(1)).value_or(2) < 2) return w.unsupported("its positions begin at an index (position_ids)");
  w.write("RotaryEmbedding", {w.input(0), w.input(2), w.input(3), w.input(1)});
  for (const char* name : {"interleaved", "num_heads", "rotary_embedding_dim"}) w.set_integer(name, w.integer(name, 0));
  return w.finish();
}

// (x - offset) · scale: what skl2onnx writes for a StandardScaler in front of a network.
Result<Nodes> scaler(FusedNode& w) {
  const auto column = [&](const char* name) -> const std::vector<float>* {
    const ModelAttribute* const given = find_attribute(w.node(), name);
    return given && !given->reals().empty() ? &given->reals() : nullptr;
  };
  const std::vector<float>*const offset = column("offset"), *const scale = column("scale");
  if (!offset || !scale || w.node().attributes.size() != 2)
    return w.unsupported("it lacks its list of offsets or of scales");
  const auto constant = [&](const std::vector<float>& items) {
    KnownValue known{.element = ElementType::f32, .dims = {{static_cast<int64_t>(items.size())}}};
    known.reals.assign(items.begin(), items.end());
    return w.constant(known);
  };
  const std::string x = w.write("Cast", {w.input(0)});
  w.set_integer("to", static_cast<int64_t>(ElementType::f32));
  const std::string offsets = constant(*offset), centred = w.write("Sub", {x, offsets}), scales = constant(*scale);
  w.write("Mul", {centred, scales});
  return w.finish();
}

}  // namespace

size_t KnownForms::dropped_axes(const ModelNode& node) const {
  if (const ModelAttribute* kept = find_attribute(node, "keepdims"); !kept || kept->integer() != 0) return 0;
  if (const ModelAttribute* axes = find_attribute(node, "axes")) return axes->integers().size();
  const auto given = node.inputs.size() > 1 ? weights.find(node.inputs[1]) : weights.end();
  if (given == weights.end() || given->second.size() != 1 || given->second[0] < 1) return SIZE_MAX;
  return static_cast<size_t>(given->second[0]);
}

FusedRule find_fused_rule(const ModelNode& node, int64_t opset) {
  static const std::map<std::string_view, FusedRule> table = {
      {"Attention", attention_of_onnxruntime},
      {"BiasGelu", gelu_of_onnxruntime},
      {"EmbedLayerNormalization", embedding_normalization},
      {"FastGelu", gelu_of_onnxruntime},
      {"FusedConv", product_with_activation},
      {"FusedGemm", product_with_activation},
      {"FusedMatMul", matmul_of_onnxruntime},
      {"Gelu", gelu_of_onnxruntime},
      {"MultiHeadAttention", multi_head_attention},
      {"QuickGelu", quick_gelu},
      {"RotaryEmbedding", rotary_embedding_of_onnxruntime},
      {"SkipLayerNormalization", skip_normalization},
      {"SkipSimplifiedLayerNormalization", skip_normalization},
      {"TransposeMatMul", matmul_of_onnxruntime},
  };
  constexpr int64_t kHasLayerNormalization = 17;  // opset
  if (is_of_onnx(node)) {
    if (node.op == "SimplifiedLayerNormalization") return simplified_normalization;
    return node.op == "LayerNormalization" && opset < kHasLayerNormalization ? layer_normalization_of_any_opset
                                                                             : nullptr;
  }
  if (node.domain == kClassicalDomain) return node.op == "Scaler" ? scaler : nullptr;
  if (node.domain != "com.microsoft") return nullptr;
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace plimsoll
