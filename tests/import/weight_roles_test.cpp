// What an initializer is for its readers: a parameter, an epsilon, a bound, or something that the user is asked about.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("what an initializer is for its reader decides whether it is trained, not its name or its numbers") {
  ModelBuilder build;
  build.input("x", {"N", "4", "1"}).weight("onnx::MatMul_7", {1, 1}, 1).weight("onnx::PRelu_5", {1, 1}, 0.25f);
  build.weight("w", {1, 4}, 0.5f)
      .weight("mask_like", {4}, 0, 0)
      .weight("var/add/y:0", {}, 1e-3f)
      .weight("LayerNorm/batchnorm/add/y:0", {}, 1e-5f);
  const float low = -2e4F;
  build.graph().mutable_initializer(3)->mutable_raw_data()->replace(
      12, 4, std::string(reinterpret_cast<const char*>(&low), 4));
  onnx::TensorProto mask = build.graph().initializer(3);
  mask.set_name("mask");
  *build.graph().add_initializer() = mask;
  build.node("MatMul", {"x", "onnx::MatMul_7"}, {"a"}, "narrow");
  build.node("PRelu", {"a", "onnx::PRelu_5"}, {"b"}, "slope");
  build.node("MatMul", {"b", "w"}, {"c"}, "wide");
  build.node("Add", {"c", "mask_like"}, {"d"}, "bias");
  build.node("Mul", {"d", "d"}, {"e"}, "square");
  build.node("Add", {"e", "LayerNorm/batchnorm/add/y:0"}, {"f"}, "batchnorm/add");
  build.node("Sqrt", {"f"}, {"g"}, "batchnorm/Rsqrt");
  build.node("Add", {"mask", "g"}, {"h"}, "masked");
  // not followed by a root: the role of the number is unknown
  build.node("Add", {"h", "var/add/y:0"}, {"y"}, "offset");
  build.output("y");
  build.weight("unread", {3});
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  for (const char* name : {"onnx::MatMul_7", "onnx::PRelu_5", "w", "mask_like", "var/add/y:0"}) {
    INFO(name);
    REQUIRE(find_value(imported->network, name));
    CHECK(find_value(imported->network, name)->trainable);
  }
  CHECK_FALSE(find_value(imported->network, "mask")->trainable);
  REQUIRE(find_value(imported->network, "LayerNorm/batchnorm/add/y:0"));
  CHECK(find_value(imported->network, "LayerNorm/batchnorm/add/y:0")->kind == ValueKind::constant);
  const auto& reasons = imported->reasons;
  CHECK(reasons.at("onnx::PRelu_5") == "weight of node 'slope' (PRelu)");
  CHECK(reasons.at("unread") == "no output depends on it");
  CHECK(reasons.at("mask_like") == "bias of node 'wide' (MatMul)");
  CHECK(reasons.at("mask") == "its name or values suggest a constant or a mask");
  CHECK_THAT(reasons.at("var/add/y:0"), StartsWith("a gradient reaches it; the file does not say"));
  CHECK(find_value(imported->network, "var/add/y:0")->undecided);
  CHECK_THAT(reasons.at("LayerNorm/batchnorm/add/y:0"), StartsWith("epsilon that node 'batchnorm/add' (Add)"));
}

TEST_CASE("a single number with the name that an exporter gives to constants is not trained") {
  const auto trained = [](const std::string& name, const std::vector<int64_t>& dims) {
    ModelBuilder build;
    build.input("x", {"N", "4"}).weight(name, dims, 0.25f).node("Mul", {"x", name}, {"y"}, "scaled");
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    const Value* value = find_value(imported->network, name);
    return value && value->trainable;
  };
  for (const char* name : {"onnx::Mul_3", "/layer/Constant_1_output_0", "helper.constant.7", "p2o.helper.constant.0",
                           "lstm/zeros/Const:0", "net/norm/Const_12:0", "net/norm/Const", "dpa_scale_0",
                           "dpa_zero_weights_1", "dpa_one_0", "auto.cast.7"}) {
    CAPTURE(name);
    CHECK_FALSE(trained(name, {}));
    CHECK(trained(name, {4}));
  }
  CHECK_FALSE(trained("p2o.pd_op.full.2.0", {4}));  // paddle.full
  for (const char* name : {"scale", "helper.bias.1", "jax2tf_net_/Const_3:0", "net/Constrained:0", "net/Const_a:0",
                           "Const_", "net/Const/ReadVariableOp:0"}) {
    CAPTURE(name);
    CHECK(trained(name, {}));
  }
}

// jax2onnx writes x @ w + b as a Gemm that adds 0, and an Add.
TEST_CASE("what is added to a Gemm without a bias is a bias, and a number in its place is none") {
  const auto roles = [](const char* producer, const char* third = "zero") {
    ModelBuilder build;
    build.model.set_producer_name(producer);
    build.input("x", {"N", "4"}).weight("w", {4, 3}).weight("zero", {}, 0).weight("b", {1, 3});
    build.node("Gemm", {"x", "w", third}, {"h"}, "product");
    build.node("Add", {"h", "b"}, {"y"}, "sum");
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    std::string text;
    for (const char* name : {"w", "b", "zero"}) {
      const Value* value = find_value(imported->network, name);
      text += !value || !value->trainable ? "frozen " : value->undecided ? "asked " : "trained ";
    }
    return text;
  };
  CHECK(roles("jax2onnx") == "trained trained frozen ");
  CHECK(roles("another") == "trained asked trained ");
  CHECK(roles("another", "") == "trained trained frozen ");
}

// TensorFlow adds the size of a table to negative indices, and its exporter gives equal constants one tensor.
TEST_CASE("a number that is compared with integers is not trained, where the exporter merges equal numbers") {
  struct Case {
    const char* producer;
    onnx::TensorProto::DataType type;
    const char* number;
    const char* reason;
  };
  const char* const asked = "a gradient reaches it";
  for (const auto& [producer, type, number, reason] :
       {Case{"tf2onnx", onnx::TensorProto::INT32, "zeros", "number that node 'compare' (Less) compares with"},
        Case{"tf2onnx", onnx::TensorProto::FLOAT, "zeros", asked},
        Case{"tf2onnx", onnx::TensorProto::INT32, "limit/ReadVariableOp:0", "a variable of the TensorFlow model"},
        Case{"another", onnx::TensorProto::INT32, "zeros", asked}}) {
    CAPTURE(producer, type, number);
    ModelBuilder build;
    build.model.set_producer_name(producer);
    build.input("ids", {"N", "4"}, type).weight(number, {}, 0);
    ModelBuilder::integer(build.node("Cast", {"ids"}, {"reals"}), "to", onnx::TensorProto::FLOAT);
    build.node("Less", {"reals", number}, {"negative"}, "compare");
    ModelBuilder::integer(build.node("Cast", {"negative"}, {"mask"}), "to", onnx::TensorProto::FLOAT);
    build.node("Add", {"mask", number}, {"y"}, "add");
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    const Value* value = find_value(imported->network, number);
    CHECK((value && value->trainable) == !std::string(reason).starts_with("number"));
    CHECK_THAT(imported->reasons.at(number), StartsWith(reason));
  }
}

TEST_CASE("bounds and additions are looked through in linear time") {
  const int64_t count = 20'000;
  ModelBuilder build;
  build.input("x", {"N", "4"}).weight("zero", {}, 0);
  build.node("Max", {"x", "zero"}, {"0"}, "bound");
  for (int64_t i = 0; i < count; ++i) {
    const std::string from = fmt::format("{}", i);
    build.node("Add", {from, from}, {fmt::format("{}", i + 1)});
  }
  build.node("Sqrt", {fmt::format("{}", count)}, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK_THAT(imported->reasons.at("zero"), StartsWith("bound that node 'bound' (Max) sets for a square root"));
}

// JAX computes a variance as E[x^2] - E[x]^2, which rounding may make negative.
TEST_CASE("a bound of what is under a square root is not trained") {
  for (const bool under_root : {true, false}) {
    CAPTURE(under_root);
    ModelBuilder build;
    build.input("x", {"N", "4"}).weight("zero", {}, 0).weight("epsilon", {}, 1e-6F).integers("form", {-1, 4});
    build.node("Mul", {"x", "x"}, {"squares"});
    build.node("Max", {"squares", "zero"}, {"bounded"}, "bound");
    build.node("Reshape", {"bounded", "form"}, {"formed"});
    build.node("Add", {"formed", "epsilon"}, {"sum"}, "add");
    build.node(under_root ? "Sqrt" : "Sigmoid", {"sum"}, {"y"});
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    const Value* zero = find_value(imported->network, "zero");
    CHECK((zero && zero->trainable) == !under_root);
    CHECK_THAT(imported->reasons.at("zero"),
               StartsWith(under_root ? "bound that node 'bound' (Max) sets" : "a gradient reaches it"));
  }
}

TEST_CASE("places that tell a parameter, and places that do not") {
  ModelBuilder build;
  build.input("x", {"N", "4"})
      .weight("turned", {4, 4})
      .weight("scale", {4})
      .weight("g", {4})
      .weight("b", {4})
      .weight("h", {1, 4});
  build.weight("u", {4, 1}).weight("table", {9, 4}).weight("positions", {9, 4}).weight("first", {1, 4});
  build.input("ids", {"N"}, onnx::TensorProto::INT64);
  build.node("Transpose", {"turned"}, {"t"}, "turn");
  build.node("MatMul", {"x", "t"}, {"y0"}, "layer");           // a weight, transposed
  build.node("Mul", {"y0", "scale"}, {"y1"}, "scaled");        // a buffer or a parameter
  build.node("LayerNormalization", {"y1", "g"}, {"y2"}, "ln");
  build.node("Mul", {"y2", "h"}, {"y3"}, "affine");            // the scale of a normalization
  build.node("Add", {"y3", "b"}, {"y4"}, "shift");
  build.node("MatMul", {"h", "u"}, {"y5"}, "power");           // weights with each other: not a layer
  build.node("Gather", {"table", "ids"}, {"y6"}, "embed");
  build.constant("one", {1});
  build.node("Gather", {"positions", "one"}, {"y7"}, "position");
  build.node("Add", {"y6", "y7"}, {"y8"}, "embedded");
  build.node("ReduceSum", {"y5"}, {"y9"}, "sum");
  build.node("Add", {"y8", "first"}, {"y10"}, "moved");
  build.node("Add", {"y10", "y9"}, {"y11"}, "with");
  build.node("Mul", {"y11", "y4"}, {"y"}, "joined");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  std::string undecided;
  for (const Value& value : imported->network.values)
    if (value.undecided) undecided += value.name + " ";
  CHECK(undecided == "scale u positions first ");
  CHECK(imported->reasons.at("turned") == "weight of node 'layer' (MatMul)");
  CHECK_THAT(imported->reasons.at("table"), StartsWith("embedding table of node 'embed'"));
}

TEST_CASE("a weight of one element that the file leaves undecided keeps its number for the question") {
  ModelBuilder build;
  build.input("x", {"N", "4"}).weight("one", {1, 1}, 0.001f).weight("two", {1, 4}, 0.5f).weight("w", {4, 4});
  build.node("MatMul", {"x", "w"}, {"y1"}, "layer");
  build.node("Mul", {"y1", "one"}, {"y2"}, "small");
  build.node("Mul", {"y2", "two"}, {"y"}, "large");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  for (const char* name : {"one", "two"}) CHECK(find_value(imported->network, name)->undecided);
  CHECK(find_value(imported->network, "one")->number == 0.001F);
  CHECK(!find_value(imported->network, "two")->number);
  CHECK(!find_value(imported->network, "w")->number);
}
