// Attention that is spelled out becomes one operator, in the forms that exporters write; what only looks similar stays.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "compiler/network/attention.h"
#include "compiler/network/pipeline.h"
#include "compiler/network/simplify/causal_mask.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/random_key.h"

using namespace plimsoll;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
const Dims kScores = {kBatch, {2}, {64}, {80}};

// Queries [N, 2, 64, 16], keys and values [N, 2, 80, 16].
struct Attending {
  Network network;
  ValueId q = value(ValueKind::input, {kBatch, {2}, {64}, {16}}),
          k = value(ValueKind::input, {kBatch, {2}, {80}, {16}}),
          v = value(ValueKind::input, {kBatch, {2}, {80}, {16}});

  ValueId value(ValueKind kind, Dims dims, DataType type = DataType::f32) {
    return network.values.push_back(
        {.name = "v" + std::to_string(network.values.size()), .kind = kind, .type = {type, std::move(dims)}});
  }
  ValueId number(double value) {
    return network.values.push_back({.name = "c" + std::to_string(network.values.size()),
                                     .kind = ValueKind::constant,
                                     .constant = ConstantData{.reals = {value}}});
  }
  ValueId mask(DataType type, CausalMask causal = CausalMask::none, Dims dims = {{64}, {80}}) {
    const ValueId made = value(ValueKind::parameter, std::move(dims), type);
    network.values[made].causal = causal;
    return made;
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs, Dims dims,
               std::map<std::string, NodeAttribute> attributes = {}) {
    const ValueId made = value(ValueKind::intermediate, std::move(dims));
    network.nodes.push_back({.name = "n" + std::to_string(network.nodes.size()),
                             .op = op,
                             .opset = 18,
                             .inputs = std::move(inputs),
                             .outputs = {made},
                             .attributes = std::move(attributes)});
    return made;
  }
  // As fuse_composites leaves it.
  ValueId scores() {
    const ValueId made = node("MatMul", {q, k}, kScores);
    network.nodes.back().marks.transposed_b = true;
    return made;
  }
  ValueId softmax(ValueId scores) { return node("Softmax", {scores}, kScores, {{"axis", int64_t{-1}}}); }
  std::string fused(ValueId masked) { return fused_with(softmax(masked)); }
  std::string fused_with(ValueId probabilities) {
    network.outputs = {node("MatMul", {probabilities, v}, {kBatch, {2}, {64}, {16}})};
    fuse_attention(network);
    std::string ops;
    for (const Node& node : network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
    return ops;
  }
  double scale() const { return std::get<double>(network.nodes.back().attributes.at("scale")); }
  bool causal() const { return network.nodes.back().attributes.contains("right"); }
  const std::vector<ValueId>& inputs() const { return network.nodes.back().inputs; }
};

const std::string kFused = "ScaledDotProductAttention";

ModelTensor mask_of(ElementType type, std::vector<int64_t> dims, const std::string& bytes) {
  return {.type = type, .dims = std::move(dims), .data = std::make_shared<const std::string>(bytes)};
}

std::string bytes_of_floats(const std::vector<float>& items) {
  return {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(float)};
}

}  // namespace

TEST_CASE("two products and a softmax are attention, wherever the scale is") {
  const int form = GENERATE(0, 1, 2, 3, 4, 5);
  Attending a;
  const Dims turned = {kBatch, {2}, {16}, {80}};
  const ValueId q = a.q;
  ValueId scores;
  if (form == 0) scores = a.scores();
  if (form == 1) scores = a.node("Mul", {a.scores(), a.number(0.25)}, kScores);
  if (form == 2) scores = a.node("Div", {a.scores(), a.number(4)}, kScores);
  if (form == 3) {  // torch's dynamo exporter: the root of the scale, on both
    a.q = a.node("Mul", {a.q, a.number(0.5)}, {kBatch, {2}, {64}, {16}});
    const ValueId keys = a.node("Transpose", {a.k}, turned, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    scores = a.node("MatMul", {a.q, a.node("Mul", {keys, a.number(0.5)}, turned)}, kScores);
  }
  if (form == 4) {  // timm
    a.q = a.node("Mul", {a.q, a.number(0.25)}, {kBatch, {2}, {64}, {16}});
    scores = a.scores();
  }
  if (form == 5) {  // its newer versions: transposed as [N·H, S, d]
    const Dim heads{2, true};
    const std::vector<int64_t> perm = {0, 2, 1};
    const ValueId keys =
        a.node("Transpose", {a.node("Reshape", {a.k}, {heads, {80}, {16}})}, {heads, {16}, {80}}, {{"perm", perm}});
    a.q = a.node("Mul", {a.q, a.number(0.5)}, {kBatch, {2}, {64}, {16}});
    scores =
        a.node("MatMul", {a.q, a.node("Mul", {a.node("Reshape", {keys}, turned), a.number(0.5)}, turned)}, kScores);
  }
  CHECK(a.fused(scores) == kFused);
  CHECK(a.scale() == (form == 0 ? 1 : 0.25));
  CHECK(a.inputs() == std::vector{q, a.k, a.v});
  CHECK_FALSE(a.causal());
}

TEST_CASE("a causal mask becomes an attribute, another one an operand") {
  Attending seen;
  CHECK(seen.fused(seen.node("Where", {seen.mask(DataType::u8, CausalMask::seen), seen.scores(), seen.number(-3.4e38)},
                             kScores)) == kFused);
  CHECK((seen.causal() && seen.inputs().size() == 3));
  Attending hidden;
  CHECK(hidden.fused(hidden.node(
            "Where", {hidden.mask(DataType::u8, CausalMask::hidden), hidden.number(-kInfinite), hidden.scores()},
            kScores)) == kFused);
  CHECK((hidden.causal() && hidden.inputs().size() == 3));
  Attending added;
  CHECK(added.fused(added.node("Add", {added.mask(DataType::f32, CausalMask::added), added.scores()}, kScores)) ==
        kFused);
  CHECK((added.causal() && added.inputs().size() == 3));
  Attending both;
  const ValueId causal =
      both.node("Where", {both.mask(DataType::u8, CausalMask::seen), both.scores(), both.number(-kInfinite)}, kScores);
  const ValueId padding = both.mask(DataType::f32, CausalMask::none, {kBatch, {1}, {1}, {80}});
  CHECK(both.fused(both.node("Add", {causal, padding}, kScores)) == kFused);
  CHECK((both.causal() && both.inputs().size() == 4 && both.inputs()[3] == padding));
  Attending masked;
  const ValueId mask = masked.mask(DataType::u8);
  CHECK(masked.fused(masked.node("Where", {mask, masked.scores(), masked.number(-kInfinite)}, kScores)) == kFused);
  CHECK((!masked.causal() && masked.inputs().size() == 4 && masked.inputs()[3] == mask));
  Attending bias;
  CHECK(bias.fused(bias.node("Add", {bias.scores(), bias.mask(DataType::f32, CausalMask::none, {{2}, {64}, {80}})},
                             kScores)) == kFused);
  CHECK((!bias.causal() && bias.inputs().size() == 4));
}

// TorchScript's exporter merges the transpositions of the keys: into heads, and for the product.
TEST_CASE("added numbers that a Where makes of booleans are these booleans") {
  const auto made = [](double seen, double hidden, bool expanded, bool added = true) {
    Attending a;
    const ValueId mask = a.mask(DataType::u8, CausalMask::none, {kBatch, {1}, {1}, {80}});
    const Dims wide = {kBatch, {1}, {64}, {80}};
    const ValueId repeated = expanded ? a.node("Expand", {mask}, wide) : mask;
    if (expanded) a.network.values[repeated].type.type = DataType::u8;
    const ValueId numbers =
        a.node("Where", {repeated, a.number(seen), a.number(hidden)}, a.network.values[repeated].type.dims);
    const std::string ops = a.fused(a.node(added ? "Add" : "Mul", {a.scores(), numbers}, kScores));
    if (!ops.ends_with(kFused)) return ops;
    REQUIRE(a.inputs().size() == 4);
    CHECK_FALSE(a.causal());
    return ops + (a.inputs()[3] == mask ? " of booleans" : "");
  };
  for (const bool expanded : {false, true}) {
    const std::string before = expanded ? "Expand " : "";
    CHECK(made(0, -kInfinite, expanded) == kFused + " of booleans");
    CHECK(made(0, -1e9, expanded) == before + "Where " + kFused);  // all scores of a query could be hidden
    CHECK(made(1, -kInfinite, expanded) == before + "Where " + kFused);
    CHECK(made(0, -kInfinite, expanded, false) == before + "Where MatMul Mul Softmax MatMul");
  }
}

TEST_CASE("the transposition that joins the heads is a part of the attention before it") {
  const auto made = [](std::vector<int64_t> perm, bool masked, bool read, std::optional<Dims> reshaped = {}) {
    Attending a;
    std::vector<ValueId> inputs = {a.q, a.k, a.v};
    if (masked) inputs.push_back(a.mask(DataType::u8));
    const Dims heads = {kBatch, {2}, {64}, {16}};
    const ValueId attended = a.node(kFused, inputs, heads, {{"scale", 0.5}});
    const Dims before = reshaped.value_or(heads);
    Dims dims;
    for (const int64_t axis : perm) dims.push_back(before[static_cast<size_t>(axis)]);
    const ValueId turned = a.node("Transpose", {reshaped ? a.node("Reshape", {attended}, before) : attended}, dims,
                                  {{"perm", perm}});
    a.network.outputs = {turned};
    if (read) a.network.outputs.push_back(a.node("Relu", {attended}, heads));
    turn_attention_results(a.network);
    std::string ops;
    for (const Node& node : a.network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
    if (ops != kFused) return ops;
    const Node& last = a.network.nodes.back();
    CHECK(last.inputs == inputs);
    CHECK(last.outputs == std::vector{turned});
    CHECK(a.scale() == 0.5);
    CHECK(std::get<int64_t>(last.attributes.at("turned")) == 1);
    return ops;
  };
  for (const bool masked : {false, true}) {
    CHECK(made({0, 2, 1, 3}, masked, false) == kFused);
    CHECK(made({0, 2, 1, 3}, masked, true) == kFused + " Transpose Relu");
    CHECK(made({0, 2, 3, 1}, masked, false) == kFused + " Transpose");
    CHECK(made({0, 2, 1, 3}, masked, false, Dims{kBatch, {2}, {64}, {16}}) == kFused);
    CHECK(made({0, 2, 1, 3}, masked, false, Dims{kBatch, {4}, {32}, {16}}) == kFused + " Reshape Transpose");
  }
}

TEST_CASE("keys that are transposed twice by one node are attention") {
  const int64_t positions = GENERATE(80, 8);
  Attending a;
  const Dims scores = {kBatch, {2}, {positions}, {positions}}, rows = {kBatch, {2}, {positions}, {16}};
  const ValueId q = a.value(ValueKind::input, rows), v = a.value(ValueKind::input, rows),
                x = a.value(ValueKind::input, {kBatch, {positions}, {2}, {16}});
  const auto turn = [](std::vector<int64_t> axes) { return std::map<std::string, NodeAttribute>{{"perm", axes}}; };
  const ValueId keys = a.node("Transpose", {x}, {kBatch, {2}, {16}, {positions}}, turn({0, 2, 3, 1}));
  const ValueId product = a.node("Mul", {a.node("MatMul", {q, keys}, scores), a.number(0.25)}, scores);
  const ValueId mixed = a.node("MatMul", {a.node("Softmax", {product}, scores, {{"axis", int64_t{-1}}}), v}, rows);
  // A picture that becomes channels-last is transposed likewise, and stays so.
  const ValueId picture = a.value(ValueKind::input, {kBatch, {3}, {8}, {8}});
  const ValueId last = a.node("Transpose", {picture}, {kBatch, {8}, {8}, {3}}, turn({0, 2, 3, 1}));
  a.network.outputs = {mixed, last};
  fuse(a.network, Attention::fused);

  std::string ops;
  for (const Node& node : a.network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
  const Node& heads = a.network.nodes[NodeId(0)];
  CHECK(NodeView(a.network, heads).integers("perm") == std::vector<int64_t>{0, 2, 1, 3});
  CHECK(a.network.values[heads.outputs[0]].type.dims == rows);
  CHECK(a.network.forms ==
        (positions == 8 ? FormsOfParts{} : FormsOfParts{{std::string(kAttention), std::string("fused")}}));
  if (positions == 8) {  // not worth it: the product transposes the keys
    CHECK(ops == "Transpose MatMul Mul Softmax MatMul Transpose");
    CHECK(a.network.nodes[NodeId(1)].marks.transposed_b);
  } else {
    CHECK(ops == "Transpose " + kFused + " Transpose");
    CHECK(a.network.nodes[NodeId(1)].inputs == std::vector{q, heads.outputs[0], v});
  }
  CHECK(NodeView(a.network, a.network.nodes.back()).integers("perm") == std::vector<int64_t>{0, 2, 3, 1});
  CHECK(a.network.nodes.back().inputs == std::vector{picture});
}

// torch.nn.MultiheadAttention computes on [N·H, T, d], with steps first before: keys [S, N·H, d] are transposed by one
// node into [N·H, d, S].
TEST_CASE("attention whose heads are counted with the samples is attention") {
  const std::string form = GENERATE("plain", "causal", "padding", "other rank of the mask");
  Attending a;
  const Dim heads{2, true};
  const Dims scores = {heads, {64}, {80}}, rows = {heads, {64}, {16}};
  const ValueId q = a.value(ValueKind::input, rows), v = a.value(ValueKind::input, {heads, {80}, {16}}),
                x = a.value(ValueKind::input, {{80}, heads, {16}});
  const ValueId keys = a.node("Transpose", {x}, {heads, {16}, {80}}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
  ValueId product = a.node("MatMul", {a.node("Div", {q, a.number(4)}, rows), keys}, scores);
  ValueId mask;
  if (form == "causal") mask = a.mask(DataType::f32, CausalMask::added, {{1}, {64}, {80}});
  if (form == "padding") mask = a.mask(DataType::f32, CausalMask::none, {heads, {1}, {80}});
  if (form == "other rank of the mask") mask = a.mask(DataType::f32, CausalMask::none, {{1}, {1}, {64}, {80}});
  if (mask.valid()) product = a.node("Add", {product, mask}, scores);
  a.network.outputs = {a.node("MatMul", {a.node("Softmax", {product}, scores, {{"axis", int64_t{-1}}}), v}, rows)};
  fuse(a.network, Attention::fused);

  std::string ops;
  for (const Node& node : a.network.nodes) ops += (ops.empty() ? "" : " ") + node.op;
  if (form == "other rank of the mask") {
    CHECK(ops == "Transpose Div MatMul Add Softmax MatMul");
    return;
  }
  CHECK(ops == "Transpose " + kFused);
  CHECK(a.causal() == (form == "causal"));
  CHECK(a.scale() == 0.25);
  const Node& turn = a.network.nodes[NodeId(0)];
  CHECK(NodeView(a.network, turn).integers("perm") == std::vector<int64_t>{1, 0, 2});
  CHECK(a.network.values[turn.outputs[0]].type.dims == Dims{heads, {80}, {16}});
  std::vector<ValueId> inputs = {q, turn.outputs[0], v};
  if (form == "padding") inputs.push_back(mask);
  CHECK(a.inputs() == inputs);
}

TEST_CASE("dropout of probabilities becomes an attribute, with the key of the node") {
  const int opset = GENERATE(7, 13);
  Attending a;
  const ValueId scores = a.node("Mul", {a.scores(), a.number(0.25)}, kScores);
  std::vector<ValueId> inputs = {a.softmax(scores)};
  if (opset == 13) inputs.push_back(a.number(0.3));
  std::map<std::string, NodeAttribute> attributes;
  if (opset == 7) attributes["ratio"] = 0.3;
  const ValueId dropped = a.node("Dropout", inputs, kScores, attributes);
  a.network.nodes.back().opset = opset;
  const int64_t key = random_key({a.network, a.network.nodes.back()});
  CHECK(a.fused_with(dropped) == kFused);
  CHECK(a.scale() == 0.25);
  CHECK(std::get<double>(a.network.nodes.back().attributes.at("dropped")) == 0.3);
  CHECK(std::get<int64_t>(a.network.nodes.back().attributes.at("dropout_key")) == key);
  CHECK(a.inputs() == std::vector{a.q, a.k, a.v});
}

// Hugging Face's repeat_kv: one head of keys and values for two of queries.
TEST_CASE("keys that are repeated for groups of queries are taken before") {
  const std::string form = GENERATE("marked", "turned", "as rows", "interleaved", "broadcast");
  Attending a;
  const int64_t group = form == "broadcast" ? 1 : 2;
  const Dims q = {kBatch, {4}, {64}, {16}}, few = {kBatch, {group}, {80}, {16}}, many = {kBatch, {4}, {80}, {16}},
             scores = {kBatch, {4}, {64}, {80}}, turned = {kBatch, {4}, {16}, {80}};
  a.q = a.value(ValueKind::input, q), a.k = a.value(ValueKind::input, few), a.v = a.value(ValueKind::input, few);
  const auto turn = [](std::vector<int64_t> axes) { return std::map<std::string, NodeAttribute>{{"perm", axes}}; };
  const auto repeated = [&](ValueId x) {
    if (form == "broadcast") return x;
    // "interleaved": the heads 0 1 0 1, which no group shares, instead of 0 0 1 1
    const bool last = form == "interleaved";
    const ValueId apart =
        a.node("Unsqueeze", {x}, last ? Dims{kBatch, {1}, {2}, {80}, {16}} : Dims{kBatch, {2}, {1}, {80}, {16}});
    return a.node("Reshape", {a.node("Expand", {apart}, {kBatch, {2}, {2}, {80}, {16}})}, many);
  };
  ValueId keys = repeated(a.k);
  const ValueId values = repeated(a.v);
  if (form == "turned") keys = a.node("Transpose", {keys}, turned, turn({0, 1, 3, 2}));
  if (form == "as rows") {
    const Dim heads{4, true};
    keys = a.node("Transpose", {a.node("Reshape", {keys}, {heads, {80}, {16}})}, {heads, {16}, {80}}, turn({0, 2, 1}));
    keys = a.node("Reshape", {keys}, turned);
  }
  const ValueId product = a.node("MatMul", {a.q, keys}, scores);
  a.network.nodes.back().marks.transposed_b = form != "turned" && form != "as rows";
  const ValueId softmax = a.node("Softmax", {product}, scores, {{"axis", int64_t{-1}}});
  a.network.outputs = {a.node("MatMul", {softmax, values}, q)};
  fuse_attention(a.network);
  if (form == "interleaved") {
    CHECK(a.network.nodes.back().op == kFused);
    CHECK(a.network.nodes.size() == 7);
    CHECK(a.inputs() == std::vector{a.q, keys, values});
    return;
  }
  CHECK(a.network.nodes.size() == 1);
  CHECK(a.inputs() == std::vector{a.q, a.k, a.v});
}

TEST_CASE("what is no such attention stays as it is") {
  Attending twice;  // the probabilities have two readers
  const ValueId shared = twice.softmax(twice.scores());
  twice.node("MatMul", {shared, twice.v}, {kBatch, {2}, {64}, {16}});
  const ValueId first = twice.network.nodes.back().outputs[0];
  const ValueId second = twice.node("MatMul", {shared, twice.v}, {kBatch, {2}, {64}, {16}});
  twice.network.outputs = {first, second};
  fuse_attention(twice.network);
  CHECK(twice.network.nodes.size() == 4);
  Attending finite;  // a row that is hidden completely is the mean here
  CHECK(finite.fused(finite.node("Where", {finite.mask(DataType::u8), finite.scores(), finite.number(-1e9)},
                                 kScores)) == "MatMul Where Softmax MatMul");
  Attending small;
  const ValueId scores = small.scores();
  for (const ValueId value : {small.q, small.k, small.v}) small.network.values[value].type.dims[2] = {32};
  small.network.values[scores].type.dims = {kBatch, {2}, {32}, {32}};
  CHECK(small.fused(scores) == "MatMul Softmax MatMul");
}

TEST_CASE("the triangle of a causal mask is told from other masks") {
  const auto of_booleans = [](const std::string& bytes, std::vector<int64_t> dims = {2, 3}) {
    return causal_mask_of(mask_of(ElementType::boolean, std::move(dims), bytes));
  };
  CHECK(of_booleans({1, 0, 0, 1, 1, 0}) == CausalMask::seen);
  CHECK(of_booleans({0, 1, 1, 0, 0, 1}) == CausalMask::hidden);
  CHECK(of_booleans({1, 0, 0, 1, 1, 1}) == CausalMask::none);
  CHECK(of_booleans({1, 1, 1, 1, 1, 1}) == CausalMask::none);
  CHECK(of_booleans({1, 0, 1, 1}, {1, 1, 2, 2}) == CausalMask::seen);
  CHECK(of_booleans({1, 0, 1, 1, 1, 0, 1, 1}, {2, 2, 2}) == CausalMask::none);
  const auto of_floats = [](const std::vector<float>& items) {
    return causal_mask_of(mask_of(ElementType::f32, {2, 2}, bytes_of_floats(items)));
  };
  CHECK(of_floats({0, -std::numeric_limits<float>::infinity(), 0, 0}) == CausalMask::added);
  CHECK(of_floats({0, -1e4F, 0, 0}) == CausalMask::added);
  CHECK(of_floats({0, -1, 0, 0}) == CausalMask::none);
  CHECK(of_floats({1, 0, 1, 1}) == CausalMask::none);
}
