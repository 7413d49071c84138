// Local functions, module paths, and the forms of newer exporters.
#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

onnx::FunctionProto& add_function(ModelBuilder& build, const std::string& name, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs) {
  onnx::FunctionProto& function = *build.model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(17);
  return function;
}

onnx::NodeProto& body(onnx::FunctionProto& function, const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *function.add_node();
  ModelBuilder::fill(node, op, inputs, outputs, "");
  return node;
}

}  // namespace

TEST_CASE("local functions are inlined, also in one another") {
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"}).weight("w", {3, 3, 3, 3});
  onnx::FunctionProto& block = add_function(build, "Block", {"a", "weight"}, {"b"});
  block.add_attribute("border");
  onnx::AttributeProto& pads = *body(block, "Conv", {"a", "weight"}, {"t"}).add_attribute();
  pads.set_name("pads");
  pads.set_type(onnx::AttributeProto::INTS);
  pads.set_ref_attr_name("border");
  body(block, "Act", {"t"}, {"b"}).set_domain("local");
  body(add_function(build, "Act", {"p"}, {"q"}), "Relu", {"p"}, {"q"});
  for (int i = 0; i < 2; ++i) {
    onnx::NodeProto& call = build.node("Block", {i ? "h" : "x", "w"}, {i ? "y" : "h"}, i ? "second" : "first");
    call.set_domain("local");
    ModelBuilder::ints(call, "border", {1, 1, 1, 1});
  }
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->network.nodes.size() == 4);
  CHECK(find_node(imported->network, "first/Conv_0"));
  CHECK(find_node(imported->network, "second/Act_1/Relu_0"));
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {8}, {8}});
  CHECK(imported->notes.at(0) == "4 calls of 2 local functions are inlined");
}

TEST_CASE("a function of another opset than the model's is refused by its name") {
  ModelBuilder build(18);
  build.input("x", {"N", "4"});
  for (const char* name : {"Old", "Same"}) body(add_function(build, name, {"a"}, {"b"}), "Relu", {"a"}, {"b"});
  build.model.mutable_functions(1)->mutable_opset_import(0)->set_version(18);
  build.node("Old", {"x"}, {"y"}).set_domain("local");
  build.output("y");
  CHECK(outcome(build.import()) ==
        "5: functions use another opset than the model's, 18; operators may differ between opsets | "
        "function 'Old': opset 17 | inline them: model = onnx.inliner.inline_local_functions(model, "
        "convert_version=True)");
  build.model.mutable_functions(0)->mutable_opset_import(0)->set_version(18);
  CHECK(outcome(build.import()) == "ok");
}

TEST_CASE("a function may return its input") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  onnx::FunctionProto& same = add_function(build, "Same", {"p"}, {"p"});
  same.clear_node();
  build.node("Same", {"x"}, {"z"}, "same").set_domain("local");
  build.node("Relu", {"z"}, {"y"}, "relu");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == 1);
  CHECK(imported->notes.at(0) == "1 call of 1 local function is inlined");
}

TEST_CASE("functions that call each other in a circle end in an error") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  body(add_function(build, "Ping", {"p"}, {"q"}), "Pong", {"p"}, {"q"}).set_domain("local");
  body(add_function(build, "Pong", {"p"}, {"q"}), "Ping", {"p"}, {"q"}).set_domain("local");
  build.node("Ping", {"x"}, {"y"}, "call").set_domain("local");
  build.output("y");
  CHECK_THAT(outcome(build.import()),
             StartsWith("4: functions call each other recursively: 'Ping' calls 'Pong' calls 'Ping'"));
}

TEST_CASE("functions that double are stopped") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  for (int i = 0; i < 40; ++i) {
    onnx::FunctionProto& function = add_function(build, "F" + std::to_string(i), {"p"}, {"q"});
    const std::string inner = "F" + std::to_string(i + 1);
    body(function, inner, {"p"}, {"t"}).set_domain("local");
    body(function, inner, {"t"}, {"q"}).set_domain("local");
  }
  body(add_function(build, "F40", {"p"}, {"q"}), "Relu", {"p"}, {"q"});
  build.node("F0", {"x"}, {"y"}, "bomb").set_domain("local");
  build.output("y");
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains("1000000 nodes"));
}

TEST_CASE("module paths as the two exporters of PyTorch write them") {
  const auto path = [](const std::string& name, const std::string& key = "", const std::string& value = "") {
    ModelBuilder build;
    build.input("x", {"N", "4"});
    onnx::NodeProto& node = build.node("Relu", {"x"}, {"y"}, name);
    if (!key.empty()) {
      auto& entry = *node.add_metadata_props();
      entry.set_key(key);
      entry.set_value(value);
    }
    build.output("y");
    const auto imported = build.import();
    return imported.ok() ? imported->network.nodes[NodeId(0)].module_path : outcome(imported);
  };
  CHECK(path("/layer1/layer1.0/conv1/Conv") == "layer1.0.conv1");
  CHECK(path("/features/features.1/conv/conv.0/conv.0.2/Clip") == "features.1.conv.0.2");
  CHECK(path("/Flatten") == "");
  CHECK(path("Conv_12") == "");
  CHECK(path("n", "pkg.torch.onnx.name_scopes", "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']") ==
        "layer1.0.conv1");
  CHECK(path("n", "namespace", ": ResNet/layer1: Sequential/layer1.0.conv1: torch.nn.Conv2d/conv2d: aten.conv2d") ==
        "layer1.0.conv1");
}

TEST_CASE("forms of opset 18 and later") {
  ModelBuilder build(20, 10);
  build.input("x", {"N", "6", "4", "4"});
  ModelBuilder::integer(build.node("Split", {"x"}, {"a", "b"}, "split"), "num_outputs", 2);
  ModelBuilder::integer(*build.graph().mutable_node(0), "axis", 1);
  build.node("Add", {"a", "b"}, {"y"}, "add");
  build.output("y");
  const auto split = build.import();
  REQUIRE(outcome(split) == "ok");
  CHECK(find_value(split->network, "y")->type.dims == Dims{kBatch, {3}, {4}, {4}});
  CHECK(find_node(split->network, "split")->opset == 20);

  ModelBuilder twice(17, 10);  // imports the opset under both names of its domain
  twice.model.add_opset_import()->set_domain("ai.onnx");
  twice.model.mutable_opset_import(1)->set_version(17);
  twice.input("x", {"N", "4"});
  twice.node("Relu", {"x"}, {"y"}, "relu").set_domain("ai.onnx");
  twice.output("y");
  CHECK(outcome(twice.import()) == "ok");
}

TEST_CASE("value lists of Constant nodes") {
  ModelBuilder build;
  build.input("x", {"N", "6", "4"});
  ModelBuilder::ints(build.node("Constant", {}, {"target"}), "value_ints", {0, 4, 6});
  build.node("Reshape", {"x", "target"}, {"r"}, "reshape");
  onnx::AttributeProto& value = *build.node("Constant", {}, {"half"}).add_attribute();
  value.set_name("value_float");
  value.set_type(onnx::AttributeProto::FLOAT);
  value.set_f(0.5f);
  build.node("Mul", {"r", "half"}, {"y"}, "mul");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {4}, {6}});
  CHECK(find_value(imported->network, "half")->constant->reals == std::vector<double>{0.5});
}
