// Splits into sequences and masks drawn in steps, as PyTorch's exporters write them.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <fstream>
#include <functional>

#include "compiler/network/evaluated_dropout.h"
#include "model_builder.h"

using namespace plimsoll;

namespace {

// x [N,6,2] split along the channels; the second and the last piece are added.
ModelBuilder split(const std::vector<int64_t>& lengths, bool scalar) {
  ModelBuilder build(18);
  build.input("x", {"N", "6", "2"});
  if (scalar) build.constant_scalar("lengths", lengths[0]);
  else build.constant("lengths", lengths);
  build.constant_scalar("second", 1).constant_scalar("last", -1);
  ModelBuilder::integer(build.node("SplitToSequence", {"x", "lengths"}, {"pieces"}, "split"), "axis", 1);
  build.node("Identity", {"pieces"}, {"same"});
  build.node("SequenceAt", {"pieces", "second"}, {"a"});
  build.node("SequenceAt", {"same", "last"}, {"b"});
  build.node("Add", {"a", "b"}, {"y"}, "add");
  build.output("y");
  return build;
}

// y = x · mask / p, with a mask for each sample.
ModelBuilder stochastic_depth(const std::string& compare, std::string probability, float high = 1,
                              bool converted = false) {
  ModelBuilder build(15);
  build.input("x", {"N", "6", "2"}).weight("w", {6, 2});
  build.node("Shape", {"x"}, {"shape"});
  build.constant("zero", {0}).constant("ones", {1, 1});
  build.node("Gather", {"shape", "zero"}, {"samples"});
  ModelBuilder::integer(build.node("Concat", {"samples", "ones"}, {"mask_shape"}), "axis", 0);
  build.node("ConstantOfShape", {"mask_shape"}, {"empty"});
  onnx::NodeProto& random = build.node("RandomUniformLike", {"empty"}, {"random"}, "random");
  onnx::AttributeProto& up_to = *random.add_attribute();
  up_to.set_name("high");
  up_to.set_type(onnx::AttributeProto::FLOAT);
  up_to.set_f(high);
  build.constant_real("p", {0.75F}, true).weight("q", {6});
  if (converted) {
    build.node("CastLike", {probability, "random"}, {"converted"});
    probability = "converted";
  }
  if (compare == "Less") build.node(compare, {"random", probability}, {"chosen"}, "compare");
  else build.node(compare, {probability, "random"}, {"chosen"}, "compare");
  ModelBuilder::integer(build.node("Cast", {"chosen"}, {"mask"}, "mask"), "to", onnx::TensorProto::FLOAT);
  build.node("Div", {"mask", "p"}, {"scaled"});
  build.node("Mul", {"x", "w"}, {"xw"});
  build.node("Mul", {"xw", "scaled"}, {"y"}, "drop");
  build.output("y");
  return build;
}

}  // namespace

TEST_CASE("a sequence that is split and taken from is a Split") {
  SECTION("of all of which the length is known") {
    const auto imported = GENERATE(true, false) ? split({2}, true).import() : split({2, 2, 2}, false).import();
    REQUIRE(outcome(imported) == "ok");
    const Node* add = find_node(imported->network, "add");
    REQUIRE(add);
    CHECK(imported->network.values[add->inputs[0]].type == TensorType{DataType::f32, {kBatch, {2}, {2}}});
    const Node* made = find_node(imported->network, "split");
    REQUIRE(made);
    CHECK((made->op == "Split" && made->outputs.size() == 3));
    CHECK((made->outputs[1] == add->inputs[0] && made->outputs[2] == add->inputs[1]));
  }
  SECTION("into single ones, without the axis") {
    ModelBuilder build(18);
    build.input("x", {"N", "2", "5"}).constant_scalar("second", 1);
    onnx::NodeProto& made = build.node("SplitToSequence", {"x"}, {"rows"}, "split");
    ModelBuilder::integer(made, "axis", -2);
    ModelBuilder::integer(made, "keepdims", 0);
    build.node("SequenceAt", {"rows", "second"}, {"row"});
    build.node("Relu", {"row"}, {"y"}, "relu");
    build.output("y");
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    CHECK(imported->network.values[find_node(imported->network, "relu")->inputs[0]].type ==
          TensorType{DataType::f32, {kBatch, {5}}});
  }
}

TEST_CASE("a sequence of listed tensors is these tensors") {
  const auto said = [](const std::function<void(ModelBuilder&)>& read, int opset) {
    ModelBuilder build(opset);
    build.input("x", {"N", "6", "2"}).constant_scalar("last", -1);
    build.node("Neg", {"x"}, {"minus"});
    build.node("SequenceConstruct", {"x", "minus"}, {"both"}, "list");
    read(build);
    build.output("y");
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& made : imported->network.nodes) ops += made.op + " ";
    return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  };
  const auto joined = [](const char* sequence, bool new_axis) {
    return [=](ModelBuilder& build) {
      onnx::NodeProto& node = build.node("ConcatFromSequence", {sequence}, {"y"}, "join");
      ModelBuilder::integer(node, "axis", 1);
      ModelBuilder::integer(node, "new_axis", new_axis);
    };
  };
  // As torch.hstack is written: relu(tensor · w) of each.
  const auto mapped = [&](ModelBuilder& build) {
    build.weight("w", {2, 3});
    onnx::NodeProto& map = build.node("SequenceMap", {"both", "w"}, {"products"}, "map");
    onnx::AttributeProto& body = *map.add_attribute();
    body.set_name("body");
    body.set_type(onnx::AttributeProto::GRAPH);
    for (const char* input : {"tensor", "factor"}) body.mutable_g()->add_input()->set_name(input);
    ModelBuilder::fill(*body.mutable_g()->add_node(), "MatMul", {"tensor", "factor"}, {"product"}, "product");
    ModelBuilder::fill(*body.mutable_g()->add_node(), "Relu", {"product"}, {"minus"}, "relu");  // a name that is taken
    body.mutable_g()->add_output()->set_name("minus");
    joined("products", false)(build);
  };
  const int opset = GENERATE(11, 18);
  CHECK(said([](ModelBuilder& build) { build.node("SequenceAt", {"both", "last"}, {"y"}); }, opset) == "Neg [N,6,2]");
  CHECK(said(joined("both", false), opset) == "Neg Concat [N,12,2]");
  CHECK(said(joined("both", true), opset) == "Neg Unsqueeze Unsqueeze Concat [N,2,6,2]");
  CHECK(said(mapped, opset) == "Neg MatMul Relu MatMul Relu Concat [N,12,3]");
  const auto beyond = [](ModelBuilder& build) {
    build.constant_scalar("two", 2);
    build.node("SequenceAt", {"both", "two"}, {"y"}, "at");
  };
  CHECK(said(beyond, opset).find("SequenceAt: 1 node, 'at'") != std::string::npos);
}

namespace {

// A SequenceMap over `sequence`, whose body has these inputs and is returned.
onnx::GraphProto& add_map(ModelBuilder& build, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& inside, const std::string& output) {
  onnx::AttributeProto& body = *build.node("SequenceMap", inputs, {output}, "map").add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  for (const std::string& input : inside) body.mutable_g()->add_input()->set_name(input);
  return *body.mutable_g();
}

}  // namespace

TEST_CASE("the copies of a body share its initializers, and omit what it omits") {
  ModelBuilder build(18);
  build.input("x", {"N", "6", "2"}).weight("six", {}, 6);
  build.node("SequenceConstruct", {"x", "x"}, {"both"}, "list");
  onnx::GraphProto& body = add_map(build, {"both", "six"}, {"tensor", ""}, "products");
  onnx::TensorProto& weight = *body.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : {2, 3}) weight.add_dims(dim);
  for (int i = 0; i < 6; ++i) weight.add_float_data(1);
  ModelBuilder::fill(*body.add_node(), "MatMul", {"tensor", "w"}, {"product"}, "product");
  ModelBuilder::fill(*body.add_node(), "Clip", {"product", "", "six"}, {"small"}, "clip");
  body.add_output()->set_name("small");
  ModelBuilder::integer(build.node("ConcatFromSequence", {"products"}, {"y"}, "join"), "axis", 1);
  const auto imported = build.output("y").import();
  REQUIRE(outcome(imported) == "ok");
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  CHECK(ops == "MatMul Clip MatMul Clip Concat ");
  CHECK(imported->network.nodes[NodeId(0)].inputs[1] == imported->network.nodes[NodeId(2)].inputs[1]);
}

// A damaged file must not take more memory than a computer has.
TEST_CASE("a sequence that stands for more than any real model has is not written out") {
  constexpr int kMany = 20'000;
  ModelBuilder build(18);
  build.input("x", {"N", "6", "2"});
  build.node("SequenceConstruct", std::vector<std::string>(kMany, "x"), {"many"}, "list");
  onnx::GraphProto& body = add_map(build, {"many"}, {"t0"}, "mapped");
  for (int i = 0; i < kMany; ++i)
    ModelBuilder::fill(*body.add_node(), "Neg", {fmt::format("t{}", i)}, {fmt::format("t{}", i + 1)}, "negate");
  body.add_output()->set_name(fmt::format("t{}", kMany));
  ModelBuilder::integer(build.node("ConcatFromSequence", {"mapped"}, {"y"}, "join"), "axis", 1);
  CHECK(outcome(build.output("y").import()).find("SequenceMap: 1 node, 'map'") != std::string::npos);
}

TEST_CASE("a SequenceMap over a known number is not taken for an If with a known condition") {
  ModelBuilder build(18);
  build.input("x", {"N", "6", "2"}).constant_scalar("yes", 1);
  add_map(build, {"yes"}, {"t"}, "mapped").add_output()->set_name("t");
  onnx::NodeProto& branching = build.node("If", {"unknown"}, {"z"}, "if");
  build.node("ReduceMax", {"x"}, {"unknown"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *branching.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    attribute.mutable_g()->add_output()->set_name("x");
  }
  ModelBuilder::integer(build.node("ConcatFromSequence", {"mapped"}, {"y"}, "join"), "axis", 1);
  build.node("Add", {"y", "z"}, {"sum"});
  CHECK(outcome(build.output("sum").import()).find("SequenceMap: 1 node, 'map'") != std::string::npos);
}

TEST_CASE("a sequence is not joined along an axis that is no integer") {
  for (const char* real : {"axis", "new_axis"}) {
    ModelBuilder build(18);
    build.input("x", {"N", "6", "2"}).node("SequenceConstruct", {"x", "x"}, {"both"}, "list");
    onnx::NodeProto& join = build.node("ConcatFromSequence", {"both"}, {"y"}, "join");
    if (real == std::string("new_axis")) ModelBuilder::integer(join, "axis", 1);
    ModelBuilder::real(join, real, 1);
    CHECK(outcome(build.output("y").import()).find("ConcatFromSequence: 1 node, 'join'") != std::string::npos);
  }
}

TEST_CASE("what is done to a sequence beside taking from it is named, and what stands behind is not") {
  ModelBuilder build(18);
  build.input("x", {"N", "6", "2"}).constant_scalar("first", 0);
  ModelBuilder::integer(build.node("SplitToSequence", {"x"}, {"pieces"}, "split"), "axis", 1);
  build.node("SequenceErase", {"pieces", "first"}, {"fewer"}, "erase");
  build.node("SequenceAt", {"fewer", "first"}, {"a"}, "at");
  build.node("Relu", {"a"}, {"y"});
  build.output("y");
  const std::string said = outcome(build.import());
  CHECK(said.find("SequenceErase") != std::string::npos);
  CHECK(said.find("Relu") == std::string::npos);
  CHECK(said.find("SplitToSequence") == std::string::npos);
}

TEST_CASE("a mask that is drawn in steps is one node without inputs") {
  const auto imported = stochastic_depth(GENERATE("Less", "GreaterOrEqual"), "p", 1, GENERATE(false, true)).import();
  REQUIRE(outcome(imported) == "ok");
  const Node* mask = find_node(imported->network, "mask");
  REQUIRE(mask);
  CHECK((mask->op == "Bernoulli" && mask->inputs.empty()));
  CHECK(imported->network.values[mask->outputs[0]].type == TensorType{DataType::f32, {kBatch, {1}, {1}}});
  CHECK(std::get<double>(mask->attributes.at("probability")) == 0.75);
  CHECK(find_node(imported->network, "random") == nullptr);
}

TEST_CASE("random numbers that are no such mask are drawn, and what no number is known of is refused by name") {
  CHECK(outcome(stochastic_depth("Less", "q").import()).find("whose probability is not a single number") !=
        std::string::npos);
  const auto drawn = stochastic_depth("Less", "p", 2).import();
  REQUIRE(outcome(drawn) == "ok");
  CHECK(std::any_of(drawn->network.nodes.begin(), drawn->network.nodes.end(),
                    [](const Node& node) { return node.op == "RandomUniform"; }));
}

// y = x multiplied by 1 with a probability that the network computes, else by 0; or x rounded at random.
ModelBuilder computed_mask(std::string_view how) {
  ModelBuilder build(18);
  build.input("x", {"N", "6"}).weight("w", {6});
  build.node("Mul", {"x", "w"}, {"scaled"});
  build.node("Sigmoid", {"scaled"}, {"p"});
  if (how == "Bernoulli") {
    build.node("Bernoulli", {"p"}, {"mask"}, "draw");
  } else {
    build.node("RandomUniformLike", {"scaled"}, {"random"});
    if (how == "Less") {
      build.node("CastLike", {"p", "random"}, {"converted"});
      build.node("Less", {"random", "converted"}, {"chosen"});
      ModelBuilder::integer(build.node("Cast", {"chosen"}, {"mask"}, "draw"), "to", onnx::TensorProto::FLOAT);
    } else {
      build.node("Add", {"scaled", "random"}, {"sum"});
      build.node("Floor", {"sum"}, {"mask"}, "draw");
    }
  }
  build.node("Add", {"scaled", "mask"}, {"y"});
  build.output("y");
  return build;
}

TEST_CASE("a mask whose probabilities the network computes is drawn") {
  const auto operators = [](std::string_view how) {
    const auto imported = computed_mask(how).import();
    if (outcome(imported) != "ok") return outcome(imported);
    std::string names;
    for (const Node& node : imported->network.nodes) names += node.op + " ";
    return names;
  };
  CHECK(operators("Bernoulli") == "Mul Sigmoid RandomUniform Less Cast Add ");
  CHECK(operators("Less") == "Mul Sigmoid RandomUniform Less Cast Add ");
  CHECK(operators("Floor") == "Mul RandomUniform Add Floor Add ");
}

TEST_CASE("exported for use, a mask whose probabilities the network computes is drawn, too") {
  const ScratchDirectory directory;
  const std::string how = GENERATE("Bernoulli", "Less", "Floor");
  const std::string before = computed_mask(how).model.SerializeAsString();
  directory.write("m.onnx", before);
  REQUIRE(export_model({.model = directory / "m.onnx", .checkpoint = "", .for_inference = true}, directory / "use.onnx")
              .ok());
  onnx::ModelProto expected, model;
  REQUIRE(expected.ParseFromString(before));
  std::ifstream file(directory / "use.onnx", std::ios::binary);
  REQUIRE(model.ParseFromIstream(&file));
  CHECK(model.graph().SerializeAsString() == expected.graph().SerializeAsString());
}

TEST_CASE("exported for use, a dropout states that it drops nothing") {
  const ScratchDirectory directory;
  ModelBuilder build(17);
  build.model.set_producer_name("pytorch");
  build.input("x", {"N", "4"}).constant_real("tenth", {0.1f}, true);
  build.node("Dropout", {"x", "tenth"}, {"y"}, "drop");
  build.output("y");
  directory.write("m.onnx", build.model.SerializeAsString());
  REQUIRE(export_model({.model = directory / "m.onnx", .checkpoint = "", .for_inference = true}, directory / "use.onnx")
              .ok());
  const auto imported = import_onnx(directory / "use.onnx", {.batch = 4});
  REQUIRE(outcome(imported) == "ok");
  CHECK(is_evaluated_dropout(imported->network, *find_node(imported->network, "drop")));
}

// torch.bernoulli(torch.full_like(x, p)) in a file of dynamo's exporter.
TEST_CASE("exported for use, a mask whose probability only has the shape and the type of an input is its mean") {
  const ScratchDirectory directory;
  ModelBuilder build(18);
  build.input("x", {"N", "6"}).weight("w", {6}).constant_real("p", {0.75F}, true);
  build.node("Mul", {"x", "w"}, {"scaled"});
  build.node("CastLike", {"p", "scaled"}, {"converted"});
  build.node("Shape", {"scaled"}, {"shape"});
  build.node("Expand", {"converted", "shape"}, {"all"});
  build.node("Bernoulli", {"all"}, {"mask"}, "draw");
  build.node("Mul", {"scaled", "mask"}, {"y"});
  directory.write("m.onnx", build.output("y").model.SerializeAsString());
  const auto imported = import_onnx(directory / "m.onnx", {.batch = 4});
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_node(imported->network, "draw")->op == "Bernoulli");
  REQUIRE(export_model({.model = directory / "m.onnx", .checkpoint = "", .for_inference = true}, directory / "use.onnx")
              .ok());
  onnx::ModelProto model;
  std::ifstream file(directory / "use.onnx", std::ios::binary);
  REQUIRE(model.ParseFromIstream(&file));
  CHECK(model.graph().node(model.graph().node_size() - 2).op_type() == "Identity");
}

TEST_CASE("exported for use, a mask is its mean") {
  const ScratchDirectory directory;
  ModelBuilder build = stochastic_depth("Less", "p", 1, GENERATE(false, true));
  build.graph().add_value_info()->set_name("mask");  // with its original shape
  directory.write("m.onnx", build.model.SerializeAsString());
  REQUIRE(export_model({.model = directory / "m.onnx", .checkpoint = "", .for_inference = true}, directory / "use.onnx")
              .ok());
  onnx::ModelProto model;
  std::ifstream file(directory / "use.onnx", std::ios::binary);
  REQUIRE(model.ParseFromIstream(&file));
  for (const onnx::NodeProto& node : model.graph().node()) {
    CHECK((node.op_type() != "RandomUniformLike" && node.op_type() != "Less"));
    if (node.op_type() == "Cast") CHECK(node.input(0) == "p");
  }
  CHECK(model.graph().value_info_size() == 0);
}
