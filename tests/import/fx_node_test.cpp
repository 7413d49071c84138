// Arguments that torch's dynamo exporter writes only into the metadata of a node, as a call of PyTorch.
#include <catch2/catch.hpp>
#include <string>

#include "compiler/import/loaded_model.h"
#include "model_builder.h"

using namespace plimsoll;

namespace {

void called(onnx::NodeProto& node, const std::string& call) {
  onnx::StringStringEntryProto& entry = *node.add_metadata_props();
  entry.set_key("pkg.torch.onnx.fx_node");
  entry.set_value("%made : [num_users=1] = call_function[target=torch.ops.aten." + call);
}

}  // namespace

TEST_CASE("the label smoothing of the call that a loss comes from") {
  const auto smoothing_of = [](const std::string& arguments) {
    ModelBuilder build(18);
    build.input("x", {"N", "4"}).input("labels", {"N"}, onnx::TensorProto::INT64).output("loss");
    called(build.node("SoftmaxCrossEntropyLoss", {"x", "labels"}, {"loss"}, "loss"), arguments);
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    return find_node(imported->network, "loss")->marks.label_smoothing;
  };
  CHECK(smoothing_of("cross_entropy_loss.default](args = (%x, %y, None, 1, -100, 0.125), kwargs = {})") == 0.125);
  CHECK(smoothing_of("cross_entropy_loss.default](args = (%x, %y), kwargs = {label_smoothing: 0.25})") == 0.25);
  CHECK(smoothing_of("cross_entropy_loss.default](args = (%x, %y, %weight, 2, 1), kwargs = {})") == 0);
  CHECK(smoothing_of("cross_entropy_loss.default](args = (%x, %y, None, 1, -100, 1e300), kwargs = {})") == 0);
  CHECK(smoothing_of("cross_entropy_loss.default](args = (") == 0);
  CHECK(smoothing_of("nll_loss.default](args = (%x, %y, None, 1, -100, 0.125), kwargs = {})") == 0);

  // Labels that are probabilities: the loss is spelled out, and so is the smoothing.
  ModelBuilder build(18);
  build.input("x", {"N", "4"}).input("labels", {"N", "4"}).output("loss");
  called(build.node("SoftmaxCrossEntropyLoss", {"x", "labels"}, {"loss"}, "loss"),
         "cross_entropy_loss.default](args = (%x, %y, None, 1, -100, 0.1), kwargs = {})");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  std::string ops;
  for (const Node& made : imported->network.nodes) ops += made.op + " ";
  CHECK(ops == "LogSoftmax Mul Add Mul ReduceSum ReduceMean Neg ");
}

TEST_CASE("the padding of the call that an embedding comes from") {
  const auto padding_of = [](const std::string& arguments) {
    ModelBuilder build(18);
    build.weight("table", {9, 4}).input("ids", {"N", "3"}, onnx::TensorProto::INT64).output("y");
    called(build.node("Gather", {"table", "ids"}, {"y"}, "rows"), arguments);
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    return find_node(imported->network, "rows")->marks.padding_index;
  };
  CHECK(padding_of("embedding.default](args = (%table, %ids, 1), kwargs = {})") == 1);
  CHECK(padding_of("embedding.default](args = (%table, %ids), kwargs = {padding_idx: 2})") == 2);
  CHECK_FALSE(padding_of("embedding.default](args = (%table, %ids), kwargs = {})").has_value());
  CHECK_FALSE(padding_of("embedding.default](args = (%table, %ids, -1), kwargs = {})").has_value());
  CHECK_FALSE(padding_of("index.Tensor](args = (%table, %ids, 1), kwargs = {})").has_value());
}

TEST_CASE("a clamp by numbers is a Clip, whose gradient is zero at its bounds") {
  const auto said = [](const std::string& op, const std::string& arguments) {
    ModelBuilder build(18);
    build.input("x", {"N", "4"}).constant_real("bound", {0.5F}).output("y");
    called(build.node(op, {"x", "bound"}, {"y"}, "y"), arguments);
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    return imported->network.nodes.begin()->op;
  };
  CHECK(said("Max", "clamp.Tensor](args = (%x, %scalar_tensor_default), kwargs = {})") == "Clip");
  CHECK(said("Min", "clamp.Tensor](args = (%x, None, %scalar_tensor_default), kwargs = {})") == "Clip");
  CHECK(said("Min", "clamp.Tensor](args = (%x, %scalar_tensor, %scalar_tensor_1), kwargs = {})") == "Clip");
  CHECK(said("Min", "clamp.Tensor](args = (%x, %scalar_tensor, %ones), kwargs = {})") == "Min");
  CHECK(said("Max", "clamp.Tensor](args = (%x, %ones), kwargs = {})") == "Max");
  CHECK(said("Max", "maximum.default](args = (%x, %scalar_tensor_default), kwargs = {})") == "Max");
}

// Of a file with a fixed batch, dynamo's optimizer makes an initializer of the zeros that nn.LSTM begins with.
TEST_CASE("the initial states of a recurrent call are zeros for any batch if the call says so") {
  const auto outcome_of = [](const std::string& arguments, float state = 0) {
    ModelBuilder build(18);
    build.input("x", {"8", "5", "3"}).weight("w", {1, 8, 3}).weight("r", {1, 8, 2}).weight("b", {1, 16});
    build.weight("val_7", {1, 8, 2}, state, 0);
    ModelBuilder::ints(build.node("Transpose", {"x"}, {"steps"}, "steps"), "perm", {1, 0, 2});
    onnx::NodeProto& cell = build.node("LSTM", {"steps", "w", "r", "b", "", "val_7", "val_7"}, {"y", "h"}, "cell");
    ModelBuilder::integer(cell, "hidden_size", 2);
    called(cell, arguments);
    return outcome(build.output("h").import());
  };
  const auto refused = Catch::Matchers::StartsWith("4: node 'cell' (LSTM): its initial_h is [1,8,2]; expected [1,N,2]");
  CHECK(outcome_of("lstm.input](args = (%view, [%zeros, %zeros_1], [%p_w, %p_r], True, 1), kwargs = {})") == "ok");
  CHECK(outcome_of("lstm.input](args = (%view, [%new_zeros, %zeros], [%p_w], True, 1), kwargs = {})") == "ok");
  CHECK(outcome_of("gru.input](args = (%view, %zeros, [%p_w, %p_r], True, 1), kwargs = {})") == "ok");
  // Computed from a parameter, which is zero at first.
  CHECK_THAT(outcome_of("lstm.input](args = (%view, [%expand, %zeros], [%p_w], True, 1), kwargs = {})"), refused);
  CHECK_THAT(outcome_of("lstm.input](args = (%view, [%zeros, %expand], [%p_w], True, 1), kwargs = {})"), refused);
  CHECK_THAT(outcome_of("lstm.input](args = (%view, [%zeros], [%zeros_1], True, 1), kwargs = {})"), refused);
  CHECK_THAT(outcome_of("gru.input](args = (%view, %p_zeros, [%zeros], True, 1), kwargs = {})"), refused);
  CHECK_THAT(outcome_of("lstm.input](args = (%view"), refused);
  CHECK_THAT(outcome_of("lstm.input](args = (%view, [%zeros, %zeros_1], [%p_w, %p_r]), kwargs = {})", 1), refused);
}
