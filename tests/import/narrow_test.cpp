// Models in f16 and bf16: read as f32, written in the file's types.
#include <catch2/catch.hpp>
#include <cstring>

#include "compiler/import/loaded_model.h"
#include "compiler/ir/network_text.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using onnx::TensorProto;

namespace {

// Two layers as TorchScript's exporter writes them in 16 bits: layer2's vectors are merged into those of layer1, the
// first scale is a node, and the head computes in f32.
ModelBuilder model_in_f32() {
  ModelBuilder build(17, 8);
  build.model.set_producer_name("pytorch");
  build.input("x", {"N", "3", "8", "8"}).weight("w1", {4, 3, 3, 3}, -1, 0.01f).weight("w2", {4, 4, 3, 3}, -0.5f, 0.01f);
  build.weight("layer1.bn.bias", {4}, 0, 0).weight("layer1.bn.weight", {4}, 1, 0);
  for (const char* zeros : {"layer1.bn.running_mean", "layer2.bn.bias", "layer2.bn.running_mean"})
    build.node("Identity", {"layer1.bn.bias"}, {zeros});
  for (const char* ones : {"layer1.bn.running_var", "layer2.bn.weight", "layer2.bn.running_var"})
    build.node("Identity", {"layer1.bn.weight"}, {ones});
  const auto normalize = [&](const std::string& x, const std::string& layer, const std::string& y) {
    build.node("BatchNormalization", {x, layer + ".weight", layer + ".bias", layer + ".running_mean",
                                      layer + ".running_var"}, {y});
  };
  build.conv("x", "w1", "", "c1");
  normalize("c1", "layer1.bn", "n1");
  build.node("Relu", {"n1"}, {"r1"});
  build.conv("r1", "w2", "", "c2");
  normalize("c2", "layer2.bn", "n2");
  build.constant_real("half", {0.5f}, true);
  build.node("Mul", {"n2", "half"}, {"m"});
  ModelBuilder::integer(build.node("Cast", {"m"}, {"y"}), "to", TensorProto::FLOAT);
  build.output("y");
  return build;
}

uint16_t narrow_bits(int type, float value) {
  return narrowed(type == TensorProto::FLOAT16 ? FileType::f16 : FileType::bf16, value);
}

void narrow_tensor(TensorProto& tensor, int type) {
  if (tensor.data_type() != TensorProto::FLOAT) return;
  std::string bytes;
  for (size_t i = 0; i < tensor.raw_data().size(); i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, tensor.raw_data().data() + i, sizeof value);
    const uint16_t bits = narrow_bits(type, value);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  tensor.set_data_type(type);
  tensor.set_raw_data(bytes);
}

ModelBuilder model_in(int type) {
  ModelBuilder build = model_in_f32();
  for (TensorProto& tensor : *build.graph().mutable_initializer()) narrow_tensor(tensor, type);
  for (onnx::NodeProto& node : *build.graph().mutable_node())
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_t()) narrow_tensor(*attribute.mutable_t(), type);
  build.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
  return build;
}

}  // namespace

TEST_CASE("a model in 16 bits is the network of its f32 model, and stays in 16 bits in its file") {
  const auto wide = model_in_f32().import();
  REQUIRE(outcome(wide) == "ok");
  for (const int type : {TensorProto::FLOAT16, TensorProto::BFLOAT16}) {
    const auto imported = model_in(type).import();
    REQUIRE(outcome(imported) == "ok");
    CHECK(to_text(imported->network) == to_text(wide->network));
    CHECK_THAT(imported->notes, Catch::Matchers::VectorContains(
                                    std::string("4 tensors of the file have 16 bits: trained in f32, and saved in the "
                                                "file's type; --precision says what the trainer "
                                                "computes in")));
    size_t compared = 0;
    for (const TensorProto& tensor : imported->file->model.graph().initializer()) {
      INFO(tensor.name());
      CHECK(tensor.data_type() == type);  // also those that were separated
      CHECK(tensor.raw_data().size() ==
            2 * static_cast<size_t>(elements_of({tensor.dims().begin(), tensor.dims().end()}).value()));
      ++compared;
    }
    CHECK(compared == 10);
  }
}

TEST_CASE("f32 and f16 may be mixed: each tensor is saved in its own type") {
  ModelBuilder build(17, 8);
  build.input("x", {"N", "3", "8", "8"}).weight("w", {4, 3, 3, 3}, -1, 0.01f).weight("b", {4}, 0, 0.1f);
  ModelBuilder::integer(build.node("Cast", {"x"}, {"half"}), "to", TensorProto::FLOAT16);
  ModelBuilder::integer(build.node("Cast", {"w"}, {"half_w"}), "to", TensorProto::FLOAT16);
  build.conv("half", "half_w", "b", "c");
  ModelBuilder::integer(build.node("Cast", {"c"}, {"y"}), "to", TensorProto::FLOAT);
  build.output("y");
  narrow_tensor(*build.graph().mutable_initializer(1), TensorProto::FLOAT16);
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == 1);  // all Casts are identities
  CHECK(imported->file->model.graph().initializer(0).data_type() == TensorProto::FLOAT);
  CHECK(imported->file->model.graph().initializer(1).data_type() == TensorProto::FLOAT16);
}
