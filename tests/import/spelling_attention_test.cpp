// What newer opsets have for transformers: the nodes that it is written as, and what is rejected.
#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

#include "model_builder.h"
#include "spelled.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

TEST_CASE("what opsets 23 and 24 brought for transformers is there") {
  const auto spelled = [](int opset) {
    Spelled made;
    made.build = ModelBuilder(opset, 11);
    made.build.input("x", {"N", "5", "6"}).weight("scale", {6}, 1);
    return made;
  };
  Spelled norm = spelled(23);
  norm.node("RMSNormalization", {"x", "scale"});
  CHECK(norm.said() == "RMSNormalization [N,5,6]");
  ModelBuilder::integer(*norm.build.graph().mutable_node(0), "axis", 3);
  CHECK_THAT(norm.said(), Contains("4: node 'node' (RMSNormalization): axis 3 is outside"));
  Spelled swish = spelled(24);
  swish.node("Swish", {"x"});
  CHECK(swish.said() == "Swish [N,5,6]");
  onnx::AttributeProto& alpha = *swish.build.graph().mutable_node(0)->add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_f(2);
  CHECK(swish.said() == "Swish [N,5,6]");
}

TEST_CASE("a query sees the keys of its window, and none in front of it where it is causal") {
  const auto seen = [](int64_t left, int64_t right, int64_t causal) {
    ModelBuilder build(25, 13);
    build.input("q", {"N", "1", "4", "2"}).input("k", {"N", "1", "5", "2"});
    onnx::NodeProto& node = build.node("Attention", {"q", "k", "k"}, {"y"}, "node");
    ModelBuilder::integer(node, "left_window_size", left);
    ModelBuilder::integer(node, "right_window_size", right);
    ModelBuilder::integer(node, "is_causal", causal);
    ModelBuilder::real(node, "softcap", 2);  // spelled out
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    std::string rows;
    for (const Node& where : imported->network.nodes) {
      if (where.op != "Where") continue;
      const std::string& name = imported->network.values[where.inputs[0]].initializer;
      for (const onnx::TensorProto& tensor : imported->file->model.graph().initializer())
        for (size_t i = 0; tensor.name() == name && i < tensor.raw_data().size(); ++i)
          rows += (i > 0 && i % 5 == 0 ? " " : "") + std::to_string(tensor.raw_data()[i]);
    }
    return rows;
  };
  CHECK(seen(-1, -1, 0) == "");
  CHECK(seen(-1, -1, 1) == "10000 11000 11100 11110");
  CHECK(seen(2, 1, 0) == "11000 11100 11110 01111");
  CHECK(seen(1, 3, 1) == "10000 11000 01100 00110");
  CHECK(seen(-1, 1, 0) == "11000 11100 11110 11111");
}

TEST_CASE("attention is one operator, or two products and a softmax with a softcap") {
  const auto said = [](const std::function<void(onnx::NodeProto&)>& set,
                       std::vector<std::string> inputs = {"q", "k", "v"}, bool capped = false) {
    Spelled spelled;
    spelled.build = ModelBuilder(23, 11);
    spelled.build.input("q", {"N", "5", "12"})
        .input("k", {"N", "7", "6"})
        .input("v", {"N", "7", "8"})
        .input("past", {"N", "2", "3", "3"});
    spelled.build.input("seen", {"5", "7"}, onnx::TensorProto::BOOL)
        .input("added", {"N", "1", "1", "7"})
        .input("short", {"5", "6"});
    onnx::NodeProto& node = spelled.node("Attention", std::move(inputs));
    ModelBuilder::integer(node, "q_num_heads", 4);
    ModelBuilder::integer(node, "kv_num_heads", 2);
    if (capped) ModelBuilder::real(node, "softcap", 2);
    set(node);
    return spelled.said();
  };
  const auto as_it_is = [](onnx::NodeProto&) {};
  const auto causal = [](onnx::NodeProto& node) { ModelBuilder::integer(node, "is_causal", 1); };
  const std::string fused =
      "Reshape Transpose Reshape Transpose Reshape Transpose ScaledDotProductAttention Transpose Reshape [N,5,16]";
  CHECK(said(as_it_is) == fused);
  CHECK(said(causal) == fused);
  CHECK(said(as_it_is, {"q", "k", "v", "seen"}) == fused);
  CHECK(said(as_it_is, {"q", "k", "v", "added"}) == fused);
  CHECK(said(as_it_is, {"q", "k", "v"}, true) ==
        "Reshape Transpose Reshape Transpose Reshape Transpose Mul Reshape Transpose MatMul Reshape Mul Tanh Mul "
        "Softmax Reshape MatMul Reshape Transpose Reshape "
        "[N,5,16]");
  CHECK_THAT(said(causal, {"q", "k", "v"}, true), Contains("Mul Where Softmax"));
  CHECK_THAT(said(as_it_is, {"q", "k", "v", "seen"}, true), Contains("Mul Where Softmax"));
  CHECK_THAT(said(as_it_is, {"q", "k", "v", "added"}, true), Contains("Mul Add Softmax"));
  CHECK_THAT(said(as_it_is, {"q", "k", "v", "short"}),
             Contains("5: node 'node' (Attention): its mask [5,6] is shorter than the 7 keys"));
  CHECK_THAT(said(as_it_is, {"q", "k", "v", "", "past", "past"}),
             Contains("5: node 'node' (Attention): reads a cache of past keys and values (input 4)"));
  CHECK_THAT(said([](onnx::NodeProto& node) { node.add_output("present"); }),
             Contains("5: ") && Contains("its output 1 (present keys or values) is read, but not supported"));
  CHECK_THAT(said([](onnx::NodeProto& node) { node.mutable_attribute(1)->set_i(3); }),
             Contains("4: ") && Contains("not divisible into 4 and 3 heads"));
}

TEST_CASE("positions by turning, and a cache that is written") {
  const auto said = [](const std::string& op, const std::vector<std::string>& inputs,
                       const std::function<void(onnx::NodeProto&)>& set) {
    Spelled spelled;
    spelled.build = ModelBuilder(24, 11);
    spelled.build.input("x", {"N", "2", "5", "8"})
        .input("new", {"N", "2", "3", "8"})
        .weight("cos", {9, 4})
        .weight("sin", {9, 4})
        .constant("first", {1});
    spelled.build.constant("places", {0, 1, 2, 3, 8});
    spelled.build.node("Unsqueeze", {"places", "nothing"}, {"ids"});
    spelled.build.constant("nothing", {0});
    set(spelled.node(op, inputs));
    return spelled.said();
  };
  const auto as_it_is = [](onnx::NodeProto&) {};
  CHECK(said("RotaryEmbedding", {"x", "cos", "sin", "ids"}, as_it_is) ==
        "Rotary [N,2,5,8]");  // the angles are known at compile time
  CHECK_THAT(said("RotaryEmbedding", {"x", "cos", "sin", "ids"},
                  [](onnx::NodeProto& node) { ModelBuilder::integer(node, "rotary_embedding_dim", 4); }),
             Contains("4: node 'node' (RotaryEmbedding): input 1 is [9,4], expected 2 elements for each position"));
  CHECK_THAT(said("RotaryEmbedding", {"x", "cos", "sin", "ids"},
                  [](onnx::NodeProto& node) { ModelBuilder::integer(node, "rotary_embedding_dim", 12); }),
             Contains("rotates 12 of 8 elements"));
  CHECK(said("TensorScatter", {"x", "new"}, as_it_is) == "Split Concat [N,2,5,8]");
  CHECK(said("TensorScatter", {"x", "new", "first"}, as_it_is) == "Split Concat [N,2,5,8]");
  CHECK_THAT(said("TensorScatter", {"x", "x", "first"}, as_it_is),
             Contains("5: node 'node' (TensorScatter): writes [1, 6) of 5"));
}
