// Weights that a file writes as nodes, not as initializers.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

// A Constant of 0, 1, 2, …
void add_constant(ModelBuilder& build, const std::string& name, const std::vector<int64_t>& dims) {
  onnx::TensorProto value;
  int64_t count = 1;
  for (const int64_t dim : dims) value.add_dims(dim), count *= dim;
  value.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t i = 0; i < count; ++i) value.add_float_data(static_cast<float>(i));
  ModelBuilder::tensor_attribute(build.node("Constant", {}, {name}), "value", value);
}

}  // namespace

TEST_CASE("weights written as nodes become initializers") {
  ModelBuilder build(9, 3);
  build.input("x", {"N", "3", "8", "8"})
      .integers("shape", {4, 3, 3, 3})
      .input("shape", {"4"}, onnx::TensorProto::INT64);
  onnx::TensorProto value;
  value.add_dims(1);
  value.set_data_type(onnx::TensorProto::FLOAT);
  value.add_float_data(0.5f);
  ModelBuilder::tensor_attribute(build.node("ConstantOfShape", {"shape"}, {"w"}), "value", value);
  build.conv("x", "w", "", "y", "conv");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "w")->trainable);
  CHECK(find_value(imported->network, "w")->type.dims == Dims{{4}, {3}, {3}, {3}});
  CHECK_THAT(imported->notes[0], Contains("written as nodes"));
  const ScratchDirectory directory;
  const auto ranges = write_model(*imported->file, directory / "m.onnx");
  REQUIRE(outcome(ranges) == "ok");
  CHECK(ranges->at("w").bytes == 4 * 3 * 3 * 3 * 4);
  CHECK(outcome(import_onnx(directory / "m.onnx", {.batch = 4})) == "ok");
}

// spox's op.constant and CNTK write all weights as Constant nodes: the biases and the tables of embeddings, too.
TEST_CASE("biases and tables written as Constant nodes are trained if the weights of products are") {
  const auto model = [](bool constant_weight) {
    ModelBuilder build(17);
    build.input("ids", {"N"}, onnx::TensorProto::INT64);
    add_constant(build, "table", {5, 3});
    add_constant(build, "bias", {2});
    if (constant_weight) add_constant(build, "w", {3, 2});
    else build.weight("w", {3, 2});
    build.node("Gather", {"table", "ids"}, {"x"}, "embedding");
    build.node("MatMul", {"x", "w"}, {"product"}, "product");
    build.node("Add", {"product", "bias"}, {"y"}, "sum");
    return build.output("y").import();
  };
  const auto imported = model(true);
  REQUIRE(outcome(imported) == "ok");
  for (const char* name : {"table", "bias", "w"}) {
    CAPTURE(name);
    const Value* const value = find_value(imported->network, name);
    REQUIRE(value);
    CHECK(value->trainable);
    CHECK_FALSE(value->undecided);
  }
  CHECK_FALSE(find_value(model(false)->network, "bias")->trainable);  // this file writes its weights as initializers
}

TEST_CASE("a table written as a Constant node is none of the weights if only a bias is written so") {
  ModelBuilder build(17);
  build.input("ids", {"N"}, onnx::TensorProto::INT64).weight("w", {3, 2});
  add_constant(build, "table", {5, 3});
  add_constant(build, "bias", {2});
  build.node("Gather", {"table", "ids"}, {"x"}, "embedding");
  build.node("Gemm", {"x", "w", "bias"}, {"y"}, "product");
  const auto imported = build.output("y").import();
  REQUIRE(outcome(imported) == "ok");
  const Value* const table = find_value(imported->network, "table");
  CHECK_FALSE((table && (table->trainable || table->undecided)));
}

TEST_CASE("weights written as Constant nodes are trained if a product reads another form of them") {
  ModelBuilder build(17);
  build.input("x", {"N", "3"}).integers("axes", {0});
  for (const char* name : {"w", "v"}) add_constant(build, name, {3, 3});
  for (const char* name : {"row", "bias", "shift"}) add_constant(build, name, {3});
  build.node("Transpose", {"w"}, {"turned"});
  build.node("MatMul", {"x", "turned"}, {"product"}, "product");
  build.node("Unsqueeze", {"row", "axes"}, {"rows"}, "rows");
  build.node("Add", {"product", "rows"}, {"a"}, "add");
  build.node("MatMul", {"a", "v"}, {"b"}, "second");
  build.node("Add", {"bias", "b"}, {"c"}, "sum");
  build.node("Sub", {"c", "shift"}, {"y"}, "centred");  // no layer subtracts its bias: this is a number of the code
  const auto imported = build.output("y").import();
  REQUIRE(outcome(imported) == "ok");
  for (const char* name : {"w", "v", "row", "bias"}) {
    CAPTURE(name);
    const Value* const value = find_value(imported->network, name);
    REQUIRE(value);
    CHECK(value->trainable);
    CHECK_FALSE(value->undecided);
  }
  const Value* const shift = find_value(imported->network, "shift");
  CHECK_FALSE((shift && shift->trainable));
}

TEST_CASE("a Constant that an Einsum reads is asked about if the weights of products are Constants") {
  const auto asked = [](bool constant_weight) {
    ModelBuilder build(17);
    build.input("x", {"N", "3"});
    add_constant(build, "v", {3, 3});
    if (constant_weight) add_constant(build, "w", {3, 3});
    else build.weight("w", {3, 3});
    build.node("MatMul", {"x", "w"}, {"a"}, "product");
    ModelBuilder::text(build.node("Einsum", {"a", "v"}, {"y"}, "einsum"), "equation", "bi,oi->bo");
    const auto imported = build.output("y").import();
    REQUIRE(outcome(imported) == "ok");
    const Value* const found = find_value(imported->network, "v");
    return found && found->undecided;
  };
  CHECK(asked(true));
  CHECK_FALSE(asked(false));  // this file writes its weights as initializers
}
