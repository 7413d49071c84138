// Models of plain data, created without a file and turned into a network.
#include <catch2/catch.hpp>

#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/pipeline.h"

using namespace plimsoll;

namespace {

KnownValue reals(Dims dims, std::vector<double> items) { return {.dims = std::move(dims), .reals = std::move(items)}; }

DeclaredValue declared(const std::string& name, std::vector<DeclaredDim> dims) {
  return {.name = name, .is_tensor = true, .type = ElementType::f32, .dims = std::move(dims)};
}

// y = Reshape(Gemm(x, w), [Shape(x)[0], 2, 2]), with a weight that is a node of the model.
Model example() {
  const auto integers = [](std::vector<Dim> items) {
    return to_tensor({.element = ElementType::i64, .dims = {{static_cast<int64_t>(items.size())}}, .ints = items}, "");
  };
  const KnownValue weight = reals({{3}, {4}}, std::vector<double>(12, 0.5));
  const ModelAttribute axis{.name = "axis", .value = int64_t{0}};
  Model model{.name = "g", .opset = 17};
  model.inputs = {declared("x", {{.symbol = "N"}, {.size = 3}})};
  model.outputs = {declared("y", {})};
  model.nodes = {
      {.op = "Constant", .outputs = {"w"}, .attributes = {{.name = "value", .value = to_tensor(weight, "")}}},
      {.op = "Gemm", .name = "layer", .inputs = {"x", "w"}, .outputs = {"h"}},
      {.op = "Shape", .inputs = {"x"}, .outputs = {"s"}, .attributes = {{.name = "end", .value = int64_t{1}}}},
      {.op = "Constant", .outputs = {"rest"}, .attributes = {{.name = "value", .value = integers({{2}, {2}})}}},
      {.op = "Concat", .inputs = {"s", "rest"}, .outputs = {"shape"}, .attributes = {axis}},
      {.op = "Reshape", .name = "view", .inputs = {"h", "shape"}, .outputs = {"y"}},
  };
  return model;
}

Status hold_nothing(Model&, const std::unordered_set<std::string>&) { return {}; }

}  // namespace

TEST_CASE("a model of plain data becomes a network") {
  Model model = example();
  std::vector<std::string> notes;
  const auto simplified = simplify(model, {.batch = 4}, hold_nothing, notes);
  REQUIRE(simplified.ok());
  const Network& network = simplified->network;
  REQUIRE(network.nodes.size() == 2);
  CHECK(network.nodes.begin()->op == "Gemm");
  CHECK(network.values[network.outputs.at(0)].type.dims == Dims{kBatch, {2}, {2}});
  CHECK(simplified->reasons.at("w") == "weight of node 'layer' (Gemm)");
  // The weight is now an initializer of the model, and its node is removed.
  REQUIRE(model.initializers.size() == 1);
  CHECK(model.initializers[0].name == "w");
  CHECK(model.nodes.size() == 5);
  REQUIRE(notes.size() == 1);
}

TEST_CASE("the passes say which names gradients reach, and end where elements beside the file cannot be had") {
  Model model = example();
  std::unordered_set<std::string> seen;
  std::vector<std::string> notes;
  const auto hold = [&](Model&, const std::unordered_set<std::string>& trained) -> Status {
    seen = trained;
    return {};
  };
  REQUIRE(simplify(model, {}, hold, notes).ok());
  CHECK(seen.contains("w"));
  const auto refuse = [](Model&, const std::unordered_set<std::string>&) -> Status {
    return Error{ExitCode::unreadable_input, "is not there"};
  };
  Model again = example();
  const auto refused = simplify(again, {}, refuse, notes);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ExitCode::unreadable_input);
}

TEST_CASE("constants that are equal are one initializer, and those of another type or shape are not") {
  const auto value = [](const KnownValue& known) {
    return ModelAttribute{.name = "value", .value = to_tensor(known, "")};
  };
  Model model{.name = "g", .opset = 17};
  model.inputs = {declared("x", {{.symbol = "N"}, {.size = 2}})};
  model.outputs = {declared("y", {})};
  model.nodes = {
      {.op = "Constant", .outputs = {"a"}, .attributes = {value(reals({{2}}, {1, 2}))}},
      {.op = "Constant", .outputs = {"b"}, .attributes = {value(reals({{2}}, {1, 2}))}},
      {.op = "Constant", .outputs = {"c"}, .attributes = {value(reals({{1}, {2}}, {1, 2}))}},
      {.op = "Constant", .outputs = {"d"}, .attributes = {value(reals({{2}}, {0.0, 3}))}},
      {.op = "Constant", .outputs = {"e"}, .attributes = {value(reals({{2}}, {-0.0, 3}))}},
      {.op = "Add", .inputs = {"x", "a"}, .outputs = {"xa"}},
      {.op = "Mul", .inputs = {"xa", "b"}, .outputs = {"xb"}},
      {.op = "Add", .inputs = {"xb", "c"}, .outputs = {"xc"}},
      {.op = "Mul", .inputs = {"xc", "d"}, .outputs = {"xd"}},
      {.op = "Add", .inputs = {"xd", "e"}, .outputs = {"y"}},
  };
  std::vector<std::string> notes;
  REQUIRE(simplify(model, {}, hold_nothing, notes).ok());
  std::vector<std::string> names;
  for (const ModelTensor& tensor : model.initializers) names.push_back(tensor.name);
  CHECK(names == std::vector<std::string>{"a", "c", "d", "e"});
}

TEST_CASE("element types have names, and a number that is none has one, too") {
  CHECK(element_name(ElementType::bf16) == "bf16");
  CHECK(element_name(static_cast<ElementType>(17)) == "FLOAT8E4M3FN");
  CHECK(element_name(static_cast<ElementType>(26)) == "INT2");
  CHECK(element_name(ElementType::undefined) == "UNDEFINED");
  CHECK(element_name(static_cast<ElementType>(99)) == "type 99");
  CHECK(element_name(static_cast<ElementType>(-3)) == "type -3");
}
