#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

TEST_CASE("a small model becomes a network") {
  const auto imported = small_model().import();
  REQUIRE(outcome(imported) == "ok");
  const Network& network = imported->network;
  REQUIRE(network.nodes.size() == 2);
  CHECK(find_node(network, "conv")->op == "Conv");
  CHECK(find_node(network, "conv")->opset == 17);
  CHECK(find_value(network, "y")->type == TensorType{.dims = {kBatch, {4}, {8}, {8}}});
  CHECK(find_value(network, "x")->kind == ValueKind::input);
  CHECK(find_value(network, "w")->kind == ValueKind::parameter);
  CHECK(find_value(network, "w")->trainable);
  CHECK(find_value(network, "w")->initializer == "w");
  CHECK(imported->opset == 17);
  CHECK(imported->ir_version == 8);
  CHECK(imported->producer == "test");
  CHECK(imported->sha256.size() == 64);
}

TEST_CASE("every opset and IR version of the promise is read") {
  for (int opset = 7; opset <= 27; ++opset) CHECK(outcome(small_model(opset).import()) == "ok");
  for (int ir = 3; ir <= 14; ++ir) CHECK(outcome(small_model(17, ir).import()) == "ok");
  CHECK_THAT(outcome(small_model(6).import()), Contains("5: ") && Contains("opset 6"));
  CHECK_THAT(outcome(small_model(28).import()), Contains("5: ") && Contains("uses opset 28; supported are 7 to 27"));
  CHECK_THAT(outcome(small_model(17, 2).import()),
             Contains("5: ") && Contains("IR version 2") && Contains("model.ir_version = 8"));
}

TEST_CASE("before IR version 4 initializers are inputs as well") {
  ModelBuilder build = small_model(9, 3);
  build.input("w", {"4", "3", "3", "3"}).input("b", {"4"});
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.inputs.size() == 1);
  CHECK(find_value(imported->network, "w")->kind == ValueKind::parameter);
}

TEST_CASE("a chain of a hundred thousand nodes is no deeper than others") {
  ModelBuilder build;
  build.input("x0", {"N", "4"});
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) build.node("Relu", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  build.output("x" + std::to_string(kNodes));
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == kNodes);
}

TEST_CASE("names that are no UTF-8 survive") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  build.node("Relu", {"x"}, {"y\xff\xfe"}, "node\xc3\x28 */ </script>");
  build.output("y\xff\xfe");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_node(imported->network, "node\xc3\x28 */ </script>"));
  CHECK(find_value(imported->network, "y\xff\xfe"));
}

TEST_CASE("nodes have names, each its own") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  build.node("Relu", {"x"}, {"a"}, "same");
  build.node("Relu", {"a"}, {"b"}, "same");
  build.node("Relu", {"b"}, {"c"});
  build.output("c");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_node(imported->network, "same"));
  CHECK(find_node(imported->network, "same:2"));
  CHECK(find_node(imported->network, "c"));
}

TEST_CASE("a shape chain becomes the constant of its Reshape") {
  // y = reshape(x, [shape(x)[0], -1]) as TorchScript writes it for x.view(x.size(0), -1)
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"}).weight("w", {4, 3, 3, 3});
  build.conv("x", "w", "", "c");
  build.node("Shape", {"c"}, {"s"});
  build.constant_scalar("zero", 0).constant("axes", {0}).constant("open", {-1});
  ModelBuilder::integer(build.node("Gather", {"s", "zero"}, {"n"}), "axis", 0);
  build.node("Unsqueeze", {"n", "axes"}, {"n1"});
  ModelBuilder::integer(build.node("Concat", {"n1", "open"}, {"target"}), "axis", 0);
  build.node("Identity", {"target"}, {"target2"});
  build.node("Reshape", {"c", "target2"}, {"y"}, "flatten");
  build.output("y");
  const auto imported = build.import();
  // If Reshape is not yet an operator of this build, that is the only error.
  if (!imported.ok()) {
    CHECK_THAT(outcome(imported), Contains("5: 1 operator") && Contains("Reshape: 1 node, 'flatten'"));
  } else {
    CHECK(imported->network.nodes.size() == 2);
    CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {256}});
  }
}

TEST_CASE("the parts of a long list of one number are as short as the list") {
  ModelBuilder build(17);
  build.input("x", {"N", "8"}).integers("size", {2'000'000'000});
  onnx::TensorProto three;
  three.set_data_type(onnx::TensorProto::INT64);
  three.add_dims(1);
  three.add_int64_data(3);
  ModelBuilder::tensor_attribute(build.node("ConstantOfShape", {"size"}, {"list"}), "value", three);
  build.node("Split", {"list"}, {"a", "b"});
  build.node("Shape", {"a"}, {"shape"});
  ModelBuilder::integer(build.node("Cast", {"shape"}, {"number"}), "to", onnx::TensorProto::FLOAT);
  build.node("Mul", {"x", "number"}, {"y"});
  build.output("y");
  CHECK(outcome(build.import()) == "ok");
}

TEST_CASE("the last part of a Split need not be read") {
  for (const char* last : {"", "unread"}) {
    ModelBuilder build(17);
    build.input("x", {"N", "8"}).weight("w", {6, 5}).integers("lengths", {3, 3, 2});
    ModelBuilder::integer(build.node("Split", {"x", "lengths"}, {"a", "b", last}, "split"), "axis", 1);
    ModelBuilder::integer(build.node("Concat", {"a", "b"}, {"c"}), "axis", 1);
    build.node("MatMul", {"c", "w"}, {"y"});
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    CHECK(find_node(imported->network, "split")->outputs.size() == 3);
  }
}
