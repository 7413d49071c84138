// decide_weights and decide_modes: what the file does not decide is asked, with the flags that answer.
#include "compiler/network/undecided.h"

#include <catch2/catch.hpp>

#include "compiler/network/modes.h"

namespace plimsoll {
namespace {

using Catch::Matchers::Contains;

// fc.weight is known to be trained; the others are undecided.
Network with_undecided(const std::vector<std::string>& names) {
  Network network;
  const ValueId weight = network.values.push_back({.name = "fc.weight",
                                                   .kind = ValueKind::parameter,
                                                   .type = {.dims = {{4}}},
                                                   .trainable = true,
                                                   .initializer = "fc.weight"});
  network.nodes.push_back({.name = "fc", .op = "Gemm", .inputs = {weight}});
  for (const std::string& name : names) {
    const ValueId id = network.values.push_back({.name = name,
                                                 .kind = ValueKind::parameter,
                                                 .type = {.dims = {{4}}},
                                                 .trainable = true,
                                                 .undecided = true,
                                                 .initializer = name});
    network.nodes.push_back({.name = "mul", .op = "Mul", .inputs = {id}, .module_path = "block"});
  }
  return network;
}

// The trained weights after applying the flags, or the error with its notes.
std::string decided(const std::vector<std::string>& names, const WeightPatterns& patterns,
                    Assume assume = Assume::nothing) {
  Network network = with_undecided(names);
  std::vector<std::string> notes;
  Status status = freeze_weights(network, patterns, notes);
  if (status.ok()) status = decide_weights(network, assume, notes);
  if (!status.ok()) {
    std::string text = std::to_string(static_cast<int>(status.error().code)) + ": " + status.error().message;
    for (const std::string& note : status.error().notes) text += " | " + note;
    return text;
  }
  std::string trained;
  for (const Value& value : network.values)
    if (value.trainable) trained += (trained.empty() ? "" : " ") + value.name;
  return trained;
}

}  // namespace

TEST_CASE("weights of which nothing says whether they are trained are asked about, all of them") {
  CHECK(decided({}, {}) == "fc.weight");
  const std::string asked = decided({"scale", "it's[0]"}, {});
  CHECK_THAT(asked, Contains("4: the model does not say whether 2 tensors are trained") &&
                        Contains("'scale' f32[4], read by node 'mul' (Mul, block)") &&
                        Contains("to train: --trainable 'scale' --trainable 'it'\\''s\\[0]'") &&
                        Contains("to freeze: --freeze 'scale'") &&
                        Contains("--assume trainable or --assume frozen"));
  // The number of a tensor of one element helps to decide.
  Network single = with_undecided({"eps", "half"});
  for (Value& value : single.values)
    if (value.undecided) value.type.dims = {}, value.number = value.name == "eps" ? 0.001F : 0.5F;
  std::vector<std::string> notes;
  const Status status = decide_weights(single, Assume::nothing, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().notes[0] == "'eps' f32[] = 0.001, read by node 'mul' (Mul, block)");
  CHECK(status.error().notes[1] == "'half' f32[] = 0.5, read by node 'mul' (Mul, block)");
  // A weight that no node of the loss reads is not asked about.
  Network unread = with_undecided({"scale"});
  unread.nodes = IdVector<NodeId, Node>();
  CHECK(undecided_weights(unread).empty());
}

TEST_CASE("an answer decides what it names, and leaves the rest as it is") {
  CHECK(decided({"scale"}, {.trainable = {"scale"}}) == "fc.weight scale");
  CHECK(decided({"scale"}, {.freeze = {"scale"}}) == "fc.weight");
  CHECK(decided({"scale", "mask"}, {.trainable = {"scale"}, .freeze = {"mask"}}) == "fc.weight scale");
  CHECK(decided({"scale", "mask"}, {}, Assume::trainable) == "fc.weight scale mask");
  CHECK(decided({"scale", "mask"}, {}, Assume::frozen) == "fc.weight");
  CHECK(decided({"scale", "mask"}, {.freeze = {"scale"}}, Assume::trainable) == "fc.weight mask");
  CHECK_THAT(decided({"scale", "mask"}, {.trainable = {"scale"}}),
             Contains("whether 1 tensor is trained") && Contains("'mask'"));
  // A pattern that matches a weight known to be trained means "train only these".
  CHECK(decided({"scale", "mask"}, {.trainable = {"fc.*"}}) == "fc.weight");
  CHECK(decided({"scale", "mask"}, {.trainable = {"fc.*", "mask"}}) == "fc.weight mask");
}

TEST_CASE("tensors of one kind are named by one pattern, unless it means others") {
  CHECK_THAT(decided({"b.0.gamma", "b.1.gamma", "pos"}, {}),
             Contains("to train: --trainable 'b.*.gamma' --trainable 'pos'"));
  CHECK_THAT(decided({"s1", "s2"}, {}), Contains("to train: --trainable 's*'"));
  CHECK(decided({"s1", "s2"}, {.trainable = {"s*"}}) == "fc.weight s1 s2");
  CHECK_THAT(decided({"fc1", "fc2"}, {}), Contains("to train: --trainable 'fc1' --trainable 'fc2'"));
  CHECK_THAT(decided({"1", "2"}, {}), Contains("to train: --trainable '1' --trainable '2'"));
}

TEST_CASE("a model that was exported for evaluation as a whole is asked about") {
  const auto model = [](int opset, bool one_in_training) {
    Network network;
    for (const std::string name : {"a", "b"})
      network.nodes.push_back({.name = name, .op = "BatchNormalization", .opset = opset});
    if (one_in_training) network.nodes[NodeId(1)].attributes["training_mode"] = int64_t{1};
    return network;
  };
  Network network = model(17, false);
  const Status asked = decide_modes(network, true, Modes::asked, false);
  REQUIRE_FALSE(asked.ok());
  CHECK(asked.error().code == ExitCode::invalid_model);
  CHECK_THAT(asked.error().message, Contains("its 2 batch normalizations are in evaluation mode"));
  CHECK_THAT(asked.error().notes[0] + asked.error().notes[1],
             Contains("--modes train") && Contains("--modes as-exported"));
  CHECK(decide_modes(network, true, Modes::train, false).ok());
  CHECK_FALSE(network.modes_are_stated);
  CHECK(decide_modes(network, true, Modes::asked, true).ok());    // --frozen-statistics
  CHECK(decide_modes(network, false, Modes::asked, false).ok());  // the dynamo exporter does not record it
  CHECK(decide_modes(network, true, Modes::as_exported, false).ok());
  CHECK(network.modes_are_stated);
  Network some = model(17, true), old = model(13, false);
  CHECK(decide_modes(some, true, Modes::asked, false).ok());
  CHECK(decide_modes(old, true, Modes::asked, false).ok());
}

TEST_CASE("a model whose only modes are dropouts in evaluation is asked about") {
  const auto model = [](double ratio, std::optional<bool> training, int opset = 13) {
    Network network;
    const auto constant = [&](const char* name, ConstantData data) {
      return network.values.push_back({.name = name, .kind = ValueKind::constant, .constant = std::move(data)});
    };
    const ValueId x = network.values.push_back({.name = "x", .kind = ValueKind::input});
    Node drop{.name = "drop", .op = "Dropout", .opset = opset, .inputs = {x, constant("ratio", {.reals = {ratio}})}};
    if (training) drop.inputs.push_back(constant("mode", {.ints = {*training}}));
    network.nodes.push_back(std::move(drop));
    return network;
  };
  // The node itself states its mode, whatever wrote the file.
  for (const bool states_modes : {true, false}) {
    Network network = model(0.5, false);
    const Status asked = decide_modes(network, states_modes, Modes::asked, false);
    REQUIRE_FALSE(asked.ok());
    CHECK(asked.error().code == ExitCode::invalid_model);
    CHECK_THAT(asked.error().message, Contains("its 1 dropout is in evaluation mode"));
    CHECK(asked.error().notes == std::vector<std::string>{
                                     "--modes train: train with active dropouts, as after model.train()",
                                     "--modes as-exported: train without dropout, as after model.eval()"});
  }
  Network omitted = model(0.5, std::nullopt), training = model(0.5, true), nothing = model(0, false),
          old = model(0.5, std::nullopt, 10);
  CHECK_FALSE(decide_modes(omitted, false, Modes::asked, false).ok());  // ONNX: false
  CHECK_FALSE(decide_modes(omitted, false, Modes::asked, true).ok());   // --frozen-statistics decides no dropout
  CHECK(decide_modes(training, false, Modes::asked, false).ok());
  CHECK(decide_modes(nothing, false, Modes::asked, false).ok());  // both answers are the same
  CHECK(decide_modes(old, false, Modes::asked, false).ok());
  CHECK(decide_modes(omitted, false, Modes::train, false).ok());
  CHECK_FALSE(omitted.modes_are_stated);
  CHECK(decide_modes(omitted, false, Modes::as_exported, false).ok());
  CHECK(omitted.modes_are_stated);

  omitted.modes_are_stated = false;
  omitted.nodes.push_back({.name = "bn", .op = "BatchNormalization", .opset = 17});
  const Status both = decide_modes(omitted, true, Modes::asked, false);
  REQUIRE_FALSE(both.ok());
  CHECK_THAT(both.error().message, Contains("its 1 batch normalization and 1 dropout are in evaluation mode"));
  const Status only_dropout = decide_modes(omitted, true, Modes::asked, true);
  REQUIRE_FALSE(only_dropout.ok());
  CHECK_THAT(only_dropout.error().message, Contains("its 1 dropout is in evaluation mode"));
}

}  // namespace plimsoll
