// Attention masks as model inputs, as exporters write them: integers and booleans that are applied to the scores.
#include <catch2/catch.hpp>

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/network/evaluated_dropout.h"
#include "compiler/ops/fed_labels.h"
#include "model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

constexpr int64_t kBool = onnx::TensorProto::BOOL, kInt64 = onnx::TensorProto::INT64;

// The operators in order and the dimensions of the output, or the error.
std::string masked_as(const ModelBuilder& build) {
  const auto imported = build.import();
  if (!imported.ok()) return outcome(imported);
  std::string ops;
  for (const Node& made : imported->network.nodes) ops += made.op + " ";
  return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
}

// scores [N,2,4,4], mask [N,4] of i64.
ModelBuilder scores_and_mask() {
  ModelBuilder build(18);
  build.input("scores", {"N", "2", "4", "4"}).input("mask", {"N", "4"}, onnx::TensorProto::INT64);
  build.constant("axes", {1, 2}).constant_real("zero", {0}, true);
  build.constant_real("low", {-std::numeric_limits<float>::max()}, true);
  return build;
}

}  // namespace

TEST_CASE("a mask of whole numbers reaches the scores as a number or as a choice") {
  ModelBuilder added = scores_and_mask();
  added.node("Unsqueeze", {"mask", "axes"}, {"wide"});
  ModelBuilder::integer(added.node("Cast", {"wide"}, {"set"}), "to", kBool);
  added.node("Where", {"set", "zero", "low"}, {"bias"});
  added.node("Add", {"scores", "bias"}, {"y"});
  added.output("y");
  CHECK(masked_as(added) == "Unsqueeze Cast Where Add [N,2,4,4]");

  ModelBuilder filled = scores_and_mask();
  filled.constant_scalar("padding", 0);
  filled.node("Unsqueeze", {"mask", "axes"}, {"wide"});
  filled.node("Equal", {"wide", "padding"}, {"left_out"});
  filled.node("Not", {"left_out"}, {"kept"});
  filled.node("Where", {"kept", "scores", "low"}, {"y"});
  filled.output("y");
  CHECK(masked_as(filled) == "Unsqueeze Equal Not Where [N,2,4,4]");
}

TEST_CASE("a mask that is picked sample by sample is a view") {
  // mask[samples, places] with both numbered from 0, as torch's dynamo exporter writes the indexing of a mask.
  const auto picked = [](const std::vector<int64_t>& places) {
    ModelBuilder build = scores_and_mask();
    build.node("Shape", {"mask"}, {"shape"});
    build.constant_scalar("0", 0)
        .constant_scalar("1", 1)
        .constant("first", {0})
        .constant("last", {-1})
        .constant("ones", {1, 1});
    build.node("Gather", {"shape", "0"}, {"samples"});
    build.node("Range", {"0", "samples", "1"}, {"numbers"});
    build.node("Unsqueeze", {"numbers", "axes"}, {"rows"}).add_attribute();
    build.graph().mutable_node(build.graph().node_size() - 1)->clear_attribute();
    build.constant("given", places).constant("flat", {1, 1, static_cast<int64_t>(places.size())});
    build.node("Reshape", {"given", "flat"}, {"columns"});
    build.node("Max", {"rows", "columns"}, {"both"});
    build.node("Shape", {"both"}, {"size"});
    build.node("Expand", {"rows", "size"}, {"wide_rows"});
    build.node("Expand", {"columns", "size"}, {"wide_columns"});
    build.node("Unsqueeze", {"wide_rows", "last"}, {"a"});
    build.node("Unsqueeze", {"wide_columns", "last"}, {"b"});
    ModelBuilder::integer(build.node("Concat", {"a", "b"}, {"at"}), "axis", -1);
    build.node("GatherND", {"mask", "at"}, {"picked"}, "pick");
    build.node("Unsqueeze", {"picked", "first_axis"}, {"four"});
    build.constant("first_axis", {1});
    return build;
  };
  ModelBuilder all = picked({0, 1, 2, 3});
  // Constants come before their readers.
  auto* nodes = all.graph().mutable_node();
  nodes->SwapElements(nodes->size() - 1, nodes->size() - 2);
  ModelBuilder::integer(all.node("Cast", {"four"}, {"set"}), "to", kBool);
  all.node("Where", {"set", "scores", "low"}, {"y"});
  all.output("y");
  CHECK(masked_as(all) == "Reshape Unsqueeze Cast Where [N,2,4,4]");

  ModelBuilder some = picked({3, 0, 2, 2});
  nodes = some.graph().mutable_node();
  nodes->SwapElements(nodes->size() - 1, nodes->size() - 2);
  ModelBuilder::integer(some.node("Cast", {"four"}, {"set"}), "to", kBool);
  some.node("Where", {"set", "scores", "low"}, {"y"});
  some.output("y");
  CHECK(masked_as(some) == "Gather Unsqueeze Cast Where [N,2,4,4]");
}

TEST_CASE("positions are counted from a mask, and pick rows of a table") {
  ModelBuilder build(18);
  build.input("ids", {"N", "6"}, onnx::TensorProto::INT64).weight("words", {20, 4}).weight("table", {9, 4});
  build.constant_scalar("padding", 1).constant_scalar("axis", 1);
  build.node("Equal", {"ids", "padding"}, {"padded"});
  build.node("Not", {"padded"}, {"kept"});
  ModelBuilder::integer(build.node("Cast", {"kept"}, {"ones"}), "to", kInt64);
  build.node("CumSum", {"ones", "axis"}, {"count"});
  build.node("Mul", {"count", "ones"}, {"places"});
  build.node("Add", {"places", "padding"}, {"positions"});
  build.node("Gather", {"table", "positions"}, {"of_place"});
  build.node("Gather", {"words", "ids"}, {"of_word"});
  build.node("Add", {"of_word", "of_place"}, {"y"});
  build.output("y");
  CHECK(masked_as(build) == "Equal Not Cast CumSum Mul Add Gather Gather Add [N,6,4]");
  const auto imported = build.import();
  REQUIRE(imported.ok());
  const Value* count = find_value(imported->network, "count");
  REQUIRE(count);
  CHECK(count->type == TensorType{DataType::i64, {kBatch, {6}}});
}

TEST_CASE("operands of two types, and what has no kernel, are refused by name") {
  ModelBuilder mixed(18);
  mixed.input("x", {"N", "4"}).input("i", {"N", "4"}, onnx::TensorProto::INT64);
  mixed.node("Add", {"x", "i"}, {"y"}, "mixed");
  mixed.output("y");
  CHECK_THAT(masked_as(mixed), Contains("5: ") && Contains("'mixed' (Add)") && Contains("only f32 is supported"));

  ModelBuilder twice(18);
  twice.input("x", {"N", "4"});
  ModelBuilder::integer(twice.node("Cast", {"x"}, {"y"}, "double"), "to", onnx::TensorProto::DOUBLE);
  twice.output("y");
  CHECK_THAT(masked_as(twice), Contains("5: ") && Contains("'double' (Cast)") && Contains("converts to f64"));

  ModelBuilder picks(18);
  picks.input("x", {"N", "4"}).input("i", {"N", "4"}, onnx::TensorProto::INT64);
  ModelBuilder::integer(picks.node("GatherElements", {"x", "i"}, {"y"}, "picks"), "axis", 0);
  picks.output("y");
  CHECK_THAT(masked_as(picks),
             Contains("5: ") && Contains("'picks' (GatherElements)") && Contains("indexes the batch"));
}

TEST_CASE("a slice of nothing is no part of a Concat") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "4"})
      .constant("4", {4})
      .constant("0", {0})
      .constant("end", {INT64_MAX})
      .constant("2", {2});
  build.node("Slice", {"x", "0", "4", "2"}, {"turned"});
  build.node("Slice", {"x", "4", "end", "2"}, {"rest"}, "rest");
  build.node("Relu", {"turned"}, {"r"});
  ModelBuilder::integer(build.node("Concat", {"r", "rest"}, {"y"}), "axis", -1);
  build.output("y");
  CHECK(masked_as(build) == "Slice Relu [N,3,4]");
}

TEST_CASE("a cubic Resize is a product with a matrix for each axis") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "4", "4"}).constant_real("scales", {1, 1, 2, 1});
  onnx::NodeProto& node = build.node("Resize", {"x", "", "scales"}, {"y"}, "up");
  onnx::AttributeProto& mode = *node.add_attribute();
  mode.set_name("mode");
  mode.set_type(onnx::AttributeProto::STRING);
  mode.set_s("cubic");
  build.output("y");
  CHECK(masked_as(build) == "MatMul [N,3,8,4]");
}

TEST_CASE("the channels of a sequence are not resized") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "4"}).constant_real("scales", {1, 2, 2});
  build.node("Resize", {"x", "", "scales"}, {"y"}, "up");
  build.output("y");
  const auto model = build.import();
  REQUIRE(!model.ok());
  CHECK_THAT(model.error().message, Contains("resizes axis 1 of [N,3,4]"));
}

TEST_CASE("Upsample is Resize") {
  const auto upsampled =
      [](int64_t opset, const char* mode, const std::vector<std::string>& dims, std::vector<float> scales) {
    ModelBuilder build(opset);
    build.input("x", dims);
    if (opset >= 9) build.constant_real("scales", scales);
    const std::vector<std::string> inputs =
        opset >= 9 ? std::vector<std::string>{"x", "scales"} : std::vector<std::string>{"x"};
    onnx::NodeProto& node = build.node("Upsample", inputs, {"y"}, "up");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("mode");
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(mode);
    if (opset < 9) {
      onnx::AttributeProto& listed = *node.add_attribute();
      listed.set_name("scales");
      listed.set_type(onnx::AttributeProto::FLOATS);
      for (const float scale : scales) listed.add_floats(scale);
    }
    build.output("y");
    return masked_as(build);
  };
  CHECK(upsampled(9, "nearest", {"N", "3", "4", "5"}, {1, 1, 2, 3}) == "Resize [N,3,8,15]");
  CHECK(upsampled(7, "linear", {"N", "3", "4", "5"}, {1, 1, 2, 1.5}) == "Resize [N,3,8,7]");
  CHECK(upsampled(9, "nearest", {"N", "3", "2", "4", "5"}, {1, 1, 2, 2, 2}) ==
        "Reshape Resize Reshape Resize Reshape [N,3,4,8,10]");
}

TEST_CASE("stochastic depth that is rounded down is a mask of samples") {
  ModelBuilder build(18);
  build.input("x", {"N", "3", "4"})
      .constant_real("keep", {0.75F}, true)
      .constant("ones", {1, 1})
      .constant_scalar("0", 0);
  build.node("Shape", {"x"}, {"shape"});
  build.constant("first", {0}).constant("end", {1});
  build.node("Slice", {"shape", "first", "end"}, {"samples"});
  ModelBuilder::integer(build.node("Concat", {"samples", "ones"}, {"dims"}), "axis", 0);
  build.node("ConstantOfShape", {"dims"}, {"like"});
  build.node("RandomUniformLike", {"like"}, {"drawn"});
  build.node("Add", {"drawn", "keep"}, {"shifted"});
  build.node("Floor", {"shifted"}, {"mask"});
  build.node("Mul", {"x", "mask"}, {"y"});
  build.output("y");
  CHECK(masked_as(build) == "Bernoulli Mul [N,3,4]");
}

// torch's dynamo exporter with its optimizer, which evaluates the conversion of the probability.
TEST_CASE("the probability of a mask is a constant if nothing else reads it than the mask and its scale") {
  const auto drawn = [](bool is_read, bool is_marked) {
    ModelBuilder build(18);
    build.model.set_producer_name("pytorch");
    build.input("x", {"N", "3", "4"}).input("like", {"N", "1", "1"}).weight("p_cast", {}, 0.75F);
    build.node("RandomUniformLike", {"like"}, {"drawn"});
    build.node("Less", {"drawn", "p_cast"}, {"sampled"});
    ModelBuilder::integer(build.node("Cast", {"sampled"}, {"mask"}, "draw"), "to", onnx::TensorProto::FLOAT);
    build.node("Div", {"mask", "p_cast"}, {"scale"});
    build.node("Mul", {"x", is_read ? "p_cast" : "scale"}, {"part"});
    build.node("Mul", {"part", "scale"}, {"y"});
    if (is_marked) {
      onnx::StringStringEntryProto& entry = *build.model.add_metadata_props();
      entry.set_key("plimsoll.export");
      entry.set_value(R"({"schema": 1, "trained": ["p_cast"], "frozen": [], "buffers": []})");
    }
    return masked_as(build.output("y"));
  };
  CHECK_THAT(drawn(false, false), Contains("Bernoulli") && Contains("[N,3,4]"));
  const std::string refusal = "draws a random mask whose probability is not a single number known at compile time";
  CHECK_THAT(drawn(true, false), Contains("5: node 'draw' (Cast): " + refusal));
  CHECK_THAT(drawn(false, true), Contains(refusal));
}

TEST_CASE("labels are followed to what is fed where they are moved alone, and the kernel counts others") {
  const auto fed = [](const char* how) -> std::optional<FedLabels> {
    const std::string_view moved = how;
    ModelBuilder build(18);
    build.input("scores", {"N", "7", "4"})
        .input("labels",
               {"N", moved == "Slice" ? "5"
                     : moved == "Pad" ? "3"
                                      : "4"},
               onnx::TensorProto::INT64);
    build.constant("from", {1})
        .constant("to", {5})
        .constant("axis", {1})
        .constant("rows", {-1, 4})
        .constant("pads", {0, 0, 0, 1});
    build.constant_scalar("hole", moved == "Add" ? 1 : -100);
    if (moved == "Slice") build.node("Slice", {"labels", "from", "to", "axis"}, {"next"});
    if (moved == "Pad") build.node("Pad", {"labels", "pads", "hole"}, {"next"});
    if (moved == "Add") build.node("Add", {"labels", "hole"}, {"next"});
    build.node("Reshape", {moved.empty() ? "labels" : "next", "rows"}, {"wanted"});
    build.node("SoftmaxCrossEntropyLoss", {"scores", "wanted"}, {"loss"});
    build.output("loss");
    const auto model = build.import();
    INFO((model.ok() ? "" : model.error().message));
    REQUIRE(model.ok());
    return fed_labels(NodeView(model->network, model->network.nodes.back()));
  };
  const auto range = [&](const char* how) { return std::pair(fed(how)->first, fed(how)->end); };
  CHECK(range("") == std::pair<int64_t, int64_t>(0, 4));
  CHECK(range("Slice") == std::pair<int64_t, int64_t>(1, 5));
  CHECK(range("Pad") == std::pair<int64_t, int64_t>(0, 3));
  CHECK(!fed("Add"));
}

TEST_CASE("a dropout that PyTorch's exporters write without a mode is in training mode") {
  const auto modes = [](const std::string& producer, int opset = 17) {
    ModelBuilder build(opset);
    build.model.set_producer_name(producer);
    build.input("x", {"N", "4"}).constant_real("tenth", {0.1f}, true);
    build.node("Dropout", {"x", "tenth"}, {"y"}, "attention");  // of F.scaled_dot_product_attention
    build.output("y");
    const auto imported = build.import();
    INFO(outcome(imported));
    REQUIRE(imported.ok());
    const Network& network = imported->network;
    const Node& node = network.nodes[NodeId(0)];
    return std::pair(is_in_training_mode(network, node), is_evaluated_dropout(network, node));
  };
  CHECK(modes("pytorch") == std::pair(true, false));
  CHECK(modes("test") == std::pair(false, true));
}
