// An ONNX file as plain data and back: one to one, with a single copy of its elements.
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "compiler/import/load.h"
#include "compiler/import/plain_model.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;

namespace {

std::shared_ptr<ModelFile> loaded(const ModelBuilder& build, const ScratchDirectory& scratch) {
  const auto file = load_model(scratch.write("model.onnx", build.model.SerializeAsString()));
  REQUIRE(file.ok());
  REQUIRE(load_data(**file).ok());
  return *file;
}

// y = Relu(x · w), with one of everything else that a file may contain.
ModelBuilder example() {
  ModelBuilder build;
  build.input("x", {"N", "2", ""}).weight("w", {2, 3});
  auto& node = build.node("MatMul", {"x", "w"}, {"h"}, "layer/MatMul");
  node.set_doc_string("a remark");
  auto& note = *node.add_metadata_props();
  note.set_key("namespace");
  note.set_value("layer");
  build.node("Relu", {"h"}, {"y"}).set_domain("ai.onnx");
  build.output("y");
  build.model.set_doc_string("of the model");
  // field 1023, which no version of ONNX defines
  *build.model.mutable_unknown_fields() = std::string("\xfa\x3f\x02hi", 5);
  return build;
}

}  // namespace

TEST_CASE("a file is plain data one to one") {
  const ScratchDirectory scratch;
  ModelBuilder build = example();
  auto& node = *build.graph().mutable_node(0);
  ModelBuilder::integer(node, "one", 7);
  ModelBuilder::ints(node, "some", {1, -2});
  ModelBuilder::tensor_attribute(node, "numbers", ModelBuilder::list({3, 4}));
  auto& real = *node.add_attribute();
  real.set_name("real");
  real.set_type(onnx::AttributeProto::FLOAT);
  real.set_f(0.5f);
  auto& reals = *node.add_attribute();
  reals.set_name("reals");
  reals.set_type(onnx::AttributeProto::FLOATS);
  reals.add_floats(1.5f);
  auto& texts = *node.add_attribute();
  texts.set_name("texts");
  texts.set_type(onnx::AttributeProto::STRINGS);
  texts.add_strings("a");
  texts.add_strings("b");
  auto& graph = *node.add_attribute();
  graph.set_name("body");
  graph.set_type(onnx::AttributeProto::GRAPH);
  graph.mutable_g()->set_name("inner");

  const Model model = plain_model(loaded(build, scratch));
  CHECK(model.name == "g");
  CHECK(model.producer == "test");
  CHECK(model.opset == 17);
  REQUIRE(model.nodes.size() == 2);
  const ModelNode& product = model.nodes[0];
  CHECK(product.op == "MatMul");
  CHECK(product.name == "layer/MatMul");
  CHECK(product.inputs == std::vector<std::string>{"x", "w"});
  CHECK(product.outputs == std::vector<std::string>{"h"});
  REQUIRE(product.metadata.size() == 1);
  CHECK(product.metadata[0].value == "layer");
  CHECK(is_of_onnx(model.nodes[1]));
  CHECK(find_attribute(product, "one")->integer() == 7);
  CHECK(find_attribute(product, "some")->integers() == std::vector<int64_t>{1, -2});
  CHECK(find_attribute(product, "real")->real() == 0.5f);
  CHECK(find_attribute(product, "reals")->reals() == std::vector<float>{1.5f});
  CHECK(find_attribute(product, "texts")->texts() == std::vector<std::string>{"a", "b"});
  const ModelTensor& numbers = find_attribute(product, "numbers")->tensor();
  CHECK(numbers.type == ElementType::i64);
  CHECK(numbers.dims == std::vector<int64_t>{2});
  CHECK(numbers.data->size() == 16);
  CHECK(std::holds_alternative<std::monostate>(find_attribute(product, "body")->value));
  CHECK(find_attribute(product, "one")->text().empty());  // queried for a type that it does not hold
  CHECK(find_attribute(product, "another") == nullptr);

  REQUIRE(model.inputs.size() == 1);
  const DeclaredValue& x = model.inputs[0];
  CHECK((x.is_tensor && x.type == ElementType::f32));
  REQUIRE((x.dims && x.dims->size() == 3));
  CHECK((*x.dims)[0].symbol == "N");
  CHECK_FALSE((*x.dims)[0].size);
  CHECK((*x.dims)[1].size == 2);
  CHECK((!(*x.dims)[2].size && (*x.dims)[2].symbol.empty()));
  CHECK_FALSE(model.outputs.at(0).dims);
}

TEST_CASE("the elements of a model are those of its file, and outlive whoever else holds it") {
  const ScratchDirectory scratch;
  std::shared_ptr<ModelFile> file = loaded(example(), scratch);
  const Model model = plain_model(file);
  REQUIRE(model.initializers.size() == 1);
  CHECK(model.initializers[0].data.get() == &file->model.graph().initializer(0).raw_data());
  file.reset();
  float second = 0;
  std::memcpy(&second, model.initializers[0].data->data() + sizeof second, sizeof second);
  CHECK(second == 0.25f);
}

TEST_CASE("a model that nobody changed leaves its file as it was, byte for byte") {
  const ScratchDirectory scratch;
  const std::shared_ptr<ModelFile> file = loaded(example(), scratch);
  const std::string before = file->model.SerializeAsString();
  CHECK(before == example().model.SerializeAsString());
  write_back(plain_model(file), *file);
  CHECK(file->model.SerializeAsString() == before);
}

TEST_CASE("a file gets the initializers that are new in its model, and loses the nodes that are gone") {
  for (const int ir : {3, 8}) {
    const ScratchDirectory scratch;
    ModelBuilder build(17, ir);
    build.input("x", {"N", "3"});
    build.constant_real("c", {1, 2, 3});
    build.node("Add", {"x", "c"}, {"y"}, "addition").set_doc_string("a remark");
    build.output("y");
    const std::shared_ptr<ModelFile> file = loaded(build, scratch);
    Model model = plain_model(file);
    ModelTensor lifted = find_attribute(model.nodes[0], "value")->tensor();  // of the node that is removed
    lifted.name = "c";
    model.initializers.push_back(lifted);
    model.nodes.erase(model.nodes.begin());
    lifted = {};
    write_back(std::move(model), *file);

    const onnx::GraphProto& graph = file->model.graph();
    REQUIRE(graph.node_size() == 1);
    CHECK(graph.node(0).doc_string() == "a remark");
    REQUIRE(graph.initializer_size() == 1);
    CHECK(graph.initializer(0).name() == "c");
    CHECK(graph.initializer(0).data_type() == onnx::TensorProto::FLOAT);
    CHECK(graph.initializer(0).dims(0) == 3);
    float last = 0;
    std::memcpy(&last, graph.initializer(0).raw_data().data() + 2 * sizeof last, sizeof last);
    CHECK(last == 3);
    CHECK(graph.input_size() == (ir < 4 ? 2 : 1));  // before IR version 4 every initializer is an input as well
  }
}
