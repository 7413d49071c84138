// Casts that are no nodes, and casts to the type of another value.
#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "compiler/import/loaded_model.h"
#include "model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

TEST_CASE("CastLike to a part of booleans") {
  const auto said = [](onnx::TensorProto::DataType type, const std::function<void(ModelBuilder&)>& like) {
    ModelBuilder build(18);
    build.input("x", {"N", "4"}).input("mask", {"N", "4"}, type).constant("shape", {-1, 2, 2});
    like(build);
    build.node("CastLike", {"x", "like"}, {"flags"}, "cast");
    build.node("Where", {"flags", "x", "x"}, {"y"});
    build.output("y");
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& made : imported->network.nodes) ops += made.op + " ";
    return ops;
  };
  const auto reshaped = [](ModelBuilder& build) { build.node("Reshape", {"mask", "shape"}, {"like"}); };
  const auto compared = [](ModelBuilder& build) { build.node("Less", {"x", "x"}, {"like"}); };
  CHECK_THAT(said(onnx::TensorProto::BOOL, reshaped), Contains("Cast Where"));
  CHECK_THAT(said(onnx::TensorProto::BOOL, compared), Contains("Cast Where"));
  CHECK_THAT(said(onnx::TensorProto::UINT8, reshaped), Contains("'like' may hold booleans or bytes"));
}

TEST_CASE("Cast and CastLike to the same type are no nodes") {
  const auto said = [](const std::function<void(ModelBuilder&)>& cast) {
    ModelBuilder build(18);
    build.input("x", {"N", "4"}).weight("w", {4}).input("i", {"N", "4"}, onnx::TensorProto::INT64);
    cast(build);
    build.node("Mul", {"x", "w"}, {"z"});
    build.node("Add", {"z", "c"}, {"y"});
    build.output("y");
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& made : imported->network.nodes) ops += made.op + " ";
    for (const Value& value : imported->network.values)
      if (value.kind == ValueKind::parameter) ops += value.name + (value.trainable ? " is trained" : " is not trained");
    return ops;
  };
  CHECK(said([](ModelBuilder& build) { build.node("CastLike", {"w", "x"}, {"c"}); }) == "Mul Add w is trained");
  CHECK(said([](ModelBuilder& build) { build.node("CastLike", {"x", "w"}, {"c"}); }) == "Mul Add w is trained");
  CHECK(said([](ModelBuilder& build) {
          ModelBuilder::integer(build.node("Cast", {"x"}, {"c"}), "to", onnx::TensorProto::FLOAT);
        }) == "Mul Add w is trained");
  CHECK(said([](ModelBuilder& build) {
          build.node("CastLike", {"i", "x"}, {"c"}, "cast");
        }) == "Cast Mul Add w is trained");
  // A cast downstream of an unsupported node is not listed with it.
  const std::string listed = said([](ModelBuilder& build) {
    build.node("Unheard", {"x"}, {"u"});
    build.node("CastLike", {"w", "u"}, {"c"});
  });
  CHECK_THAT(listed, Contains("Unheard") && !Contains("CastLike"));
}
