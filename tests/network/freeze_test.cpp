// freeze_weights: trained weights are those that match --trainable and not --freeze. freeze_statistics: which running
// statistics are kept.
#include "compiler/network/freeze.h"
#include "compiler/network/frozen_statistics.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

// conv1 (weight, bias), conv2 (weight) in a separate module, fc (weight, bias), and a table that is not trained.
Network layers() {
  Network network;
  const auto parameter = [&](const std::string& name, bool trainable = true) {
    return network.values.push_back({.name = name,
                                     .kind = ValueKind::parameter,
                                     .type = {.dims = {{4}}},
                                     .trainable = trainable,
                                     .initializer = name});
  };
  const auto node = [&](const std::string& name, const std::string& module, std::vector<ValueId> inputs) {
    network.nodes.push_back({.name = name, .op = "Conv", .inputs = std::move(inputs), .module_path = module});
  };
  node("/conv1/Conv", "conv1", {parameter("conv1.weight"), parameter("conv1.bias")});
  node("node_7", "layer1.0.conv2", {parameter("onnx::Conv_12")});
  node("/fc/Gemm", "fc", {parameter("fc.weight"), parameter("fc.bias"), parameter("table", false)});
  return network;
}

std::string trained(const WeightPatterns& patterns) {
  Network network = layers();
  std::vector<std::string> notes;
  const Status status = freeze_weights(network, patterns, notes);
  if (!status.ok()) return std::to_string(static_cast<int>(status.error().code)) + ": " + status.error().message;
  std::string names;
  for (const Value& value : network.values)
    if (value.trainable) names += (names.empty() ? "" : " ") + value.name;
  return names + (notes.empty() ? "" : "; " + notes[0]);
}

// Three batch normalizations, of which those in `training` have training_mode=1; the first always has the attribute, at
// least with value 0.
std::string frozen(const std::string& training, const std::vector<std::string>& patterns = {},
                   bool modes_are_stated = false) {
  Network network{.modes_are_stated = modes_are_stated};
  for (const std::string name : {"a", "b", "c"}) {
    Node node{
        .name = "/" + name + "/BatchNormalization", .op = "BatchNormalization", .module_path = "backbone." + name};
    if (training.find(name) != std::string::npos) node.attributes["training_mode"] = int64_t{1};
    else if (name == "a") node.attributes["training_mode"] = int64_t{0};
    network.nodes.push_back(std::move(node));
  }
  network.nodes.push_back({.name = "conv", .op = "Conv", .module_path = "backbone.conv"});
  std::vector<std::string> notes;
  const Status status = freeze_statistics(network, patterns, notes);
  if (!status.ok())
    return std::to_string(static_cast<int>(status.error().code)) + ": " + status.error().message + "; " +
           status.error().notes[0];
  std::string names;
  for (const Node& node : network.nodes)
    if (node.marks.frozen_statistics) names += node.name[1];
  for (const std::string& note : notes) names += "; " + note;
  return names;
}

}  // namespace

TEST_CASE("a dropout in training mode tells that normalizations in evaluation were frozen on purpose") {
  const auto frozen_beside_dropout = [](bool states_modes, bool training, int opset) {
    Network network{.states_modes = states_modes};
    const ValueId mode = network.values.push_back(
        {.name = "mode", .kind = ValueKind::constant, .constant = ConstantData{.ints = {training}}});
    network.nodes.push_back({.name = "bn", .op = "BatchNormalization", .opset = opset});
    network.nodes.push_back({.name = "drop", .op = "Dropout", .opset = opset, .inputs = {mode, mode, mode}});
    std::vector<std::string> notes;
    REQUIRE(freeze_statistics(network, {}, notes).ok());
    return network.nodes[NodeId(0)].marks.frozen_statistics;
  };
  CHECK(frozen_beside_dropout(true, true, 17));
  CHECK_FALSE(frozen_beside_dropout(true, false, 17));
  CHECK_FALSE(frozen_beside_dropout(false, true, 17));  // torch's dynamo exporter writes the same node for both modes
  CHECK_FALSE(frozen_beside_dropout(true, true, 13));   // before opset 14 the node cannot state its mode
}

TEST_CASE("running statistics stay where the file says so, and where the user does") {
  CHECK(frozen("abc") == "");
  CHECK(frozen("") == "");  // an export for evaluation, or dynamo's: the mode is unknown
  CHECK(frozen("b") ==
        "ac; 2 batch normalizations are in evaluation mode (others are in training mode): their running statistics are "
        "used and kept");
  CHECK(frozen("bc") ==
        "a; 1 batch normalization is in evaluation mode (others are in training mode): its running statistics are used "
        "and kept");
  CHECK(frozen("", {}, true) ==
        "abc; 3 batch normalizations are in evaluation mode: their running statistics are used and kept");
  CHECK(frozen("", {"backbone.b"}) == "b; 1 batch normalization keeps its running statistics (--frozen-statistics)");
  CHECK(frozen("abc", {"/[ab]/*"}) == "ab; 2 batch normalizations keep their running statistics (--frozen-statistics)");
  CHECK(frozen("abc", {"backbone.a", "backbone.conv"}) ==
        "2: --frozen-statistics 'backbone.conv' matches no batch normalization; batch "
        "normalizations: backbone.a, backbone.b, backbone.c");
}

TEST_CASE("what is trained is what matches, less what is frozen") {
  CHECK(trained({}) == "conv1.weight conv1.bias onnx::Conv_12 fc.weight fc.bias");
  CHECK(trained({.freeze = {"conv1.*"}}) == "onnx::Conv_12 fc.weight fc.bias; 2 weights are frozen, 3 are trained");
  CHECK(trained({.trainable = {"fc.*"}}) == "fc.weight fc.bias; 3 weights are frozen, 2 are trained");
  CHECK(trained({.trainable = {"*.bias", "layer1.*"}}) ==
        "conv1.bias onnx::Conv_12 fc.bias; 2 weights are frozen, 3 are trained");
  CHECK(trained({.trainable = {"/fc/*", "/conv1/Conv"}, .freeze = {"*.bias"}}) ==
        "conv1.weight fc.weight; 3 weights are frozen, 2 are trained");
  CHECK(trained({.trainable = {"*"}}) ==
        "conv1.weight conv1.bias onnx::Conv_12 fc.weight fc.bias; 0 weights are frozen, 5 are trained");
}

TEST_CASE("a pattern that matches nothing is told, and so is nothing to train") {
  CHECK(trained({.trainable = {"fc.*", "head.*"}}) == "2: --trainable 'head.*' matches no trained weight");
  CHECK(trained({.trainable = {"table"}}) == "2: --trainable 'table' matches no trained weight");
  CHECK(trained({.freeze = {"conv9"}}) == "2: --freeze 'conv9' matches no trained weight");
  CHECK(trained({.freeze = {"*"}}) == "2: --freeze leaves none of the model's 5 weights to train");
  CHECK(trained({.trainable = {"fc.*"}, .freeze = {"fc.*"}}) ==
        "2: --freeze together with --trainable leaves none of the model's 5 weights to train");
}

}  // namespace plimsoll
