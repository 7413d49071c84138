// Operators of onnxruntime, which its optimizers and Optimum write, are the operators of ONNX that they stand for.
#include <catch2/catch.hpp>

#include <algorithm>

#include "spelled.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

// One node of onnxruntime that reads x [N,6,8].
struct Fused : Spelled {
  explicit Fused(int opset = 14) {
    build = ModelBuilder(opset);
    build.input("x", {"N", "6", "8"});
  }
  onnx::NodeProto& fused(const std::string& op, const std::vector<std::string>& inputs,
                         const std::string& domain = "com.microsoft") {
    onnx::NodeProto& made = node(op, inputs);
    made.set_domain(domain);
    return made;
  }
};

}  // namespace

TEST_CASE("activations of onnxruntime") {
  Fused gelu;
  gelu.fused("Gelu", {"x"});
  CHECK(gelu.said() == "Gelu [N,6,8]");
  for (const std::string op : {"BiasGelu", "FastGelu"}) {
    Fused biased;
    biased.build.weight("b", {8});
    biased.fused(op, {"x", "b"});
    CHECK(biased.said() == "Add Gelu [N,6,8]");
    const auto imported = biased.build.import();
    CHECK(imported->network.nodes[NodeId(1)].attributes.contains("approximate") == (op == "FastGelu"));
  }
  Fused quick;
  ModelBuilder::real(quick.fused("QuickGelu", {"x"}), "alpha", 2);
  CHECK(quick.said() == "Mul Sigmoid Mul [N,6,8]");
}

TEST_CASE("products of onnxruntime") {
  Fused scores;
  onnx::NodeProto& product = scores.fused("FusedMatMul", {"x", "x"});
  ModelBuilder::integer(product, "transB", 1);
  ModelBuilder::real(product, "alpha", 0.5F);
  CHECK(scores.said() == "Transpose MatMul Mul [N,6,6]");
  ModelBuilder::integer(product, "transBatchA", 1);
  CHECK_THAT(scores.said(), StartsWith("5: ") && Contains("FusedMatMul"));
  // How many dimensions a value has is not known before its shape is.
  Fused computed;
  computed.build.node("Relu", {"x"}, {"a"});
  ModelBuilder::integer(computed.fused("FusedMatMul", {"a", "a"}), "transA", 1);
  CHECK(computed.said() == "Relu Transpose MatMul [N,8,8]");

  Fused gemm;
  gemm.build.weight("w", {4, 48}).weight("b", {4}).node("Flatten", {"x"}, {"rows"});
  onnx::NodeProto& dense = gemm.fused("FusedGemm", {"rows", "w", "b"});
  ModelBuilder::integer(dense, "transB", 1);
  ModelBuilder::text(dense, "activation", "LeakyRelu");
  ModelBuilder::real(dense, "activation_alpha", 0.25F);
  CHECK(gemm.said() == "Flatten Gemm LeakyRelu [N,4]");
  CHECK(std::get<double>(gemm.build.import()->network.nodes[NodeId(2)].attributes.at("alpha")) == 0.25);

  Fused conv;
  conv.build.input("image", {"N", "3", "8", "8"}).input("z", {"N", "4", "8", "8"}).weight("w", {4, 3, 1, 1});
  conv.build.weight("b", {4});
  onnx::NodeProto& fused = conv.fused("FusedConv", {"image", "w", "b", "z"});
  ModelBuilder::text(fused, "activation", "Clip");
  onnx::AttributeProto& params = *fused.add_attribute();
  params.set_name("activation_params");
  params.set_type(onnx::AttributeProto::FLOATS);
  params.add_floats(0);
  params.add_floats(6);
  CHECK(conv.said() == "Conv Add Clip [N,4,8,8]");
  params.mutable_floats()->RemoveLast();
  CHECK_THAT(conv.said(), StartsWith("5: ") && Contains("FusedConv"));
  params.add_floats(6);
  fused.mutable_attribute(0)->set_s("Softplus");
  CHECK_THAT(conv.said(), StartsWith("5: ") && Contains("FusedConv"));
}

// Opset 14 has neither LayerNormalization nor RMSNormalization.
TEST_CASE("normalizations of onnxruntime") {
  Fused skip;
  skip.build.weight("scale", {8}).weight("bias", {8}).weight("w", {8, 8}).weight("b", {8});
  skip.build.node("MatMul", {"x", "w"}, {"product"});
  skip.fused("SkipLayerNormalization", {"x", "product", "scale", "bias", "b"});
  CHECK(skip.said() == "MatMul Add Add LayerNormalization [N,6,8]");
  const auto imported = skip.build.import();
  const Network& network = imported->network;
  CHECK(network.nodes[NodeId(1)].inputs[0] == network.nodes[NodeId(0)].outputs[0]);  // the bias of the product
  CHECK(find_value(network, "b")->trainable);
  CHECK(find_value(network, "scale")->trainable);
  CHECK(imported->notes[0] == "1 node of onnxruntime's operators is replaced by the operators of ONNX that they stand "
                              "for");

  Fused sums;  // output 3 is the sum
  sums.build.weight("scale", {8});
  sums.build.node("SkipSimplifiedLayerNormalization", {"x", "x", "scale"}, {"a", "", "", "sum"}).set_domain(
      "com.microsoft");
  sums.node("Add", {"a", "sum"});
  CHECK(sums.said() == "Add RMSNormalization Add [N,6,8]");
  // onnxruntime's own defaults.
  const auto epsilon = [](const std::string& op, const std::string& domain) {
    Fused model;
    model.build.weight("scale", {8});
    std::vector<std::string> inputs = {"x", "scale"};
    if (op.starts_with("Skip")) inputs.insert(inputs.begin(), "x");
    model.fused(op, inputs, domain);
    const auto made = model.build.import();
    REQUIRE(outcome(made) == "ok");
    const Node& last = made->network.nodes[NodeId(made->network.nodes.size() - 1)];
    return static_cast<float>(std::get<double>(last.attributes.at("epsilon")));
  };
  CHECK(epsilon("SkipLayerNormalization", "com.microsoft") == 1e-12F);
  CHECK(epsilon("SkipSimplifiedLayerNormalization", "com.microsoft") == 1e-12F);
  CHECK(epsilon("SimplifiedLayerNormalization", "") == 1e-5F);

  Fused root;
  root.build.weight("scale", {8});
  root.fused("SimplifiedLayerNormalization", {"x", "scale"}, "");
  CHECK(root.said() == "RMSNormalization [N,6,8]");
  Fused statistic;
  statistic.build.weight("scale", {8}).node("SimplifiedLayerNormalization", {"x", "scale"}, {"a", "inverse"});
  statistic.node("Add", {"a", "inverse"});
  CHECK_THAT(statistic.said(), StartsWith("5: ") && Contains("SimplifiedLayerNormalization"));

  Fused plain;
  plain.build.weight("scale", {8}).weight("bias", {8});
  ModelBuilder::integer(plain.fused("LayerNormalization", {"x", "scale", "bias"}, ""), "axis", -1);
  CHECK(plain.said() == "LayerNormalization [N,6,8]");
}

TEST_CASE("embeddings of onnxruntime") {
  ModelBuilder build(14);
  build.input("ids", {"N", "6"}, onnx::TensorProto::INT32).input("mask", {"N", "6"}, onnx::TensorProto::INT32);
  build.weight("words", {9, 8}).weight("places", {12, 8}).weight("segments", {2, 8}).weight("s", {8}).weight("b", {8});
  build.node("EmbedLayerNormalization", {"ids", "mask", "words", "places", "segments", "s", "b"}, {"y", "", "sum"}, "e")
      .set_domain("com.microsoft");
  const auto imported = build.output("y").import();
  REQUIRE(outcome(imported) == "ok");
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  CHECK(ops == "Gather Slice Add Gather Add LayerNormalization ");
  CHECK(find_value(imported->network, "words")->trainable);
  CHECK(find_value(imported->network, "segments")->trainable);
}

TEST_CASE("attention of onnxruntime") {
  const auto attention = [](Fused& model, const std::vector<std::string>& more = {}) -> onnx::NodeProto& {
    model.build.weight("w", {8, 24}).weight("b", {24});
    std::vector<std::string> inputs = {"x", "w", "b"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    onnx::NodeProto& made = model.fused("Attention", inputs);
    ModelBuilder::integer(made, "num_heads", 2);
    return made;
  };
  const std::string parts = "MatMul Add Split ", heads = "Reshape Transpose ";
  const std::string attended = heads + heads + heads + "ScaledDotProductAttention Transpose Reshape [N,6,8]";
  Fused causal;
  ModelBuilder::integer(attention(causal), "unidirectional", 1);
  CHECK(causal.said() == parts + attended);
  const auto imported = causal.build.import();
  CHECK(find_value(imported->network, "w")->trainable);
  CHECK(find_value(imported->network, "b")->trainable);

  Fused masked;
  masked.build.input("mask", {"N", "6"}, onnx::TensorProto::INT32);
  attention(masked, {"mask"});
  CHECK_THAT(masked.said(), Contains("Where Unsqueeze") && Contains("ScaledDotProductAttention"));
  Fused lengths;  // of the samples
  lengths.build.input("lengths", {"N"}, onnx::TensorProto::INT32);
  attention(lengths, {"lengths"});
  CHECK_THAT(lengths.said(), Contains("Less") && Contains("Where Unsqueeze"));
  Fused unknown;
  unknown.build.input("lengths", {"N", "6"}, onnx::TensorProto::INT32);
  unknown.build.node("Neg", {"lengths"}, {"computed"});
  attention(unknown, {"computed"});
  CHECK_THAT(unknown.said(), StartsWith("5: ") && Contains("Attention"));
  Fused cached;
  cached.build.input("past", {"2", "N", "2", "3", "4"});
  attention(cached, {"", "past"});
  const auto refused = cached.build.import();
  REQUIRE(!refused.ok());
  CHECK_THAT(refused.error().notes[1], Contains("node 'node' (Attention): reads a cache of past keys and values"));

  Fused several;
  several.build.weight("b", {24}).input("memory", {"N", "5", "8"});
  ModelBuilder::integer(several.fused("MultiHeadAttention", {"x", "memory", "memory", "b"}), "num_heads", 2);
  CHECK_THAT(several.said(), StartsWith("Split Add Add Add Reshape") && Contains("ScaledDotProductAttention"));
  const auto three = several.build.import();
  const Node& made = *std::find_if(three->network.nodes.begin(), three->network.nodes.end(),
                                   [](const Node& node) { return node.op == "ScaledDotProductAttention"; });
  CHECK((made.inputs[0] != made.inputs[1] && made.inputs[1] != made.inputs[2]));
}

TEST_CASE("names of the nodes that stand for a node of onnxruntime are none of the file's") {
  Fused named;
  named.build.node("Sin", {"x"}, {"y/onnx/1"}, "user");
  named.build.node("QuickGelu", {"x"}, {"y"}, "fused").set_domain("com.microsoft");
  named.build.node("Mul", {"y", "y/onnx/1"}, {"z"}, "read");
  const auto imported = named.build.output("z").import();
  REQUIRE(outcome(imported) == "ok");
  const Node& last = imported->network.nodes[NodeId(imported->network.nodes.size() - 1)];
  const auto makes = [&](const Node& node) { return node.op == "Sin" && node.outputs[0] == last.inputs[1]; };
  CHECK(std::any_of(imported->network.nodes.begin(), imported->network.nodes.end(), makes));
}

TEST_CASE("attributes of onnxruntime's operators have the types that it defines") {
  Fused whole;  // onnxruntime reads a real number
  ModelBuilder::integer(whole.fused("QuickGelu", {"x"}), "alpha", 2);
  CHECK_THAT(whole.said(), StartsWith("5: "));
  Fused unknown;
  ModelBuilder::integer(unknown.fused("FusedMatMul", {"x", "x"}), "transC", 1);
  CHECK_THAT(unknown.said(), StartsWith("5: "));
  Fused taken_over;
  taken_over.build.input("image", {"N", "3", "8", "8"}).weight("w", {4, 3, 1, 1});
  ModelBuilder::real(taken_over.fused("FusedConv", {"image", "w"}), "strides", 2);
  CHECK_THAT(taken_over.said(), StartsWith("5: "));
  const auto refused = taken_over.build.import();
  REQUIRE(!refused.ok());
  CHECK_THAT(refused.error().notes[1], Contains("node 'node' (FusedConv): its attribute 'strides'"));
}

TEST_CASE("rotary embedding of onnxruntime") {
  Fused rotary;
  rotary.build.input("places", {"N", "6"}, onnx::TensorProto::INT64);
  rotary.build.weight("cos", {16, 2}).weight("sin", {16, 2});
  ModelBuilder::integer(rotary.fused("RotaryEmbedding", {"x", "places", "cos", "sin"}), "num_heads", 2);
  CHECK_THAT(rotary.said(), Contains("Rotary") && Contains("[N,6,8]"));
  // Without num_heads, the width of the tables gives the size of a head.
  const auto without_heads = [](int64_t columns) {
    Fused model;
    model.build.input("places", {"N", "6"}, onnx::TensorProto::INT64);
    model.build.weight("cos", {16, columns}).weight("sin", {16, columns});
    model.fused("RotaryEmbedding", {"x", "places", "cos", "sin"});
    return model.said();
  };
  CHECK(without_heads(2) == "Gather Unsqueeze Gather Unsqueeze Reshape Rotary Reshape [N,6,8]");
  CHECK_THAT(without_heads(3), StartsWith("4: ") && Contains("RotaryEmbedding"));
  // One number is the position of the first token. A computed one has no known number of dimensions.
  for (const bool computed : {false, true}) {
    Fused first;
    first.build.weight("cos", {16, 2}).weight("sin", {16, 2}).integers("given", {3});
    if (computed) first.build.node("Neg", {"given"}, {"place"});
    const std::string place = computed ? "place" : "given";
    ModelBuilder::integer(first.fused("RotaryEmbedding", {"x", place, "cos", "sin"}), "num_heads", 2);
    CHECK_THAT(first.said(), StartsWith("5: ") && Contains("RotaryEmbedding"));
  }
}

// skl2onnx writes a StandardScaler like this.
TEST_CASE("a Scaler of ai.onnx.ml is a subtraction and a product, and is not trained") {
  const auto model = [](bool with_scale) {
    ModelBuilder build(17);
    build.input("x", {"N", "2"}).weight("w", {2, 3});
    onnx::NodeProto& scaler = build.node("Scaler", {"x"}, {"scaled"}, "scaler");
    scaler.set_domain("ai.onnx.ml");
    for (const char* name : {"offset", "scale"}) {
      if (std::string(name) == "scale" && !with_scale) continue;
      onnx::AttributeProto& list = *scaler.add_attribute();
      list.set_name(name);
      list.set_type(onnx::AttributeProto::FLOATS);
      for (const float item : {1.0f, 2.0f}) list.add_floats(item);
    }
    build.node("MatMul", {"scaled", "w"}, {"y"}, "product");
    return build.output("y").import();
  };
  const auto imported = model(true);
  REQUIRE(outcome(imported) == "ok");
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  CHECK(ops == "Sub Mul MatMul ");
  for (const Value& value : imported->network.values)
    CHECK(value.trainable == (value.name == "w"));
  std::string notes;
  for (const std::string& note : imported->notes) notes += note + "; ";
  CHECK_THAT(notes, Catch::Matchers::Contains("1 Scaler of ai.onnx.ml is part of the model, and not trained"));
  // The file keeps the node.
  CHECK(imported->file->model.graph().node(0).op_type() == "Scaler");
  CHECK_THAT(outcome(model(false)), Catch::Matchers::StartsWith("5: ") && Catch::Matchers::Contains("list of offsets"));
}
