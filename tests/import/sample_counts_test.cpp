// Losses that divide a sum over samples by x.shape[0]: means, so that a trainer may split the batch.
#include <catch2/catch.hpp>

#include "model_builder.h"

using namespace plimsoll;

namespace {

// loss = made(e) / (k · N), where e is [N,3]; the operators that it becomes.
std::string said(const std::function<std::string(ModelBuilder&)>& made, const char* element = "N") {
  ModelBuilder build(18);
  build.input("x", {element, "3"}).weight("w", {3, 3});
  build.node("MatMul", {"x", "w"}, {"e"}).set_name("layer");
  const std::string sum = made(build);
  build.node("Shape", {"x"}, {"shape"});
  build.constant("first", {0});
  build.node("Gather", {"shape", "first"}, {"n"});
  ModelBuilder::integer(build.node("Cast", {"n"}, {"count"}), "to", onnx::TensorProto::FLOAT);
  build.node("Div", {sum, "count"}, {"y"}, "loss");
  build.output("y");
  const auto imported = build.import();
  if (!imported.ok()) return outcome(imported);
  std::string ops;
  for (const Node& node : imported->network.nodes) {
    bool read = false;
    for (const Node& other : imported->network.nodes)
      for (const ValueId input : other.inputs) read |= input.valid() && input == node.outputs[0];
    if (read || node.name == "loss") ops += node.op + " ";
  }
  return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
}

}  // namespace

TEST_CASE("a sum over samples divided by their number is a mean over samples") {
  const auto sum = [](const std::vector<int64_t>& axes, int64_t keepdims, const std::string& of = "e") {
    return [=](ModelBuilder& build) {
      build.integers("axes", axes);
      ModelBuilder::integer(build.node("ReduceSum", {of, "axes"}, {"sum"}), "keepdims", keepdims);
      return std::string("sum");
    };
  };
  CHECK(said(sum({0, 1}, 1)) == "MatMul ReduceMean ReduceSum [1,1]");
  CHECK(said(sum({0}, 0)) == "MatMul ReduceMean [3]");
  CHECK(said([&](ModelBuilder& build) {
          build.node("Neg", {sum({-2, -1}, 0)(build)}, {"minus"});
          build.constant_real("half", {0.5F}, true).node("Mul", {"half", "minus"}, {"scaled"});
          return std::string("scaled");
        }) == "MatMul ReduceMean ReduceSum Neg Mul []");
  CHECK(said([&](ModelBuilder& build) {
          build.node("Mul", {"e", "e"}, {"squares"});
          build.node("ReduceSum", {"squares"}, {"other"});
          build.node("Sub", {sum({0, 1}, 1)(build), "other"}, {"difference"});
          return std::string("difference");
        }) == "MatMul Mul ReduceMean ReduceSum ReduceMean ReduceSum Sub [1,1]");
}

TEST_CASE("several rows for each sample are as many times the samples") {
  CHECK(said([](ModelBuilder& build) {
          build.constant("rows", {-1, 1});
          build.node("Reshape", {"e", "rows"}, {"long"});
          ModelBuilder::integer(build.node("ReduceSum", {"long"}, {"sum"}), "keepdims", 0);
          return std::string("sum");
        }) == "MatMul Reshape ReduceMean ReduceSum Mul []");
}

TEST_CASE("what is no sum over samples is not divided by their number") {
  const std::string of_each = said([](ModelBuilder& build) {
    build.integers("axes", {1});
    build.node("ReduceSum", {"e", "axes"}, {"sum"});
    return std::string("sum");
  });
  CHECK(of_each.find("node 'loss' (Div): computes with the number of samples, 'count'") != std::string::npos);
}

TEST_CASE("a sum over samples divided by the batch of the example, as a number, is asked about") {
  const auto said = [](const char* samples, float divisor, int64_t batch) {
    ModelBuilder build(18);
    build.input("x", {samples, "3"}).weight("w", {3, 3}).constant_real("divisor", {divisor}, true);
    build.node("MatMul", {"x", "w"}, {"e"});
    build.node("ReduceSum", {"e"}, {"sum"});
    build.node("Div", {"sum", "divisor"}, {"y"}, "loss");
    build.output("y");
    return outcome(build.import({.batch = batch}));
  };
  CHECK(said("2", 2, 64).find("4: node 'loss' (Div): divides a sum over samples by 2, and the model was exported for a "
                              "batch of 2: the file does not say whether the number of samples is meant") == 0);
  CHECK(said("2", 2, 2) == "ok");
  CHECK(said("2", 3, 64) == "ok");
  CHECK(said("N", 2, 64) == "ok");
}
