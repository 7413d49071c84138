// Samples that a model puts in the order of their lengths, and back, as PyTorch does for packed sequences.
#include <catch2/catch.hpp>

#include "model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

// x [N,3] and lengths [N]: x in order, times w, and back unless `undone` is false.
ModelBuilder sorted(bool undone, int64_t axis = 0) {
  ModelBuilder build(17);
  build.input("x", {"N", "3"}).input("lengths", {"N"}, onnx::TensorProto::INT64).weight("w", {3, 5}).output("y");
  build.node("Shape", {"lengths"}, {"samples"});
  build.constant_scalar("first", 0).constant_scalar("none", 0).constant_scalar("one", 1);
  build.node("Gather", {"samples", "first"}, {"count"});
  build.node("TopK", {"lengths", "samples"}, {"in_order", "order"}, "sort");
  ModelBuilder::integer(build.node("Cast", {"order"}, {"cast"}), "to", onnx::TensorProto::INT64);
  ModelBuilder::integer(build.node("Gather", {"x", "cast"}, {"taken"}, "take"), "axis", axis);
  build.node("MatMul", {"taken", "w"}, {undone ? "made" : "y"});
  if (!undone) return build;
  build.node("ConstantOfShape", {"samples"}, {"zeros"});
  ModelBuilder::tensor_attribute(build.graph().mutable_node()->rbegin()[0], "value", ModelBuilder::list({0}));
  build.node("Range", {"none", "count", "one"}, {"numbers"});
  build.node("ScatterElements", {"zeros", "cast", "numbers"}, {"back"});
  build.node("Gather", {"made", "back"}, {"y"}, "give_back");
  return build;
}

}  // namespace

TEST_CASE("an order of the samples that is undone is left out") {
  const auto imported = sorted(true).import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->network.nodes.size() == 1);
  CHECK(imported->network.nodes[NodeId(0)].op == "MatMul");
  CHECK(to_string(imported->network.values[imported->network.outputs[0]].type.dims) == "[N,5]");
}

TEST_CASE("an order of the samples that stays is refused") {
  CHECK_THAT(outcome(sorted(false).import()), Contains("node 'sort' (TopK): its input 1"));
  ModelBuilder shown = sorted(true);
  shown.output("order");
  CHECK_THAT(outcome(shown.import()), Contains("node 'sort' (TopK): its input 1"));
  ModelBuilder in_order = sorted(true);
  in_order.output("made");
  CHECK_THAT(outcome(in_order.import()), Contains("node 'sort' (TopK): its input 1"));
  ModelBuilder mixed = sorted(true);
  mixed.node("Add", {"taken", "x"}, {"sum"});
  mixed.output("sum");
  CHECK_THAT(outcome(mixed.import()), Contains("node 'sort' (TopK): its input 1"));
  ModelBuilder counted = sorted(true);
  counted.node("Add", {"order", "lengths"}, {"places"});
  counted.output("places");
  CHECK_THAT(outcome(counted.import()), Contains("node 'sort' (TopK): its input 1"));
  // By these numbers, but not of samples.
  CHECK_THAT(outcome(sorted(true, 1).import()), Contains("node 'take' (Gather)"));
}
