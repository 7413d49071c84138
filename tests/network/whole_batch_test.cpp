// Which networks may process their batch in rounds, and losses that are outputs of the model.
#include "compiler/training/whole_batch.h"

#include <catch2/catch.hpp>

#include "compiler/network/loss.h"
#include "compiler/network/output_loss.h"
#include "compiler/ops/op.h"
#include "compiler/training/build.h"
#include "written_network.h"

namespace plimsoll {
namespace {

using Catch::Matchers::Contains;

// x [N,4] · w, to which tests append nodes.
struct LossChain : test::WrittenNetwork {
  ValueId x = value("x", ValueKind::input, {kBatch, {4}}), t = value("t", ValueKind::input, {kBatch, {3}});
  ValueId w = value("w", ValueKind::parameter, {{4}, {3}});
  ValueId scores = node("MatMul", {x, w});

  ValueId squares() {
    const ValueId d = node("Sub", {scores, t});
    return node("Mul", {d, d});
  }

  // Over all axes, to a tensor without dimensions.
  ValueId mean(ValueId of) { return node("ReduceMean", {of}, {{"keepdims", int64_t{0}}}); }

  // The first node that needs the whole batch if the loss is `output`; "" for none.
  std::string whole(ValueId output) {
    network.outputs = {output};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(network, LossKind::output, notes).ok());
    const auto whole = nodes_of_whole_batch(network);
    for (const NodeId id : ids_of(network.nodes))
      if (whole[id]) return network.nodes[id].name;
    return "";
  }
};

}  // namespace

TEST_CASE("sums and means over samples, and what is linear in them, may go through in rounds") {
  const auto first = [](const auto& make) {
    LossChain c;
    return c.whole(make(c));
  };
  CHECK(first([](LossChain& c) { return c.mean(c.squares()); }).empty());
  CHECK(first([](LossChain& c) { return c.node("Neg", {c.mean(c.squares())}); }).empty());
  CHECK(first([](LossChain& c) { return c.node("Add", {c.mean(c.squares()), c.mean(c.scores)}); }).empty());
  CHECK(first([](LossChain& c) {
          const ValueId scale = c.value("scale", ValueKind::parameter, {{1}});
          return c.node("Mul", {c.mean(c.squares()), c.node("Exp", {scale})});
        }).empty());
  // Over samples first, then over the rest.
  CHECK(first([](LossChain& c) {
          return c.mean(c.node("ReduceSum", {c.squares()}, {{"axes", std::vector<int64_t>{0}}}));
        }).empty());
}

TEST_CASE("what makes no sum over samples needs the whole batch") {
  const auto first = [](const auto& make) {
    LossChain c;
    return c.whole(make(c));
  };
  CHECK_THAT(first([](LossChain& c) { return c.node("Sqrt", {c.mean(c.squares())}); }), Contains("Sqrt"));
  CHECK_THAT(first([](LossChain& c) {
               const ValueId mean = c.mean(c.squares());
               return c.node("Mul", {mean, mean});
             }),
             Contains("Mul"));
  CHECK_THAT(first([](LossChain& c) {
               return c.node("Add", {c.mean(c.squares()), c.mean(c.node("Mul", {c.w, c.w}))});
             }),
             Contains("Add"));
  CHECK_THAT(first([](LossChain& c) {
               return c.node("Div", {c.mean(c.scores), c.mean(c.squares())});
             }),
             Contains("Div"));
  CHECK_THAT(first([](LossChain& c) { return c.mean(c.node("Sub", {c.scores, c.mean(c.scores)})); }), Contains("Sub"));
  CHECK_THAT(first([](LossChain& c) {
               return c.node("ReduceMax", {c.scores}, {{"keepdims", int64_t{0}}});
             }),
             Contains("ReduceMax"));
  // A loss that does not depend on samples would be counted once per round.
  CHECK(first([](LossChain& c) { return c.mean(c.w); }) == "loss");
  // A Relu that was fused into an addition.
  CHECK_THAT(first([](LossChain& c) {
               const ValueId sum = c.node("Add", {c.mean(c.squares()), c.mean(c.scores)});
               c.network.nodes.back().marks.activation = FusedActivation::relu;
               return sum;
             }),
             Contains("Add"));
}

TEST_CASE(
    "a mean over samples is a share of the iteration's mean in rounds, and the round's own where the batch is whole") {
  const auto attributes = [](bool root) {
    LossChain c;
    const ValueId mean = c.mean(c.squares());
    c.whole(root ? c.node("Sqrt", {mean}) : mean);
    const auto graph = build_task_graph(c.network, {.batch = 8});
    REQUIRE(graph.ok());
    CHECK_FALSE(graph->output.valid());
    CHECK(graph->loss.valid());
    std::string text;
    for (const Task& task : graph->tasks) {
      CHECK(task.whole_batch == (root && (task.kernel == "SqrtForward" || task.kernel == "OutputLoss")));
      if (task.kernel != "SumSamples" && task.kernel != "SpreadSamples") continue;
      const auto attrs = task.attributes;
      for (const Attribute& attribute : attrs)
        if (attribute.name == "scale" && !root)
          text += std::get<double>(attribute.value) == 1.0 / 24 ? "share " : "other ";
        else if (attribute.name == "of_round" && root) text += std::get<bool>(attribute.value) ? "own " : "other ";
    }
    return text;
  };
  CHECK(attributes(false) == "share share ");
  CHECK(attributes(true) == "own own ");
}

TEST_CASE("a trainer knows the labels of a model that is compiled for one number of samples, if they are all of them") {
  const auto classes = [](bool shifted) {
    test::WrittenNetwork c;
    const ValueId x = c.value("x", ValueKind::input, {kBatch, {5}, {4}});
    const ValueId y = c.value("y", ValueKind::input, {kBatch, {5}});
    c.network.values[y].type.type = DataType::i64;
    const auto integers = [&](std::vector<int64_t> items) {
      const ValueId id = c.value("c" + std::to_string(c.network.values.size()), ValueKind::constant,
                                 {{static_cast<int64_t>(items.size())}});
      c.network.values[id].type.type = DataType::i64;
      c.network.values[id].constant.emplace().ints = std::move(items);
      return id;
    };
    const auto last_four = [&](ValueId of) {
      return c.node("Slice", {of, integers({1}), integers({5}), integers({1})});
    };
    ValueId scores = c.node("WholeBatch", {x}, {{"samples", int64_t{2}}}),
            labels = c.node("WholeBatch", {y}, {{"samples", int64_t{2}}});
    if (shifted) scores = last_four(scores), labels = last_four(labels);
    scores = c.node("Reshape", {scores, integers({shifted ? 8 : 10, 4})});
    labels = c.node("Reshape", {labels, integers({shifted ? 8 : 10})});
    scores = c.node("MatMul", {scores, c.value("w", ValueKind::parameter, {{4}, {3}})});
    c.network.outputs = {c.node("SoftmaxCrossEntropyLoss", {scores, labels})};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(c.network, LossKind::none, notes).ok());
    const auto graph = build_task_graph(c.network, {.batch = 2});
    REQUIRE(graph.ok());
    const Tensor& fed = graph->tensors[graph->inputs.back()];
    return std::pair(fed.bound, fed.ignored.has_value());
  };
  CHECK(classes(false) == std::pair(int64_t{3}, true));
  // The kernel counts them itself.
  CHECK(classes(true) == std::pair(int64_t{0}, false));
}

TEST_CASE("the output that is the loss is named, or the only number, and what it leaves out is an error") {
  LossChain c;
  const ValueId loss = c.mean(c.squares()), other = c.mean(c.scores),
                head = c.node("MatMul", {c.x, c.value("v", ValueKind::parameter, {{4}, {2}})});
  const auto found = [&](std::vector<ValueId> outputs, const std::string& name = "") {
    c.network.outputs = std::move(outputs);
    const auto result = find_output_loss(c.network, name);
    if (result.ok()) return *result;
    std::string notes;
    for (const std::string& note : result.error().notes) notes += "; " + note;
    return std::to_string(static_cast<int>(result.error().code)) + ": " + result.error().message + notes;
  };
  const std::string name = c.network.values[loss].name;
  CHECK(found({loss}) == name);
  CHECK(found({c.scores, loss}) == name);
  CHECK(found({head, loss}, name) == name);
  CHECK(found({c.node("Identity", {c.scores}), loss}) == name);  // has no weights of its own
  CHECK(found({head, loss}) == "4: output 'MatMul5.y' f32[N,2] does not contribute to the loss '" + name +
                                   "': layers that feed only this output would not be trained; --loss output:" + name +
                                   " trains without them");
  CHECK_THAT(found({loss, other}), Contains("4: several of the model's outputs are scalars"));
  CHECK_THAT(found({c.scores, head}), Contains("4: none of the model's outputs are scalars"));
  CHECK_THAT(found({c.scores}),
             Contains("is not a loss: a loss is a single f32; reduce the loss over all samples in the model"));
  CHECK_THAT(found({loss, c.scores}, c.network.values[c.scores].name), Contains("is not a loss"));
  CHECK_THAT(found({loss}, "los"),
             Contains("2: --loss output:los: the model has no such output; outputs: '" + name + "' f32[]"));
}

}  // namespace plimsoll
