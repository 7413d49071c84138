// The product before the loss of a network and that loss become one operator; what only looks similar stays.
#include <catch2/catch.hpp>

#include "compiler/network/linear_cross_entropy.h"
#include "compiler/network/pipeline.h"
#include "written_network.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kWords = 1100;

// x [N, 64, 16] and a head of kWords classes.
struct LanguageModel : WrittenNetwork {
  ValueId x = value("x", ValueKind::input, {kBatch, {64}, {16}});
  ValueId head = value("head", ValueKind::parameter, {{kWords}, {16}});

  ValueId logits() {
    const ValueId made = network.values.push_back(
        {.name = "logits", .type = {DataType::f32, {kBatch, {64}, {network.values[head].type.dims[0].value}}}});
    network.nodes.push_back({.name = "product",
                             .op = "MatMul",
                             .opset = 13,
                             .inputs = {x, head},
                             .outputs = {made},
                             .marks = {.transposed_b = true},
                             .module_path = "lm_head"});
    return made;
  }
  ValueId bias(int64_t words = kWords) { return value("bias", ValueKind::parameter, {{words}}); }
  ValueId shape(std::vector<int64_t> dims) {
    const ValueId made = value("shape", ValueKind::constant, {{static_cast<int64_t>(dims.size())}});
    network.values[made].constant = ConstantData{.ints = std::move(dims)};
    network.values[made].type.type = DataType::i64;
    return made;
  }
  ValueId labels(Dims dims) {
    const ValueId made = value("labels", ValueKind::input, std::move(dims));
    network.values[made].type.type = DataType::i64;
    return made;
  }
  // Ends the network in this loss.
  void loss(ValueId logits, Dims of_labels, bool classes_last, std::map<std::string, NodeAttribute> attributes = {}) {
    const ValueId given = labels(std::move(of_labels));
    network.nodes.push_back({.name = "loss",
                             .op = "SoftmaxCrossEntropyLoss",
                             .opset = 13,
                             .inputs = {logits, given},
                             .outputs = {network.values.push_back({.name = "loss.y", .type = {DataType::f32, {{1}}}})},
                             .attributes = std::move(attributes),
                             .marks = {.classes_last = classes_last, .label_smoothing = 0.1}});
    network.outputs = {network.nodes.back().outputs[0]};
  }
  void loss_of_tokens(ValueId logits) { loss(logits, {kBatch, {64}}, true); }

  const Node& last() const { return network.nodes.back(); }
  std::string name_of(size_t input) const {
    const ValueId id = last().inputs[input];
    return id.valid() ? network.values[id].name : "";
  }
};

}  // namespace

TEST_CASE("the head of a language model and its loss become one operator, which is named as the head is") {
  LanguageModel model;
  model.loss_of_tokens(model.logits());
  REQUIRE(fuse_linear_cross_entropy(model.network));
  REQUIRE(model.network.nodes.size() == 1);
  CHECK(model.last().op == "LinearCrossEntropyLoss");
  CHECK(model.last().name == "product");
  CHECK(model.last().module_path == "lm_head");
  CHECK(model.last().marks == NodeMarks{.label_smoothing = 0.1, .transposed_b = true});
  CHECK(model.name_of(0) == "x");
  CHECK(model.name_of(1) == "labels");
  CHECK(model.name_of(3) == "head");
  CHECK(model.name_of(4).empty());
  const auto types = find_op(model.last().op)->infer(NodeView(model.network, model.last()));
  CHECK(types.ok());
}

TEST_CASE("logits that a bias is added to, and that are reshaped, are recognized") {
  LanguageModel model;
  const ValueId sum = model.node("Add", {model.logits(), model.bias()});
  const ValueId rows = model.node("Reshape", {sum, model.shape({-1, kWords})});
  model.loss(rows, {{64, true}}, false, {{"ignore_index", int64_t{3}}, {"reduction", std::string("sum")}});
  REQUIRE(fuse_linear_cross_entropy(model.network));
  CHECK(model.network.nodes.size() == 1);
  CHECK(model.name_of(4) == "bias");
  CHECK(NodeView(model.network, model.last()).integer("ignore_index", 0) == 3);
  CHECK(NodeView(model.network, model.last()).text("reduction", "mean") == "sum");
  CHECK(find_op(model.last().op)->infer(NodeView(model.network, model.last())).ok());
}

TEST_CASE("a Gemm with a bias is recognized, and one that scales is not") {
  for (const double alpha : {1.0, 0.5}) {
    LanguageModel model;
    const ValueId rows = model.node("Reshape", {model.x, model.shape({-1, 16})});
    const ValueId logits =
        model.node("Gemm", {rows, model.head, model.bias()}, {{"transB", int64_t{1}}, {"alpha", alpha}});
    model.loss(logits, {{64, true}}, false);
    CHECK(fuse_linear_cross_entropy(model.network) == (alpha == 1));
    if (alpha == 1) CHECK(model.last().marks.transposed_b);
  }
}

TEST_CASE("logits stay a tensor where something else reads them, or where they are few") {
  SECTION("another node reads them") {
    LanguageModel model;
    const ValueId logits = model.logits();
    model.node("Relu", {logits});
    model.loss_of_tokens(logits);
    CHECK_FALSE(fuse_linear_cross_entropy(model.network));
  }
  SECTION("they are an output") {
    LanguageModel model;
    const ValueId logits = model.logits();
    model.loss_of_tokens(logits);
    model.network.outputs.push_back(logits);
    CHECK_FALSE(fuse_linear_cross_entropy(model.network));
  }
  SECTION("another activation comes before the loss") {
    LanguageModel model;
    model.loss_of_tokens(model.node("Relu", {model.logits()}));
    CHECK_FALSE(fuse_linear_cross_entropy(model.network));
  }
  SECTION("they are few") {
    LanguageModel model;
    model.network.values[model.head].type.dims[0] = {1023};
    model.loss_of_tokens(model.logits());
    CHECK_FALSE(fuse_linear_cross_entropy(model.network));
  }
  SECTION("a loss for each label") {
    LanguageModel model;
    model.loss(model.logits(), {kBatch, {64}}, true, {{"reduction", std::string("none")}});
    CHECK_FALSE(fuse_linear_cross_entropy(model.network));
  }
}

TEST_CASE("with bf16, the factors of the loss are read in it unless --keep-fp32 names the head") {
  for (const bool kept : {false, true}) {
    LanguageModel model;
    model.loss_of_tokens(model.logits());
    REQUIRE(fuse_linear_cross_entropy(model.network));
    PrecisionRequest request{.precision = Precision::bf16};
    if (kept) request.keep_fp32 = {"lm_head"};
    REQUIRE(assign_precision(model.network, request).ok());
    CHECK(model.last().marks.factors == (kept ? DataType::f32 : DataType::bf16));
  }
}

}  // namespace plimsoll::test
