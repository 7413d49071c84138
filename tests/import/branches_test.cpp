// If nodes whose condition is known while compiling, as TorchScript's exporter writes them for squeeze() and
// diagonal().
#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "compiler/import/loaded_model.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

using Fill = std::function<void(onnx::GraphProto&)>;

void add_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& output) {
  ModelBuilder::fill(*graph.add_node(), op, inputs, {output}, op + "_" + output);
}

onnx::GraphProto branch(const Fill& fill, const std::string& output) {
  onnx::GraphProto graph;
  graph.set_name("branch");
  fill(graph);
  graph.add_output()->set_name(output);
  return graph;
}

void put_branches(onnx::NodeProto& node, const onnx::GraphProto& where_true, const onnx::GraphProto& where_false) {
  const std::pair<const char*, const onnx::GraphProto*> both[] = {{"then_branch", &where_true},
                                                                  {"else_branch", &where_false}};
  for (const auto& [name, graph] : both) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = *graph;
  }
}

// "y" is x [N,3,4] · w, where dimension `axis` of x has the given size, and otherwise Tanh of x.
ModelBuilder branching(int64_t axis, int64_t size) {
  ModelBuilder build(17);
  build.input("x", {"N", "3", "4"}).weight("w", {4, 5}).constant("axis", {axis}).constant("size", {size});
  build.node("Shape", {"x"}, {"shape"});
  build.node("Gather", {"shape", "axis"}, {"is"});
  build.node("Equal", {"is", "size"}, {"condition"});
  put_branches(build.node("If", {"condition"}, {"y"}, "if"),
               branch(
                   [](onnx::GraphProto& graph) {
    add_node(graph, "MatMul", {"x", "w"}, "inner");
                   },
                   "inner"),
               branch([](onnx::GraphProto& graph) { add_node(graph, "Tanh", {"x"}, "inner"); }, "inner"));
  build.output("y");
  return build;
}

std::string told(const ModelBuilder& build, const ImportOptions& options = {.batch = 4}) {
  const auto imported = build.import(options);
  if (!imported.ok()) return outcome(imported);
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  for (const Value& value : imported->network.values)
    if (value.trainable) ops += value.name + " ";
  return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
}

}  // namespace

TEST_CASE("an If whose condition is known is the branch that it takes, with the weights that only it reads") {
  CHECK(told(branching(2, 4)) == "MatMul w [N,3,5]");
  CHECK(told(branching(2, 5)) == "Tanh [N,3,4]");
  const auto imported = branching(2, 4).import();
  REQUIRE(imported.ok());
  CHECK_THAT(imported->notes.at(0), Contains("1 If node whose condition is known: its branch is taken"));
}

TEST_CASE("an If whose condition depends on the batch or on data is refused by name") {
  CHECK_THAT(told(branching(0, 1)), StartsWith("5: ") && Contains("If: 1 node, 'if'"));
  CHECK(told(branching(0, 0)) == "Tanh [N,3,4]");  // no batch is empty
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).input("flag", {"1"}, onnx::TensorProto::BOOL);
  put_branches(build.node("If", {"flag"}, {"y"}, "if"),
               branch([](onnx::GraphProto& graph) { add_node(graph, "Tanh", {"x"}, "a"); }, "a"),
               branch([](onnx::GraphProto& graph) { add_node(graph, "Relu", {"x"}, "a"); }, "a"));
  build.output("y");
  CHECK_THAT(told(build), StartsWith("5: ") && Contains("If: 1 node, 'if'"));
}

TEST_CASE("names in a branch may be those of values outside, before they are defined inside") {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).constant("zero", {0}).node("Tanh", {"x"}, {"a"});
  build.node("Equal", {"zero", "zero"}, {"condition"});
  const auto inside = [](onnx::GraphProto& graph) {
    add_node(graph, "Relu", {"a"}, "b");  // of the outer "a"
    add_node(graph, "Sigmoid", {"b"}, "a");
    add_node(graph, "Neg", {"a"}, "c");  // of the inner "a"
  };
  put_branches(build.node("If", {"condition"}, {"y"}, "if"), branch(inside, "c"), branch(inside, "c"));
  build.node("Add", {"y", "a"}, {"z"});
  build.output("z");
  const auto imported = build.import();
  INFO(outcome(imported));
  REQUIRE(imported.ok());
  const Network& network = imported->network;
  std::string ops;
  for (const Node& node : network.nodes) ops += node.op + " ";
  CHECK(ops == "Tanh Relu Sigmoid Neg Add ");
  const auto input = [&](int node, int i) { return network.nodes[NodeId(node)].inputs[static_cast<size_t>(i)]; };
  const auto output = [&](int node) { return network.nodes[NodeId(node)].outputs[0]; };
  CHECK((input(1, 0) == output(0) && input(2, 0) == output(1) && input(3, 0) == output(2)));
  CHECK((input(4, 0) == output(3) && input(4, 1) == output(0)));
}

TEST_CASE("a branch may contain another If, initializers, and return a value from outside") {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).constant("zero", {0}).constant("one", {1});
  build.node("Equal", {"zero", "zero"}, {"yes"});
  build.node("Equal", {"zero", "one"}, {"no"});
  const onnx::GraphProto same = branch([](onnx::GraphProto&) {}, "inner");
  const onnx::GraphProto outer = branch(
      [&](onnx::GraphProto& graph) {
    onnx::TensorProto& table = *graph.add_initializer();
    table.set_name("table");
    table.set_data_type(onnx::TensorProto::FLOAT);
    table.add_dims(4);
    for (const float item : {1.0f, 2.0f, 3.0f, 4.0f}) table.add_float_data(item);
    add_node(graph, "Mul", {"x", "table"}, "inner");
    onnx::NodeProto& nested = *graph.add_node();
    ModelBuilder::fill(nested, "If", {"no"}, {"chosen"}, "nested");
    put_branches(nested, branch([](onnx::GraphProto& g) { add_node(g, "Tanh", {"x"}, "t"); }, "t"), same);
      },
      "chosen");
  put_branches(build.node("If", {"yes"}, {"y"}, "if"), outer, branch([](onnx::GraphProto&) {}, "x"));
  build.output("y");
  CHECK_THAT(told(build, {.batch = 4}), StartsWith("Mul ") && Contains("[N,4]"));

  // The file that a trainer keeps has every name once: its If stays, beside what was made from its branch.
  const auto imported = build.import();
  REQUIRE(imported.ok());
  std::multiset<std::string> names;
  for (const auto& tensor : imported->file->model.graph().initializer()) names.insert(tensor.name());
  for (const auto& node : imported->file->model.graph().node())
    for (const auto& name : node.output()) names.insert(name);
  for (const std::string& name : names) CHECK(names.count(name) == 1);
  CHECK(names.contains("y"));
}

TEST_CASE("an If in a function reads the values of the call") {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).weight("p", {4, 4}).weight("w", {4, 2});
  auto& domain = *build.model.add_opset_import();
  domain.set_domain("local");
  domain.set_version(1);
  onnx::FunctionProto& function = *build.model.add_functions();
  function.set_domain("local");
  function.set_name("Product");
  auto& opset = *function.add_opset_import();
  opset.set_version(17);
  function.add_input("a");
  function.add_input("p");  // the model has another "p"
  function.add_output("q");
  onnx::NodeProto& numbers = *function.add_node();
  ModelBuilder::fill(numbers, "Constant", {}, {"zero"}, "");
  ModelBuilder::tensor_attribute(numbers, "value", ModelBuilder::list({0}));
  ModelBuilder::fill(*function.add_node(), "Equal", {"zero", "zero"}, {"yes"}, "");
  onnx::NodeProto& chosen = *function.add_node();
  ModelBuilder::fill(chosen, "If", {"yes"}, {"q"}, "");
  put_branches(chosen,
               branch(
                   [](onnx::GraphProto& graph) {
    add_node(graph, "MatMul", {"a", "p"}, "m");
                   },
                   "m"),
               branch([](onnx::GraphProto&) {}, "a"));
  build.node("Product", {"x", "w"}, {"y"}, "call").set_domain("local");
  build.output("y");
  CHECK(told(build) == "MatMul w [N,2]");
}

namespace {

// y = x · inner, where the weight `inner` stands inside an If, and another value has the name `outside`.
ModelBuilder weight_inside(const std::string& outside) {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).constant("zero", {0}).node("Tanh", {"x"}, {outside});
  build.node("Equal", {"zero", "zero"}, {"condition"});
  const auto inside = [](onnx::GraphProto& graph) {
    add_node(graph, "MatMul", {"x", "inner"}, "product");
    onnx::TensorProto& weight = *graph.add_initializer();
    weight.set_name("inner");
    weight.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : {4, 5}) weight.add_dims(dim);
    weight.set_raw_data(std::string(4 * 5 * sizeof(float), '\1'));
  };
  put_branches(build.node("If", {"condition"}, {"y"}, "if"), branch(inside, "product"),
               branch([](onnx::GraphProto& graph) { add_node(graph, "Identity", {"x"}, "a"); }, "a"));
  build.output("y");
  return build;
}

}  // namespace

TEST_CASE("a weight inside a branch is one of the model, so that the file holds it when it is trained") {
  CHECK(told(weight_inside("unused")) == "MatMul inner [N,5]");
  const auto imported = weight_inside("unused").import();
  REQUIRE(imported.ok());
  const onnx::GraphProto& graph = imported->file->model.graph();
  REQUIRE(graph.initializer_size() == 1);
  CHECK(graph.initializer(0).name() == "inner");
  for (const onnx::NodeProto& node : graph.node())
    for (const onnx::AttributeProto& attribute : node.attribute()) CHECK(attribute.g().initializer_size() == 0);

  CHECK_THAT(told(weight_inside("inner")),
             StartsWith("5: ") && Contains("'inner' is a weight inside a node, and another value has its name"));
}

namespace {

// y = x · inner, where the weight `inner` is a Constant inside an If, as spox writes it. `zeros` is no weight.
ModelBuilder constant_inside(const std::string& outside) {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).constant("zero", {0}).node("Tanh", {"x"}, {outside});
  build.node("Equal", {"zero", "zero"}, {"condition"});
  const auto inside = [](onnx::GraphProto& graph) {
    for (const char* name : {"inner", "zeros"}) {
      onnx::TensorProto value;
      value.set_data_type(onnx::TensorProto::FLOAT);
      for (const int64_t dim : {4, 5}) value.add_dims(dim);
      value.set_raw_data(std::string(4 * 5 * sizeof(float), name[0] == 'i' ? '\1' : '\0'));
      onnx::NodeProto& constant = *graph.add_node();
      ModelBuilder::fill(constant, "Constant", {}, {name}, name);
      ModelBuilder::tensor_attribute(constant, "value", value);
    }
    add_node(graph, "MatMul", {"x", "inner"}, "product");
    add_node(graph, "Identity", {"zeros"}, "unused");
  };
  put_branches(build.node("If", {"condition"}, {"y"}, "if"), branch(inside, "product"), branch(inside, "product"));
  build.output("y");
  return build;
}

}  // namespace

TEST_CASE("a weight that is a Constant inside a branch is read by the branch when it is trained") {
  CHECK(told(constant_inside("unused_outside")) == "MatMul inner [N,5]");
  const auto imported = constant_inside("unused_outside").import();
  REQUIRE(imported.ok());
  const onnx::GraphProto& graph = imported->file->model.graph();
  REQUIRE(graph.initializer_size() == 1);
  CHECK(graph.initializer(0).name() == "inner");
  int graphs = 0;
  for (const onnx::NodeProto& node : graph.node())
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      ++graphs;
      REQUIRE(attribute.g().node_size() == 3);
      CHECK(attribute.g().node(0).output(0) == "zeros");
    }
  CHECK(graphs == 2);

  CHECK_THAT(told(constant_inside("inner")),
             StartsWith("5: ") && Contains("'inner' is a weight inside a node, and another value has its name"));
  CHECK(told(constant_inside("zeros")) == "MatMul inner [N,5]");
}

TEST_CASE("a value of the other branch that has the name of a trained weight gets another one") {
  // ONNX permits a name once, and the weight becomes an initializer of the model.
  const auto inside = [](char byte) {
    return [byte](onnx::GraphProto& graph) {
      onnx::TensorProto value;
      value.set_data_type(onnx::TensorProto::FLOAT);
      for (const int64_t dim : {4, 5}) value.add_dims(dim);
      value.set_raw_data(std::string(4 * 5 * sizeof(float), byte));
      onnx::NodeProto& constant = *graph.add_node();
      ModelBuilder::fill(constant, "Constant", {}, {"inner"}, "inner");
      ModelBuilder::tensor_attribute(constant, "value", value);
      add_node(graph, "MatMul", {"x", "inner"}, "product");
    };
  };
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).constant("zero", {0}).node("Tanh", {"x"}, {"inner:1"});
  build.node("Equal", {"zero", "zero"}, {"condition"});
  put_branches(build.node("If", {"condition"}, {"y"}, "if"), branch(inside('\1'), "product"),
               branch(inside('\2'), "product"));
  const auto imported = build.output("y").import();
  REQUIRE(imported.ok());
  const onnx::GraphProto& graph = imported->file->model.graph();
  REQUIRE(graph.initializer_size() == 1);
  CHECK(graph.initializer(0).name() == "inner");
  const auto find = std::find_if(graph.node().begin(), graph.node().end(),
                                 [](const onnx::NodeProto& node) { return node.op_type() == "If"; });
  REQUIRE(find != graph.node().end());
  for (const onnx::AttributeProto& attribute : find->attribute()) {
    const auto& nodes = attribute.g().node();
    CAPTURE(attribute.name());
    if (attribute.name() == "then_branch") {
      REQUIRE(nodes.size() == 1);
      CHECK(nodes[0].input(1) == "inner");
    } else {
      REQUIRE(nodes.size() == 2);
      CHECK(nodes[0].output(0) == "inner:2");
      CHECK(nodes[1].input(1) == "inner:2");
    }
  }
}

// A model for two sampling rates: an input selects the branch.
TEST_CASE("an input that is given a number decides a branch") {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).input("rate", {}, onnx::TensorProto::INT64).weight("w", {4, 5}).constant_scalar("r", 16);
  build.node("Equal", {"rate", "r"}, {"condition"});
  put_branches(
      build.node("If", {"condition"}, {"y"}, "if"),
      branch([](onnx::GraphProto& graph) { add_node(graph, "MatMul", {"x", "w"}, "inner"); }, "inner"),
      branch([](onnx::GraphProto& graph) { add_node(graph, "Tanh", {"x"}, "inner"); }, "inner"));
  build.output("y");
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains("If: 1 node, 'if'") &&
                                          Contains("depends on input 'rate': --input rate=NUMBER decides it"));
  const auto wide = build.import({.batch = 4, .inputs = {{"rate", 16}}});
  REQUIRE(outcome(wide) == "ok");
  CHECK(wide->network.values[wide->network.outputs[0]].type.dims == Dims{kBatch, {5}});
  CHECK(wide->network.inputs.size() == 1);
  CHECK(wide->notes[0] == "input 'rate' is always 16; the trainer does not read it");
  const auto narrow = build.import({.batch = 4, .inputs = {{"rate", 8}}});
  REQUIRE(outcome(narrow) == "ok");
  CHECK(narrow->network.values[narrow->network.outputs[0]].type.dims == Dims{kBatch, {4}});
  CHECK_THAT(outcome(build.import({.batch = 4, .inputs = {{"speed", 8}}})),
             StartsWith("2: --input speed=8: the model has no input of this name; inputs: 'x', 'rate'"));
  CHECK_THAT(outcome(build.import({.batch = 4, .inputs = {{"x", 8}}})),
             StartsWith("2: --input x=8: input 'x' cannot be this number"));
}

TEST_CASE("the conditions of the first branches are explained, not those of thousands") {
  ModelBuilder build(17);
  build.input("x", {"N", "4"}).input("flag", {}, onnx::TensorProto::BOOL);
  std::vector<std::string> outputs;
  for (int i = 0; i < 60; ++i) {
    outputs.push_back("y" + std::to_string(i));
    put_branches(build.node("If", {"flag"}, {outputs.back()}, "if" + std::to_string(i)),
                 branch([](onnx::GraphProto& graph) { add_node(graph, "Sin", {"x"}, "inner"); }, "inner"),
                 branch([](onnx::GraphProto& graph) { add_node(graph, "Tanh", {"x"}, "inner"); }, "inner"));
  }
  build.node("Sum", outputs, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(!imported.ok());
  CHECK(std::count_if(imported.error().notes.begin(), imported.error().notes.end(), [](const std::string& note) {
          return note.find("depends on input 'flag'") != note.npos;
        }) == 50);
}

// Samples of `x` are normalized by each other, so the batch stays whole. The target of the Reshape is for 4 samples.
// Neither has anything to do with the condition.
TEST_CASE("a condition is found although another node is valid for the exported batch only") {
  ModelBuilder build(17);
  build.input("x", {"4", "3", "4"}).input("z", {"4", "6"}).weight("w", {4, 5});
  build.constant("axis", {2}).constant("size", {4}).constant("rows", {4, 2, 3});
  build.node("Reshape", {"z", "rows"}, {"pairs"});
  ModelBuilder::integer(build.node("Softmax", {"x"}, {"shares"}), "axis", int64_t{0});
  build.node("Shape", {"shares"}, {"shape"});
  build.node("Gather", {"shape", "axis"}, {"is"});
  build.node("Equal", {"is", "size"}, {"condition"});
  put_branches(
      build.node("If", {"condition"}, {"y"}, "if"),
      branch([](onnx::GraphProto& graph) { add_node(graph, "MatMul", {"shares", "w"}, "inner"); }, "inner"),
      branch([](onnx::GraphProto& graph) { add_node(graph, "Tanh", {"shares"}, "inner"); }, "inner"));
  for (const std::string value : {"y", "pairs"})
    ModelBuilder::integer(build.node("ReduceMean", {value}, {value + "_mean"}), "keepdims", int64_t{0});
  build.node("Add", {"y_mean", "pairs_mean"}, {"loss"});
  build.output("loss");
  CHECK(told(build, {.batch = 4, .may_fix_batch = true}) ==
        "WholeBatch WholeBatch Reshape Softmax MatMul ReduceMean ReduceMean Add w []");
}
