// attach_loss for the losses other than the cross entropy of classes, its errors, and prune_dead_nodes, on small
// hand-made networks.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <set>

#include "compiler/ir/task_graph_text.h"
#include "compiler/network/loss.h"
#include "compiler/network/prune.h"
#include "compiler/training/build.h"
#include "tests/network/loss_builder.h"

namespace plimsoll {

TEST_CASE("a model keeps its own loss") {
  LossBuilder b;
  const ValueId labels = b.value("y", ValueKind::input, {DataType::i64, {kBatch}});
  const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {7}}});
  const ValueId w = b.value("w", ValueKind::parameter, {DataType::f32, {{7}, {5}}});
  const ValueId scores = b.node("Gemm", {x, w});
  const ValueId loss = b.node("SoftmaxCrossEntropyLoss", {scores, labels}, 2);
  b.network.outputs = {scores, loss};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::none, notes).ok());
  CHECK(notes.size() == 1);
  CHECK(b.network.inputs == std::vector<ValueId>{x, labels});
  REQUIRE(b.network.nodes.size() == 2);
  CHECK(b.network.nodes.back().outputs.size() == 2);
  CHECK(b.network.values[b.network.nodes.back().outputs[1]].name == "correct");
}

TEST_CASE("yes or no: the target of logits has their shape, and a sigmoid in front goes") {
  LossBuilder b = classifier();
  b.network.outputs = {b.node("Sigmoid", {b.network.outputs[0]})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::binary_cross_entropy, notes).ok());
  CHECK(notes == std::vector<std::string>{"node 'Sigmoid3' (Sigmoid) is removed: the loss includes it"});
  const Node& loss = b.network.nodes.back();
  CHECK(loss.op == "BinaryCrossEntropyLoss");
  CHECK(b.network.values[loss.inputs[0]].name == "Relu1.0");
  CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::f32, {kBatch, {5}}});
  const auto graph = build_task_graph(b.network, {.batch = 8});
  REQUIRE(graph.ok());
  CHECK(graph->correct.valid());
}

TEST_CASE("a likelihood behind a LogSoftmax over the classes is a cross entropy, behind anything else it is itself") {
  const auto attached =
      [](const std::function<ValueId(LossBuilder&, ValueId)>& put_in_front, std::vector<std::string>& notes) {
    LossBuilder b;
    const ValueId labels = b.value("y", ValueKind::input, {DataType::i64, {kBatch, {2}}});
    const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {7}, {2}}});
    const ValueId bias = b.value("bias", ValueKind::parameter, {DataType::f32, {{7}, {2}}});
    const ValueId loss = b.node("NegativeLogLikelihoodLoss", {put_in_front(b, b.node("Add", {x, bias})), labels});
    b.network.nodes.back().attributes["ignore_index"] = int64_t{3};
    b.network.outputs = {loss};
    REQUIRE(attach_loss(b.network, LossKind::none, notes).ok());
    CHECK(b.network.inputs == std::vector<ValueId>{x, labels});
    const auto graph = build_task_graph(b.network, {.batch = 8});
    REQUIRE(graph.ok());
    CHECK(graph->correct.valid());
    CHECK(graph->tensors[graph->inputs[1]].ignored == 3);
    std::string names;
    for (const Node& node : b.network.nodes) names += node.op + " ";
    return names;
  };
  const auto with_axis = [](int64_t axis) {
    return [axis](LossBuilder& b, ValueId x) {
      const ValueId y = b.node("LogSoftmax", {x});
      b.network.nodes.back().attributes["axis"] = axis;
      return y;
    };
  };
  std::vector<std::string> notes;
  CHECK(attached(with_axis(1), notes) == "Add SoftmaxCrossEntropyLoss ");
  CHECK(notes == std::vector<std::string>{"node 'LogSoftmax1' (LogSoftmax) is removed: the loss includes it"});
  notes.clear();
  CHECK(attached(with_axis(-1), notes) == "Add LogSoftmax NegativeLogLikelihoodLoss ");
  CHECK(attached([](LossBuilder&, ValueId x) { return x; }, notes) == "Add NegativeLogLikelihoodLoss ");
  CHECK(notes.empty());
}

TEST_CASE("no loss at all is an error") {
  LossBuilder b = classifier();
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, {LossKind::none, "Relu1.0"}, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ExitCode::usage);
  CHECK(status.error().message ==
        "the model has no loss; choose one, for example --loss softmax-cross-entropy, or --loss output if an output is "
        "the loss");
}

TEST_CASE("a weight behind an operator without a gradient is refused, with both names") {
  LossBuilder b = classifier();
  const ValueId drawn = b.value("drawn", ValueKind::intermediate, {DataType::f32, {{5}}});
  const ValueId p = b.value("p", ValueKind::parameter, {DataType::f32, {{5}}});
  b.network.nodes.push_back({.name = "draw", .op = "Bernoulli", .opset = 15, .inputs = {p}, .outputs = {drawn}});
  b.network.outputs = {b.node("Mul", {b.network.outputs[0], drawn})};
  const Result<TaskGraph> graph = build_task_graph(b.network, {.batch = 4});
  REQUIRE(!graph.ok());
  CHECK(graph.error().code == ExitCode::unsupported);
  REQUIRE(graph.error().notes.size() == 1);
  CHECK(graph.error().notes[0] == "node 'draw' (Bernoulli) has no gradient; parameter 'p' needs it");
}

TEST_CASE("scores need a dimension of classes") {
  LossBuilder b;
  const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch}});
  b.network.outputs = {b.node("Relu", {x})};
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, LossKind::softmax_cross_entropy, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message ==
        "output 'Relu0.0' is f32[N], but class scores are [N,classes]; choose another loss: --loss mse, --loss "
        "bce-logits, "
        "or --loss output if the output is the loss");
  CHECK(status.error().code == ExitCode::invalid_model);
}

TEST_CASE("outputs that nobody reads become invalid, and chains of dead nodes go") {
  LossBuilder b = classifier();
  const ValueId live = b.network.outputs[0];
  const ValueId dead = b.node("Fork", {live}, 2);
  b.node("Relu", {b.node("Relu", {live})});
  b.network.outputs = {dead};
  prune_dead_nodes(b.network);
  REQUIRE(b.network.nodes.size() == 3);
  const Node& last = b.network.nodes.back();
  CHECK(last.op == "Fork");
  CHECK(last.outputs[0].valid());
  CHECK_FALSE(last.outputs[1].valid());
}

}  // namespace plimsoll
