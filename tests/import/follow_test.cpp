// The batch of an exporter's example, propagated through operators that repeat something for it, and constants that are
// the same for each sample.
#include <catch2/catch.hpp>
#include <functional>

#include "compiler/import/plain_model.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/reshape_target.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

using Make = std::function<void(ModelBuilder&)>;
using Entries = std::vector<int64_t>;

// What a Reshape of `x` to numbers means in a model exported for `batch` samples, after others that merged `rows`.
struct Reshaped { Entries entries; bool ambiguous; MergedRows rows; };
Reshaped reshaped(const Dims& x, const std::vector<Dim>& target, int64_t batch, MergedRows rows = {}) {
  const ReshapeTarget result = reshape_target(x, target, true, batch, rows);
  return {result.entries, result.error.find("ambiguous") != std::string::npos, rows};
}

// A model with input x of the given dimensions and output y: its operators and the dimensions of y, or the error.
std::string said(const std::vector<std::string>& x, const Make& make, std::vector<std::string>* notes = nullptr) {
  ModelBuilder build(18);
  build.input("x", x);
  make(build);
  build.output("y");
  const auto imported = build.import();
  if (!imported.ok()) return outcome(imported);
  if (notes) *notes = imported->notes;
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
}

void booleans(ModelBuilder& build, const std::string& name, const std::vector<int64_t>& dims,
              const std::vector<bool>& items) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const bool item : items) tensor.mutable_raw_data()->push_back(static_cast<char>(item));
  ModelBuilder::tensor_attribute(build.node("Constant", {}, {name}), "value", tensor);
}

void concat(ModelBuilder& build, const std::vector<std::string>& inputs, int64_t axis,
            const std::string& name = "cat") {
  ModelBuilder::integer(build.node("Concat", inputs, {"y"}, name), "axis", axis);
}

// The real elements of a constant, computed by `make` as "c" in a model that adds it to x[N,…].
std::vector<double> computed(const Make& make, const std::vector<std::string>& x) {
  ModelBuilder build(18);
  build.input("x", x);
  make(build);
  build.node("Add", {"x", "c"}, {"y"});
  build.output("y");
  const auto imported = build.import();
  INFO(outcome(imported));
  REQUIRE(imported.ok());
  REQUIRE(imported->network.nodes.size() == 1);
  const Value& value = imported->network.values[imported->network.nodes.begin()->inputs[1]];
  const Model model = plain_model(imported->file);
  for (const ModelTensor& tensor : model.initializers)
    if (tensor.name == value.initializer) {
      const auto known = known_value_of(tensor);
      REQUIRE(known);
      std::vector<double> items;
      for (size_t i = 0; i < static_cast<size_t>(*known->elements()); ++i) items.push_back(known->number(i));
      return items;
    }
  return value.constant ? value.constant->reals : std::vector<double>{};
}

}  // namespace

TEST_CASE("a class token that is repeated for the example's samples is repeated for each sample") {
  const Make token = [](ModelBuilder& build) {
    build.weight("token", {1, 1, 4}).constant("target", {2, -1, -1}).node("Abs", {"target"}, {"sizes"});
    build.node("Expand", {"token", "sizes"}, {"tokens"}, "expand");
    concat(build, {"tokens", "x"}, 1);
  };
  std::vector<std::string> notes;
  CHECK(said({"2", "3", "4"}, token, &notes) == "Expand Concat [N,4,4]");
  REQUIRE(notes.size() == 2);
  CHECK_THAT(notes[1], Contains("with a fixed batch of 2"));
  CHECK(said({"N", "3", "4"}, [](ModelBuilder& build) {
          build.weight("token", {1, 1, 4}).constant("rest", {1, 4});
          onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
          ModelBuilder::integer(shape, "end", 1);
          ModelBuilder::integer(build.node("Concat", {"n", "rest"}, {"target"}), "axis", 0);
          build.node("Expand", {"token", "target"}, {"tokens"});
          concat(build, {"tokens", "x"}, 1);
        }) == "Expand Concat [N,4,4]");
}

TEST_CASE("of an example of one sample, nothing is repeated, and a class token stands beside each sample") {
  CHECK(
      said({"1", "3", "4"}, [](ModelBuilder& build) {
        build.weight("token", {1, 1, 4}).constant("target", {1, 1, 4}).node("Expand", {"token", "target"}, {"tokens"});
        concat(build, {"tokens", "x"}, 1);
      }) == "Expand Expand Concat [N,4,4]");
}

TEST_CASE("what is repeated as often as the example had samples stays so where the shapes go together as they are") {
  CHECK(said({"2", "2", "4"}, [](ModelBuilder& build) {
          build.weight("row", {1, 4}).constant("target", {2, 4}).node("Expand", {"row", "target"}, {"rows"});
          build.node("Add", {"x", "rows"}, {"y"});
        }) == "Expand Add [N,2,4]");
}

TEST_CASE("a batch that cannot be followed is refused with the node and the way out") {
  const std::string refusal = said({"2", "3", "4"}, [](ModelBuilder& build) {
    build.weight("table", {2, 3, 4}).node("Add", {"x", "table"}, {"y"}, "add");
  });
  CHECK_THAT(refusal, StartsWith("4: node 'add' (Add): operands [N,3,4] and [2,3,4]") &&
                          Contains("exported for a batch of 2") && Contains("dynamic_shapes=({0: 'batch'},)"));
  CHECK_THAT(said({"2", "3", "4"}, [](ModelBuilder& build) {
               build.weight("token", {1, 1, 4}).weight("w", {2, 2}).constant("target", {2, 1, 4});
               build.node("Expand", {"token", "target"}, {"tokens"});
               ModelBuilder::ints(build.node("Transpose", {"tokens"}, {"turned"}), "perm", {2, 1, 0});
               build.node("MatMul", {"turned", "w"}, {"z"}, "product");  // would be a product over samples
               concat(build, {"z", "x"}, 1);
             }),
             StartsWith("4: node 'product' (MatMul)") && Contains("dynamic_shapes"));
}

TEST_CASE("a loss that compares the samples of the example is refused with the batch that it was exported for") {
  ModelBuilder build(18);
  build.input("x", {"2", "8"});
  ModelBuilder::ints(build.node("Transpose", {"x"}, {"turned"}), "perm", {1, 0});
  build.node("MatMul", {"x", "turned"}, {"all"}, "all");
  ModelBuilder::integer(build.node("ReduceMean", {"all"}, {"y"}), "keepdims", 0);
  build.output("y");
  CHECK_THAT(outcome(build.import({.batch = 4, .may_fix_batch = true})),
             StartsWith("5: node 'all' (MatMul): its output [N,N]") && Contains("compile it with --batch 2"));
  CHECK(outcome(build.import({.batch = 2, .may_fix_batch = true})) == "ok");
  CHECK_THAT(outcome(build.import({.batch = 4})), !Contains("--batch 2"));
}

TEST_CASE("repeating along another dimension leaves the samples alone") {
  CHECK(said({"2", "1", "3", "4"}, [](ModelBuilder& build) {
          build.constant("target", {2, 5, 3, 4}).node("Expand", {"x", "target"}, {"wide"});
          build.constant("merged", {2, 15, 4}).node("Reshape", {"wide", "merged"}, {"y"});
        }) == "Expand Reshape [N,15,4]");
}

TEST_CASE("a Tile along dimensions of one repeats for each sample") {
  const Make tiled = [](ModelBuilder& build) {
    build.weight("token", {1, 1, 4}).constant("times", {2, 1, 1}).node("Tile", {"token", "times"}, {"tokens"}, "tile");
    concat(build, {"tokens", "x"}, 1);
  };
  CHECK(said({"2", "3", "4"}, tiled) == "Expand Concat [N,4,4]");
  CHECK_THAT(said({"2", "3", "4"}, [](ModelBuilder& build) {
               build.constant("times", {1, 2, 1}).node("Tile", {"x", "times"}, {"y"}, "tile");
             }), Equals("Pad [N,6,4]"));
}

TEST_CASE("a mask that is drawn for each sample of the example is drawn for each sample") {
  CHECK(said({"2", "3", "4"}, [](ModelBuilder& build) {
          build.constant("shape", {2, 1, 1}).node("ConstantOfShape", {"shape"}, {"empty"});
          build.constant_real("keep", {0.5f}, true);
          build.node("RandomUniformLike", {"empty"}, {"drawn"});
          build.node("Less", {"drawn", "keep"}, {"kept"});
          ModelBuilder::integer(build.node("Cast", {"kept"}, {"mask"}), "to", onnx::TensorProto::FLOAT);
          build.node("Mul", {"x", "mask"}, {"y"});
        }) == "Bernoulli Mul [N,3,4]");
}

TEST_CASE("numbers that count through the samples of the example count through all") {
  const auto picked = [](const std::vector<int64_t>& items) {
    return said({"2", "6", "4", "4"}, [&](ModelBuilder& build) {
      build.weight("w", {6, 6, 3, 3}).conv("x", "w", "", "c").node("GlobalAveragePool", {"c"}, {"mean"});
      build.constant("open", {-1}).node("Reshape", {"mean", "open"}, {"flat"});
      build.constant("numbers", items).constant("shape", {2, static_cast<int64_t>(items.size()) / 2, 1, 1});
      build.node("Reshape", {"numbers", "shape"}, {"indices"});
      build.node("Gather", {"flat", "indices"}, {"y"}, "pick");
    });
  };
  CHECK(picked({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) == "Conv GlobalAveragePool Reshape Reshape [N,6,1,1]");
  CHECK(picked({1, 2, 7, 8}) == "Conv GlobalAveragePool Reshape Reshape Gather [N,2,1,1]");
  CHECK_THAT(picked({1, 2, 7, 9}), StartsWith("5: node 'pick' (Gather)"));
}

TEST_CASE("dimensions that are merged in front, with the samples among them") {
  constexpr Dim N = kBatch;
  CHECK(reshaped({N, {4}, {4}, {7}, {8}}, {{32}, {7}, {8}}, 2).entries == Entries{-1, 7, 8});
  CHECK(reshaped({N, {4}, {4}, {7}, {8}}, {{16}, {7}, {8}}, 1).entries == Entries{-1, 7, 8});
  CHECK(reshaped({N, {64}, {32}, {32}}, {{2048}, {2}, {16}, {2}}, 2).entries == Entries{-1, 2, 16, 2});
  CHECK(reshaped({{196, true}, {16}, {24}}, {{2}, {196}, {-1}}, 2).entries == Entries{-1, 196, 384});
  // Behind the steps of a sequence: the heads of each sample, and back.
  CHECK(reshaped({{24}, N, {32}}, {{24}, {8}, {8}}, 2).entries == Entries{24, -1, 8});
  CHECK(reshaped({{24}, {4, true}, {8}}, {{24}, {2}, {32}}, 2).entries == Entries{24, -1, 32});
  CHECK(reshaped({{24}, {4, true}, {8}}, {{24}, {2}, {-1}}, 2).entries == Entries{24, -1, 32});
  CHECK(reshaped({{24}, N, {32}}, {{8}, {24}, {8}}, 2).ambiguous);
  CHECK(reshaped({{24}, N, {32}}, {{24}, {1}, {64}}, 2).ambiguous);
}

TEST_CASE("samples that are not first are merged with the dimensions in front, and split from them again") {
  constexpr Dim N = kBatch, rows = {24, true};
  const auto merged = reshaped({{24}, N, {4}, {8}}, {{48}, {32}}, 2);
  CHECK(merged.entries == Entries{-1, 32});
  CHECK(merged.rows.of_steps == Entries{24});
  CHECK(reshaped({{3}, {8}, N, {6}}, {{3}, {16}, {6}}, 2).entries == Entries{3, -1, 6});
  CHECK(reshaped({{24}, N, {4}, {8}}, {{48}, {-1}}, 2).entries == Entries{-1, 32});
  const auto heads = reshaped({{24}, {4, true}, {8}}, {{48}, {32}}, 2);  // [T,4N,8]: 4 heads of each sample
  CHECK(heads.entries == Entries{-1, 32});
  CHECK(heads.rows.of_steps == Entries{24});
  CHECK(reshaped({{24}, {4, true}, {8}}, {{96}, {16}}, 2).ambiguous);
  CHECK(reshaped({N, {24}, {32}}, {{48}, {32}}, 2).rows.of_steps.empty());
  // Only after such a merge are rows in front those of each step.
  CHECK(reshaped({rows, {32}}, {{24}, {2}, {32}}, 2, {.of_steps = {24}}).entries == Entries{24, -1, 32});
  CHECK(reshaped({rows, {32}}, {{24}, {8}, {8}}, 2, {.of_steps = {24}}).entries == Entries{24, -1, 8});
  CHECK(reshaped({rows, {32}}, {{4}, {6}, {2}, {32}}, 2, {.of_steps = {24}}).entries == Entries{4, 6, -1, 32});
  CHECK(reshaped({rows, {32}}, {{48}, {4}, {8}}, 2, {.of_steps = {24}}).entries == Entries{-1, 4, 8});
  CHECK(reshaped({rows, {32}}, {{2}, {24}, {32}}, 2, {.of_steps = {24}}).entries == Entries{-1, 24, 32});
  CHECK(reshaped({rows, {32}}, {{24}, {2}, {32}}, 2).entries == Entries{-1, 2, 32});
  // As many steps as samples in the example: either may be in front.
  CHECK(reshaped({{2, true}, {8}}, {{2}, {2}, {8}}, 2, {.of_steps = {2}}).ambiguous);
  CHECK(reshaped({{2, true}, {8}}, {{2}, {2}, {8}}, 2, {.of_steps = {24}}).entries == Entries{-1, 2, 8});
  CHECK(reshaped({{2, true}, {8}}, {{2}, {2}, {8}}, 2).entries == Entries{-1, 2, 8});
}

TEST_CASE("samples that are not first, of an example of one") {
  constexpr Dim N = kBatch, rows = {7, true};
  // nn.MultiheadAttention in order: heads, channels again, and rows split into the steps of each sample.
  const auto heads = reshaped({{7}, N, {32}}, {{7}, {4}, {8}}, 1);
  CHECK(heads.entries == Entries{7, -1, 8});
  CHECK(heads.rows.splits_heads);
  const auto merged = reshaped({{7}, N, {4}, {8}}, {{7}, {32}}, 1, {.splits_heads = true});
  CHECK(merged.entries == Entries{-1, 32});
  CHECK(merged.rows.of_steps == Entries{7});
  CHECK(reshaped({{7}, {4, true}, {8}}, {{7}, {32}}, 1, {.splits_heads = true}).entries == Entries{-1, 32});
  CHECK(reshaped({{7}, {4, true}, {8}}, {{7}, {1}, {32}}, 1).entries == Entries{7, -1, 32});
  CHECK(reshaped(Dims{rows, {32}}, {{7}, {1}, {32}}, 1, {.of_steps = {7}}).entries == Entries{7, -1, 32});
  CHECK(reshaped(Dims{rows, {32}}, {{7}, {1}, {4}, {8}}, 1, {.of_steps = {7}}).entries == Entries{7, -1, 4, 8});
  CHECK(reshaped(Dims{rows, {32}}, {{7}, {4}, {8}}, 1, {.of_steps = {7}}).entries == Entries{-1, 4, 8});
  CHECK(reshaped({{2}, {3}, N, {8}}, {{2}, {3}, {2}, {4}}, 1).entries == Entries{2, 3, -1, 4});
  CHECK(reshaped({{7}, N, {4}, {8}}, {{-1}, {32}}, 1).rows.of_steps == Entries{7});
  CHECK(reshaped({{12}, {2}, N}, {{24}, {1}}, 1).entries == Entries{24, -1});
  CHECK(reshaped({{4}, N, {3}}, {{2}, {2}, {1}, {3}}, 1).entries == Entries{2, 2, -1, 3});
  CHECK(reshaped(Dims{{8}, {4, true}}, {{4}, {2}, {4}}, 1).entries == Entries{4, 2, -1});
  // Two orders are possible: channels of samples, or samples of channels; rows of samples, or of steps.
  CHECK(reshaped({{7}, N, {4}, {8}}, {{7}, {32}}, 1).entries == Entries{7, -1});
  CHECK(reshaped({{2}, {3}, N, {8}}, {{6}, {2}, {4}}, 1).ambiguous);
  CHECK(reshaped({{1}, N, {32}}, {{1}, {4}, {8}}, 1).entries == Entries{1, -1, 8});
  CHECK(reshaped({{6}, N, {32}}, {{3}, {64}}, 1, {.splits_heads = true}).ambiguous);
  CHECK(reshaped({{7}, N, {32}}, {{1}, {7}, {32}}, 1).ambiguous);
  CHECK(reshaped(Dims{rows, {32}}, {{1}, {7}, {32}}, 1, {.of_steps = {7}}).ambiguous);
  CHECK(reshaped(Dims{rows, {32}}, {{7}, {1}, {32}}, 1, {.of_steps = {7}, .of_samples = {7}}).ambiguous);
  CHECK(reshaped({N, {7}, {32}}, {{7}, {32}}, 1).rows.of_samples == Entries{7});
  CHECK(reshaped({N, {7}, {32}}, {{-1}, {32}}, 1).rows.of_samples == Entries{7});
  // Samples in front remain in front, also where another entry is -1.
  CHECK(reshaped({N, {64}, {32}, {32}}, {{1024}, {2}, {16}, {2}}, 1).entries == Entries{-1, 2, 16, 2});
  CHECK(reshaped({N, {4}, {12}, {8}}, {{4}, {-1}, {8}}, 1).entries == Entries{-1, 12, 8});
  CHECK(reshaped(Dims{{196, true}, {16}, {24}}, {{1}, {196}, {-1}}, 1).entries == Entries{-1, 196, 384});
  CHECK(reshaped({N, {12}, {8}}, {{1}, {1}, {-1}, {8}}, 1).entries == Entries{-1, 1, 12, 8});
  CHECK(reshaped(Dims{{12, true}, {16}}, {{1}, {-1}, {2}, {8}}, 1).entries == Entries{-1, 12, 2, 8});
  CHECK(reshaped({N, {12}, {8}}, {{-1}, {4}, {8}}, 1).entries == Entries{-1, 4, 8});
  CHECK(reshaped({N, {64}, {32}, {32}}, {{1024}, {1}, {64}}, 1).ambiguous);
  CHECK(reshaped(Dims{{64, true}, {5}}, {{16}, {4}, {1}, {5}}, 1).entries == Entries{-1, 4, 1, 5});
  // Rows that were not merged from steps are those of one sample after the other.
  CHECK(reshaped(Dims{rows, {32}}, {{7}, {1}, {32}}, 1).entries == Entries{-1, 1, 32});
  CHECK(reshaped(Dims{rows, {32}}, {{1}, {7}, {32}}, 1).entries == Entries{-1, 7, 32});
}

TEST_CASE("rows that were repeated for one sample are repeated for all") {
  std::vector<float> halves;
  for (int i = 0; i < 24; ++i) halves.push_back(0.5f * static_cast<float>(i));
  const auto met = [&](const std::string& op, const std::vector<std::string>& inputs) {
    return said({"1", "4", "6"}, [&](ModelBuilder& build) {
      build.weight("w", {6, 6}).constant("rows", {4, 1, 6});
      build.node("MatMul", {"x", "w"}, {"h"});
      build.node("Reshape", {"h", "rows"}, {"heads"});  // [4N,1,6]
      build.constant_real("numbers", halves).node("Reshape", {"numbers", "rows"}, {"of_rows"});
      build.constant("places", std::vector<int64_t>(24, 2)).node("Reshape", {"places", "rows"}, {"indices"});
      build.constant("square", {4, 6, 1}).node("Reshape", {"numbers", "square"}, {"columns"});
      onnx::NodeProto& node = build.node(op, inputs, {"y"});
      if (op == "GatherElements") ModelBuilder::integer(node, "axis", 2);
    });
  };
  CHECK(met("Add", {"heads", "of_rows"}) == "MatMul Reshape Reshape Expand Reshape Add [4N,1,6]");
  CHECK(met("MatMul", {"heads", "columns"}) == "MatMul Reshape Reshape Expand Reshape MatMul [4N,1,1]");
  CHECK(met("GatherElements", {"heads", "indices"}) ==
        "MatMul Reshape Reshape Expand Reshape GatherElements [4N,1,6]");
}

TEST_CASE("one row of indices or of zeros is that of the only sample") {
  const auto met = [](const std::string& op, const std::vector<std::string>& inputs) {
    return said({"1", "6"}, [&](ModelBuilder& build) {
      build.weight("w", {6, 6}).node("MatMul", {"x", "w"}, {"h"});
      build.constant("row", {1, 6}).constant("places", {1, 0, 2, 2, 3, 1});
      build.node("Reshape", {"places", "row"}, {"known"});
      build.constant_real("zeros", std::vector<float>(6, 0)).node("Reshape", {"zeros", "row"}, {"state"});
      build.constant("count", {6});
      build.node("TopK", {"h", "count"}, {"sorted", "order"});
      ModelBuilder::integer(build.node(op, inputs, {"y"}), "axis", 1);
    });
  };
  CHECK_THAT(met("GatherElements", {"h", "known"}), Contains("Expand") && Contains("GatherElements [N,6]"));
  CHECK_THAT(met("ScatterElements", {"state", "order", "h"}), Contains("Expand") && Contains("ScatterElements [N,6]"));
}

TEST_CASE("a state that an Einsum reads first is followed with the batch of the example") {
  ModelBuilder build(17);
  build.input("x", {"3", "8"}).weight("w", {8, 8}, 1);
  build.constant_real("zeros", std::vector<float>(3 * 8 * 8, 0)).constant("shape", {3, 8, 8});
  build.node("MatMul", {"x", "w"}, {"k"});
  build.node("Reshape", {"zeros", "shape"}, {"state"});
  onnx::AttributeProto& equation = *build.node("Einsum", {"state", "k"}, {"old"}).add_attribute();
  equation.set_name("equation");
  equation.set_type(onnx::AttributeProto::STRING);
  equation.set_s("bij,bj->bi");
  build.node("Sub", {"k", "old"}, {"y"});
  build.output("y");
  const auto imported = build.import({.batch = 5});
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.values[imported->network.outputs[0]].type.dims == Dims{kBatch, {8}});
}

TEST_CASE("attention over steps in front is followed with the batch of the example") {
  CHECK(said({"2", "3", "8"}, [](ModelBuilder& build) {
          build.weight("w", {8, 8});
          ModelBuilder::ints(build.node("Transpose", {"x"}, {"steps"}), "perm", {1, 0, 2});  // [3,N,8]
          build.constant("rows", {6, 8}).node("Reshape", {"steps", "rows"}, {"flat"});
          build.node("MatMul", {"flat", "w"}, {"product"});
          build.constant("back", {3, 2, 8}).node("Reshape", {"product", "back"}, {"turned"});
          ModelBuilder::ints(build.node("Transpose", {"turned"}, {"y"}), "perm", {1, 0, 2});
        }) == "Transpose Reshape MatMul Reshape Transpose [N,3,8]");
}

TEST_CASE("a mask that is expanded to the samples is one for all of them") {
  for (const bool fixed : {false, true}) {
    INFO(fixed);
    CHECK(said({fixed ? "2" : "N", "1", "3", "3"}, [&](ModelBuilder& build) {
            booleans(build, "lower", {1, 1, 3, 3}, {true, false, false, true, true, false, true, true, true});
            build.constant("sizes", {1, 3, 3}).constant_real("low", {-1e9f}, true).constant("two", {2});
            onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
            ModelBuilder::integer(shape, "end", 1);
            ModelBuilder::integer(build.node("Concat", {fixed ? "two" : "n", "sizes"}, {"target"}), "axis", 0);
            build.node("Expand", {"lower", "target"}, {"mask"});
            build.node("And", {"mask", "lower"}, {"both"});
            build.node("Not", {"both"}, {"out"});
            build.node("Not", {"out"}, {"in"});
            build.node("Where", {"in", "x", "low"}, {"y"});
          }) == "Where [N,1,3,3]");
  }
}

TEST_CASE("positions that are expanded to the samples are looked up once") {
  for (const bool fixed : {false, true}) {
    INFO(fixed);
    CHECK(said({fixed ? "2" : "N", "3", "4"}, [&](ModelBuilder& build) {
            build.weight("table", {5, 4})
                .constant_scalar("zero", 0)
                .constant_scalar("three", 3)
                .constant_scalar("one", 1);
            build.constant("front", {0}).constant("sizes", {3}).constant("two", {2});
            build.node("Range", {"zero", "three", "one"}, {"numbers"});
            build.node("Unsqueeze", {"numbers", "front"}, {"row"});
            onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
            ModelBuilder::integer(shape, "end", 1);
            ModelBuilder::integer(build.node("Concat", {fixed ? "two" : "n", "sizes"}, {"target"}), "axis", 0);
            build.node("Expand", {"row", "target"}, {"positions"});
            build.node("Gather", {"table", "positions"}, {"encoded"});
            build.node("Add", {"x", "encoded"}, {"y"});
          }) == "Gather Expand Add [N,3,4]");
  }
}

TEST_CASE("a mask that selects among weights is one for all samples, if it is expanded to those of the example") {
  for (const bool fixed : {false, true}) {
    INFO(fixed);
    CHECK(said({fixed ? "2" : "N", "4", "3", "3"}, [&](ModelBuilder& build) {
            build.weight("distances", {1, 4, 3, 3}).constant_real("low", {-1e9f}, true).constant("two", {2});
            booleans(build, "lower", {1, 1, 3, 3}, {true, false, false, true, true, false, true, true, true});
            build.constant("sizes", {1, 3, 3});
            onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
            ModelBuilder::integer(shape, "end", 1);
            ModelBuilder::integer(build.node("Concat", {fixed ? "two" : "n", "sizes"}, {"target"}), "axis", 0);
            build.node("Expand", {"lower", "target"}, {"mask"});
            build.node("Where", {"mask", "distances", "low"}, {"biases"});
            build.node("Add", {"x", "biases"}, {"y"});
          }) == "Expand Where Add [N,4,3,3]");
  }
}

TEST_CASE("indices that are repeated for the samples of the example pick the same of each sample") {
  CHECK(said({"2", "4", "6"}, [](ModelBuilder& build) {
          build.constant("at", {5, 0, 3, 1, 2, 4, 4, 0, 0, 0, 1, 2}).constant("of_one", {1, 4, 3});
          build.constant("of_all", {2, 4, 3}).node("Reshape", {"at", "of_one"}, {"once"});
          build.node("Expand", {"once", "of_all"}, {"indices"});
          ModelBuilder::integer(build.node("GatherElements", {"x", "indices"}, {"y"}, "gather"), "axis", -1);
        }) == "Expand GatherElements [N,4,3]");
  CHECK(said({"2", "3", "4"}, [](ModelBuilder& build) {
          build.weight("table", {5, 4}).constant("row", {2, 0, 1}).constant("front", {0}).constant("times", {2, 1});
          build.node("Unsqueeze", {"row", "front"}, {"once"});
          build.node("Tile", {"once", "times"}, {"positions"});
          build.constant("last", {-1}).node("Unsqueeze", {"positions", "last"}, {"indices"});
          build.node("GatherND", {"table", "indices"}, {"encoded"}, "gather");
          build.node("Add", {"x", "encoded"}, {"y"});
        }) == "Gather Expand Add [N,3,4]");
}

TEST_CASE("numbers that are drawn for the samples of the example are drawn for each sample") {
  CHECK(said({"2"}, [](ModelBuilder& build) {
          build.constant("shape", {2}).node("ConstantOfShape", {"shape"}, {"empty"});
          build.constant_real("tenth", {0.1f}, true).constant_real("none", {100}, true);
          build.node("RandomUniformLike", {"empty"}, {"drawn"});
          build.node("Less", {"drawn", "tenth"}, {"dropped"});
          build.node("Where", {"dropped", "none", "x"}, {"y"});
        }) == "RandomUniform Less Where [N]");
}

TEST_CASE("lists of integers are shapes, not constants of samples, and weights are never repeated") {
  // TorchScript's exporter computes the target of an Expand from as many ones as there are dimensions.
  const Make mask = [](ModelBuilder& build) {
    booleans(build, "lower", {1, 3}, {true, false, true});
    build.constant("sizes", {2, 3}).node("Expand", {"lower", "sizes"}, {"mask"});
    build.weight("row", {1, 3}).constant_real("low", {0}, true).node("Where", {"mask", "row", "low"}, {"rows"});
    onnx::TensorProto one;
    one.set_data_type(onnx::TensorProto::INT64);
    one.add_dims(1);
    one.add_int64_data(1);
    build.constant("rank", {2});
    ModelBuilder::tensor_attribute(build.node("ConstantOfShape", {"rank"}, {"ones"}), "value", one);
    build.node("Mul", {"ones", "sizes"}, {"target"});
    build.node("Expand", {"rows", "target"}, {"wide"});
    build.node("Add", {"x", "wide"}, {"y"});
  };
  CHECK_THAT(said({"2", "3"}, mask), Contains("[N,3]"));
  CHECK_THAT(said({"2", "3"}, [](ModelBuilder& build) {
               build.weight("rows", {2, 3}).node("Add", {"x", "rows"}, {"y"}, "add");
             }), StartsWith("4: node 'add' (Add): operands [N,3] and [2,3]"));
}

TEST_CASE("angles of positions are computed while compiling") {
  for (const bool fixed : {false, true}) {
    INFO(fixed);
    const std::vector<double> cosines = computed(
        [&](ModelBuilder& build) {
          build.constant_real("frequencies", {1, 0.5f})
              .constant("column", {1, 2, 1})
              .constant("sizes", {2, 1})
              .constant("rows", {1, 3});
          build.constant("two", {2}).constant("order", {0, 2, 1});
          build.node("Reshape", {"frequencies", "column"}, {"f"});
          onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
          ModelBuilder::integer(shape, "end", 1);
          ModelBuilder::integer(build.node("Concat", {fixed ? "two" : "n", "sizes"}, {"target"}), "axis", 0);
          build.node("Expand", {"f", "target"}, {"wide"});
          build.constant_real("steps", {0, 1, 2}).constant("row", {1, 1, 3}).node("Reshape", {"steps", "row"}, {"t"});
          build.node("MatMul", {"wide", "t"}, {"angles"});
          ModelBuilder::ints(build.node("Transpose", {"angles"}, {"turned"}), "perm", {0, 2, 1});
          build.node("Cos", {"turned"}, {"c"});
        },
        {fixed ? "2" : "N", "3", "2"});
    REQUIRE(cosines.size() == 6);
    CHECK(cosines[2] == Approx(0.5403023));
    CHECK(cosines[5] == Approx(0.5403023));
    CHECK(cosines[4] == Approx(-0.4161468));
  }
}

TEST_CASE("what picks, adds up and repeats constants is computed while compiling") {
  CHECK(computed([](ModelBuilder& build) {
          build.constant("ones", {1, 1, 1}).constant_scalar("along", 0).node("CumSum", {"ones", "along"}, {"counted"});
          ModelBuilder::integer(build.node("Cast", {"counted"}, {"c"}), "to", onnx::TensorProto::FLOAT);
        }, {"N", "3"}) == std::vector<double>{1, 2, 3});
  CHECK(computed([](ModelBuilder& build) {
          build.constant("ones", {1, 2, 4}).constant_scalar("along", 0);
          onnx::NodeProto& sum = build.node("CumSum", {"ones", "along"}, {"counted"});
          ModelBuilder::integer(sum, "exclusive", 1);
          ModelBuilder::integer(sum, "reverse", 1);
          ModelBuilder::integer(build.node("Cast", {"counted"}, {"c"}), "to", onnx::TensorProto::FLOAT);
        }, {"N", "3"}) == std::vector<double>{6, 4, 0});
  CHECK(computed(
            [](ModelBuilder& build) {
              build.constant_real("data", {5, 6, 7, 8})
                  .constant("square", {2, 2})
                  .node("Reshape", {"data", "square"}, {"d"});
              build.constant("at", {1, 0, 0, -1}).node("Reshape", {"at", "square"}, {"i"});
              ModelBuilder::integer(build.node("GatherElements", {"d", "i"}, {"c"}), "axis", 1);
            },
            {"N", "2", "2"}) == std::vector<double>{6, 5, 7, 8});
  CHECK(computed([](ModelBuilder& build) {
          build.constant_real("data", {1, 2}).constant("times", {2}).node("Tile", {"data", "times"}, {"c"});
        }, {"N", "4"}) == std::vector<double>{1, 2, 1, 2});
  CHECK(computed([](ModelBuilder& build) {
          build.constant_real("from", {0}, true).constant_real("to", {1}, true).constant_real("step", {0.25f}, true);
          build.node("Range", {"from", "to", "step"}, {"c"});
        }, {"N", "4"}) == std::vector<double>{0, 0.25, 0.5, 0.75});
}

TEST_CASE("a conversion to the type that is there already is none") {
  CHECK(said({"N", "3"}, [](ModelBuilder& build) {
          build.weight("w", {3}).node("CastLike", {"w", "x"}, {"v"});
          build.node("Add", {"x", "v"}, {"y"});
        }) == "Add [N,3]");
}

TEST_CASE("what may be computed while compiling is not listed behind what is not supported") {
  const std::string refusal = said({"N", "3"}, [](ModelBuilder& build) {
    build.node("Det", {"x"}, {"unknown"}, "first");
    build.constant_real("half", {0.5f}, true);
    build.node("CastLike", {"half", "unknown"}, {"converted"}, "cascade");
    build.node("Cos", {"unknown"}, {"cosine"}, "cascade2");
    build.node("Mul", {"cosine", "converted"}, {"z"});
    build.node("Hardmax", {"z"}, {"y"}, "second");
  });
  CHECK_THAT(refusal, Contains("Det") && Contains("Hardmax") && !Contains("CastLike") && !Contains("Cos"));
}

TEST_CASE("an example of one sample: rows of its steps and rows of its samples are not taken for each other") {
  // Each of the two is [6,1,4] in the example. The first merges steps, so the second seems to split them.
  const auto model = [](bool with_samples) {
    return [with_samples](ModelBuilder& build) {
      build.integers("in_threes", {1, 6, 4}).integers("rows", {-1, 4}).integers("steps", {6, 1, 4});
      build.node("Reshape", {"x", "in_threes"}, {"x3"});
      ModelBuilder::ints(build.node("Transpose", {"x3"}, {"turned"}), "perm", {1, 0, 2});
      build.node("Reshape", {"turned", "rows"}, {"of_steps"});
      build.node("Reshape", {"of_steps", "steps"}, {with_samples ? "a" : "y"});
      if (!with_samples) return;
      build.node("Reshape", {"x", "rows"}, {"of_samples"});
      build.node("Relu", {"of_samples"}, {"r"});
      build.node("Reshape", {"r", "steps"}, {"b"}, "split");
      build.node("Add", {"a", "b"}, {"y"});
    };
  };
  CHECK_THAT(said({"1", "24"}, model(false)), Contains("[6,N,4]"));
  CHECK_THAT(said({"1", "24"}, model(true)), Contains("'split' (Reshape): combines rows of different samples"));
}
