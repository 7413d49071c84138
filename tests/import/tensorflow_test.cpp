// Files of tf2onnx, as Keras's export writes them: what is trained, and what the exporter has changed.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"
#include "tests/import/spelled.h"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace plimsoll {
namespace {

ModelBuilder of_tensorflow() {
  ModelBuilder build(15, 8);
  build.model.set_producer_name("tf2onnx");
  return build;
}

// "name trained", "name asked" or "name frozen" for each f32 tensor of the file that a node reads.
std::string roles(const ModelBuilder& build) {
  const auto imported = build.import();
  if (!imported.ok()) return imported.error().message;
  std::string text;
  for (const Value& value : imported->network.values)
    if (value.kind == ValueKind::parameter && value.type.type == DataType::f32)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value.name,
                          value.undecided ? "asked" : value.trainable ? "trained" : "frozen");
  return text;
}

}  // namespace

TEST_CASE("what a node of TensorFlow reads from a variable is trained, and a number of the code is not") {
  const auto model = [](const std::string& position, const std::string& number) {
    ModelBuilder build = of_tensorflow();
    build.input("x", {"N", "3", "4"}).weight("w", {4, 4}).weight(position, {3, 4}).weight(number, {}, 2);
    build.node("MatMul", {"x", "w"}, {"h"}, "m");
    build.node("Mul", {"h", number}, {"s"}, "s");
    build.node("Add", {"s", position}, {"y"}, "a");
    build.output("y");
    return build;
  };
  CHECK(roles(model("pos/add/ReadVariableOp:0", "Gelu/mul_2/x:0")) ==
        "w trained, pos/add/ReadVariableOp:0 trained");
  CHECK(roles(model("pos/GatherV2:0", "scale/ReadVariableOp:0")) ==
        "w trained, scale/ReadVariableOp:0 trained, pos/GatherV2:0 asked");
  ModelBuilder other = model("pos/add/ReadVariableOp:0", "Gelu/mul_2/x:0");
  other.model.set_producer_name("another");
  CHECK(roles(other) == "w trained, Gelu/mul_2/x:0 asked, pos/add/ReadVariableOp:0 asked");
}

TEST_CASE("numbers are asked about in a file that does not name what is read from variables") {
  const auto model = [](const std::string& weight, const std::string& number) {
    ModelBuilder build = of_tensorflow();
    build.input("x", {"N", "4"}).weight(weight, {4, 4}).weight(number, {}, 2);
    build.node("MatMul", {"x", weight}, {"h"});
    build.node("Mul", {"h", number}, {"y"});
    build.output("y");
    return roles(build);
  };
  CHECK(model("net/MatMul/ReadVariableOp:0", "net/mul/x:0") == "net/MatMul/ReadVariableOp:0 trained");
  CHECK(model("net/kernel/read:0", "net/alpha/read:0") == "net/kernel/read:0 trained, net/alpha/read:0 asked");
  CHECK(model("net/MatMul/ReadVariableOp:0", "jax2tf_net/Const_3:0") ==
        "net/MatMul/ReadVariableOp:0 trained, jax2tf_net/Const_3:0 asked");
}

TEST_CASE("the scale and the shift of Keras's layer normalization are trained") {
  ModelBuilder build = of_tensorflow();
  build.input("x", {"N", "3", "4"}).weight("gamma", {4}, 1).weight("beta", {4}).weight("eps", {}, 1e-3f);
  build.input("labels", {"N"}, onnx::TensorProto::INT64);
  ModelBuilder::ints(build.node("ReduceMean", {"x"}, {"mean"}), "axes", {2});
  build.node("Sub", {"x", "mean"}, {"off"});
  build.node("Mul", {"off", "off"}, {"squares"});
  ModelBuilder::ints(build.node("ReduceMean", {"squares"}, {"variance"}), "axes", {2});
  build.node("Add", {"variance", "eps"}, {"spread"});
  build.node("Sqrt", {"spread"}, {"root"});
  build.node("Reciprocal", {"root"}, {"inverse"});
  build.node("Mul", {"inverse", "gamma"}, {"factor"});
  build.node("Neg", {"mean"}, {"negative"});
  build.node("Mul", {"x", "factor"}, {"scaled"});
  build.node("Mul", {"negative", "factor"}, {"shifted"});
  build.node("Add", {"shifted", "beta"}, {"shift"});
  build.node("Add", {"scaled", "shift"}, {"y"});
  build.output("y");
  CHECK_THAT(roles(build), Contains("gamma trained") && Contains("beta trained") && !Contains("asked"));
}

TEST_CASE("the bias of an LSTM that tf2onnx writes as two is reported") {
  const auto warnings = [](const char* producer, const std::string& bias) {
    ModelBuilder build = of_tensorflow();
    build.model.set_producer_name(producer);
    build.input("x", {"5", "N", "3"}).weight("w", {1, 8, 3}).weight("r", {1, 8, 2}).weight("b", {1, 16});
    ModelBuilder::integer(build.node("LSTM", {"x", "w", "r", bias}, {"y"}, "cell"), "hidden_size", 2);
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    std::string text;
    for (const std::string& warning : imported->warnings) text += warning + "; ";
    return text;
  };
  CHECK_THAT(warnings("tf2onnx", "b"), Contains("biases of 1 node take steps of twice the size, first node 'cell'"));
  CHECK_THAT(warnings("tf2onnx", ""), !Contains("twice the size"));
  CHECK_THAT(warnings("another", "b"), !Contains("twice the size"));
}

TEST_CASE("what tf2onnx has folded, dropped or merged is reported") {
  ModelBuilder build = of_tensorflow();
  build.input("x", {"N", "4"}).weight("a/MatMul/ReadVariableOp:0", {4, 4}).weight("b/batchnorm/mul:0", {4, 5}, 1);
  build.weight("b/batchnorm/sub:0", {5}, 1);
  build.node("MatMul", {"x", "a/MatMul/ReadVariableOp:0"}, {"h"}, "a/MatMul");
  build.node("Relu", {"h"}, {"r"}, "a/Relu");
  build.node("MatMul", {"r", "b/batchnorm/mul:0"}, {"s"}, "b/batchnorm/mul_1");
  build.node("Add", {"s", "b/batchnorm/sub:0"}, {"y"}, "b/batchnorm/add_1");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->warnings.size() == 2);
  CHECK_THAT(imported->warnings[0], StartsWith("tf2onnx folded 1 batch normalization of the model"));
  CHECK_THAT(imported->warnings[1], StartsWith("1 of 2 layers have no bias, first node 'a/MatMul' (MatMul)."));
  CHECK_THAT(outcome(build.import({.batch = 4, .require_normalization = true})), StartsWith("4: tf2onnx folded 1"));

  // A normalization that is computed is not folded, and a layer before it needs no bias.
  ModelBuilder computed = of_tensorflow();
  computed.input("x", {"N", "4"}).weight("w", {4, 4}).weight("bn/batchnorm/b", {4}).weight("eps", {}, 1e-3f);
  computed.node("MatMul", {"x", "w"}, {"h"}, "a/MatMul");
  computed.node("Add", {"h", "bn/batchnorm/b"}, {"m"}, "bn/batchnorm/add");
  computed.node("Abs", {"m"}, {"p"}, "p");
  computed.node("Sqrt", {"p"}, {"y"}, "bn/batchnorm/Rsqrt");
  computed.output("y");
  CHECK(computed.import()->warnings.empty());
}

TEST_CASE("weights that tf2onnx may have merged are asked about, others are shared") {
  const auto asked = [](float step) {
    ModelBuilder build = of_tensorflow();
    build.input("x", {"N", "3", "4"}).weight("gamma", {4}, 0.5f, step).weight("beta", {4});
    build.node("LayerNormalization", {"x", "gamma", "beta"}, {"h"}, "m/norm/LN");
    build.node("LayerNormalization", {"h", "gamma", "beta"}, {"y"}, "m/norm_1/LN");
    build.model.mutable_opset_import(0)->set_version(17);
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    return imported->perhaps_merged;
  };
  CHECK_THAT(asked(0), StartsWith("1 weight is read by several nodes: 'gamma' by 'm/norm' and 'm/norm_1'") &&
                           Contains("or tf2onnx merged equal weights"));
  CHECK(asked(0.25f).empty());
}

TEST_CASE("known numbers are split, as pads whose axes tf2onnx has put in another order") {
  const auto shape = [](bool with_lengths) {
    ModelBuilder build = of_tensorflow();
    build.input("x", {"N", "3", "4", "6"}).constant("lengths", {1, 3});
    build.node("Shape", {"x"}, {"shape"});
    if (with_lengths) build.node("Split", {"shape", "lengths"}, {"n", "rest"});
    else build.node("Split", {"shape"}, {"n", "c", "h", "w_"});
    if (with_lengths) build.node("ReduceProd", {"rest"}, {"product"});
    std::vector<std::string> parts = {"n", "w_", "c", "h"};
    if (with_lengths) parts = {"n", "product"};
    ModelBuilder::integer(build.node("Concat", parts, {"to"}), "axis", 0);
    build.node("Reshape", {"x", "to"}, {"y"});
    build.output("y");
    const auto imported = build.import();
    if (!imported.ok()) return imported.error().message;
    return to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  };
  CHECK(shape(false) == "[N,6,3,4]");
  CHECK(shape(true) == "[N,72]");
}

TEST_CASE("operators that tf2onnx leaves, and loops of recurrent layers, say what to do") {
  const auto notes = [](const std::string& op, const std::string& name) {
    ModelBuilder build = of_tensorflow();
    build.input("x", {"N", "4"});
    build.node(op, {"x"}, {"y"}, name);
    build.output("y");
    const auto imported = build.import();
    REQUIRE_FALSE(imported.ok());
    return imported.error().notes.back();
  };
  CHECK_THAT(notes("Erfc", "dense/Gelu/Erfc"), StartsWith("some of these are operators of TensorFlow"));
  CHECK_THAT(notes("Loop", "gru/while_loop"), StartsWith("a recurrent layer of Keras is a loop"));
  CHECK_THAT(notes("Loop", "mine"), StartsWith("the compiler does not unroll loops"));
}

}  // namespace plimsoll
