// Operators that are written as other operators: the resulting nodes, and what is rejected. tools/bench/parity.py
// (network `assorted`) checks that they compute what PyTorch does.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "compiler/import/loaded_model.h"
#include "compiler/network/loss.h"
#include "compiler/training/build.h"
#include "model_builder.h"
#include "runtime/attrs/resize.h"
#include "spelled.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

TEST_CASE("over one dimension is over two, of which the first is 1") {
  Spelled conv;
  conv.build.input("x", {"N", "4", "9"}).weight("w", {6, 4, 3}).weight("b", {6});
  onnx::NodeProto& node = conv.node("Conv", {"x", "w", "b"});
  ModelBuilder::ints(node, "pads", {1, 2});
  ModelBuilder::ints(node, "strides", {2});
  ModelBuilder::ints(node, "kernel_shape", {3});
  CHECK(conv.said() == "Unsqueeze Unsqueeze Conv Squeeze [N,6,5]");
  node.mutable_attribute(0)->add_ints(1);
  CHECK_THAT(conv.said(), Contains("4: node 'node' (Conv): pads has 3 numbers, expected 2"));

  Spelled pool;
  pool.build.input("x", {"N", "4", "9"});
  ModelBuilder::ints(pool.node("MaxPool", {"x"}), "kernel_shape", {3});
  CHECK(pool.said() == "Unsqueeze MaxPool Squeeze [N,4,7]");

  Spelled flat;
  flat.build.input("x", {"N", "4", "9"}).weight("w", {6, 4, 3, 3});
  flat.node("Conv", {"x", "w"});
  CHECK_THAT(flat.said(), Contains("its input has three dimensions and its weight has not"));
}

TEST_CASE("a number with more axes than the tensor gives the tensor its axes") {
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"}) {
    for (const bool first : {false, true}) {
      Spelled plain;
      plain.build.input("x", {"N", "4"}).constant_real("number", {3});
      plain.node(op, first ? std::vector<std::string>{"number", "x"} : std::vector<std::string>{"x", "number"});
      CHECK(plain.said() == op + " [N,4]");

      Spelled total;  // as TorchScript's exporter writes 10 · log10(max² / mse): [1] and a scalar
      total.build.input("x", {"N", "4"}).node("ReduceMean", {"x"}, {"mean"}, "mean");
      ModelBuilder::integer(*total.build.model.mutable_graph()->mutable_node(0), "keepdims", 0);
      total.build.constant_real("number", {3});
      total.node(op, first ? std::vector<std::string>{"number", "mean"} : std::vector<std::string>{"mean", "number"});
      CHECK(total.said() == "ReduceMean Unsqueeze " + op + " [1]");
    }
  }
}

TEST_CASE("names of the nodes that are written are none of the file's") {
  for (const std::string taken : {"y/1", "y/2", "y/3"})
    for (const bool early : {true, false}) {
      CAPTURE(taken, early);
      Spelled named;
      named.build.input("x", {"N", "4"});
      if (early) named.build.node("Exp", {"x"}, {taken}, "user");
      named.build.node("Tan", {"x"}, {"y"}, "written");
      if (!early) named.build.node("Exp", {"x"}, {taken}, "user");
      named.build.node("Mul", {"y", taken}, {"z"}, "read");
      const auto imported = named.build.output("z").import();
      REQUIRE(outcome(imported) == "ok");
      const Node& last = imported->network.nodes[NodeId(imported->network.nodes.size() - 1)];
      const auto reads_users = [&](const Node& node) { return node.op == "Exp" && node.outputs[0] == last.inputs[1]; };
      CHECK(std::any_of(imported->network.nodes.begin(), imported->network.nodes.end(), reads_users));
    }
}

TEST_CASE("normalizations of channels and of groups are themselves, and without weights that of rows") {
  Spelled instance;
  instance.build.input("x", {"N", "8", "6", "6"}).weight("s", {8}).weight("b", {8});
  instance.node("InstanceNormalization", {"x", "s", "b"});
  CHECK(instance.said() == "InstanceNormalization [N,8,6,6]");

  Spelled plain;  // as PyTorch exports a GroupNorm: constants that are not weights
  plain.build.model.set_producer_name("pytorch");
  plain.build.input("x", {"N", "8", "6", "6"})
      .constant_real("ones", std::vector<float>(8, 1))
      .constant_real("zeros", std::vector<float>(8, 0));
  plain.node("InstanceNormalization", {"x", "ones", "zeros"});
  CHECK(plain.said() == "LayerNormalization [N,8,6,6]");

  Spelled wrong;
  wrong.build.input("x", {"N", "8", "6", "6"}).weight("s", {4}).weight("b", {8});
  wrong.node("InstanceNormalization", {"x", "s", "b"});
  CHECK_THAT(wrong.said(),
             Contains("4: node 'node' (InstanceNormalization): input 1 is not one number for each of 8 channels"));

  Spelled groups;
  groups.build.input("x", {"N", "8", "6", "6"}).weight("s", {4}).weight("b", {4});
  ModelBuilder::integer(groups.node("GroupNormalization", {"x", "s", "b"}), "num_groups", 4);
  CHECK(groups.said() == "GroupNormalization [N,8,6,6]");
  groups.build.graph().mutable_node(0)->mutable_attribute(0)->set_i(3);
  CHECK_THAT(groups.said(), Contains("3 groups of the channels of [N,8,6,6]"));
  groups.build.graph().mutable_node(0)->mutable_attribute(0)->set_i(2);
  CHECK_THAT(groups.said(), Contains("input 1 is not one number for each of 2 groups"));
}

TEST_CASE("a batch normalization whose statistics are computed is arithmetic, and of a weight a LayerNormalization") {
  const auto said = [](bool of_weight, int64_t training) {
    Spelled spelled;
    spelled.build.input("x", {"N", "4", "9"}).weight("w", {1, 4, 9}).weight("s", {4}).weight("b", {4});
    spelled.build.node("Relu", {"s"}, {"mean"});
    spelled.build.node("Relu", {"b"}, {"variance"});
    const std::vector<std::string> inputs = {of_weight ? "w" : "x", "s", "b", "mean", "variance"};
    auto& node = spelled.build.node("BatchNormalization", inputs, {"n"}, "node");
    ModelBuilder::integer(node, "training_mode", training);
    spelled.node("Add", {"x", "n"});
    return spelled.said();
  };
  CHECK(said(true, 1) == "LayerNormalization Unsqueeze Mul Unsqueeze Add Add [N,4,9]");
  CHECK(said(true, 0) == "Relu Relu Unsqueeze Sub Unsqueeze Add Sqrt Div Unsqueeze Mul Unsqueeze Add Add [N,4,9]");
  CHECK(said(false, 0) == "Relu Relu Unsqueeze Sub Unsqueeze Add Sqrt Div Unsqueeze Mul Unsqueeze Add Add [N,4,9]");
  CHECK(said(false, 1) == "ReduceMean Sub Mul ReduceMean Add Sqrt Div Unsqueeze Mul Unsqueeze Add Add [N,4,9]");
}

TEST_CASE("whole numbers are added up by CumSum") {
  const auto said = [](const std::vector<int64_t>& axes, int64_t keepdims) {
    Spelled spelled;
    spelled.build.input("x", {"N", "4", "9"}, onnx::TensorProto::INT64).integers("axes", axes);
    ModelBuilder::integer(spelled.build.node("ReduceSum", {"x", "axes"}, {"sum"}, "node"), "keepdims", keepdims);
    ModelBuilder::integer(spelled.node("Cast", {"sum"}), "to", onnx::TensorProto::FLOAT);
    return spelled.said();
  };
  CHECK(said({-1}, 1) == "CumSum Slice Cast [N,4,1]");
  CHECK(said({1, 2}, 0) == "CumSum Slice CumSum Slice Squeeze Cast [N]");
  CHECK_THAT(said({0}, 1), Contains("node 'node' (ReduceSum): reduces integers across samples"));

  Spelled computed;
  computed.build.input("x", {"4", "9"}, onnx::TensorProto::INT64).input("axes", {"N"}, onnx::TensorProto::INT64);
  computed.build.node("ReduceSum", {"x", "axes"}, {"sum"}, "node");
  ModelBuilder::integer(computed.node("Cast", {"sum"}), "to", onnx::TensorProto::FLOAT);
  CHECK_THAT(computed.said(), Contains("node 'node' (ReduceSum): its axes are not known at compile time"));
}

TEST_CASE("the largest of whole numbers is the larger of two halves, again and again") {
  const auto said = [](const char* op, const std::vector<int64_t>& axes, int64_t keepdims) {
    Spelled spelled;
    spelled.build.input("x", {"N", "1", "5"}, onnx::TensorProto::INT64).integers("axes", axes);
    ModelBuilder::integer(spelled.build.node(op, {"x", "axes"}, {"largest"}, "node"), "keepdims", keepdims);
    ModelBuilder::integer(spelled.node("Cast", {"largest"}), "to", onnx::TensorProto::FLOAT);
    return spelled.said();
  };
  CHECK(said("ReduceMax", {-1}, 1) == "Slice Slice Max Slice Slice Max Slice Slice Max Cast [N,1,1]");
  CHECK(said("ReduceMin", {1, 2}, 0) == "Slice Slice Min Slice Slice Min Slice Slice Min Squeeze Cast [N]");
  CHECK(said("ReduceMin", {1}, 1) == "Identity Cast [N,1,5]");
  CHECK_THAT(said("ReduceMax", {0}, 1), Contains("node 'node' (ReduceMax): reduces integers across samples"));
}

TEST_CASE("a learned exponent or bound is a parameter, and a number of the code is a constant") {
  const auto said = [](const char* op, const std::vector<std::string>& inputs, const std::string& name,
                       const char* producer = "pytorch") {
    Spelled spelled;
    spelled.build.model.set_producer_name(producer);
    spelled.build.input("x", {"N", "6"}).weight(name, {1}, 3).constant_real("zero", {0}, true);
    spelled.node(op, inputs);
    const auto imported = spelled.build.import();
    std::string text = spelled.said();
    if (!imported.ok()) return text;
    for (const Value& value : imported->network.values)
      if (value.kind == ValueKind::parameter) text += " " + value.name + (value.trainable ? " is trained" : " is not");
    return text;
  };
  CHECK(said("Pow", {"x", "pool.p"}, "pool.p") == "Pow [N,6] pool.p is trained");
  CHECK(said("Pow", {"x", "pool.p"}, "pool.p", "tf2onnx") == "Pow [N,6]");
  CHECK(said("Pow", {"x", "475"}, "475") == "Pow [N,6]");
  CHECK(said("Pow", {"x", "const_3__12"}, "const_3__12") == "Pow [N,6]");
  CHECK(said("Clip", {"x", "zero", "alpha"}, "alpha") == "Clip Min [N,6] alpha is trained");
  CHECK(said("Clip", {"x", "alpha"}, "alpha") == "Max [N,6] alpha is trained");
  CHECK(said("Clip", {"x", "zero", "476"}, "476") == "Clip [N,6]");
  CHECK(said("Clip", {"x", "alpha", "zero"}, "alpha") == "Max Clip [N,6] alpha is trained");
}

TEST_CASE("tests for numbers that are none, and remainders, are what they are made of") {
  const auto said = [](const char* op, const std::vector<std::string>& inputs, const char* attribute = "",
                       int64_t value = 0, int element = 0) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}, element ? element : static_cast<int>(onnx::TensorProto::FLOAT))
        .weight("w", {6}, 1);
    spelled.build.integers("whole", {3});
    auto& node = spelled.build.node(op, inputs, {"t"}, "node");
    if (*attribute) ModelBuilder::integer(node, attribute, value);
    ModelBuilder::integer(spelled.node("Cast", {"t"}), "to", onnx::TensorProto::FLOAT);
    return spelled.said();
  };
  CHECK(said("IsNaN", {"x"}) == "Equal Not Cast [N,6]");
  CHECK(said("IsInf", {"x"}) == "Abs Greater Cast [N,6]");
  CHECK(said("IsInf", {"x"}, "detect_negative", 0) == "Greater Cast [N,6]");
  CHECK(said("IsInf", {"x"}, "detect_positive", 0) == "Less Cast [N,6]");
  // As TorchScript's exporter writes torch.isinf().
  const auto of_double = [](const char* op, const std::vector<std::string>& others) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}).weight("w", {6}, 1);
    ModelBuilder::integer(spelled.build.node("Cast", {"x"}, {"wide"}), "to", onnx::TensorProto::DOUBLE);
    std::vector<std::string> inputs = {"wide"};
    inputs.insert(inputs.end(), others.begin(), others.end());
    spelled.build.node(op, inputs, {"t"}, "node");
    ModelBuilder::integer(spelled.node("Cast", {"t"}), "to", onnx::TensorProto::FLOAT);
    return spelled.said();
  };
  CHECK(of_double("IsInf", {}) == "Abs Greater Cast [N,6]");
  CHECK_THAT(of_double("Exp", {}), Contains("converts to f64; supported"));
  CHECK_THAT(of_double("Greater", {"wide"}), Contains("converts to f64; supported"));
  CHECK(said("Mod", {"x", "w"}, "fmod", 1) == "Div Sign Abs Floor Mul Mul Sub [N,6]");
  CHECK(said("Mod", {"x", "whole"}, "fmod", 1, onnx::TensorProto::INT64) == "Div Mul Sub Cast [N,6]");
  CHECK(said("Mod", {"x", "whole"}, "fmod", 0, onnx::TensorProto::INT64) == "Mod Cast [N,6]");
}

TEST_CASE("a triangle of what is computed is a Where with a constant mask") {
  const auto said = [](const std::vector<std::string>& dims, std::vector<std::string> inputs = {"x"}) {
    Spelled spelled;
    spelled.build.input("x", dims).constant_scalar("diagonal", -1);
    spelled.node("Trilu", inputs);
    return spelled.said();
  };
  CHECK(said({"N", "4", "5"}) == "Where [N,4,5]");
  CHECK(said({"N", "4", "5"}, {"x", "diagonal"}) == "Where [N,4,5]");
  CHECK_THAT(said({"N", "5"}), Contains("5: node 'node' (Trilu): its rows or columns are the batch"));
}

TEST_CASE("computed numbers pick from a table along several axes as along one") {
  const auto said = [](const std::vector<std::string>& indices, const std::vector<int64_t>& table) {
    Spelled spelled;
    spelled.build.input("i", indices, onnx::TensorProto::INT64).weight("w", table);
    spelled.node("GatherND", {"w", "i"});
    return spelled.said();
  };
  CHECK(said({"N", "7", "1"}, {4, 5}) == "Slice Squeeze Gather [N,7,5]");
  CHECK(said({"N", "2"}, {3, 4, 5}) ==
        "Slice Squeeze Add Less Where Slice Squeeze Add Less Where Mul Add Reshape Gather [N,5]");
  CHECK_THAT(said({"N", "3"}, {3, 4}), Contains("4: node 'node' (GatherND): indexes 3 axes of [3,4]"));
}

TEST_CASE("EyeLike is a constant, and a power of whole numbers is one") {
  Spelled eye;
  eye.build.input("x", {"N", "4", "4"}).weight("w", {4, 4});
  ModelBuilder::integer(eye.build.node("EyeLike", {"w"}, {"e"}), "k", -1);
  eye.node("Mul", {"x", "e"});
  CHECK(eye.said() == "Mul [N,4,4]");

  Spelled slopes;
  slopes.build.input("x", {"N", "4"}).constant_real("half", {0.5, 0.5, 0.5, 0.5}).constant("powers", {1, 2, 3, 4});
  slopes.build.node("Pow", {"half", "powers"}, {"p"});
  slopes.node("Mul", {"x", "p"});
  CHECK(slopes.said() == "Mul [N,4]");
}

TEST_CASE("a class loss whose labels are probabilities is written as sums of products") {
  const auto said = [](const std::string& reduction, bool weighted) {
    Spelled spelled;
    spelled.build.input("x", {"N", "4", "6"}).weight("slope", {4, 1}).constant_real("weights", {1, 2, 3, 4});
    spelled.build.node("Mul", {"x", "slope"}, {"labels"});
    std::vector<std::string> inputs = {"x", "labels"};
    if (weighted) inputs.push_back("weights");
    ModelBuilder::text(spelled.node("SoftmaxCrossEntropyLoss", inputs), "reduction", reduction);
    return spelled.said();
  };
  CHECK(said("mean", false) == "Mul LogSoftmax Mul ReduceSum ReduceMean Neg []");
  CHECK(said("sum", false) == "Mul LogSoftmax Mul ReduceSum ReduceSum Neg []");
  CHECK(said("none", true) == "Mul LogSoftmax Mul Reshape Mul ReduceSum Neg [N,6]");
}

TEST_CASE("activations and rearrangements are what they are made of") {
  const auto said =
      [](
          const std::string& op, const std::function<void(onnx::NodeProto&)>& set = [](onnx::NodeProto&) {}) {
    Spelled spelled;
    spelled.build.input("x", {"N", "8", "6", "6"});
    set(spelled.node(op, {"x"}));
    return spelled.said();
  };
  CHECK(said("Selu") == "Elu Mul [N,8,6,6]");
  CHECK(said("GlobalMaxPool") == "MaxPool [N,8,1,1]");
  CHECK(said("DepthToSpace", [](onnx::NodeProto& node) { ModelBuilder::integer(node, "blocksize", 2); }) ==
        "Reshape Transpose Reshape [N,2,12,12]");
  CHECK(said("SpaceToDepth", [](onnx::NodeProto& node) { ModelBuilder::integer(node, "blocksize", 3); }) ==
        "Reshape Transpose Reshape [N,72,2,2]");
  CHECK_THAT(said("SpaceToDepth", [](onnx::NodeProto& node) { ModelBuilder::integer(node, "blocksize", 4); }),
             Contains("cannot be divided into blocks of 4"));
  CHECK_THAT(said("DepthToSpace", [](onnx::NodeProto& node) { ModelBuilder::integer(node, "blocksize", INT64_MAX); }),
             Contains("blocks of"));
}

TEST_CASE("an Einsum of matrices is their product") {
  const auto said = [](const std::string& equation) {
    Spelled spelled;
    spelled.build.input("x", {"N", "3", "4", "5"}).weight("w", {3, 6, 5});
    spelled.build.node("Relu", {"x"}, {"r"});
    ModelBuilder::text(spelled.node("Einsum", equation.starts_with("hjd") ? std::vector<std::string>{"w", "r"}
                                                            : std::vector<std::string>{"r", "r"}),
         "equation", equation);
    return spelled.said();
  };
  CHECK(said("bhid,bhjd->bhij") == "Relu Transpose MatMul [N,3,4,4]");
  CHECK(said("b h i d, b h i e -> b h d e") == "Relu Transpose MatMul [N,3,5,5]");
  CHECK(said("bhid,bhjd->bijh") == "Relu Transpose MatMul Transpose [N,4,4,3]");
  // Letters of a single operand are summed first. Without any summed letter, the product is elementwise. Several
  // letters are merged into one dimension.
  CHECK(said("bhid,bhid->bhi") == "Relu Reshape Reshape MatMul Reshape [N,3,4]");
  CHECK(said("bhid,bhjd->b") == "Relu ReduceSum ReduceSum Reshape Reshape MatMul Reshape [N]");
  CHECK(said("bhid,bhid->bhid") == "Relu Mul [N,3,4,5]");
  CHECK(said("...id,...jd->...ij") == "Relu Transpose MatMul [N,3,4,4]");
  CHECK(said("bhid,bhde->bhie").find("4: ") == 0);
  CHECK_THAT(said("bhii,bhjd->bh"), Contains("4: ") && Contains("does not match its inputs"));
  CHECK_THAT(said("bhd,bhjd->bhj"), Contains("4: ") && Contains("does not match its inputs"));
}

TEST_CASE("an Einsum takes diagonals, and stretches dimensions of 1") {
  const auto said = [](const std::string& equation, std::vector<int64_t> weight) {
    Spelled spelled;
    spelled.build.input("x", {"N", "3", "5", "5"}).weight("w", weight);
    spelled.build.node("Relu", {"x"}, {"r"});
    ModelBuilder::text(spelled.node("Einsum", {"r", "w"}), "equation", equation);
    return spelled.said();
  };
  CHECK(said("bhii,h->bhi", {3}) == "Relu Reshape Slice Unsqueeze Mul [N,3,5]");
  CHECK(said("bhii,h->bh", {3}) == "Relu Reshape Slice ReduceSum Unsqueeze Mul [N,3]");
  CHECK(said("bhij,ij->bhi", {1, 5}) == "Relu Reshape Reshape Reshape MatMul Reshape [N,3,5]");
  CHECK(said("bhij,hjk->bhik", {1, 5, 2}) == "Relu Reshape Reshape MatMul Reshape [N,3,5,2]");
  CHECK_THAT(said("bhii,h->bhi", {4}), Contains("does not match its inputs"));
  CHECK_THAT(said("bbij,h->bh", {4}), Contains("does not match its inputs"));
}

TEST_CASE("rows picked by constant numbers in no order are picked by a kernel") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "2"}).weight("table", {5, 2}).integers("numbers", {4, 0, 0});
  build.constant("last", {-1});
  build.node("Max", {"numbers"}, {"same"});
  build.node("Unsqueeze", {"same", "last"}, {"places"});
  build.node("GatherND", {"table", "places"}, {"rows"}, "pick");
  build.node("Add", {"x", "rows"}, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  const Node* pick = find_node(imported->network, "pick");
  REQUIRE(pick);
  CHECK(pick->op == "Gather");
  const Value& numbers = imported->network.values[pick->inputs[1]];
  CHECK(
      (numbers.kind == ValueKind::parameter && !numbers.trainable && numbers.type == TensorType{DataType::i64, {{3}}}));
}

// As exported for an adaptive pool with windows of different sizes: their starts are computed by manual division.
TEST_CASE("rows picked by numbers that are signs of numbers") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "2"}).weight("table", {5, 2});
  build.constant_real("reals", {-3, 0, 5}).constant("integers", {2, -7, 0});
  build.node("Sign", {"reals"}, {"signs"});
  build.node("CastLike", {"signs", "integers"}, {"first"});
  build.node("Sign", {"integers"}, {"second"});
  build.node("Abs", {"first"}, {"one"});
  build.node("Abs", {"second"}, {"other"});
  build.node("Add", {"one", "other"}, {"numbers"});
  build.node("Gather", {"table", "numbers"}, {"rows"}, "pick");
  build.node("Add", {"x", "rows"}, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  const Node* pick = find_node(imported->network, "pick");
  REQUIRE(pick);
  const std::string& name = imported->network.values[pick->inputs[1]].initializer;
  int found = 0;
  for (const onnx::TensorProto& tensor : imported->file->model.graph().initializer()) {
    if (tensor.name() != name) continue;
    REQUIRE(tensor.raw_data().size() == 3 * sizeof(int64_t));
    int64_t items[3];
    std::memcpy(items, tensor.raw_data().data(), sizeof items);
    CHECK((items[0] == 2 && items[1] == 1 && items[2] == 1));
    ++found;
  }
  CHECK(found == 1);
}

TEST_CASE("rows picked along two axes at once are picked along one") {
  const auto said = [](const std::vector<int64_t>& places, int64_t depth) {
    Spelled spelled;
    spelled.build.input("x", {"3", "4", "N", "5"}).integers("flat", places).constant("pairs", {-1, depth});
    spelled.build.node("Relu", {"x"}, {"r"});
    spelled.build.node("Reshape", {"flat", "pairs"}, {"places"});
    spelled.node("GatherND", {"r", "places"});
    const auto imported = spelled.build.import({.batch = 4});
    if (!imported.ok()) return outcome(imported);
    const Node& pick = *find_node(imported->network, "node");
    const Value& numbers = imported->network.values[pick.inputs[1]];
    std::string text = spelled.said();
    if (!numbers.constant) return text;
    for (const int64_t number : numbers.constant->ints) text += " " + std::to_string(number);
    return text;
  };
  CHECK(said({0, 1, 1, 2, 2, -1}, 2) == "Transpose Relu Reshape Gather [3,N,5] 1 6 11");
  CHECK(said({0, 1, 1, 0, -1, -1}, 2) == "Transpose Relu Reshape Gather [3,N,5]");
  CHECK_THAT(said({0, 4}, 2), Contains("4: node 'node' (GatherND): index 4 is out of range for axis 1 of [3,4,N,5]"));
  CHECK_THAT(said({0, 1, 2}, 3), Contains("5: ") && Contains("indexes the batch"));
  CHECK_THAT(said({0, 1, 2, 3, 4}, 5), Contains("4: ") && Contains("indexes 5 axes"));
}

TEST_CASE("a number written at known places is there instead") {
  const auto said = [](const std::vector<int64_t>& places, const std::vector<float>& numbers) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}).weight("bias", {6}, 1).integers("flat", places).constant("column", {-1, 1});
    spelled.build.constant_real("zeros", numbers);
    spelled.build.node("Reshape", {"flat", "column"}, {"places"});
    spelled.build.node("ScatterND", {"bias", "places", "zeros"}, {"cleared"}, "clear");
    spelled.node("Add", {"x", "cleared"});
    return spelled.said();
  };
  CHECK(said({2, 3, -1}, {0, 0, 0}) == "Where Add [N,6]");
  CHECK_THAT(said({2, 3, 6}, {0, 0, 0}),
             Contains("4: node 'clear' (ScatterND): index 6 is out of range for axis 0 of [6]"));
  CHECK(said({2, 3, 4}, {0, 0, 1}) == "Reshape Reshape Split Concat Reshape Add [N,6]");
  CHECK(said({2, 5, 4}, {0, 0, 1}) == "Reshape Reshape Gather Where Reshape Add [N,6]");
}

TEST_CASE("windows are added up by a ConvTranspose of each channel") {
  const auto said = [](const std::vector<int64_t>& image, const std::string& windows) {
    Spelled spelled;
    spelled.build.input("x", {"N", "27", windows}).integers("image", image).integers("window", {3, 3});
    onnx::NodeProto& node = spelled.node("Col2Im", {"x", "image", "window"});
    ModelBuilder::ints(node, "strides", {2, 2});
    ModelBuilder::ints(node, "pads", {1, 1, 1, 1});
    return spelled.said();
  };
  CHECK(said({16, 16}, "64") == "Reshape ConvTranspose Reshape [N,3,16,16]");
  CHECK(said({15, 16}, "64") == "Reshape ConvTranspose Reshape [N,3,15,16]");
  CHECK_THAT(said({14, 16}, "64"), Contains("4: node 'node' (Col2Im): its input is [N,27,64], with 7×8 windows"));
}

TEST_CASE("an output padding of a stride or more is less padding at the end, or rows of the bias") {
  const auto said = [](const std::vector<int64_t>& more, const std::vector<int64_t>& pads, bool bias) {
    Spelled spelled;
    spelled.build.input("x", {"N", "8", "6", "6"}).weight("w", {8, 4, 3, 3}).weight("b", {4});
    std::vector<std::string> inputs = {"x", "w"};
    if (bias) inputs.push_back("b");
    onnx::NodeProto& node = spelled.node("ConvTranspose", inputs);
    ModelBuilder::ints(node, "dilations", {3, 4});
    ModelBuilder::ints(node, "strides", {1, 2});
    ModelBuilder::ints(node, "output_padding", more);
    ModelBuilder::ints(node, "pads", pads);
    return spelled.said();
  };
  CHECK(said({0, 1}, {0, 0, 0, 0}, true) == "ConvTranspose [N,4,12,20]");
  CHECK(said({2, 3}, {0, 0, 2, 2}, true) == "ConvTranspose [N,4,12,20]");
  CHECK(said({2, 0}, {1, 0, 1, 0}, false) == "ConvTranspose Pad [N,4,12,19]");
  CHECK(said({2, 3}, {1, 0, 1, 1}, true) == "ConvTranspose Pad Unsqueeze Add [N,4,12,21]");
  CHECK_THAT(said({-1, 0}, {0, 0, 0, 0}, true), Contains("output_padding is -1; it must not be negative"));

  Spelled one;
  one.build.input("x", {"N", "8", "6"}).weight("w", {8, 4, 3}).weight("b", {4});
  onnx::NodeProto& node = one.node("ConvTranspose", {"x", "w", "b"});
  ModelBuilder::ints(node, "dilations", {3});
  ModelBuilder::ints(node, "output_padding", {2});
  CHECK(one.said() == "Unsqueeze Unsqueeze ConvTranspose Pad Unsqueeze Add Squeeze [N,4,14]");
}

TEST_CASE("what is spelled out has the inputs that ONNX gives it") {
  const auto said = [](const char* op, const std::vector<std::string>& inputs) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}).integers("places", {1});
    spelled.node(op, inputs);
    return spelled.said();
  };
  CHECK_THAT(said("CastLike", {"x"}), Contains("4: node 'node' (CastLike): has 1 input, requires 2"));
  CHECK_THAT(said("ScatterND", {"x", "places"}), Contains("4: node 'node' (ScatterND): has 2 inputs, requires 3"));
  CHECK_THAT(said("AffineGrid", {"x"}), Contains("4: node 'node' (AffineGrid): has 1 input, requires 2"));
}

TEST_CASE("Clip of whole numbers is Max and Min") {
  const auto said = [](const std::vector<std::string>& bounds) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}).constant_scalar("one", 1).constant_scalar("five", 5);
    onnx::NodeProto& largest = spelled.build.node("ArgMax", {"x"}, {"i"});
    ModelBuilder::integer(largest, "axis", 1);
    std::vector<std::string> inputs = {"i"};
    inputs.insert(inputs.end(), bounds.begin(), bounds.end());
    spelled.build.node("Clip", inputs, {"clipped"});
    ModelBuilder::integer(spelled.node("Cast", {"clipped"}), "to", onnx::TensorProto::FLOAT);
    return spelled.said();
  };
  CHECK(said({"one", "five"}) == "ArgMax Max Min Cast [N,1]");
  CHECK(said({"one"}) == "ArgMax Max Cast [N,1]");
  CHECK(said({"", "five"}) == "ArgMax Min Cast [N,1]");
}

TEST_CASE("how often something is repeated may be a OneHot of what is known") {
  Spelled spelled;
  spelled.build.input("x", {"N", "1", "4"})
      .constant("axis", {1})
      .constant_scalar("rank", 3)
      .constant("once_or", {1, 5});
  spelled.build.node("OneHot", {"axis", "rank", "once_or"}, {"rows"});
  spelled.build.constant("three", {3});
  spelled.build.node("Reshape", {"rows", "three"}, {"repeats"});
  spelled.node("Tile", {"x", "repeats"});
  CHECK(spelled.said() == "Expand [N,5,4]");
}

TEST_CASE("Celu is a scaled Elu, and Tan is Sin divided by Cos") {
  const auto said = [](const char* op, std::optional<float> alpha = {}) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"});
    onnx::NodeProto& node = spelled.node(op, {"x"});
    if (alpha) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name("alpha");
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(*alpha);
    }
    return spelled.said();
  };
  CHECK(said("Celu") == "Elu [N,6]");
  CHECK(said("Celu", 2.0F) == "Div Elu Mul [N,6]");
  CHECK_THAT(said("Celu", 0.0F), Contains("5: node 'node' (Celu): alpha is 0"));
  CHECK(said("Tan") == "Sin Cos Div [N,6]");
}

TEST_CASE("Max of any number of operands is a chain of Max of two") {
  const auto said = [](const std::vector<std::string>& inputs) {
    Spelled spelled;
    spelled.build.input("x", {"N", "6"}).weight("w", {6}).weight("one", {1}).constant_real("zero", {0});
    spelled.node("Max", inputs);
    return spelled.said();
  };
  CHECK(said({"x"}) == "Identity [N,6]");
  CHECK(said({"x", "w"}) == "Max [N,6]");
  CHECK(said({"x", "zero"}) == "Max [N,6]");
  CHECK(said({"x", "w", "one", "zero"}) == "Max Max Max [N,6]");
  CHECK_THAT(said({"x", "", "w"}), Contains("4: node 'node' (Max): operand 1 is missing"));
}

TEST_CASE("reductions take their axes in every form that an opset has") {
  const auto said = [](const char* op, int opset, const std::function<void(onnx::NodeProto&)>& set, bool axes = false) {
    Spelled spelled;
    spelled.build = ModelBuilder(opset);
    spelled.build.input("x", {"N", "8", "6"}).constant("last", {-1});
    onnx::NodeProto& node = axes ? spelled.node(op, {"x", "last"}) : spelled.node(op, {"x"});
    set(node);
    return spelled.said();
  };
  const auto attribute = [](onnx::NodeProto& node) {
    ModelBuilder::ints(node, "axes", {1, 2});
    ModelBuilder::integer(node, "keepdims", 0);
  };
  const auto no_op = [](onnx::NodeProto& node) { ModelBuilder::integer(node, "noop_with_empty_axes", 1); };
  const auto as_it_is = [](onnx::NodeProto&) {};
  const std::pair<const char*, const char*> made_of[] = {
      {"ReduceL1", "Abs ReduceSum"},
      {"ReduceL2", "Mul ReduceSum Clip Sqrt"},
      {"ReduceLogSum", "ReduceSum Log"},
      {"ReduceLogSumExp", "ReduceLogSumExp"},
      {"ReduceMax", "ReduceMax"},
      {"ReduceMin", "ReduceMin"},
      {"ReduceProd", "ReduceProd"}};
  for (const auto& [op, parts] : made_of) {
    CAPTURE(op);
    const std::string start = std::string(parts) + " ";
    CHECK(said(op, 11, attribute) == start + "[N]");
    CHECK(said(op, 13, attribute) == start + "[N]");
    CHECK(said(op, 18, as_it_is, true) == start + "[N,8,1]");
    CHECK(said(op, 18, no_op) == start + "[N,8,6]");
    CHECK(said(op, 18, as_it_is) == start + "[1,1,1]");
  }
}

TEST_CASE("Pad with elements of the input along several axes is a Pad for each axis") {
  using Ints = std::vector<int64_t>;
  const auto said = [](int opset, const Ints& pads, const char* mode, const Ints& axes = {}) {
    Spelled spelled;
    spelled.build = ModelBuilder(opset);
    spelled.build.input("x", {"N", "3", "4", "5"}).constant("pads", pads).constant("axes", axes);
    onnx::NodeProto& node = opset < 11       ? spelled.node("Pad", {"x"})
                            : axes.empty() ? spelled.node("Pad", {"x", "pads"})
                                           : spelled.node("Pad", {"x", "pads", "", "axes"});
    if (opset < 11) ModelBuilder::ints(node, "pads", pads);
    ModelBuilder::text(node, "mode", mode);
    return spelled.said();
  };
  CHECK(said(17, {0, 0, 1, 2, 0, 0, 3, 1}, "reflect") == "Pad Pad [N,3,8,8]");
  CHECK(said(17, {0, 0, 1, 0, 0, 0, 3, 0}, "reflect") == "Pad [N,3,8,5]");
  CHECK(said(9, {0, 1, 1, 2, 0, 1, 3, 1}, "edge") == "Pad Pad Pad [N,5,8,8]");
  CHECK(said(19, {1, 2, 3, 1}, "wrap", {-2, -1}) == "Pad Pad [N,3,8,8]");
  CHECK(said(19, {1, -2, 3, 0}, "wrap", {-2, -1}) == "Pad Pad [N,3,8,3]");
  CHECK(said(19, {1, -2}, "wrap", {-1}) == "Pad Pad [N,3,4,4]");
  CHECK(said(19, {1, 3, -2, -1}, "wrap", {-2, -1}) == "Pad Pad Pad [N,3,3,7]");
  CHECK_THAT(said(17, {0, 0, 1, 2, 0, 0, 3, 1}, "mirror"), Contains("4: ") && Contains("attribute 'mode' is 'mirror'"));
  CHECK_THAT(said(17, {1, 0, 1, 0, 0, 0, 3, 0}, "edge"), Contains("5: ") && Contains("padding of the batch"));
}

TEST_CASE("Tile is Expand for dimensions of 1, and Pad with mode wrap for others") {
  const auto said = [](const std::vector<int64_t>& repeats, const std::string& of = "x") {
    Spelled spelled;
    spelled.build.input("x", {"N", "1", "4"}).weight("token", {1, 1, 4}).constant("repeats", repeats);
    spelled.build.node("Relu", {of}, {"r"});
    spelled.node("Tile", {"r", "repeats"});
    return spelled.said();
  };
  CHECK(said({1, 3, 2}) == "Relu Expand Pad [N,3,8]");
  CHECK(said({1, 5, 1}) == "Relu Expand [N,5,4]");
  CHECK(said({1, 1, 3}) == "Relu Pad [N,1,12]");
  CHECK(said({1, 1, 1}) == "Relu Identity [N,1,4]");
  CHECK_THAT(said({2, 1, 1}), Contains("5: node 'node' (Tile): repeats axis 0 of [N,1,4]"));
  CHECK_THAT(said({1, 0, 1}), Contains("4: node 'node' (Tile): repeats axis 1 of [N,1,4] 0 times"));
  CHECK_THAT(said({1, 2}), Contains("4: node 'node' (Tile): its repeats are not one integer per dimension"));

  // As exported for torch's x.repeat(n, 1, 1), where n is the number of samples.
  Spelled token;
  token.build.input("x", {"N", "6", "4"}).weight("token", {1, 1, 4}).constant("zero", {0}).constant("ones", {1, 1});
  token.build.node("Shape", {"x"}, {"shape"});
  token.build.node("Gather", {"shape", "zero"}, {"samples"});
  ModelBuilder::integer(token.build.node("Concat", {"samples", "ones"}, {"repeats"}), "axis", 0);
  token.node("Tile", {"token", "repeats"});
  CHECK(token.said() == "Expand [N,1,4]");
}

TEST_CASE("rows that are repeated for each sample are several rows of a sample") {
  Spelled table;  // as exported for torch's table.repeat(n, 1)
  table.build.input("x", {"N", "6", "4"}).weight("table", {3, 4}).constant("zero", {0}).constant("one", {1});
  table.build.node("Shape", {"x"}, {"shape"});
  table.build.node("Gather", {"shape", "zero"}, {"samples"});
  ModelBuilder::integer(table.build.node("Concat", {"samples", "one"}, {"repeats"}), "axis", 0);
  table.build.node("Tile", {"table", "repeats"}, {"rows"});
  table.build.constant("unfolded", {-1, 3, 4});
  table.node("Reshape", {"rows", "unfolded"});
  CHECK(table.said() == "Reshape Expand Reshape Reshape [N,3,4]");
}

TEST_CASE("Resize of volumes is one of images and one of the depth") {
  const auto said = [](const std::string& mode, const std::vector<int64_t>& sizes, const std::vector<float>& scales) {
    Spelled volume;
    volume.build.input("x", {"N", "2", "3", "4", "5"}).constant_real("scales", scales);
    if (!sizes.empty()) volume.build.constant("sizes", sizes);
    ModelBuilder::text(volume.node("Resize", sizes.empty() ? std::vector<std::string>{"x", "", "scales"}
                                             : std::vector<std::string>{"x", "", "", "sizes"}),
         "mode", mode);
    return volume.said();
  };
  CHECK(said("linear", {}, {1, 1, 2, 2, 3}) == "Reshape Resize Reshape Resize Reshape [N,2,6,8,15]");
  CHECK(said("nearest", {}, {1, 1, 2, 1, 1}) == "Reshape Resize Reshape Resize Reshape [N,2,6,4,5]");
  CHECK_THAT(said("cubic", {}, {1, 1, 2, 2, 2}), Contains("5: "));
  CHECK_THAT(said("linear", {}, {1, 2, 2, 2, 2}), Contains("5: "));
}

// jax2onnx writes jax.image.resize of [N,H,W,C] as one Resize.
TEST_CASE("Resize of images whose channels are last moves them to the second axis and back") {
  const auto said = [](const std::vector<std::string>& x, const std::vector<int64_t>& sizes,
                       const std::vector<float>& scales, const std::string& mode = "nearest") {
    Spelled images;
    images.build.input("x", x);
    if (sizes.empty()) images.build.constant_real("scales", scales);
    else images.build.constant("sizes", sizes);
    ModelBuilder::text(images.node("Resize", sizes.empty() ? std::vector<std::string>{"x", "", "scales"}
                                                            : std::vector<std::string>{"x", "", "", "sizes"}),
                       "mode", mode);
    return images.said();
  };
  CHECK(said({"N", "4", "5", "3"}, {}, {1, 2, 3, 1}) == "Transpose Resize Transpose [N,8,15,3]");
  CHECK(said({"N", "4", "5", "3"}, {}, {1, 2, 2, 1}, "linear") == "Transpose Resize Transpose [N,8,10,3]");
  CHECK(said({"N", "4", "5", "3"}, {}, {1, 2, 2, 1}, "cubic") == "MatMul Reshape MatMul Reshape [N,8,10,3]");
  CHECK(said({"2", "4", "5", "3"}, {2, 4, 10, 3}, {}, "cubic") == "MatMul [N,4,10,3]");
  CHECK_THAT(said({"N", "4", "5", "3"}, {}, {1, 2, 2, 2}, "cubic"), Contains("5: "));
  CHECK_THAT(said({"N", "4", "5", "3"}, {}, {2, 2, 2, 1}, "cubic"), Contains("5: "));
  CHECK(said({"2", "4", "5", "3"}, {2, 8, 10, 3}, {}) == "Transpose Resize Transpose [N,8,10,3]");
  CHECK(said({"N", "3", "4", "5"}, {}, {1, 1, 2, 2}) == "Resize [N,3,8,10]");
  CHECK_THAT(said({"N", "4", "5", "3"}, {}, {1, 2, 2, 2}), Contains("5: "));
  CHECK_THAT(said({"N", "4", "5", "3"}, {}, {2, 2, 2, 1}), Contains("5: "));
}

TEST_CASE("before opset 11 a nearest Resize rounds up along axes that shrink, and down along others") {
  const auto said = [](const std::vector<std::string>& x, const std::vector<float>& scales) {
    ModelBuilder build(10);
    build.input("x", x).constant_real("scales", scales).output("y");
    ModelBuilder::text(build.node("Resize", {"x", "scales"}, {"y"}, "node"), "mode", "nearest");
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    Network network = imported->network;
    std::vector<std::string> notes;
    REQUIRE(attach_loss(network, LossKind::mse, notes).ok());
    const auto graph = build_task_graph(network, {.batch = 4});
    REQUIRE(graph.ok());
    std::string roundings;
    for (const Task& task : graph->tasks)
      if (task.kernel == "ResizeForward")
        for (const Attribute& attribute : task.attributes)
          if (attribute.name == "nearest")
            roundings += attribute.value == AttributeValue(ResizeAttrs::kCeil)    ? "up "
                         : attribute.value == AttributeValue(ResizeAttrs::kFloor) ? "down "
                                                                                  : "? ";
    return roundings + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  };
  CHECK(said({"N", "1", "2", "4"}, {1, 1, 0.6F, 0.6F}) == "up [N,1,1,2]");
  CHECK(said({"N", "1", "2", "4"}, {1, 1, 1, 0.5F}) == "up [N,1,2,2]");
  CHECK(said({"N", "1", "2", "4"}, {1, 1, 1.5F, 2}) == "down [N,1,3,8]");
  CHECK(said({"N", "1", "2", "4"}, {1, 1, 1.5F, 0.5F}) == "up down [N,1,3,2]");
  CHECK(said({"N", "2", "4", "1"}, {1, 0.5F, 2, 1}) == "up down [N,1,8,1]");           // channels last
  CHECK(said({"N", "1", "4", "2", "4"}, {1, 1, 0.5F, 2, 0.5F}) == "up down up [N,1,2,4,2]");  // a volume
}

TEST_CASE("random numbers have a shape and no input") {
  const auto said = [](const std::string& op, const std::vector<int64_t>& shape) {
    Spelled spelled;
    spelled.build.input("x", {"N", "4"});
    ModelBuilder::ints(spelled.build.node(op, {}, {"drawn"}, "draws"), "shape", shape);
    spelled.node("Add", {"x", "drawn"});
    return spelled.said();
  };
  CHECK(said("RandomUniform", {1, 4}) == "RandomUniform Add [N,4]");
  CHECK(said("RandomNormal", {4}) == "RandomNormal Add [N,4]");
  CHECK_THAT(said("RandomNormal", {4, -2}), Contains("4: node 'draws' (RandomNormal)") && Contains("dimension -2"));
}

TEST_CASE("a sum of squares, and its root, are made of products") {
  const auto said = [](const std::string& op) {
    Spelled spelled;
    spelled.build.input("x", {"N", "8", "6"}).constant("last", {-1});
    spelled.node(op, {"x", "last"});
    return spelled.said();
  };
  CHECK(said("ReduceSumSquare") == "Mul ReduceSum [N,8,1]");
  CHECK(said("ReduceL2") == "Mul ReduceSum Clip Sqrt [N,8,1]");
}

TEST_CASE("constants are scattered, and the larger of sizes is known") {
  ModelBuilder build(18);
  build.input("x", {"N", "4"})
      .constant("shape", {2, 2})
      .constant("at", {1})
      .constant("axes", {0})
      .constant_real("row", {7, 8});
  build.node("ConstantOfShape", {"shape"}, {"zeros"});
  build.node("Unsqueeze", {"at", "axes"}, {"places"});
  build.node("Unsqueeze", {"row", "axes"}, {"rows"});
  build.node("ScatterND", {"zeros", "places", "rows"}, {"filled"});
  build.constant("four", {4}).constant("two", {2}).constant("three", {3});
  build.node("Min", {"three", "four", "four"}, {"fewest"});
  build.node("Max", {"two", "four", "fewest"}, {"most"});
  build.node("Reshape", {"filled", "most"}, {"flat"});
  build.node("Mul", {"x", "flat"}, {"y"}, "mul");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  for (const onnx::TensorProto& tensor : imported->file->model.graph().initializer()) {
    if (tensor.name() != "flat") continue;
    REQUIRE(tensor.raw_data().size() == 16);
    float items[4];
    std::memcpy(items, tensor.raw_data().data(), 16);
    CHECK((items[0] == 0 && items[1] == 0 && items[2] == 7 && items[3] == 8));
  }
  REQUIRE(find_node(imported->network, "mul"));
}
