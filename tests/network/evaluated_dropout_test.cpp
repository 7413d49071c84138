// Dropouts in evaluation mode: they become Identity in a file that declares training elsewhere.
#include "compiler/network/evaluated_dropout.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

enum class Says { training, evaluation, nothing };

struct Chain {
  Network network;
  ValueId last =
      network.values.push_back({.name = "x", .kind = ValueKind::input, .type = {DataType::f32, {kBatch, {4}}}});

  void add(Node node) {
    node.inputs.insert(node.inputs.begin(), last);
    last = network.values.push_back({.name = node.name + ".0", .type = {DataType::f32, {kBatch, {4}}}});
    node.outputs = {last};
    network.nodes.push_back(std::move(node));
  }
  void dropout(const std::string& name, Says says, int opset = 13) {
    const auto constant = [&](const char* what, ConstantData data) {
      return network.values.push_back({.name = name + what, .kind = ValueKind::constant, .constant = std::move(data)});
    };
    Node node{.name = name, .op = "Dropout", .opset = opset, .inputs = {constant(".ratio", {.reals = {0.5}})}};
    if (says != Says::nothing) node.inputs.push_back(constant(".mode", {.ints = {says == Says::training}}));
    add(std::move(node));
  }
  void normalization(bool training) {
    Node node{.name = "bn", .op = "BatchNormalization", .opset = 15};
    if (training) node.attributes["training_mode"] = int64_t{1};
    add(std::move(node));
  }
  std::string after(std::vector<std::string>& notes) {
    leave_out_evaluated_dropouts(network, notes);
    std::string ops;
    for (const Node& node : network.nodes) ops += node.op + " ";
    return ops;
  }
};

}  // namespace

TEST_CASE("a dropout in evaluation mode beside nodes in training is an identity") {
  Chain chain;
  chain.dropout("on", Says::training);
  chain.dropout("off", Says::evaluation);
  std::vector<std::string> notes;
  CHECK(chain.after(notes) == "Dropout Identity ");
  CHECK(chain.network.nodes[NodeId(1)].inputs.size() == 1);
  CHECK(notes == std::vector<std::string>{
                     "1 dropout is in evaluation mode while other nodes are in training mode, and is disabled: off"});

  Chain normalized;
  normalized.normalization(true);
  normalized.dropout("off", Says::evaluation);
  normalized.dropout("unsaid", Says::nothing);  // ONNX: false
  notes.clear();
  CHECK(normalized.after(notes) == "BatchNormalization Identity Identity ");
  CHECK(notes ==
        std::vector<std::string>{
            "2 dropouts are in evaluation mode while other nodes are in training mode, and are disabled: off, …"});
}

TEST_CASE("in a file that is in evaluation as a whole, and before opset 12, dropouts stay") {
  Chain whole;
  whole.normalization(false);
  whole.dropout("off", Says::evaluation);
  std::vector<std::string> notes;
  CHECK(whole.after(notes) == "BatchNormalization Dropout ");
  CHECK(notes == std::vector<std::string>{"1 dropout is in evaluation mode, like the whole file, but active in "
                                          "training (--modes as-exported disables it)"});
  Chain old;
  old.normalization(true);
  old.dropout("old", Says::nothing, 10);
  notes.clear();
  CHECK(old.after(notes) == "BatchNormalization Dropout ");
  CHECK(notes.empty());
  Chain training;
  training.dropout("on", Says::training);
  CHECK(training.after(notes) == "Dropout ");
  CHECK(notes.empty());
}

}  // namespace plimsoll
