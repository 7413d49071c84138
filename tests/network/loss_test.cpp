// attach_loss on small hand-made networks: the cross entropy of classes, and what comes before a loss.
#include "compiler/network/loss.h"

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <set>

#include "compiler/ir/task_graph_text.h"
#include "compiler/ops/op.h"
#include "compiler/training/build.h"
#include "tests/network/loss_builder.h"

namespace plimsoll {

TEST_CASE("mixed labels are three numbers for each sample, of a loss of their own") {
  std::vector<std::string> notes;
  LossRequest request{LossKind::softmax_cross_entropy, "Relu1.0"};
  request.mixed_labels = true;
  request.class_weights = {1, 2, 3, 4, 5};
  request.ignore_index = 2;
  request.label_smoothing = 0.1;
  LossBuilder b = classifier();
  REQUIRE(attach_loss(b.network, request, notes).ok());
  const Node& loss = b.network.nodes.back();
  CHECK(loss.op == "MixedCrossEntropyLoss");
  CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::i32, {kBatch, {3}}});
  const auto graph = build_task_graph(b.network, {.batch = 8, .optimizer = {.kind = OptimizerKind::sgd}});
  REQUIRE(graph.ok());
  const Tensor& labels = graph->tensors[graph->inputs.back()];
  CHECK(labels.mixed_labels);
  CHECK(labels.ignored == 2);
  CHECK(labels.class_weights.valid());
  const auto read_back = graph_from_text(to_text(*graph), "graph");
  REQUIRE(read_back.ok());
  CHECK(to_text(*read_back) == to_text(*graph));
  CHECK(read_back->tensors[read_back->inputs.back()].mixed_labels);

  LossBuilder pixels;  // several labels for each sample cannot be mixed
  const ValueId x = pixels.value("x", ValueKind::input, {DataType::f32, {kBatch, {3}, {4}, {4}}});
  pixels.network.outputs = {pixels.node("Relu", {x})};
  LossRequest of_pixels{LossKind::softmax_cross_entropy, {}, 1};
  of_pixels.mixed_labels = true;
  const Status refused = attach_loss(pixels.network, of_pixels, notes);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, Catch::Matchers::Contains("one label for each sample"));
  LossBuilder other = classifier();
  LossRequest mse{LossKind::mse, "Relu1.0"};
  mse.mixed_labels = true;
  CHECK_FALSE(attach_loss(other.network, mse, notes).ok());
}

TEST_CASE("a loss is attached to the output that is named, and other heads go") {
  LossBuilder b = classifier();
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, {LossKind::softmax_cross_entropy, "Relu1.0"}, notes);
  REQUIRE(status.ok());
  CHECK(notes == std::vector<std::string>{"output 'Gemm2.0' is ignored: the loss reads output 'Relu1.0'"});
  for (const Value& value : b.network.values)
    if (value.kind == ValueKind::parameter) CHECK(value.trainable == (value.name == "w"));
  REQUIRE(b.network.nodes.size() == 3);
  const Node& loss = b.network.nodes.back();
  CHECK(loss.op == "SoftmaxCrossEntropyLoss");
  CHECK(b.network.values[loss.outputs[0]].name == "loss");
  CHECK(b.network.values[loss.outputs[1]].name == "correct");
  REQUIRE(b.network.inputs.size() == 2);
  const Value& labels = b.network.values[b.network.inputs.back()];
  CHECK(labels.name == "labels");
  CHECK(labels.type == TensorType{DataType::i32, {kBatch}});
  CHECK(b.network.outputs == loss.outputs);

  const auto graph = build_task_graph(b.network, {.batch = 8, .optimizer = {.kind = OptimizerKind::sgd}});
  REQUIRE(graph.ok());
  std::vector<std::string> names;
  for (const Task& task : graph->tasks) names.push_back(task.name);
  CHECK(names == std::vector<std::string>{"Gemm0.forward", "Relu1.forward", "loss.loss", "Relu1.backward_data",
                                          "Gemm0.backward_weights", "w.update"});
  CHECK(graph->tensors[graph->output].name == "Relu1.0");
  CHECK(graph->correct.valid());
}

TEST_CASE("no two tensors of a task graph have the same name, whatever the model calls its values") {
  LossBuilder b = classifier();
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, {LossKind::softmax_cross_entropy, "Relu1.0"}, notes).ok());
  // The gradient of Gemm0.0 would be dGemm0.0, and the second of that name dGemm0.0/2. Both are taken.
  const auto called = [&](const char* from) {
    for (Value& value : b.network.values)
      if (value.name == from) return &value;
    FAIL(from);
    return static_cast<Value*>(nullptr);
  };
  called("Relu1.0")->name = "dGemm0.0/2";
  b.network.values[b.network.inputs.front()].name = "dGemm0.0";
  const auto graph = build_task_graph(b.network, {.batch = 8});
  REQUIRE(graph.ok());
  std::set<std::string> names;
  for (const Tensor& tensor : graph->tensors) {
    INFO(tensor.name);
    CHECK(names.insert(tensor.name).second);
  }
  CHECK(names.contains("dGemm0.0/3"));
}

TEST_CASE("of several outputs none is taken by its place") {
  for (const LossKind kind :
       {LossKind::softmax_cross_entropy, LossKind::mse, LossKind::binary_cross_entropy, LossKind::none}) {
    LossBuilder b = classifier();
    std::vector<std::string> notes;
    const Status status = attach_loss(b.network, kind, notes);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ExitCode::invalid_model);
    CHECK(status.error().message ==
          "the model has 2 outputs: 'Relu1.0' f32[N,5], 'Gemm2.0' f32[N,3]; "
          "choose the one that the loss reads, for example --output 'Relu1.0'");
    CHECK(notes.empty());
  }
  LossBuilder classes = classifier();  // the numbers of the classes come first
  classes.network.values[classes.network.outputs[0]].type.type = DataType::i64;
  std::vector<std::string> unread;
  const Status shown = attach_loss(classes.network, LossKind::softmax_cross_entropy, unread);
  REQUIRE_FALSE(shown.ok());
  CHECK(shown.error().message.ends_with("choose the one that the loss reads, for example --output 'Gemm2.0'"));
  LossBuilder with_loss = classifier();
  with_loss.network.values[with_loss.network.outputs[0]].type.dims = {};
  const Status hinted = attach_loss(with_loss.network, LossKind::softmax_cross_entropy, unread);
  REQUIRE_FALSE(hinted.ok());
  CHECK(hinted.error().message.ends_with("for example --output 'Gemm2.0'"));
  CHECK(hinted.error().notes.back() == "--loss output: if 'Relu1.0' is the loss, which the model computes");
  LossBuilder b = classifier();
  std::vector<std::string> notes;
  const Status unknown = attach_loss(b.network, {LossKind::mse, "scores"}, notes);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ExitCode::usage);
  CHECK(unknown.error().message ==
        "the model has no output 'scores' (--output); outputs: 'Relu1.0' f32[N,5], 'Gemm2.0' f32[N,3]");
  b.network.outputs = {b.network.outputs[1], b.network.outputs[1]};  // one value under two names
  CHECK(attach_loss(b.network, LossKind::mse, notes).ok());
}

TEST_CASE("a loss of the model's own does not drop a head that it does not depend on") {
  const auto with = [](bool with_head) {
    LossBuilder b = classifier();
    const ValueId labels = b.value("y", ValueKind::input, {DataType::i64, {kBatch}});
    const ValueId scores = b.network.outputs[0], head = b.network.outputs[1];
    b.network.outputs = {scores, b.node("SoftmaxCrossEntropyLoss", {scores, labels})};
    if (with_head) b.network.outputs.push_back(head);
    return b;
  };
  std::vector<std::string> notes;
  LossBuilder whole = with(false), headed = with(true), other = with(true), copied = with(false);
  CHECK(attach_loss(whole.network, LossKind::none, notes).ok());
  copied.network.outputs.push_back(copied.node("Identity", {copied.network.outputs[0]}));  // has no weights of its own
  CHECK(attach_loss(copied.network, LossKind::none, notes).ok());
  const Status status = attach_loss(headed.network, LossKind::none, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ExitCode::invalid_model);
  CHECK(attach_loss(headed.network, {LossKind::none, "SoftmaxCrossEntropyLoss3.0"}, notes).ok());
  CHECK(attach_loss(other.network, {LossKind::mse, "Gemm2.0"}, notes).ok());
  CHECK(other.network.nodes.back().op == "MseLoss");
}

TEST_CASE("one class is no classification") {
  LossBuilder b = classifier();
  const ValueId v = b.value("u", ValueKind::parameter, {DataType::f32, {{5}, {1}}});
  b.network.outputs = {b.node("Gemm", {b.network.outputs[0], v})};
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, LossKind::softmax_cross_entropy, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ExitCode::invalid_model);
  CHECK(status.error().message ==
        "output 'Gemm3.0' is f32[N,1]: the softmax cross entropy of one class is always 0; choose another loss");
  CHECK(status.error().notes == std::vector<std::string>{"--loss mse for regression",
                                                         "--loss bce-logits for binary classification"});
  CHECK(attach_loss(b.network, LossKind::mse, notes).ok());
}

namespace {

// A network from its only input, of this shape, through these operators to its output.
LossBuilder ends_in(Dims dims, const std::vector<std::string>& ops) {
  LossBuilder b;
  ValueId x = b.value("x", ValueKind::input, {DataType::f32, std::move(dims)});
  for (const std::string& op : ops) {
    if (op == "Conv") {
      const int64_t channels = b.network.values[x].type.dims[1].value;
      x = b.node(op, {x, b.value("filters", ValueKind::parameter, {DataType::f32, {{4}, {channels}, {1}, {1}}})});
    } else if (op == "MatMul") {
      const int64_t width = b.network.values[x].type.dims.back().value;
      x = b.node(op, {x, b.value("matrix", ValueKind::parameter, {DataType::f32, {{width}, {4}}})});
    } else {
      x = b.node(op, {x});
    }
  }
  b.network.outputs = {x};
  return b;
}

// The labels' dimensions, or the message.
std::string labels_of(LossBuilder b, std::optional<int64_t> axis = {}) {
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, {LossKind::softmax_cross_entropy, "", axis}, notes);
  if (!status.ok()) return status.error().message;
  CHECK(build_task_graph(b.network, {.batch = 2}).ok());
  return to_string(b.network.values[b.network.inputs.back()].type.dims);
}

}  // namespace

TEST_CASE("where the axis of the classes is clear it is taken, and else it is asked for") {
  CHECK(labels_of(ends_in({kBatch, {5}, {1}, {1}}, {"Relu"})) == "[N]");
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul", "Softmax"})) == "[N,3]");  // over the last axis
  CHECK(labels_of(ends_in({kBatch, {3}, {6}, {8}}, {"Conv", "Relu", "Neg"})) == "[N,6,8]");
  CHECK(labels_of(ends_in({kBatch, {3}, {6}, {8}}, {"Relu"})) != "[N,6,8]");  // [N,3,6,8] in and out: ambiguous
  const std::string asked =
      "output 'MatMul0.0' is f32[N,3,4]: which axis holds the classes is ambiguous; choose it with --class-axis K";
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"})) == asked);
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"}), 2) == "[N,3]");
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"}), -1) == "[N,3]");
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"}), 1) == "[N,4]");
  CHECK(labels_of(ends_in({kBatch, {3}, {6}, {7}}, {"MatMul"}), 2) == "[N,3,4]");  // transposed to axis 1
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"}), 3) ==
        "--class-axis 3: this axis of output 'MatMul0.0', f32[N,3,4], does not exist");
  CHECK(labels_of(ends_in({kBatch, {3}, {7}}, {"MatMul"}), 0) ==
        "--class-axis 0: this axis of output 'MatMul0.0', f32[N,3,4], is the batch");

  LossBuilder b = ends_in({kBatch, {3}, {7}}, {"MatMul"});
  std::vector<std::string> notes;
  const Status status = attach_loss(b.network, LossKind::softmax_cross_entropy, notes);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ExitCode::usage);
  CHECK(status.error().notes == std::vector<std::string>{"--class-axis 1: 3 classes, labels i32[N,4]",
                                                         "--class-axis 2: 4 classes, labels i32[N,3]"});
  const Status other = attach_loss(b.network, {LossKind::mse, "", 1}, notes);
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message == "--class-axis requires --loss softmax-cross-entropy or bce-logits");
}

TEST_CASE("a binary cross entropy takes weights and smoothing, and refuses what has no meaning for it") {
  const auto attached = [](LossBuilder b, const LossRequest& request, Network* out = nullptr) {
    std::vector<std::string> notes;
    const Status status = attach_loss(b.network, request, notes);
    if (out) *out = b.network;
    return status.ok() ? std::string() : status.error().message;
  };
  LossRequest request{LossKind::binary_cross_entropy, "Relu1.0"};
  request.class_weights = {1, 2, 3, 4, 5};
  request.positive_weights = {3};
  request.label_smoothing = 0.1;
  Network network;
  REQUIRE(attached(classifier(), request, &network) == "");
  const Node& loss = network.nodes.back();
  REQUIRE(loss.inputs.size() == 4);
  CHECK(network.values[loss.inputs[2]].initializer == kClassWeights);
  CHECK(network.values[loss.inputs[3]].initializer == kPositiveWeights);
  CHECK_FALSE(network.values[loss.inputs[2]].trainable);
  CHECK(loss.marks.label_smoothing == 0.1);
  CHECK(NodeView(network, loss).integer("axis", 0) == 1);
  const auto graph = build_task_graph(network, {.batch = 8, .optimizer = {.kind = OptimizerKind::sgd}});
  REQUIRE(graph.ok());

  request.class_weights = {1, 2};
  CHECK(attached(classifier(), request) == "--class-weights has 2 weights, but there are 5 classes");
  request.class_weights = {};
  request.positive_weights = {-1};
  CHECK(attached(classifier(), request) == "--pos-weight must be at least 0");
  request.positive_weights = {1};
  request.ignore_index = 2;
  CHECK(attached(classifier(), request) == "--ignore-index requires --loss softmax-cross-entropy");
  request.ignore_index = {};
  request.kind = LossKind::softmax_cross_entropy;
  CHECK(attached(classifier(), request) == "--pos-weight requires --loss bce-logits");
  LossRequest alone{LossKind::binary_cross_entropy, "Relu1.0", 1};
  CHECK(attached(classifier(), alone) ==
        "--class-axis with --loss bce-logits requires --class-weights or --pos-weight");

  // Of several axes none is guessed. Positions that are moved take the axis along.
  LossRequest of_pixels{LossKind::binary_cross_entropy};
  of_pixels.positive_weights = {1, 2, 3};
  CHECK(
      attached(ends_in({kBatch, {3}, {7}}, {"MatMul"}), of_pixels) ==
      "output 'MatMul0.0' is f32[N,3,4]: which axis the weights of --pos-weight belong to is ambiguous; choose it with "
      "--class-axis K");
  of_pixels.class_axis = 1;
  CHECK(attached(ends_in({kBatch, {3}, {7}}, {"MatMul"}), of_pixels) == "");
  of_pixels.class_axis = -3;
  CHECK(attached(ends_in({kBatch, {3}, {7}}, {"MatMul"}), of_pixels) ==
        "--class-axis -3: this axis of output 'MatMul0.0', f32[N,3,4], is the batch");
}

TEST_CASE("which loss is trained, and of which output, is stated") {
  const auto stated = [](LossBuilder b, const LossRequest& request) {
    std::vector<std::string> notes;
    StatedLoss loss;
    REQUIRE(attach_loss(b.network, request, notes, &loss).ok());
    CHECK(loss.is_default == request.by_default);
    return loss.line;
  };
  LossRequest request{LossKind::softmax_cross_entropy, "Relu1.0"};
  CHECK(stated(classifier(), request) == "loss: softmax-cross-entropy over output 'Relu1.0' [N,5], 5 classes");
  request.by_default = true;
  CHECK(stated(classifier(), request) ==
        "loss: softmax-cross-entropy over output 'Relu1.0' [N,5], 5 classes (default; for a regression: --loss mse)");
  CHECK(stated(classifier(), {LossKind::mse, "Relu1.0"}) == "loss: mse over output 'Relu1.0' [N,5]");
}

TEST_CASE(
    "an operator whose gradient is zero has no backward task, and is no error downstream of a trained parameter") {
  LossBuilder b;
  const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {7}}});
  const ValueId w = b.value("w", ValueKind::parameter, {DataType::f32, {{7}, {5}}});
  const ValueId v = b.value("v", ValueKind::parameter, {DataType::f32, {{7}, {5}}});
  const ValueId seen = b.node("Gemm", {x, w});
  const ValueId sign = b.node("Sign", {b.node("Gemm", {x, v})});
  b.network.outputs = {b.node("Add", {b.node("Add", {seen, b.node("Floor", {seen})}), sign})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  const auto graph = build_task_graph(b.network, {.batch = 8, .optimizer = {.kind = OptimizerKind::sgd}});
  REQUIRE(graph.ok());
  std::vector<std::string> back;
  for (const Task& task : graph->tasks)
    if (task.kind != TaskKind::forward && task.kind != TaskKind::loss) back.push_back(task.name);
  CHECK(back == std::vector<std::string>{"Gemm0.backward_weights", "w.update"});
}

TEST_CASE("where tokens are read and each is scored, each has a label") {
  LossBuilder b;
  const ValueId ids = b.value("ids", ValueKind::input, {DataType::i64, {kBatch, {4}}});
  const ValueId table = b.value("table", ValueKind::parameter, {DataType::f32, {{9}, {6}}});
  const ValueId head = b.value("head", ValueKind::parameter, {DataType::f32, {{6}, {9}}});
  b.network.outputs = {b.node("MatMul", {b.node("Gather", {table, ids}), head})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  CHECK(notes == std::vector<std::string>{"per-token loss: logits [N,4,9], labels [N,4]"});
  CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::i32, {kBatch, {4}}});

  const auto graph = build_task_graph(b.network, {.batch = 8, .optimizer = {.kind = OptimizerKind::sgd}});
  REQUIRE(graph.ok());
  CHECK(graph->tensors[graph->inputs[0]].bound == 9);
  CHECK(graph->tensors[graph->inputs[1]].bound == 0);
}

TEST_CASE("tokens and their scores may have their steps first: what is fed has samples first") {
  LossBuilder b;
  const ValueId ids = b.value("ids", ValueKind::input, {DataType::i64, {kBatch, {4}}});
  const ValueId table = b.value("table", ValueKind::parameter, {DataType::f32, {{9}, {6}}});
  const ValueId head = b.value("head", ValueKind::parameter, {DataType::f32, {{6}, {5}}});
  const ValueId steps = b.node("Transpose", {ids});
  CHECK(b.network.values[steps].type == TensorType{DataType::i64, {{4}, kBatch}});
  const ValueId scores = b.node("MatMul", {b.node("Gather", {table, steps}), head});
  b.network.outputs = {b.node("LogSoftmax", {scores})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::i32, {kBatch, {4}}});
  const Node& loss = b.network.nodes.back();
  CHECK(b.network.values[loss.inputs[0]].type == TensorType{DataType::f32, {kBatch, {4}, {5}}});
  std::string names;
  for (const Node& node : b.network.nodes) names += node.op + " ";
  CHECK(names == "Transpose Gather MatMul Transpose SoftmaxCrossEntropyLoss ");
  const auto graph = build_task_graph(b.network, {.batch = 8});
  REQUIRE(graph.ok());
  CHECK(graph->tensors[graph->inputs[0]].bound == 9);
}

TEST_CASE("the target of a mean square has the output's shape") {
  LossBuilder b = classifier();
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, {LossKind::mse, "Relu1.0"}, notes).ok());
  CHECK(b.network.nodes.back().op == "MseLoss");
  CHECK(b.network.outputs.size() == 1);
  const Value& target = b.network.values[b.network.inputs.back()];
  CHECK(target.name == "target");
  CHECK(target.type == TensorType{DataType::f32, {kBatch, {5}}});
}

TEST_CASE("an output with its steps first is turned for its target, which has its samples first") {
  LossBuilder b;
  const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {7}, {3}}});
  b.node("Transpose", {x});
  b.network.nodes.back().attributes["perm"] = std::vector<int64_t>{1, 0, 2};
  const ValueId y = b.network.nodes.back().outputs[0];
  b.network.values[y].type.dims = {{7}, kBatch, {3}};
  b.network.outputs = {y};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::mse, notes).ok());
  CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::f32, {kBatch, {7}, {3}}});
  CHECK(b.network.values[b.network.nodes.back().inputs[0]].type == TensorType{DataType::f32, {kBatch, {7}, {3}}});
  CHECK(notes ==
        std::vector<std::string>{"output 'Transpose0.0' is [7,N,3]; targets are read with the batch first: [N,7,3]"});
}

namespace {

// x [N,6,5] → MatMul → [N,6,4], or its rows in another form.
struct ScoredRows : LossBuilder {
  ValueId x = value("x", ValueKind::input, {DataType::f32, {kBatch, {6}, {5}}});
  ValueId w = value("w", ValueKind::parameter, {DataType::f32, {{5}, {4}}});
  ValueId square = value("square", ValueKind::parameter, {DataType::f32, {{6}, {5}}});
  ValueId wide = value("wide", ValueKind::parameter, {DataType::f32, {{1}, {4}}});

  ValueId reshaped(ValueId from, std::vector<int64_t> shape) {
    return moved("Reshape", "shape", std::move(shape), from);
  }
  ValueId moved(const std::string& op, const char* attribute, std::vector<int64_t> list, ValueId from) {
    const std::string name = op + std::to_string(network.nodes.size());
    Node node{.name = name, .op = op, .opset = op == "Reshape" ? 1 : 13, .inputs = {from}};
    node.attributes[attribute] = std::move(list);
    node.outputs = {value(name + ".0", ValueKind::intermediate, {})};
    network.nodes.push_back(node);
    const auto types = find_op(op)->infer(NodeView(network, network.nodes.back()));
    REQUIRE(types.ok());
    network.values[node.outputs[0]].type = (*types)[0];
    return node.outputs[0];
  }

  Dims of_input(size_t i) const { return network.values[network.nodes.back().inputs[i]].type.dims; }
};

}  // namespace

TEST_CASE("labels of an output with several rows of a sample are read sample by sample") {
  std::vector<std::string> notes;
  {
    ScoredRows b;
    b.network.outputs = {b.moved("Reshape", "shape", {-1, 4}, b.node("MatMul", {b.x, b.w}))};
    REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
    CHECK(b.of_input(0) == Dims{kBatch, {6}, {4}});
    CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::i32, {kBatch, {6}}});
    CHECK(notes[0] == "output 'Reshape1.0' is [6N,4]; it has several rows for each sample: [N,6,4]");
  }
  {
    ScoredRows b;
    const ValueId rows = b.moved("Reshape", "shape", {-1, 5}, b.x);
    b.network.outputs = {b.moved("Reshape", "shape", {-1}, b.node("Relu", {b.node("MatMul", {rows, b.w})}))};
    REQUIRE(attach_loss(b.network, LossKind::mse, notes).ok());
    CHECK(b.network.values[b.network.inputs.back()].type == TensorType{DataType::f32, {kBatch, {24}}});
  }
}

TEST_CASE("rows of which all samples of a step follow each other meet the labels of their samples") {
  ScoredRows b;
  const ValueId turned = b.moved("Transpose", "perm", {1, 0, 2}, b.x);
  b.network.outputs = {b.node("MatMul", {b.moved("Reshape", "shape", {-1, 5}, turned), b.w})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  const Network& network = b.network;
  REQUIRE(network.nodes.size() == 6);
  CHECK(network.nodes[NodeId(3)].op == "Reshape");
  CHECK(network.values[network.nodes[NodeId(3)].outputs[0]].type.dims == Dims{{6}, kBatch, {4}});
  CHECK(network.nodes[NodeId(4)].op == "Transpose");
  CHECK(b.of_input(0) == Dims{kBatch, {6}, {4}});
  CHECK(network.nodes.back().marks.classes_last);
}

TEST_CASE("an activation before the loss is left out, whatever moves its result") {
  std::vector<std::string> notes;
  {
    ScoredRows b;
    const ValueId p = b.node("Sigmoid", {b.node("MatMul", {b.x, b.w})});
    const ValueId read_too = b.node("Relu", {p});
    b.network.outputs = {b.moved("Transpose", "perm", {0, 2, 1}, b.moved("Reshape", "shape", {-1, 3, 8}, p)), read_too};
    REQUIRE(attach_loss(b.network, {LossKind::binary_cross_entropy, "Transpose4.0"}, notes).ok());
    CHECK(notes.back() == "node 'Sigmoid1' (Sigmoid) is removed: the loss includes it");
    CHECK(b.network.nodes.size() == 4);
    CHECK(b.of_input(0) == Dims{kBatch, {8}, {3}});
  }
  for (const int64_t size : {1, 2}) {  // of a mean over one element, or over two
    CAPTURE(size);
    ScoredRows b;
    const ValueId p = b.node("Sigmoid", {b.node("MatMul", {b.x, b.w})});
    const ValueId parts = b.moved("Reshape", "shape", {-1, 24 / size, size}, p);
    b.network.outputs = {b.moved("ReduceMean", "axes", {2}, parts)};
    REQUIRE(attach_loss(b.network, LossKind::binary_cross_entropy, notes).ok());
    size_t sigmoids = 0;
    for (const Node& node : b.network.nodes) sigmoids += node.op == "Sigmoid";
    CHECK(sigmoids == (size == 1 ? 0 : 1));
  }
  for (const int64_t classes : {1, 2}) {
    CAPTURE(classes);
    ScoredRows b;
    const ValueId p = b.node("Softmax", {b.node("MatMul", {b.x, b.w})});
    b.network.nodes.back().attributes["axis"] = int64_t{-1};
    b.network.outputs = {b.moved("Transpose", "perm", {0, 2, 1}, p)};
    REQUIRE(attach_loss(b.network, {LossKind::softmax_cross_entropy, {}, classes}, notes).ok());
    size_t softmaxes = 0;
    for (const Node& node : b.network.nodes) softmaxes += node.op == "Softmax";
    CHECK(softmaxes == (classes == 1 ? 0 : 1));  // it is over the other axis
  }
}

// Of scikit-learn, and of modules that return both probabilities.
TEST_CASE("the probabilities of two classes are trained by their cross entropy, which is that of 0 and the score") {
  struct Form {
    const char* complement;
    bool first, reshaped, is_pair, undecided = false;
  };
  for (const Form form : {Form{"Sub", true, false, true}, Form{"Sub", false, false, true},
                          Form{"Sub", true, true, true}, Form{"Add", true, false, true},
                          Form{"Sigmoid", false, true, true}, Form{"Sub", true, false, false},
                          Form{"Sub", true, false, true, true}, Form{"Sub", true, false, false, true}}) {
    CAPTURE(form.complement, form.first, form.reshaped, form.is_pair, form.undecided);
    ScoredRows b;
    const ValueId flat = b.value("flat", ValueKind::input, {DataType::f32, {kBatch, {5}}});
    const ValueId column = b.value("column", ValueKind::parameter, {DataType::f32, {{5}, {1}}});
    const ValueKind kind = form.undecided ? ValueKind::parameter : ValueKind::constant;
    const ValueId one = b.value("one", kind, {DataType::f32, {{1}}});
    const double number = form.is_pair ? 1.0 : 0.5;
    b.network.values[one].undecided = form.undecided;
    if (form.undecided) b.network.values[one].number = number;
    else b.network.values[one].constant = ConstantData{.reals = {number}};
    ValueId score = b.node("MatMul", {flat, column});
    if (form.reshaped) score = b.reshaped(score, {-1});
    ValueId p = b.node("Sigmoid", {score});
    ValueId other = std::string(form.complement) == "Sub"   ? b.node("Sub", {one, p})
                    : std::string(form.complement) == "Add" ? b.node("Add", {b.node("Neg", {p}), one})
                                                            : b.node("Sigmoid", {b.node("Neg", {score})});
    if (form.reshaped) p = b.reshaped(p, {-1, 1}), other = b.reshaped(other, {-1, 1});
    const ValueId both = b.node("Relu", {p});  // whose node becomes the concatenation
    Node& concat = b.network.nodes.back();
    concat.op = "Concat";
    concat.inputs = form.first ? std::vector{other, p} : std::vector{p, other};
    concat.attributes["axis"] = int64_t{1};
    b.network.values[both].type.dims = {kBatch, {2}};
    b.network.outputs = {both};
    std::vector<std::string> notes;
    StatedLoss stated;
    REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes, &stated).ok());
    CHECK(stated.warning.empty());
    std::string names;
    for (const Node& node : b.network.nodes) names += node.op + " ";
    if (!form.is_pair) {
      CHECK_THAT(names, Catch::Matchers::EndsWith("Concat SoftmaxCrossEntropyLoss "));
      continue;
    }
    CHECK(names == (form.reshaped ? "MatMul Reshape Reshape Pad SoftmaxCrossEntropyLoss "
                                  : "MatMul Pad SoftmaxCrossEntropyLoss "));
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], Catch::Matchers::EndsWith("(Concat) is removed: the loss includes it"));
    const Node& pad = b.network.nodes[NodeId(b.network.nodes.size() - 2)];
    CHECK(NodeView(b.network, pad).integers("pads") ==
          (form.first ? std::vector<int64_t>{0, 1, 0, 0} : std::vector<int64_t>{0, 0, 0, 1}));
    CHECK(b.of_input(0) == Dims{kBatch, {2}});
    const auto inferred = find_op("Pad")->infer(NodeView(b.network, pad));
    REQUIRE(inferred.ok());
    CHECK((*inferred)[0].dims == Dims{kBatch, {2}});
    CHECK(build_task_graph(b.network, {.batch = 8}).ok());
  }
}

TEST_CASE("a loss on scores warns of an output of probabilities") {
  const auto warning = [](const std::vector<std::string>& ops, LossKind kind) {
    LossBuilder b = ends_in({kBatch, {7}}, ops);
    std::vector<std::string> notes;
    StatedLoss stated;
    REQUIRE(attach_loss(b.network, kind, notes, &stated).ok());
    return stated.warning;
  };
  CHECK_THAT(warning({"MatMul", "Sigmoid"}, LossKind::softmax_cross_entropy),
             Catch::Matchers::StartsWith("output 'Sigmoid1.0' consists of probabilities: softmax-cross-entropy"));
  CHECK_THAT(warning({"MatMul", "Softmax", "Identity"}, LossKind::binary_cross_entropy),
             Catch::Matchers::Contains("bce-logits applies a sigmoid to them"));
  CHECK(warning({"MatMul", "Sigmoid"}, LossKind::binary_cross_entropy).empty());
  CHECK(warning({"MatMul", "Softmax"}, LossKind::softmax_cross_entropy).empty());
  CHECK(warning({"MatMul", "Sigmoid"}, LossKind::mse).empty());
  CHECK(warning({"MatMul", "Sigmoid", "Neg"}, LossKind::softmax_cross_entropy).empty());
}

// Of JAX and TensorFlow.
TEST_CASE("a trailing softmax that is spelled out is removed") {
  for (const bool same : {true, false}) {  // whether the sum is of the same powers
    CAPTURE(same);
    LossBuilder b = classifier();
    const ValueId axes = b.value("axes", ValueKind::constant, {DataType::i64, {{1}}});
    b.network.values[axes].constant = ConstantData{.ints = {-1}};
    const ValueId powers = b.node("Exp", {b.network.outputs[0]});
    const ValueId sum = b.node("ReduceSum", {same ? powers : b.network.outputs[0], axes});
    b.network.outputs = {b.node("Div", {powers, sum})};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
    CHECK(b.network.values[b.network.nodes.back().inputs[0]].name == (same ? "Relu1.0" : "Div5.0"));
    CHECK(notes.size() == (same ? 1 : 0));
  }
}

TEST_CASE("a quotient whose sums are expanded along another axis is no softmax") {
  for (const bool along : {true, false}) {
    CAPTURE(along);
    ScoredRows b;
    const ValueId powers = b.node("Exp", {b.node("MatMul", {b.reshaped(b.x, {-1, 5, 6}), b.square})});
    const ValueId axes = b.value("axes", ValueKind::constant, {DataType::i64, {{1}}});
    b.network.values[axes].constant = ConstantData{.ints = {-1}};
    const ValueId shape = b.value("shape", ValueKind::constant, {DataType::i64, {{3}}});
    b.network.values[shape].constant = ConstantData{.ints = {1, 5, 5}};
    const ValueId sum = b.node("ReduceSum", {powers, axes});
    const ValueId turned = along ? sum : b.reshaped(sum, {-1, 1, 5});
    b.network.outputs = {b.node("Div", {powers, b.node("Expand", {turned, shape})})};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(b.network, {LossKind::softmax_cross_entropy, {}, 2}, notes).ok());
    const auto divisions = std::count_if(b.network.nodes.begin(), b.network.nodes.end(),
                                         [](const Node& node) { return node.op == "Div"; });
    CHECK(divisions == (along ? 0 : 1));
  }
}

TEST_CASE("rows of samples are known behind an operator that takes another dimension away") {
  ScoredRows b;
  const ValueId rows = b.reshaped(b.x, {-1, 5, 1});
  ValueId mean = b.node("ReduceMean", {b.node("MatMul", {rows, b.wide})});
  b.network.nodes.back().attributes = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}};
  b.network.values[mean].type.dims = {{6, true}, {4}};
  b.network.outputs = {mean};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  CHECK(b.of_input(0) == Dims{kBatch, {6}, {4}});
}

TEST_CASE("a trailing softmax is removed") {
  LossBuilder b = classifier();
  b.network.outputs = {b.node("Softmax", {b.network.outputs[0]})};
  b.network.values[b.network.outputs[0]].type = {DataType::f32, {kBatch, {5}}};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::softmax_cross_entropy, notes).ok());
  CHECK(notes == std::vector<std::string>{"node 'Softmax3' (Softmax) is removed: the loss includes it"});
  CHECK(b.network.nodes.size() == 3);
}

TEST_CASE("an activation is also removed if its result is transposed or reshaped to channels last") {
  const auto ends = [](const std::string& activation, const std::string& move, int64_t channels) {
    LossBuilder b;
    const ValueId x = b.value("x", ValueKind::input, {DataType::f32, {kBatch, {3}, {6}, {8}}});
    const ValueId w = b.value("w", ValueKind::parameter, {DataType::f32, {{channels}, {3}, {1}, {1}}});
    ValueId y = b.node("Conv", {x, w});
    if (!activation.empty()) {
      y = b.node(activation, {y});
      if (activation == "Softmax") b.network.nodes.back().attributes["axis"] = int64_t{1};
    }
    const Dims last = {kBatch, {6}, {8}, {channels}};
    Node node{.name = "last", .op = move, .opset = 13, .inputs = {y}};
    if (move == "Transpose") node.attributes["perm"] = std::vector<int64_t>{0, 2, 3, 1};
    node.outputs = {b.value("last.y", ValueKind::intermediate, {DataType::f32, last})};
    b.network.outputs = node.outputs;
    b.network.nodes.push_back(std::move(node));
    return b;
  };
  const auto trained = [](LossBuilder b, LossKind kind) {
    std::vector<std::string> notes;
    REQUIRE(attach_loss(b.network, kind, notes).ok());
    std::string text;
    for (const Node& node : b.network.nodes) text += node.op + " ";
    CHECK(b.network.values[b.network.nodes.back().inputs[0]].type.dims[3].value < 6);
    return text + to_string(b.network.values[b.network.inputs.back()].type.dims);
  };
  CHECK(trained(ends("Softmax", "Transpose", 5), LossKind::softmax_cross_entropy) ==
        "Conv Transpose SoftmaxCrossEntropyLoss [N,6,8]");
  CHECK(trained(ends("", "Transpose", 5), LossKind::softmax_cross_entropy) ==
        "Conv Transpose SoftmaxCrossEntropyLoss [N,6,8]");
  CHECK(trained(ends("Sigmoid", "Transpose", 5), LossKind::binary_cross_entropy) ==
        "Conv Transpose BinaryCrossEntropyLoss [N,6,8,5]");
  CHECK(trained(ends("Sigmoid", "Reshape", 1), LossKind::binary_cross_entropy) ==
        "Conv Reshape BinaryCrossEntropyLoss [N,6,8,1]");
}

}  // namespace plimsoll
