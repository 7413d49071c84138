// How exporters write attention: masks in buffers, class tokens, tied matrices, positions.
#include <catch2/catch.hpp>

#include <limits>

#include "model_builder.h"

using namespace plimsoll;

namespace {

// x [N,3,3] → Where(mask from a float buffer, x, fill) twice → y, as masked_fill is exported.
ModelBuilder masked() {
  ModelBuilder build;
  build.input("x", {"N", "3", "3"}).weight("h.0.bias", {1, 5, 5}, 0, 1).weight("h.1.bias", {1, 5, 5}, 0, 1);
  build.constant("first", {0, 0}).constant("last", {3, 3}).constant("axes", {1, 2});
  build.constant_real("zero", {0}, true).constant_real("fill", {-std::numeric_limits<float>::infinity()}, true);
  for (const std::string layer : {"0", "1"}) {
    build.node("Slice", {"h." + layer + ".bias", "first", "last", "axes"}, {"s" + layer});
    build.node("Equal", {"s" + layer, "zero"}, {"m" + layer});
    build.node("Where", {"m" + layer, "fill", layer == "0" ? "x" : "y0"}, {"y" + layer}, "where" + layer);
  }
  build.output("y1");
  return build;
}

const std::string kNothingTrained = "the model has nothing to train: no gradient reaches a float32 initializer";

}  // namespace

TEST_CASE("a buffer that only a comparison reads is a constant, and equal masks are one") {
  const auto imported = masked().import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->warnings == std::vector<std::string>{kNothingTrained});
  CHECK(find_value(imported->network, "h.0.bias") == nullptr);
  const Node *first = find_node(imported->network, "where0"), *second = find_node(imported->network, "where1");
  REQUIRE((first && second));
  CHECK(first->inputs[0] == second->inputs[0]);
  const Value& mask = imported->network.values[first->inputs[0]];
  CHECK(mask.kind == ValueKind::parameter);
  CHECK(!mask.trainable);
  CHECK(mask.type == TensorType{DataType::u8, {{1}, {3}, {3}}});
  // The trainer reads it from the model that is written.
  const ScratchDirectory directory;
  REQUIRE(outcome(write_model(*imported->file, directory / "m.onnx")) == "ok");
  CHECK(outcome(import_onnx(directory / "m.onnx", {.batch = 4})) == "ok");
}

TEST_CASE("a buffer of zeros and minus infinity is added, not trained") {
  const bool is_mask = GENERATE(true, false);
  ModelBuilder build;
  build.input("x", {"N", "1", "2"}).weight("mask", {1, 2}, 0, is_mask ? -std::numeric_limits<float>::infinity() : -1);
  if (is_mask) {  // 0 · infinity is NaN
    const float first = 0;
    build.graph().mutable_initializer(0)->mutable_raw_data()->replace(0, 4, reinterpret_cast<const char*>(&first), 4);
  }
  build.node("Add", {"x", "mask"}, {"y"}, "add");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->warnings == (is_mask ? std::vector<std::string>{kNothingTrained} : std::vector<std::string>{}));
  CHECK(find_value(imported->network, "mask")->trainable == !is_mask);
}

TEST_CASE("a class token is expanded to every sample") {
  ModelBuilder build;
  build.input("x", {"N", "4", "8"}).weight("token", {1, 1, 8});
  build.constant_scalar("zero", 0).constant("front", {0}).constant("rest", {-1, -1});
  build.node("Shape", {"x"}, {"s"});
  build.node("Gather", {"s", "zero"}, {"n"});
  build.node("Unsqueeze", {"n", "front"}, {"n1"});
  ModelBuilder::integer(build.node("Concat", {"n1", "rest"}, {"given"}), "axis", 0);
  build.constant("minus", {-1}).constant("ones", {1, 1, 1});
  build.node("Equal", {"given", "minus"}, {"open"});
  build.node("Where", {"open", "ones", "given"}, {"target"});
  build.node("Expand", {"token", "target"}, {"tokens"}, "expand");
  ModelBuilder::integer(build.node("Concat", {"tokens", "x"}, {"y"}), "axis", 1);
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "tokens")->type.dims == Dims{kBatch, {1}, {8}});
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {5}, {8}});
  CHECK(find_value(imported->network, "token")->trainable);
}

TEST_CASE("a table that the embedding and the head share is one weight: positions are a slice of theirs") {
  ModelBuilder build;
  build.input("ids", {"N", "3"}, onnx::TensorProto::INT64).weight("wte", {7, 4}).weight("wpe", {5, 4});
  build.constant("positions", {0, 1, 2});
  build.node("Gather", {"wte", "ids"}, {"tokens"}, "tokens");
  build.node("Gather", {"wpe", "positions"}, {"places"}, "places");
  build.node("Add", {"tokens", "places"}, {"h"});
  ModelBuilder::ints(build.node("Transpose", {"wte"}, {"turned"}), "perm", {1, 0});
  build.node("MatMul", {"h", "turned"}, {"y"}, "head");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {7}});
  CHECK(find_node(imported->network, "places")->attributes.empty());
  int trained = 0;
  for (const Value& value : imported->network.values) trained += value.trainable;
  CHECK(trained == 2);
}

TEST_CASE("known numbers that are a run make a slice, all others lie in the arena") {
  for (const bool even : {true, false}) {
    ModelBuilder build;
    build.input("x", {"N", "3", "4"})
        .constant("at", even ? std::vector<int64_t>{-1, 1, 0} : std::vector<int64_t>{0, -1, 0});
    ModelBuilder::integer(build.node("Gather", {"x", "at"}, {"y"}, "pick"), "axis", 1);
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {4}});
    const Value* const at = find_value(imported->network, "at");
    REQUIRE(at);
    CHECK(at->kind == (even ? ValueKind::constant : ValueKind::parameter));
    CHECK_FALSE(at->trainable);
  }
}

TEST_CASE("what cannot be picked or filled is said, with the node") {
  ModelBuilder build;
  build.input("x", {"N", "3", "4"}).constant("odd", {0, 2, 3});
  ModelBuilder::integer(build.node("Gather", {"x", "odd"}, {"y"}, "beyond"), "axis", 1);
  build.output("y");
  const std::string said = outcome(build.import());
  CHECK(said.find("'beyond'") != std::string::npos);
  CHECK(said.find("index 3 is out of range for axis 1") != std::string::npos);

  ModelBuilder other;
  other.input("x", {"N", "3", "4"}).input("ids", {"N", "2"}, onnx::TensorProto::INT64);
  other.node("Gather", {"x", "ids"}, {"y"}, "of_samples");
  other.output("y");
  CHECK(outcome(other.import()).find("'of_samples'") != std::string::npos);
}

// As PyTorch 2 writes attention with a boolean mask: softmax of a fully masked row is NaN, which is replaced by 0.
TEST_CASE("what only replaces NaN after a softmax is left out, with a note") {
  const auto guarded = [](const char* condition, const char* kept, const char* instead = "zero") {
    ModelBuilder build;
    build.input("x", {"N", "4", "4"}).weight("w", {4, 4}).node("MatMul", {"x", "w"}, {"scores"});
    build.node("Softmax", {"scores"}, {"p"}, "softmax");
    if (instead == std::string("one")) build.constant_real("one", {1}, true);
    build.constant_real("zero", {0}, true).node("IsNaN", {condition}, {"isnan"}, "isnan");
    build.node("Where", {"isnan", instead, kept}, {"guarded"}, "where");
    build.node("MatMul", {"guarded", "x"}, {"y"}, "values");
    build.output("y");
    return build.import();
  };
  const auto imported = guarded("p", "p");
  REQUIRE(outcome(imported) == "ok");
  CHECK((!find_node(imported->network, "isnan") && !find_node(imported->network, "where")));
  const Node* values = find_node(imported->network, "values");
  REQUIRE(values);
  CHECK(imported->network.values[values->inputs[0]].name == "p");
  CHECK(imported->notes ==
        std::vector<std::string>{
            "1 Where node that only replaces NaN is removed; training stops at the first NaN and names its origin"});
  // Everything else is computed as it is written: the test for one value that guards another, and another number than
  // 0.
  const auto ops_of = [](const auto& made) {
    REQUIRE(outcome(made) == "ok");
    std::string ops;
    for (const Node& node : made->network.nodes) ops += node.op + " ";
    return ops;
  };
  CHECK(ops_of(guarded("p", "scores")) == "MatMul Softmax Equal Not Where MatMul ");
  CHECK(ops_of(guarded("scores", "p")) == "MatMul Softmax Equal Not Where MatMul ");
  // Only a softmax gives zeros in place of NaN. A model that replaces NaN of its own, as of 0 / 0, still does.
  const auto kept = guarded("scores", "scores");
  CHECK(ops_of(kept).find("Equal Not Where MatMul ") != std::string::npos);
  for (const std::string& note : kept->notes) CHECK(note.find("NaN") == std::string::npos);
  for (const char* instead : {"w", "scores", "one"}) {
    CAPTURE(instead);
    CHECK(ops_of(guarded("p", "p", instead)) == "MatMul Softmax Equal Not Where MatMul ");
  }
}
