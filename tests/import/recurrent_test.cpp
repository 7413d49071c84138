// Unrolled recurrent networks: the nodes that are written, whose weights they use, and what is rejected.
// tools/bench/parity.py checks that they compute what PyTorch does, `e2e: recurrent` that they follow ONNX's equations.
#include <catch2/catch.hpp>

#include <map>

#include "model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

const ImportOptions fuse{.batch = 4, .recurrence = Recurrence::fused};

// x [5,N,3] through one node, with a state of size 2.
struct Recurrent {
  ModelBuilder build = ModelBuilder(18);
  onnx::NodeProto* node = nullptr;

  explicit Recurrent(const std::string& op, int64_t gates, std::vector<std::string> inputs = {"x", "w", "r", "b"},
                     int64_t directions = 1) {
    build.input("x", {"5", "N", "3"})
        .weight("w", {directions, gates * 2, 3})
        .weight("r", {directions, gates * 2, 2})
        .weight("b", {directions, gates * 4});
    node = &build.node(op, inputs, {"y", "h"}, "cell");
    ModelBuilder::integer(*node, "hidden_size", 2);
    build.output("h");
  }
  void text(const std::string& name, const std::string& value) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }
  void texts(const std::string& name, const std::vector<std::string>& values) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) attribute.add_strings(value);
  }
  void real(const std::string& name, float value) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void reals(const std::string& name, const std::vector<float>& values) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : values) attribute.add_floats(value);
  }
  // The computing operators and their counts, without views; the dimensions of the first output.
  std::string said(const ImportOptions& options = {.batch = 4}) const {
    const auto imported = build.import(options);
    if (!imported.ok()) return outcome(imported);
    std::map<std::string, int> ops;
    for (const Node& made : imported->network.nodes)
      if (made.op != "Squeeze" && made.op != "Unsqueeze" && made.op != "Reshape" && made.op != "Identity")
        ++ops[made.op];
    std::string text;
    for (const auto& [op, count] : ops) text += op + " " + std::to_string(count) + ", ";
    return text + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  }
};

}  // namespace

TEST_CASE("an LSTM is its equations, step by step") {
  const Recurrent lstm("LSTM", 4);
  // The input is transposed, because files store samples first. There is one product for all steps, and one with the
  // state for each step but the first, whose state is zero; the first step also has no forget gate.
  CHECK(lstm.said() == "Add 5, Gemm 5, Mul 14, Sigmoid 14, Split 7, Tanh 10, Transpose 1, [1,N,2]");
  const auto imported = lstm.build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_node(imported->network, "cell/step_3/Gemm"));
  CHECK(find_node(imported->network, "cell/steps_0_to_4/Gemm"));
  for (const char* weight : {"w", "r", "b"}) {
    const Value* value = find_value(imported->network, weight);
    REQUIRE(value);
    CHECK((value->kind == ValueKind::parameter && value->trainable && value->initializer == weight));
  }
}

TEST_CASE("inputs of some steps are multiplied at once, as many as make 256 rows") {
  const auto gemms = [](int64_t batch) {
    const auto imported = Recurrent("RNN", 1).build.import({.batch = batch});
    REQUIRE(outcome(imported) == "ok");
    std::string names;
    for (const Node& made : imported->network.nodes)
      if (made.op == "Gemm" && made.name.find("/step_") == std::string::npos) names += made.name + " ";
    return names;
  };
  CHECK(gemms(4) == "cell/steps_0_to_4/Gemm ");
  CHECK(gemms(64) == "cell/steps_0_to_2/Gemm cell/steps_3_to_4/Gemm ");
  CHECK(gemms(1000).empty());
}

TEST_CASE("both directions, all outputs, samples first") {
  Recurrent both("LSTM", 4, {"x", "w", "r", "b"}, 2);
  both.text("direction", "bidirectional");
  CHECK_THAT(both.said(), Contains("Gemm 10") && Contains("[2,N,2]"));
  both.build.graph().mutable_output(0)->set_name("y");
  CHECK_THAT(both.said(), Contains("[5,2,N,2]"));
  Recurrent first("GRU", 3);
  first.build.graph().clear_input();
  first.build.input("x", {"N", "5", "3"});
  ModelBuilder::integer(*first.node, "layout", 1);
  CHECK_THAT(first.said(), Contains("[N,1,2]"));
  first.build.graph().mutable_output(0)->set_name("y");
  CHECK_THAT(first.said(), Contains("[N,5,1,2]"));
}

TEST_CASE("a GRU resets before or behind the product") {
  Recurrent gru("GRU", 3);
  CHECK_THAT(gru.said(), Contains("Gemm 9"));
  ModelBuilder::integer(*gru.node, "linear_before_reset", 1);
  CHECK_THAT(gru.said(), Contains("Gemm 5"));
}

TEST_CASE("states are read where they are given, and zeros are none") {
  Recurrent given("LSTM", 4, {"x", "w", "r", "b", "", "h0", "c0"});
  given.build.input("h0", {"1", "N", "2"}).input("c0", {"1", "N", "2"});
  CHECK_THAT(given.said(), Contains("Gemm 6") && Contains("Sigmoid 15"));
  Recurrent wrong("LSTM", 4, {"x", "w", "r", "b", "", "h0", "c0"});
  wrong.build.input("h0", {"1", "N", "3"}).input("c0", {"1", "N", "2"});
  CHECK_THAT(wrong.said(), Contains("4: node 'cell' (LSTM): its initial_h is [1,N,3]; expected [1,N,2]"));

  // As torch exports an omitted state: zeros of the batch's size, layer by layer.
  Recurrent zeros("RNN", 1, {"x", "w", "r", "b", "", "slice"});
  ModelBuilder shapes(18);
  shapes.input("x", {"5", "N", "3"});
  shapes.constant("one", {1}).constant("two", {2}).constant("nothing", {0});
  shapes.node("Shape", {"x"}, {"shape"});
  shapes.node("Slice", {"shape", "one", "two"}, {"samples"});
  shapes.node("Concat", {"two", "samples", "two"}, {"states"});
  ModelBuilder::integer(*shapes.graph().mutable_node(shapes.graph().node_size() - 1), "axis", 0);
  shapes.node("ConstantOfShape", {"states"}, {"zeros"});
  shapes.node("Slice", {"zeros", "nothing", "one", "nothing"}, {"slice"});
  onnx::GraphProto& graph = zeros.build.graph();
  const onnx::NodeProto cell = graph.node(0);
  *graph.mutable_node() = shapes.graph().node();
  *graph.add_node() = cell;
  CHECK(zeros.said() == "Add 1, Gemm 5, Split 2, Tanh 5, Transpose 1, [1,N,2]");
}

TEST_CASE("weights that an exporter put together out of parameters are those parameters") {
  ModelBuilder build(18);
  build.input("x", {"5", "N", "3"}).weight("w", {6, 3}).weight("r", {6, 2}).weight("bi", {6}).weight("bh", {6});
  build.constant("nothing", {0}).constant("two", {2}).constant("four", {4}).constant("far", {INT64_MAX});
  // torch has r, z, n; ONNX z, r, h.
  const auto ordered = [&](const std::string& name) {
    build.node("Slice", {name, "nothing", "two", "nothing"}, {name + "_r"});
    build.node("Slice", {name, "two", "four", "nothing"}, {name + "_z"});
    build.node("Slice", {name, "four", "far", "nothing"}, {name + "_n"});
    ModelBuilder::integer(build.node("Concat", {name + "_z", name + "_r", name + "_n"}, {name + "_all"}), "axis", 0);
  };
  for (const char* name : {"w", "r", "bi", "bh"}) ordered(name);
  ModelBuilder::integer(build.node("Concat", {"bi_all", "bh_all"}, {"b_all"}), "axis", 0);
  for (const char* name : {"w", "r", "b"})
    build.node("Unsqueeze", {std::string(name) + "_all", "nothing"}, {std::string(name) + "_in_front"});
  onnx::NodeProto& cell = build.node("GRU", {"x", "w_in_front", "r_in_front", "b_in_front"}, {"", "h"}, "cell");
  ModelBuilder::integer(cell, "hidden_size", 2);
  ModelBuilder::integer(cell, "linear_before_reset", 1);
  build.output("h");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  int slices = 0, products = 0;
  for (const Node& made : imported->network.nodes) {
    slices += made.op == "Slice";
    if (made.op != "Gemm") continue;
    const std::string& weight = imported->network.values[made.inputs[1]].name;
    CHECK(weight == (made.name.find("/step_") == std::string::npos ? "w" : "r"));
    ++products;
  }
  CHECK(slices == 0);
  CHECK(products == 5);
  // z is the second of the parameter's gates.
  const Node* back = find_node(imported->network, "cell/step_1/Mul:2");
  const Node* gates = find_node(imported->network, "cell/step_1/Split:3");
  REQUIRE(back);
  REQUIRE(gates);
  CHECK(back->inputs[0] == gates->outputs[1]);
}

TEST_CASE("an LSTM is one operator for each direction if that is asked for, with the weights of the file") {
  Recurrent lstm("LSTM", 4);
  CHECK(lstm.said(fuse) == "Add 1, Gemm 1, LstmSequence 1, Split 1, Transpose 1, [1,N,2]");
  const auto imported = lstm.build.import(fuse);
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.forms == FormsOfParts{{"recurrence", "fused"}});
  CHECK(find_node(imported->network, "cell/steps/LstmSequence"));
  for (const char* weight : {"w", "r", "b"}) {
    const Value* value = find_value(imported->network, weight);
    REQUIRE(value);
    CHECK((value->kind == ValueKind::parameter && value->trainable && value->initializer == weight));
  }
  const auto unrolled = lstm.build.import();
  REQUIRE(outcome(unrolled) == "ok");
  CHECK(unrolled->network.forms == FormsOfParts{{"recurrence", "unrolled"}});

  Recurrent both("LSTM", 4, {"x", "w", "r", "b", "", "h0", "c0"}, 2);
  both.text("direction", "bidirectional");
  both.build.input("h0", {"2", "N", "2"}).input("c0", {"2", "N", "2"});
  both.build.graph().mutable_output(0)->set_name("y");
  CHECK_THAT(both.said(fuse), Contains("Gemm 2, LstmSequence 2") && Contains("[5,2,N,2]"));

  // Other operators and activations are unrolled, and have no other form.
  Recurrent other("LSTM", 4), relu("GRU", 3), before("GRU", 3);
  other.texts("activations", {"Sigmoid", "Relu", "Tanh"});
  ModelBuilder::integer(*relu.node, "linear_before_reset", 1);
  for (Recurrent* const gru : {&relu, &before}) gru->texts("activations", {"Sigmoid", "Relu"});
  for (const Recurrent& one : {other, relu, before, Recurrent("RNN", 1)}) {
    CHECK(one.said(fuse) == one.said());
    CHECK(one.build.import(fuse)->network.forms.empty());
  }
}

TEST_CASE("so is a GRU that resets after the product, with a bias of its own for the product of the state") {
  Recurrent gru("GRU", 3);
  ModelBuilder::integer(*gru.node, "linear_before_reset", 1);
  CHECK(gru.said(fuse) == "Gemm 1, GruSequence 1, Split 1, Transpose 1, [1,N,2]");
  const auto imported = gru.build.import(fuse);
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.forms == FormsOfParts{{"recurrence", "fused"}});
  const Node* steps = find_node(imported->network, "cell/steps/GruSequence");
  REQUIRE(steps);
  REQUIRE(steps->inputs.size() == 4);
  CHECK_FALSE(steps->inputs[2].valid());
  CHECK(to_string(imported->network.values[steps->inputs[3]].type.dims) == "[6]");
  const auto unrolled = gru.build.import();
  REQUIRE(outcome(unrolled) == "ok");
  CHECK(unrolled->network.forms == FormsOfParts{{"recurrence", "unrolled"}});

  Recurrent both("GRU", 3, {"x", "w", "r", "b", "", "h0"}, 2);
  both.text("direction", "bidirectional");
  ModelBuilder::integer(*both.node, "linear_before_reset", 1);
  both.build.input("h0", {"2", "N", "2"});
  both.build.graph().mutable_output(0)->set_name("y");
  CHECK_THAT(both.said(fuse), Contains("Gemm 2, GruSequence 2") && Contains("[5,2,N,2]"));

  Recurrent plain("GRU", 3, {"x", "w", "r"});
  ModelBuilder::integer(*plain.node, "linear_before_reset", 1);
  CHECK(plain.said(fuse) == "Gemm 1, GruSequence 1, Transpose 1, [1,N,2]");
}

TEST_CASE("so is a GRU that resets before the product, with both biases in the product of the inputs") {
  Recurrent gru("GRU", 3);
  CHECK(gru.said(fuse) == "Add 1, Gemm 1, ResetFirstGruSequence 1, Split 1, Transpose 1, [1,N,2]");
  const auto imported = gru.build.import(fuse);
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.forms == FormsOfParts{{"recurrence", "fused"}});
  // It multiplies with the weight of the file, which is not split.
  const Node* steps = find_node(imported->network, "cell/steps/ResetFirstGruSequence");
  REQUIRE(steps);
  REQUIRE(steps->inputs.size() >= 2);
  CHECK(to_string(imported->network.values[steps->inputs[1]].type.dims) == "[6,2]");
  const auto unrolled = gru.build.import();
  REQUIRE(outcome(unrolled) == "ok");
  CHECK(unrolled->network.forms == FormsOfParts{{"recurrence", "unrolled"}});

  Recurrent both("GRU", 3, {"x", "w", "r", "b", "", "h0"}, 2);
  both.text("direction", "bidirectional");
  both.build.input("h0", {"2", "N", "2"});
  both.build.graph().mutable_output(0)->set_name("y");
  CHECK_THAT(both.said(fuse), Contains("Gemm 2, ResetFirstGruSequence 2") && Contains("[5,2,N,2]"));

  Recurrent plain("GRU", 3, {"x", "w", "r"});
  CHECK(plain.said(fuse) == "Gemm 1, ResetFirstGruSequence 1, Transpose 1, [1,N,2]");
}

TEST_CASE("activations are those that are named") {
  Recurrent relu("RNN", 1);
  relu.texts("activations", {"LeakyRelu"});
  relu.reals("activation_alpha", {0.25F});
  CHECK_THAT(relu.said(), Contains("LeakyRelu 5"));
  const auto imported = relu.build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(std::get<double>(find_node(imported->network, "cell/step_0/LeakyRelu")->attributes.at("alpha")) == 0.25);
  Recurrent odd("LSTM", 4);
  odd.texts("activations", {"Sigmoid", "ScaledTanh", "Tanh"});
  CHECK_THAT(odd.said(), Contains("5: node 'cell' (LSTM): its activation ScaledTanh is not one of"));
  Recurrent few("LSTM", 4);
  few.texts("activations", {"Sigmoid"});
  CHECK_THAT(few.said(), Contains("4: node 'cell' (LSTM): has 1 activation for 3 places"));
}

TEST_CASE("sequences may differ in length") {
  Recurrent ragged("LSTM", 4, {"x", "w", "r", "b", "lengths"});
  ragged.build.input("lengths", {"N"}, onnx::TensorProto::INT32);
  // Where for each step's h and c, but for the last c, which nothing reads.
  CHECK(ragged.said() ==
        "Add 5, Gemm 5, Greater 5, Mul 14, Sigmoid 14, Split 7, Tanh 10, Transpose 1, Where 9, [1,N,2]");
  // Fused, the last state is selected from all; nothing reads Y or the last cell.
  CHECK(ragged.said(fuse) ==
        "Add 1, Cast 2, Clip 1, Gemm 1, Greater 1, LstmSequence 1, OneHot 1, ReduceSum 1, Split 2, Transpose 1, "
        "Where 1, [1,N,2]");
  ragged.build.output("y");
  CHECK_THAT(ragged.said(fuse), Contains("CumSum 1, Gemm 1, Greater 2") && Contains("Where 2"));
  ragged.node->add_output("c");
  CHECK_THAT(ragged.said(fuse), Contains("Where 2"));
  ragged.build.output("c");  // the gates i and f are replaced, too
  CHECK_THAT(ragged.said(fuse), Contains("Concat 1") && Contains("Where 4"));

  Recurrent late("GRU", 3, {"x", "w", "r", "b", "lengths"});
  late.build.input("lengths", {"N"}, onnx::TensorProto::INT32);
  late.text("direction", "reverse");
  CHECK_THAT(late.said(fuse), Contains("ResetFirstGruSequence 1") && Contains("Where 1"));
  Recurrent given("GRU", 3, {"x", "w", "r", "b", "lengths", "first"});
  given.build.input("lengths", {"N"}, onnx::TensorProto::INT32).input("first", {"1", "N", "2"});
  CHECK_THAT(given.said(fuse), Contains("ResetFirstGruSequence 1"));
  given.text("direction", "reverse");
  CHECK(given.said(fuse) == given.said());

  Recurrent full("RNN", 1, {"x", "w", "r", "b", "lengths"});
  full.build.integers("lengths", {5, 5, 5, 5});
  CHECK_THAT(full.said(), !Contains("Where"));

  Recurrent fixed("RNN", 1, {"x", "w", "r", "b", "lengths"});
  fixed.build.integers("lengths", {5, 4, 3, 3});
  CHECK_THAT(fixed.said(), Contains("5: node 'cell' (RNN): its sequence_lens (input 4) are constants"));

  Recurrent odd("RNN", 1, {"x", "w", "r", "b", "lengths"});
  odd.build.input("lengths", {"N", "2"}, onnx::TensorProto::INT32);
  CHECK_THAT(odd.said(), Contains("4: node 'cell' (RNN): its sequence_lens is [N,2]; expected [N]"));
}

TEST_CASE("gates may be coupled and clipped, and have peepholes") {
  Recurrent coupled("LSTM", 4);
  ModelBuilder::integer(*coupled.node, "input_forget", 1);
  CHECK(coupled.said() == "Add 5, Gemm 5, Mul 14, Sigmoid 10, Split 7, Sub 4, Tanh 10, Transpose 1, [1,N,2]");
  CHECK(coupled.said(fuse) == coupled.said());

  Recurrent clipped("GRU", 3);
  clipped.real("clip", 3);
  CHECK_THAT(clipped.said(), Contains("Clip 10"));
  CHECK(clipped.said(fuse) == clipped.said());
  Recurrent closed("GRU", 3);
  closed.real("clip", 0);
  CHECK_THAT(closed.said(), Contains("4: node 'cell' (GRU): its clip is 0, expected more than 0"));

  // The first step has no cell before, so only its output gate has a peephole.
  Recurrent peeping("LSTM", 4, {"x", "w", "r", "b", "", "", "", "p"});
  peeping.build.weight("p", {1, 6});
  CHECK(peeping.said() == "Add 18, Gemm 5, Mul 27, Sigmoid 14, Split 8, Tanh 10, Transpose 1, [1,N,2]");
  CHECK(peeping.said(fuse) == peeping.said());
  Recurrent wide("LSTM", 4, {"x", "w", "r", "b", "", "", "", "p"});
  wide.build.weight("p", {1, 8});
  CHECK_THAT(wide.said(), Contains("4: node 'cell' (LSTM): its P is [1,8]; expected [1,6]"));
}

TEST_CASE("what an unrolled network cannot be is refused by name") {
  Recurrent turned("RNN", 1);
  turned.build.graph().clear_input();
  turned.build.input("x", {"N", "5", "3"});
  CHECK_THAT(turned.said(),
             Contains("5: node 'cell' (RNN): the first dimension of its input [N,5,3] is steps, not the batch"));

  Recurrent endless("LSTM", 4);
  endless.build.graph().clear_input();
  endless.build.input("x", {"1000000000", "N", "3"});
  CHECK_THAT(
      endless.said(),
      Contains("5: node 'cell' (LSTM): has 1,000,000,000 steps, which are unrolled; at most 16384 are supported"));

  Recurrent narrow("LSTM", 3);
  CHECK_THAT(narrow.said(), Contains("4: node 'cell' (LSTM): its W is [1,6,3]; expected [1,8,3]"));
}

TEST_CASE("a state of one number for every sample, in a loop that was written out, is stretched to them") {
  ModelBuilder build(18);
  build.input("x", {"N", "3"})
      .weight("w", {2, 3})
      .weight("r", {2, 2})
      .constant("two", {2})
      .constant("one", {1})
      .constant("nothing", {0});
  build.node("Shape", {"x"}, {"shape"});
  build.node("Slice", {"shape", "nothing", "one"}, {"samples"});
  ModelBuilder::integer(build.node("Concat", {"samples", "two"}, {"state"}), "axis", 0);
  build.node("ConstantOfShape", {"state"}, {"zeros"});
  for (onnx::NodeProto* node :
       {&build.node("Gemm", {"x", "w"}, {"in"}, "in"), &build.node("Gemm", {"zeros", "r"}, {"back"}, "back")})
    ModelBuilder::integer(*node, "transB", 1);
  build.node("Add", {"in", "back"}, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  const Node* stretched = find_node(imported->network, "zeros");
  REQUIRE(stretched);
  CHECK(stretched->op == "Expand");
  CHECK(to_string(imported->network.values[stretched->outputs[0]].type.dims) == "[N,2]");
}

TEST_CASE("biases that the exporter merged are apart again") {
  ModelBuilder build(18);
  build.input("x", {"5", "N", "2"})
      .weight("w1", {1, 8, 2})
      .weight("r1", {1, 8, 2})
      .weight("w2", {1, 8, 2})
      .weight("r2", {1, 8, 2});
  build.model.set_producer_name("pytorch");
  build.weight("onnx::LSTM_170", {1, 16}, 0, 0).constant("one", {1});
  build.node("Identity", {"onnx::LSTM_170"}, {"onnx::LSTM_175"}, "Identity_0");
  ModelBuilder::integer(build.node("LSTM", {"x", "w1", "r1", "onnx::LSTM_170"}, {"y1"}, "first"), "hidden_size", 2);
  build.node("Squeeze", {"y1", "one"}, {"sequence"});
  ModelBuilder::integer(build.node("LSTM", {"sequence", "w2", "r2", "onnx::LSTM_175"}, {"", "h"}, "second"),
                        "hidden_size", 2);
  build.output("h");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE_FALSE(imported->notes.empty());
  CHECK(imported->notes[0] == "the exporter merged 1 weight with an equal one; it is separated: 'onnx::LSTM_175'");
}
