// The batch: found in the inputs, propagated through shapes, and recognized where it was exported as a number.
#include <catch2/catch.hpp>
#include <functional>

#include "compiler/network/simplify/reshape_target.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr Dim N = kBatch;
using Entries = std::vector<int64_t>;

Entries target(const Dims& x, const std::vector<Dim>& wanted, std::optional<int64_t> exported = {},
               bool zero_copies = true) {
  MergedRows rows;
  const ReshapeTarget result = reshape_target(x, wanted, zero_copies, exported, rows);
  INFO(result.error);
  CHECK(result.error.empty());
  return result.entries;
}

std::string refusal(const Dims& x, const std::vector<Dim>& wanted, std::optional<int64_t> exported = {}) {
  MergedRows rows;
  return reshape_target(x, wanted, true, exported, rows).error;
}

// The graph's constant `name`, evaluated as the target of Reshape of x[N,3,8,8].
std::string reshaped(const std::function<void(ModelBuilder&)>& make) {
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"});
  make(build);
  build.node("Reshape", {"x", "target"}, {"y"}, "reshape");
  build.output("y");
  const auto imported = build.import();
  return imported.ok() ? to_string(find_value(imported->network, "y")->type.dims) : outcome(imported);
}

}  // namespace

TEST_CASE("a symbolic batch in the target of a Reshape") {
  CHECK(target({N, {3}, {4}}, {N, {12}}) == Entries{-1, 12});
  CHECK(target({N, {3}, {4}}, {N, {-1}}) == Entries{-1, 12});
  CHECK(target({N, {3}, {4}}, {N, {2}, {-1}}) == Entries{-1, 2, 6});
  CHECK(target({N, {3}, {4}}, {{3, true}, {4}}) == Entries{-1, 4});
  CHECK(target({{3, true}, {4}}, {N, {3}, {4}}) == Entries{-1, 3, 4});
  CHECK(target({N, {3}, {4}}, {{0}, {12}}) == Entries{0, 12});
  CHECK(target({N, {3}, {4}}, {{-1}, {12}}) == Entries{-1, 12});
  CHECK_THAT(refusal({N, {3}, {4}}, {N, {13}}), Contains("numbers of elements differ"));
  CHECK_THAT(refusal({N, {3}, {4}}, {N, N}), Contains("twice"));
  CHECK_THAT(refusal({N, {1}}, {{0}, N}), Contains("twice"));
}

TEST_CASE("a batch that was written as a number") {
  CHECK(target({N, {3}, {4}}, {{1}, {12}}, 1) == Entries{-1, 12});
  CHECK(target({N, {3}, {4}}, {{1}, {-1}}, 1) == Entries{-1, 12});
  CHECK(target({N, {3}, {4}}, {{8}, {12}}, 8) == Entries{-1, 12});
  CHECK(target({N, {2048}, {1}, {1}}, {{1}, {2048}}, 1) == Entries{-1, 2048});
  CHECK(target({N, {3}, {4}}, {{-1}, {12}}, 8) == Entries{-1, 12});
  CHECK(target({{3}, N, {4}}, {{3}, {8}, {2}, {2}}, 8) == Entries{3, -1, 2, 2});
  CHECK(target({N, {3}, {4}}, {{24}, {4}}, 8) == Entries{-1, 4});
  CHECK(target({{3, true}, {4}}, {{8}, {3}, {4}}, 8) == Entries{-1, 3, 4});
  // 12 heads before the batch of 1: the numbers do not determine which entry scales.
  CHECK_THAT(refusal({N, {768}}, {{12}, {1}, {64}}, 1),
             Contains("it is ambiguous which entry is the batch") && Contains("dynamic_axes"));
  CHECK(target({{5}, {4}}, {{4}, {5}}, 8) == Entries{4, 5});  // does not contain the batch
}

// onnxsim joins the Squeeze of a part of a qkv with the Reshape of its keys.
TEST_CASE("dimensions of 1 in front of a batch that was written as a number do not count") {
  CHECK(target({{1}, N, {3}, {5}, {64}}, {{3}, {5}, {64}}, 1) == Entries{-1, 5, 64});
  CHECK(target({{1}, N, {3}, {5}, {64}}, {{24}, {5}, {64}}, 8) == Entries{-1, 5, 64});
  CHECK(target({{1}, N, {3}, {5}, {64}}, {{3}, {-1}, {64}}, 1) == Entries{-1, 5, 64});
  CHECK(target({{1}, N, {3}, {5}, {64}}, {{1}, {3}, {5}, {64}}, 1) == Entries{-1, 3, 5, 64});
  CHECK(target({{1}, {1}, N, {5}, {64}}, {{8}, {5}, {64}}, 8) == Entries{-1, 5, 64});
  CHECK(target({{1}, N, {5}}, {{1}, {1}, {5}}, 1) == Entries{1, -1, 5});
  CHECK(target({{1}, N, {1}}, {{1}, {1}}, 1) == Entries{1, -1});
  CHECK(target({{1}, N, {32}}, {{1}, {4}, {8}}, 1) == Entries{1, -1, 8});  // the heads of one step
  CHECK(target({{1}, N, {5}, {64}}, {{1}, {-1}, {64}}, 1) == Entries{1, -1, 64});
  CHECK_THAT(refusal({{1}, N, {768}}, {{12}, {1}, {64}}, 1), Contains("it is ambiguous which entry is the batch"));
}

TEST_CASE("an open entry that holds 1 in the example of one sample is the batch behind the steps") {
  const auto split = [](const std::vector<Dim>& wanted, bool of_samples) {
    MergedRows rows{.of_steps = {17}, .of_samples = of_samples ? Entries{17} : Entries{}};
    const ReshapeTarget result = reshape_target({{17, true}, {48}}, wanted, true, 1, rows);
    return result.error.empty() ? result.entries : Entries{};
  };
  for (const bool of_samples : {false, true}) {
    CHECK(split({{17}, {-1}, {48}}, of_samples) == Entries{17, -1, 48});
    CHECK(split({{1}, {17}, {-1}, {3}, {16}}, of_samples) == Entries{1, 17, -1, 3, 16});
  }
  CHECK(split({{1}, {17}, {1}, {3}, {16}}, false) == Entries{1, 17, -1, 3, 16});
  CHECK(split({{1}, {17}, {1}, {3}, {16}}, true) == Entries{});
  CHECK(split({{17}, {3}, {-1}}, false) == Entries{-1, 3, 16});  // 16 elements are no samples
}

TEST_CASE("an open entry that holds no samples in the example of one sample, behind heads") {
  MergedRows rows;
  CHECK(reshape_target({{17}, N, {48}}, {{17}, {-1}, {16}}, true, 1, rows).entries == Entries{17, -1, 16});
  CHECK(rows.splits_heads);
  CHECK(reshape_target({{17}, N, {3}, {16}}, {{17}, {-1}}, true, 1, rows).entries == Entries{-1, 48});
  CHECK(rows.of_steps == Entries{17});
  CHECK(target({{17}, N, {3}, {16}}, {{17}, {-1}}, 1) == Entries{17, -1});  // a model without heads
}

TEST_CASE("an open entry behind others does not hold the samples in front") {
  CHECK(target({{256, true}, {144}}, {{16}, {16}, {3}, {3}, {-1}}, 1) == Entries{-1, 16, 3, 3, 16});
  CHECK(target({{256, true}, {144}}, {{128}, {16}, {3}, {3}, {-1}}, 8) == Entries{-1, 16, 3, 3, 16});
  CHECK(target({N, {48}, {8}}, {{4}, {-1}, {8}}, 1) == Entries{-1, 12, 8});
}

TEST_CASE("shape arithmetic with the batch as a symbol") {
  CHECK(reshaped([](ModelBuilder& build) {  // [shape[0], shape[1] * shape[2] * shape[3]]
          build.node("Shape", {"x"}, {"s"});
          build.constant("first", {0}).constant("one", {1}).constant("far", {9223372036854775807});
          build.node("Slice", {"s", "first", "one"}, {"n"});
          build.node("Slice", {"s", "one", "far"}, {"rest"});
          build.node("ReduceProd", {"rest"}, {"product"});
          ModelBuilder::integer(build.node("Concat", {"n", "product"}, {"target"}), "axis", 0);
        }) == "[N,192]");
  CHECK(reshaped([](ModelBuilder& build) {  // [N * 3, 64] by Mul, Cast and Div
          build.node("Shape", {"x"}, {"s"});
          build.constant("factor", {3, 1, 1, 1}).constant("divisor", {1, 3, 1, 1}).constant("at", {0, 2});
          build.node("Mul", {"s", "factor"}, {"m"});
          build.node("Div", {"m", "divisor"}, {"d"});
          ModelBuilder::integer(build.node("Cast", {"d"}, {"d32"}), "to", onnx::TensorProto::INT32);
          ModelBuilder::integer(build.node("Cast", {"d32"}, {"d64"}), "to", onnx::TensorProto::INT64);
          build.node("Gather", {"d64", "at"}, {"two"});
          build.constant("scale", {1, 8});
          build.node("Mul", {"two", "scale"}, {"target"});
        }) == "[3N,64]");
  CHECK(reshaped([](ModelBuilder& build) {  // where(t == -1, shape, t) as for expand
          build.node("Shape", {"x"}, {"s"});
          build.constant("t", {-1, 3, -1, 8}).constant("open", {-1});
          build.node("Equal", {"t", "open"}, {"eq"});
          build.node("Where", {"eq", "s", "t"}, {"target"});
        }) == "[N,3,8,8]");
  CHECK(reshaped([](ModelBuilder& build) {  // Shape with start and end, of opset 15
          onnx::NodeProto& shape = build.node("Shape", {"x"}, {"n"});
          ModelBuilder::integer(shape, "start", 0);
          ModelBuilder::integer(shape, "end", -3);
          build.constant("open", {-1});
          ModelBuilder::integer(build.node("Concat", {"n", "open"}, {"target"}), "axis", -1);
        }) == "[N,192]");
  CHECK_THAT(reshaped([](ModelBuilder& build) {  // N + 1 cannot be represented in a shape
               build.node("Shape", {"x"}, {"s"});
               build.constant("one", {1, 0, 0, 0});
               build.node("Add", {"s", "one"}, {"target"});
             }), StartsWith("5: "));
}

TEST_CASE("the batch is the first dimension, by symbol or by number") {
  ModelBuilder fixed;
  fixed.input("x", {"8", "3"}).input("y", {"8", "3"}).input("table", {"1", "3"});
  fixed.node("Add", {"x", "y"}, {"z"});
  fixed.node("Add", {"z", "table"}, {"out"});
  fixed.output("out");
  const auto imported = fixed.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "x")->type.dims == Dims{N, {3}});
  CHECK(find_value(imported->network, "y")->type.dims == Dims{N, {3}});
  CHECK(find_value(imported->network, "table")->type.dims == Dims{{1}, {3}});
  CHECK_THAT(imported->notes.at(0), Contains("batch of 8"));

  ModelBuilder sequence_first;
  sequence_first.input("x", {"seq", "batch", "3"}).node("Relu", {"x"}, {"y"});
  sequence_first.output("y");
  const auto sequence = sequence_first.import({.batch = 4, .dims = {{"seq", 5}}});
  REQUIRE(outcome(sequence) == "ok");
  CHECK(find_value(sequence->network, "y")->type.dims == Dims{{5}, N, {3}});
}

TEST_CASE("a model that computes across samples is refused, with the way to train it") {
  ModelBuilder build(17);
  build.input("x", {"N", "8"}).weight("w", {8, 8});
  build.node("MatMul", {"x", "w"}, {"h"});
  ModelBuilder::ints(build.node("Transpose", {"h"}, {"turned"}), "perm", {1, 0});
  build.node("MatMul", {"h", "turned"}, {"alike"});
  build.node("MatMul", {"alike", "x"}, {"y"});
  build.output("y");
  CHECK_THAT(outcome(build.import({.batch = 4})),
             Contains("5: ") && Contains("[N,N] has the batch in more than one dimension") &&
                 Contains("computes across samples") && Contains("--loss output"));
  CHECK(outcome(build.import({.batch = 4, .may_fix_batch = true})) == "ok");
  build.node("Unheard", {"y"}, {"z"});
  build.output("z");
  CHECK_THAT(outcome(build.import({.batch = 4})), Contains("5: ") && !Contains("--loss output"));
}

TEST_CASE("a dimension that is called a batch is it, also behind one that is not") {
  ModelBuilder build(17);
  build.input("x", {"T", "batch", "3"}).weight("w", {3, 2});
  build.node("MatMul", {"x", "w"}, {"y"});
  build.output("y");
  CHECK_THAT(outcome(build.import()), Contains("2: ") && Contains("'T' (dimension 0 of input 'x')"));
  const auto imported = build.import({.batch = 4, .dims = {{"T", 7}}});
  REQUIRE(outcome(imported) == "ok");
  CHECK(to_string(imported->network.values[imported->network.inputs[0]].type.dims) == "[N,7,3]");
  CHECK(to_string(imported->network.values[imported->network.outputs[0]].type.dims) == "[7,N,2]");
  CHECK_THAT(imported->notes[0], Contains("input 'x' is [7,N,3]; data is read with the batch first: [N,7,3]"));

  ModelBuilder tokens(17);
  tokens.input("ids", {"7", "batch"}, onnx::TensorProto::INT64).weight("table", {9, 3});
  tokens.node("Gather", {"table", "ids"}, {"y"});
  tokens.output("y");
  const auto turned = tokens.import();
  REQUIRE(outcome(turned) == "ok");
  CHECK(turned->network.values[turned->network.inputs[0]].type == TensorType{DataType::i64, {N, {7}}});
  CHECK(turned->network.values[turned->network.outputs[0]].type == TensorType{DataType::f32, {{7}, N, {3}}});

  ModelBuilder flags(17);
  flags.input("seen", {"7", "batch"}, onnx::TensorProto::BOOL);
  flags.node("Flatten", {"seen"}, {"y"});
  flags.output("y");
  CHECK(outcome(flags.import()) == "ok");
}

// A thousand million is what TensorFlow's exporter writes for an end that is left out.
TEST_CASE("a selection of the whole batch has a very large end") {
  for (const int64_t end : {int64_t{1'000'000'000}, int64_t{2147483647}, INT64_MAX, int64_t{64}}) {
    CAPTURE(end);
    ModelBuilder build;
    build.input("x", {"N", "4"}).integers("from", {0, 1}).integers("to", {end, 3}).integers("axes", {0, 1});
    build.node("Slice", {"x", "from", "to", "axes"}, {"y"}, "cut");
    build.output("y");
    const auto imported = build.import();
    if (end == 64) {
      CHECK_THAT(outcome(imported), StartsWith("5: node 'cut' (Slice): selects [0, 64) of the batch") &&
                                        Contains("export the model without this selection"));
      continue;
    }
    REQUIRE(outcome(imported) == "ok");
    CHECK(find_value(imported->network, "y")->type.dims == Dims{N, {2}});
  }
}
