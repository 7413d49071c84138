// Every bad input gets its exit code and a helpful message; none crashes, hangs or leaves the directory.
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "compiler/import/loaded_model.h"
#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/ops/op.h"
#include "compiler/network/simplify/options.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string import_bytes(const std::string& bytes) {
  const ScratchDirectory directory;
  return outcome(import_onnx(directory.write("m.onnx", bytes), {.batch = 4}));
}

// small_model() with the weights w in w.data.
ModelBuilder with_external(const std::string& location,
                           const std::vector<std::pair<std::string, std::string>>& more = {}) {
  ModelBuilder build = small_model(17, 10);
  onnx::TensorProto& w = *build.graph().mutable_initializer(0);
  w.clear_raw_data();
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *w.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  for (const auto& [key, value] : more) add(key, value);
  return build;
}

constexpr int64_t kWeightBytes = 4 * 3 * 3 * 3 * 4;

}  // namespace

TEST_CASE("files that are no models") {
  const ScratchDirectory directory;
  CHECK_THAT(outcome(import_onnx(directory / "absent.onnx", {})), StartsWith("3: ") && Contains("absent.onnx"));
  CHECK_THAT(outcome(import_onnx(directory.path.string(), {})), StartsWith("3: ") && Contains("directory"));
  CHECK_THAT(import_bytes(""), StartsWith("4: ") && Contains("empty"));
  CHECK_THAT(import_bytes("\xff\xd8\xff\xe0 a picture"), StartsWith("4: ") && Contains("first bytes ff d8 ff e0"));
  CHECK_THAT(import_bytes("{\"irVersion\": 8}"), StartsWith("4: ") && Contains("JSON"));
  CHECK_THAT(import_bytes("<\n  ir_version: 8,\n"), StartsWith("4: ") && Contains("text form"));
  CHECK_THAT(import_bytes("ir_version: 8\ngraph {"), StartsWith("4: ") && Contains("text form"));
  CHECK_THAT(import_bytes("PK\x03\x04 archive/data.pkl"), StartsWith("4: ") && Contains("torch.onnx.export"));
  CHECK_THAT(import_bytes("version https://git-lfs.github.com/spec/v1\noid"),
             StartsWith("4: ") && Contains("git lfs pull"));
}

TEST_CASE("a model cut short anywhere is refused or whole") {
  const std::string bytes = small_model().bytes();
  for (size_t length = 0; length < bytes.size(); ++length)
    CHECK_THAT(import_bytes(bytes.substr(0, length)), !StartsWith("ok") && !StartsWith("1:"));
}

TEST_CASE("a fifo as model does not hang") {
  const ScratchDirectory directory;
  REQUIRE(mkfifo((directory / "m.onnx").c_str(), 0600) == 0);
  CHECK_THAT(outcome(import_onnx(directory / "m.onnx", {})), StartsWith("3: ") && Contains("regular"));
}

TEST_CASE("nesting without end is refused") {
  std::string nested;  // AttributeProto.g → GraphProto.node → NodeProto.attribute, repeated
  const auto wrap = [&](int field) {
    std::string header(1, static_cast<char>(field << 3 | 2));
    for (size_t length = nested.size(); ; length >>= 7) {
      header += static_cast<char>((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
      if (length <= 0x7f) break;
    }
    nested = header + nested;
  };
  for (int depth = 0; depth < 2000; ++depth) wrap(5), wrap(1), wrap(6);
  wrap(1), wrap(7);
  CHECK_THAT(import_bytes("\x08\x08" + nested), StartsWith("4: "));
}

TEST_CASE("cycles are printed, disorder is mended") {
  ModelBuilder cyclic;
  cyclic.input("x", {"N", "4"});
  cyclic.node("Sum", {"x", "c"}, {"a"}, "first");
  cyclic.node("Relu", {"a"}, {"b"}, "second");
  cyclic.node("Relu", {"b"}, {"c"}, "third");
  cyclic.node("Relu", {"c"}, {"y"}, "behind");
  cyclic.output("y");
  const std::string text = outcome(cyclic.import());
  CHECK_THAT(text, StartsWith("4: the graph has a cycle of 3 nodes"));
  CHECK_THAT(text, Contains("'first'") && Contains("'second'") && Contains("'third'") && !Contains("'behind'"));

  ModelBuilder self;
  self.input("x", {"N", "4"});
  self.node("Relu", {"y"}, {"y"}, "alone");
  self.output("y");
  CHECK_THAT(outcome(self.import()), StartsWith("4: the graph has a cycle of 1 node |"));

  ModelBuilder unsorted;
  unsorted.input("x", {"N", "4"});
  unsorted.node("Relu", {"a"}, {"y"}, "second");
  unsorted.node("Relu", {"x"}, {"a"}, "first");
  unsorted.output("y");
  const auto imported = unsorted.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes[NodeId(0)].name == "first");
  REQUIRE(imported->notes.size() == 1);
  CHECK_THAT(imported->notes[0], Contains("topological"));
}

TEST_CASE("names defined twice or nowhere") {
  ModelBuilder twice = small_model();
  twice.node("Relu", {"x"}, {"c"}, "other");
  CHECK_THAT(outcome(twice.import()),
             StartsWith("4: 'c' is defined twice") && Contains("'conv'") && Contains("'other'"));

  ModelBuilder initializers = small_model();
  initializers.weight("w", {4, 3, 3, 3});
  CHECK_THAT(outcome(initializers.import()), StartsWith("4: 'w' is defined twice"));

  ModelBuilder nowhere;
  nowhere.input("x", {"N", "4"});
  nowhere.node("Sum", {"x", "ghost"}, {"y"}, "reader");
  nowhere.output("y");
  CHECK_THAT(outcome(nowhere.import()), StartsWith("4: node 'reader' (Sum): its input 'ghost'"));

  ModelBuilder no_output = small_model();
  no_output.output("ghost");
  CHECK_THAT(outcome(no_output.import()), StartsWith("4: ") && Contains("'ghost'"));
}

TEST_CASE("dimensions that are no dimensions") {
  for (const char* dim : {"0", "-3"}) {
    ModelBuilder build;
    build.input("x", {"N", dim}).node("Relu", {"x"}, {"y"});
    build.output("y");
    CHECK_THAT(outcome(build.import()), StartsWith("4: input 'x'"));
  }
  ModelBuilder huge;
  huge.input("x", {"N", "1099511627776", "1099511627776"}).node("Relu", {"x"}, {"y"});
  huge.output("y");
  CHECK_THAT(outcome(huge.import()), StartsWith("4: input 'x'") && Contains("too many"));

  for (const auto& dims :
       std::vector<std::vector<int64_t>>{{-4, 3, 3, 3}, {int64_t{1} << 40, int64_t{1} << 40, 1, 1}}) {
    ModelBuilder build = small_model();
    build.graph().mutable_initializer(0)->clear_dims();
    for (const int64_t dim : dims) build.graph().mutable_initializer(0)->add_dims(dim);
    CHECK_THAT(outcome(build.import()), StartsWith("4: initializer 'w'"));
  }
}

TEST_CASE("data of another size or type than the shape says") {
  ModelBuilder shorter = small_model();
  shorter.graph().mutable_initializer(0)->mutable_raw_data()->resize(kWeightBytes - 2);
  CHECK_THAT(outcome(shorter.import()),
             StartsWith("4: initializer 'w': f32[4,3,3,3] needs 432 bytes of data, but has 430"));
  ModelBuilder longer = small_model();
  longer.graph().mutable_initializer(0)->mutable_raw_data()->append("x");
  CHECK_THAT(outcome(longer.import()), StartsWith("4: initializer 'w'"));
  ModelBuilder typed = small_model();
  typed.graph().mutable_initializer(1)->clear_raw_data();
  for (int i = 0; i < 3; ++i) typed.graph().mutable_initializer(1)->add_float_data(1);
  CHECK_THAT(outcome(typed.import()), StartsWith("4: initializer 'b': f32[4] needs 16 bytes of data, but has 12"));
  ModelBuilder both = small_model();
  both.graph().mutable_initializer(1)->add_float_data(1);
  CHECK_THAT(outcome(both.import()), StartsWith("4: initializer 'b': has both"));
  ModelBuilder wrong = small_model();
  wrong.graph().mutable_initializer(0)->set_data_type(999);
  CHECK_THAT(outcome(wrong.import()), StartsWith("4: initializer 'w': unknown element type 999"));
}

TEST_CASE("typed data is as good as raw") {
  ModelBuilder build = small_model();
  build.graph().mutable_initializer(1)->clear_raw_data();
  for (int i = 0; i < 4; ++i) build.graph().mutable_initializer(1)->add_float_data(1);
  CHECK(outcome(build.import()) == "ok");
}

TEST_CASE("weights of another element type") {
  ModelBuilder build = small_model();
  onnx::TensorProto& w = *build.graph().mutable_initializer(0);
  w.set_data_type(onnx::TensorProto::DOUBLE);
  w.mutable_raw_data()->resize(kWeightBytes * 2);
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains("initializer 'w' is f64") && Contains("float32"));
}

TEST_CASE("attributes that an operator does not have, and words that an attribute does not have") {
  const auto with = [](const std::string& op, int opset, const auto& give) {
    ModelBuilder build(opset);
    build.input("x", {"N", "3", "8", "8"}).weight("w", {8, 8});
    give(build.node(op, op == "MatMul" ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"}, {"y"},
                    "it"));
    build.output("y");
    return outcome(build.import());
  };
  const auto text = [](onnx::NodeProto& node, const char* name, const char* value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  };
  CHECK(with("MatMul", 17, [](onnx::NodeProto&) {}) == "ok");
  CHECK(with("MatMul", 17, [](onnx::NodeProto& node) { ModelBuilder::integer(node, "transB", 1); }) ==
        "4: node 'it' (MatMul): it has no attribute 'transB' in opset 17 of ONNX");
  const auto keeps = [](onnx::NodeProto& node) { ModelBuilder::ints(node, "axes", {2, 3}); };
  CHECK(with("ReduceMean", 17, keeps) == "ok");
  CHECK(with("ReduceMean", 18, keeps) == "4: node 'it' (ReduceMean): it has no attribute 'axes' in opset 18 of ONNX");
  CHECK(with("Gelu", 20, [&](onnx::NodeProto& node) { text(node, "approximate", "tanh"); }) == "ok");
  CHECK(with("Gelu", 20, [&](onnx::NodeProto& node) { text(node, "approximate", "tan"); }) ==
        "4: node 'it' (Gelu): attribute 'approximate' is 'tan'; ONNX allows none, tanh");
  CHECK_THAT(
      with("Resize", 17, [&](onnx::NodeProto& node) { text(node, "nearest_mode", "banana"); }),
      StartsWith("4: node 'it' (Resize): attribute 'nearest_mode' is 'banana'; ONNX allows round_prefer_floor,"));
  CHECK_THAT(
      with("Resize", 17, [&](onnx::NodeProto& node) { text(node, "coordinate_transformation_mode", "halfpixel"); }),
      StartsWith("4: node 'it' (Resize): attribute 'coordinate_transformation_mode' is 'halfpixel'"));
}

TEST_CASE("NaN in weights: a warning, an error when strict") {
  ModelBuilder build = small_model();
  build.graph().mutable_initializer(0)->mutable_raw_data()->replace(0, 8, std::string("\0\0\xc0\x7f\0\0\x80\xff", 8));
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->warnings.size() == 1);
  CHECK_THAT(imported->warnings[0], Contains("2 weights in 1 tensor are") && Contains("'w': 2"));
  CHECK_THAT(outcome(build.import({.batch = 4, .strict = true})), StartsWith("4: 2 weights") && Contains("'w': 2"));
}

TEST_CASE("what gets a warning is refused when strict") {
  ModelBuilder build;
  build.input("x", {"N", "3", "4", "4"})
      .weight("scale", {3})
      .weight("bias", {3})
      .weight("mean", {3})
      .weight("var", {3});
  build.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  build.output("y");
  CHECK(build.import()->warnings.size() == 1);
  CHECK_THAT(outcome(build.import({.batch = 4, .strict = true})),
             StartsWith("4: the model has 1 batch normalization in evaluation mode"));
}

TEST_CASE("weights of 8-bit integers get a warning: they are not trained") {
  ModelBuilder build;
  build.input("x", {"N", "8"}).weight("scale", {1, 8}).weight("w", {8, 8});
  onnx::TensorProto& weight = *build.graph().mutable_initializer(1);
  weight.set_name("w8");
  weight.set_data_type(onnx::TensorProto::INT8);
  weight.set_raw_data(std::string(64, '\x05'));
  ModelBuilder::integer(build.node("Cast", {"w8"}, {"real"}), "to", onnx::TensorProto::FLOAT);
  build.node("Mul", {"real", "scale"}, {"w"});
  build.node("MatMul", {"x", "w"}, {"y"});
  const auto imported = build.output("y").import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->warnings.size() == 1);
  CHECK_THAT(imported->warnings[0], StartsWith("1 tensor of 8-bit integers, 'w8': the model is quantized"));
}

TEST_CASE("a model without anything to train gets a warning") {
  ModelBuilder build;
  build.input("x", {"N", "3"}).node("Relu", {"x"}, {"y"});
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->warnings.size() == 1);
  CHECK_THAT(imported->warnings[0], StartsWith("the model has nothing to train"));
  CHECK(small_model().import()->warnings.empty());
  // As exported without parameters: the weight is an input.
  ModelBuilder empty;
  empty.input("x", {"N", "3", "4", "4"}).input("conv.weight", {"4", "3", "1", "1"});
  empty.node("Conv", {"x", "conv.weight"}, {"y"});
  const auto without = empty.output("y").import();
  REQUIRE(outcome(without) == "ok");
  REQUIRE(without->warnings.size() == 1);
  CHECK_THAT(without->warnings[0], Contains("1 input is read as a weight") && Contains("export_params=True") &&
                                       Contains("'conv.weight'"));
}

TEST_CASE("attributes of another type, and beyond all measure") {
  const auto with = [](const std::function<void(onnx::AttributeProto&)>& set) {
    ModelBuilder build = small_model();
    onnx::AttributeProto& pads = *build.graph().mutable_node(0)->mutable_attribute(0);
    REQUIRE(pads.name() == "pads");
    set(pads);
    return outcome(build.import());
  };
  CHECK_THAT(with([](onnx::AttributeProto& pads) { pads.set_type(onnx::AttributeProto::STRING); }),
             StartsWith("4: node 'conv' (Conv): attribute 'pads' is a string; expected a list of integers"));
  CHECK_THAT(with([](onnx::AttributeProto& pads) { pads.set_ints(2, int64_t{1} << 62); }),
             StartsWith("4: node 'conv' (Conv): 4611686018427387904 is too large for a stride, a dilation or padding"));
  for (const char* name : {"strides", "dilations"}) {
    ModelBuilder build = small_model();
    ModelBuilder::ints(*build.graph().mutable_node(0), name, {1, int64_t{1} << 62});
    CHECK_THAT(outcome(build.import()),
               StartsWith("4: node 'conv' (Conv): 4611686018427387904 is too large for a stride"));
  }
  ModelBuilder pool;
  pool.input("x", {"N", "3", "8", "8"});
  ModelBuilder::ints(pool.node("MaxPool", {"x"}, {"y"}, "pool"), "kernel_shape", {1, int64_t{1} << 62});
  pool.output("y");
  CHECK_THAT(outcome(pool.import()),
             StartsWith("4: node 'pool' (MaxPool): 4611686018427387904 is too large for a window"));
}

TEST_CASE("whole numbers where real ones are computed with") {
  for (const char* op : {"Conv", "Relu", "MaxPool", "Dropout", "GlobalAveragePool", "Softmax", "LogSoftmax", "LRN",
                         "MatMul", "Gemm", "Sigmoid"}) {
    ModelBuilder build;
    const bool matrix = std::string(op) == "Gemm" || std::string(op) == "MatMul";
    build.input("x", matrix ? std::vector<std::string>{"N", "3"} : std::vector<std::string>{"N", "3", "8", "8"},
                onnx::TensorProto::INT64);
    build.weight("w", matrix ? std::vector<int64_t>{3, 3} : std::vector<int64_t>{4, 3, 3, 3});
    std::vector<std::string> inputs = {"x"};
    if (matrix || std::string(op) == "Conv") inputs.push_back("w");
    onnx::NodeProto& node = build.node(op, inputs, {"y"}, "odd");
    if (std::string(op) == "MaxPool") ModelBuilder::ints(node, "kernel_shape", {2, 2});
    if (std::string(op) == "LRN") ModelBuilder::integer(node, "size", 3);
    build.output("y");
    INFO(op);
    CHECK_THAT(outcome(build.import()), StartsWith("5: node 'odd' (") && Contains("i64["));
  }
}

// A kernel would read their bytes as floats, and for u8 beyond the end.
TEST_CASE("whole numbers as weights of what is computed with real ones") {
  struct Layer { const char* op; std::vector<std::vector<int64_t>> weights; };
  const std::vector<Layer> layers = {{"Conv", {{4, 4, 3, 3}, {4}}},
                                     {"ConvTranspose", {{4, 4, 3, 3}, {4}}},
                                     {"BatchNormalization", {{4}, {4}, {4}, {4}}},
                                     {"InstanceNormalization", {{4}, {4}}},
                                     {"LayerNormalization", {{8}, {8}}},
                                     {"MatMul", {{8, 8}}},
                                     {"PRelu", {{4, 1, 1}}},
                                     {"Add", {{4, 1, 1}}},
                                     {"Div", {{4, 1, 1}}},
                                     {"Sum", {{4, 8, 8}}}};
  for (const Layer& layer : layers)
    for (size_t odd = 0; odd < layer.weights.size(); ++odd)
      for (const int element :
           {onnx::TensorProto::INT32, onnx::TensorProto::INT64, onnx::TensorProto::UINT8, onnx::TensorProto::BOOL}) {
        ModelBuilder build;
        build.input("x", {"N", "4", "8", "8"});
        std::vector<std::string> inputs = {"x"};
        for (size_t i = 0; i < layer.weights.size(); ++i) {
          inputs.push_back("w" + std::to_string(i));
          build.weight(inputs.back(), layer.weights[i], 1, 0);
          if (i != odd) continue;
          onnx::TensorProto& tensor = *build.graph().mutable_initializer(static_cast<int>(i));
          int64_t count = 1;
          for (const int64_t size : layer.weights[i]) count *= size;
          const int64_t width = element == onnx::TensorProto::INT64 ? 8 : element == onnx::TensorProto::INT32 ? 4 : 1;
          tensor.set_data_type(element);
          tensor.set_raw_data(std::string(static_cast<size_t>(count * width), '\1'));
        }
        build.node(layer.op, inputs, {"y"}, "odd");
        build.output("y");
        INFO(layer.op << ", weight " << odd << ", element type " << element);
        CHECK_THAT(outcome(build.import()), StartsWith("5: node 'odd") && Contains("only f32 "));
      }
}

TEST_CASE("constants of a kind that nothing reads are named, not called an operator") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  build.node("Constant", {}, {"k"}, "empty");
  build.node("Mul", {"x", "k"}, {"y"});
  build.output("y");
  CHECK_THAT(outcome(build.import()), StartsWith("5: node 'empty' (Constant): its value is of an unsupported kind"));
}

TEST_CASE("external data is read from beside the model") {
  const ScratchDirectory directory;
  std::filesystem::create_directory(directory.path / "weights");
  const std::string data(static_cast<size_t>(kWeightBytes) + 100, '\x3f');
  directory.write("weights/w.data", data);
  const auto read = [&](const ModelBuilder& build) {
    return outcome(import_onnx(directory.write("m.onnx", build.bytes()), {.batch = 4}));
  };
  CHECK(read(with_external("weights/w.data", {{"offset", "100"}, {"length", "432"}})) == "ok");
  CHECK(read(with_external("./weights/../weights/w.data", {{"offset", "0"}, {"checksum", "ab"}})) == "ok");
  CHECK_THAT(read(with_external("weights/w.data", {{"length", "431"}})), StartsWith("4: initializer 'w'"));
  CHECK_THAT(read(with_external("weights/w.data", {{"offset", "101"}})),
             StartsWith("3: initializer 'w'") && Contains("has 532"));
  CHECK_THAT(read(with_external("weights/w.data", {{"offset", "9223372036854775807"}})), StartsWith("3: "));
  CHECK_THAT(read(with_external("weights/w.data", {{"offset", "-1"}})), StartsWith("4: "));
  CHECK_THAT(read(with_external("weights/w.data", {{"length", "99999999999999999999"}})), StartsWith("4: "));
  CHECK_THAT(read(with_external("weights/w.data", {{"__class__", "x"}})), StartsWith("4: ") && Contains("'__class__'"));
  CHECK_THAT(read(with_external("absent.data")), StartsWith("3: ") && Contains("absent.data") && Contains("'w'"));
  CHECK_THAT(read(with_external("")), StartsWith("4: "));
}

TEST_CASE("external data never leaves the directory") {
  const ScratchDirectory outside, directory;
  outside.write("secret", std::string(static_cast<size_t>(kWeightBytes), 's'));
  std::filesystem::create_directory(directory.path / "sub");
  std::filesystem::create_symlink(outside / "secret", directory / "link");
  std::filesystem::create_directory_symlink(outside.path, directory.path / "dir");
  std::filesystem::create_hard_link(outside / "secret", directory / "hard");
  REQUIRE(mkfifo((directory / "fifo").c_str(), 0600) == 0);
  const std::string name = outside.path.filename().string();
  for (const std::string& location :
       {std::string("/etc/passwd"), outside / "secret", "../" + name + "/secret", "sub/../../" + name + "/secret",
        std::string("link"), std::string("dir/secret"), std::string("hard"), std::string("fifo"), std::string("sub"),
        std::string("."), std::string("secret\0x", 8)}) {
    INFO(location);
    CHECK_THAT(outcome(import_onnx(directory.write("m.onnx", with_external(location).bytes()), {.batch = 4})),
               StartsWith("4: initializer 'w': external data"));
  }
}

TEST_CASE("everything that is not supported is told at once") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  for (int i = 0; i < 5; ++i) build.node("Multinomial", {"x"}, {"e" + std::to_string(i)}, "e" + std::to_string(i));
  build.node("FancyOp", {"e0"}, {"f"}, "fancy").set_domain("com.example");
  build.node("Loop", {"f"}, {"l"}, "loop");
  build.node("Reorder", {"l"}, {"r"}, "smuggled");
  build.node("Sum", {"r", "e1", "e2", "e3", "e4"}, {"s"}, "sum");
  build.node("Relu", {"s"}, {"y"});
  build.output("y");
  const std::string text = outcome(build.import());
  CHECK_THAT(text, StartsWith("5: "));
  CHECK_THAT(
      text, Contains("Multinomial: 5 nodes, 'e0', 'e1', 'e2', …") && Contains("com.example::FancyOp: 1 node, 'fancy'"));
  CHECK_THAT(text, Contains("Loop: 1 node") && Contains("Reorder: 1 node"));
}

// The names of classes that skl2onnx puts behind the probabilities, or the boxes of a detector.
TEST_CASE("what only other outputs depend on need not be supported if an output is chosen") {
  ModelBuilder build;
  build.input("x", {"N", "4"}).weight("w", {4, 3}).weight("v", {3, 3});
  build.node("MatMul", {"x", "w"}, {"h"}, "first");
  build.node("MatMul", {"h", "v"}, {"scores"}, "second");
  build.node("Identity", {"scores"}, {"probabilities"}, "alias");
  build.node("ArrayFeatureExtractor", {"h", "v"}, {"label"}, "names").set_domain("ai.onnx.ml");
  build.output("label").output("probabilities");
  const auto chosen = build.import({.batch = 4, .output = "probabilities"});
  REQUIRE(outcome(chosen) == "ok");
  REQUIRE(chosen->network.outputs.size() == 1);
  CHECK(chosen->network.values[chosen->network.outputs[0]].name == "probabilities");
  CHECK(chosen->file->model.graph().output_size() == 2);
  CHECK(chosen->file->model.graph().node_size() == 4);
  std::string notes;
  for (const std::string& note : chosen->notes) notes += note + "; ";
  CHECK_THAT(notes, Contains("output 'label' is ignored") && Contains("are not supported, and are left out"));

  const std::string names = "ai.onnx.ml::ArrayFeatureExtractor: 1 node, 'names'";
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains(names) && Contains("--output 'probabilities'"));
  CHECK_THAT(outcome(build.import({.batch = 4, .output = "label"})), StartsWith("5: ") && Contains(names));
  CHECK(outcome(build.import({.batch = 4, .output = "other"})) ==
        "2: the model has no output 'other' (--output); outputs: 'label', 'probabilities'");

  // What only passes an input or a weight on cannot be trained.
  build.node("Identity", {"x"}, {"same"}, "input");
  build.node("Identity", {"v"}, {"weight"}, "weight");
  CHECK_THAT(outcome(build.output("same").output("weight").import()),
             Contains("--output 'probabilities'") && !Contains("'same'") && !Contains("'weight'"));
}

// Files of SessionOptions.optimized_model_filepath, and of onnxruntime.training.artifacts.
TEST_CASE("operators of onnxruntime are refused with the file to compile instead") {
  for (const auto& [op, domain, level] :
       {std::tuple("GroupQueryAttention", "com.microsoft", "ORT_ENABLE_BASIC"),
        std::tuple("Conv", "com.microsoft.nchwc", "ORT_ENABLE_EXTENDED"),
        std::tuple("ReluGrad", "com.microsoft", "the model that generate_artifacts() read"),
        std::tuple("InPlaceAccumulatorV2", "com.microsoft", "the model that generate_artifacts() read")}) {
    ModelBuilder build;
    build.input("x", {"N", "4"}).node(op, {"x"}, {"y"}, "fused").set_domain(domain);
    CHECK_THAT(outcome(build.output("y").import()), StartsWith("5: ") && Contains(level));
  }
}

TEST_CASE("control flow, sequences and texts are refused by name") {
  for (const char* op : {"If", "Scan", "SequenceConstruct", "StringNormalizer"}) {
    ModelBuilder build;
    build.input("x", {"N", "4"}).node(op, {"x"}, {"y"}, "odd");
    build.output("y");
    CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains(std::string(op) + ": 1 node, 'odd'"));
  }
  ModelBuilder texts;
  texts.input("x", {"N", "4"}, onnx::TensorProto::STRING).node("Relu", {"x"}, {"y"});
  texts.output("y");
  CHECK_THAT(outcome(texts.import()), StartsWith("5: ") && Contains("'x'"));
}

TEST_CASE("symbolic dimensions want a number") {
  ModelBuilder build;
  build.input("x", {"N", "seq", "width"}).node("Relu", {"x"}, {"y"});
  build.output("y");
  CHECK_THAT(outcome(build.import()),
             StartsWith("2: ") && Contains("'seq'") && Contains("'width'") && Contains("--dim"));
  const auto imported = build.import({.batch = 4, .dims = {{"seq", 128}, {"width", 8}}});
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {128}, {8}});
  CHECK_THAT(outcome(build.import({.batch = 4, .dims = {{"seq", 0}, {"width", 8}}})), StartsWith("2: "));
  CHECK_THAT(
      outcome(build.import({.batch = 4, .dims = {{"seq", 4}, {"width", 8}, {"heigth", 8}}})),
      StartsWith(
          "2: --dim heigth=8: the model has no dimension of this name; symbolic dimensions: 'N', 'seq', 'width'"));
  CHECK_THAT(outcome(build.import({.batch = 4, .dims = {{"seq", 4}, {"width", 8}, {"N", 8}}})),
             StartsWith("2: --dim sets every symbolic dimension, and none is left for the batch"));
  ModelBuilder nameless;
  nameless.input("x", {"N", "", "8"}).node("Relu", {"x"}, {"y"});
  nameless.output("y");
  CHECK_THAT(outcome(nameless.import()),
             StartsWith("2: ") && Contains("'x:1' (dimension 1 of input 'x', which has no name)"));
  const auto sized = nameless.import({.batch = 4, .dims = {{"x:1", 3}}});
  REQUIRE(outcome(sized) == "ok");
  CHECK(find_value(sized->network, "y")->type.dims == Dims{kBatch, {3}, {8}});
  CHECK_THAT(outcome(nameless.import({.batch = 4, .dims = {{"x:1", 3}, {"x:2", 8}}})),
             StartsWith("2: --dim x:2=8: the model has no dimension of this name; symbolic dimensions: 'N', 'x:1'"));
}

TEST_CASE("a dimension that is said to be the batch is") {
  ModelBuilder build;
  build.input("x", {"", "", "8"}).input("state", {"2", "", "8"}).node("Add", {"x", "x"}, {"y"});
  ModelBuilder::ints(build.node("Transpose", {"state"}, {"turned"}), "perm", {1, 0, 2});
  build.node("Add", {"y", "turned"}, {"z"});
  build.output("z");
  CHECK_THAT(outcome(build.import()), StartsWith("2: ") && Contains("--dim NAME=batch"));
  const auto imported = build.import({.batch = 4, .dims = {{"x:1", 2}, {"state:1", kIsBatch}}});
  REQUIRE(outcome(imported) == "ok");
  CHECK(find_value(imported->network, "z")->type.dims == Dims{kBatch, {2}, {8}});

  ModelBuilder steps;
  steps.input("x", {"a", "b", "8"}).node("Relu", {"x"}, {"y"});
  steps.output("y");
  const auto second = steps.import({.batch = 4, .dims = {{"a", 3}, {"b", kIsBatch}}});
  REQUIRE(outcome(second) == "ok");
  CHECK(find_value(second->network, "y")->type.dims == Dims{{3}, kBatch, {8}});
}

// Paddle's exporters write -1 or a question mark.
TEST_CASE("an unknown dimension is written in several ways") {
  for (const char* unknown : {"-1", "?", "None", ""}) {
    CAPTURE(unknown);
    ModelBuilder build;
    build.input("x", {unknown, "3", unknown, unknown}).node("Relu", {"x"}, {"y"});
    build.output("y");
    CHECK_THAT(outcome(build.import()), StartsWith("2: ") && Contains("'x:2'") && Contains("'x:3'"));
    const auto imported = build.import({.batch = 4, .dims = {{"x:2", 16}, {"x:3", 32}}});
    REQUIRE(outcome(imported) == "ok");
    CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {16}, {32}});
  }
}

TEST_CASE("weights that do not fit their operator") {
  ModelBuilder build = small_model();
  *build.graph().mutable_initializer(1) = ModelBuilder().weight("b", {64}).graph().initializer(0);
  CHECK_THAT(outcome(build.import()), StartsWith("4: node 'conv' (Conv): bias is [64]"));
  for (const char* op : {"Conv", "ConvTranspose"}) {
    ModelBuilder flat;
    flat.input("x", {"N", "4", "8", "8"}).weight("w", {4, 4, 3}).node(op, {"x", "w"}, {"y"}, "conv");
    flat.output("y");
    CHECK_THAT(outcome(flat.import()),
               StartsWith("4: node 'conv' (") && Contains("weights [4,4,3] do not fit input [N,4,8,8]"));
    ModelBuilder wide;
    wide.input("x", {"N", "4", "8", "8"}).weight("w", {4, 4, 3, 3});
    ModelBuilder::ints(wide.node(op, {"x", "w"}, {"y"}, "conv"), "kernel_shape", {3, 5});
    wide.output("y");
    CHECK_THAT(outcome(wide.import()),
               StartsWith("4: node 'conv' (") && Contains("kernel_shape is [3,5], but the weights have [3,3]"));
  }
  ModelBuilder missing;
  missing.input("x", {"N", "4", "4", "4"}).node("Conv", {"x"}, {"y"}, "conv");
  missing.output("y");
  CHECK_THAT(outcome(missing.import()), StartsWith("4: node 'conv' (Conv): has 1 input,"));
  ModelBuilder none;
  none.input("x", {"N", "4"}).node("Relu", {}, {"y"}, "relu");
  none.output("y");
  CHECK_THAT(outcome(none.import()), StartsWith("4: node 'relu' (Relu): has 0 inputs"));
}

TEST_CASE("a node with one output more than ONNX gives it is invalid, whatever the operator") {
  std::vector<std::string_view> names = spelled_operators();
  for (const Op* op : all_ops())
    if (op->of_onnx()) names.push_back(op->name);
  for (const std::string_view name : folded_operators()) names.push_back(name);
  REQUIRE(names.size() > 60);
  for (const std::string_view name : names) {
    if (name == "Split") continue;  // the number of outputs is not limited
    CAPTURE(name);
    ModelBuilder build(22, 10);
    build.input("x", {"N", "4"});
    std::vector<std::string> outputs;
    const Op& op = *find_onnx_op(name);
    for (size_t i = 0; i <= op.most_outputs; ++i) outputs.push_back("y" + std::to_string(i));
    const size_t inputs = std::max<size_t>(3, op.required_inputs);
    build.node(std::string(name), std::vector<std::string>(inputs, "x"), outputs, "n");
    build.node("Relu", {outputs.back()}, {"z"});
    build.output("z");
    CHECK_THAT(outcome(build.import()), StartsWith("4: node 'n' (" + std::string(name) + "): has " +
                                                   std::to_string(outputs.size()) + " outputs"));
  }
}

TEST_CASE("a node without an input that ONNX requires is invalid, whatever the operator") {
  std::vector<const Op*> ops(all_ops().begin(), all_ops().end());
  for (const Op& op : rewritten_ops()) ops.push_back(&op);
  int cases = 0;
  for (const Op* op : ops) {
    if (!op->of_onnx() || op->required_inputs == 0) continue;
    CAPTURE(op->name);
    ++cases;
    // Of weights, whose role is looked for before anything else is known of the nodes.
    for (const char* producer : {"test", "tf2onnx"}) {
      ModelBuilder build(std::clamp(22, op->first_opset, op->last_opset), 10);
      build.model.set_producer_name(producer);
      build.input("x", {"N", "4"}).weight("w", {4});
      build.node(std::string(op->name), std::vector<std::string>(op->required_inputs - 1, "w"), {"y"}, "n");
      build.node("Sqrt", {"y"}, {"root"});
      build.node("Add", {"x", "root"}, {"z"});
      build.output("z");
      CHECK_THAT(outcome(build.import()), StartsWith("4: node 'n' (" + std::string(op->name) + "): has ") &&
                                              Contains(", requires " + std::to_string(op->required_inputs)));
    }
  }
  CHECK(cases > 140);
}

TEST_CASE("what only the compiler gives a node is not taken from a file") {
  const auto normalized = [](const std::vector<std::string>& inputs, const char* attribute) {
    ModelBuilder build;
    build.input("x", {"N", "3", "8", "8"}).weight("ones", {3}, 1, 0).weight("zeros", {3}, 0, 0);
    build.weight("mean", {3}, 0, 0).weight("var", {3}, 1, 0);
    onnx::NodeProto& node = build.node("BatchNormalization", inputs, {"y"}, "bn");
    if (attribute != nullptr) ModelBuilder::integer(node, attribute, 1);
    build.output("y");
    return outcome(build.import());
  };
  const std::vector<std::string> five = {"x", "ones", "zeros", "mean", "var"},
                                 six = {"x", "ones", "zeros", "mean", "var", "x"};
  CHECK_THAT(normalized(five, nullptr), StartsWith("ok"));
  CHECK_THAT(normalized(six, nullptr), StartsWith("4: node 'bn' (BatchNormalization): has 6 inputs, expected 5"));
  CHECK_THAT(normalized(five, "relu"), StartsWith("4: node 'bn' (BatchNormalization): it has no attribute 'relu'"));
}

// Covers every part of a file that the import reads.
static ModelBuilder rich_model() {
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"}).weight("w", {3, 3, 3, 3}).weight("ones", {3}, 1, 0).weight("zeros", {3}, 0, 0);
  build.constant("pads", {0, 0, 1, 1, 0, 0, 1, 1})
      .constant("open", {-1})
      .constant("axes", {0})
      .constant_scalar("zero", 0);
  build.node("Pad", {"x", "pads"}, {"p"});
  build.conv("p", "w", "zeros", "c", "/layer/conv/Conv");
  build.model.set_producer_name("pytorch");
  for (const std::string name : {"ones", "zeros"}) build.node("Identity", {name}, {name + "2"});
  ModelBuilder::integer(build.node("BatchNormalization", {"c", "ones", "zeros", "zeros2", "ones2"}, {"n", "m", "v"}),
                        "training_mode", 1);
  onnx::FunctionProto& function = *build.model.add_functions();
  function.set_domain("local");
  function.set_name("Act");
  function.add_input("p");
  function.add_output("q");
  ModelBuilder::fill(*function.add_node(), "Relu", {"p"}, {"q"}, "");
  build.node("Act", {"n"}, {"r"}, "act").set_domain("local");
  build.node("Shape", {"r"}, {"s"});
  ModelBuilder::integer(build.node("Gather", {"s", "zero"}, {"s0"}), "axis", 0);
  build.node("Unsqueeze", {"s0", "axes"}, {"s1"});
  ModelBuilder::integer(build.node("Concat", {"s1", "open"}, {"target"}), "axis", 0);
  build.node("Reshape", {"r", "target"}, {"flat"});
  build.constant_real("half", {0.5f});
  build.node("Mul", {"flat", "half"}, {"y"});
  build.output("y");
  return build;
}

TEST_CASE("damaged bytes never crash") {
  CHECK(outcome(rich_model().import()) == "ok");
  uint64_t state = 1;
  const auto random = [&] {
    return static_cast<size_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33);
  };
  for (const std::string& bytes : {small_model().bytes(), rich_model().bytes()}) {
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = bytes;
      for (size_t i = 0; i < 1 + random() % 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      CHECK_THAT(import_bytes(damaged), !StartsWith("1:"));
    }
  }
}

TEST_CASE("a quantized model, and a classical one, are refused with what they are") {
  for (const auto& [op, domain] : {std::pair("DynamicQuantizeLinear", ""), std::pair("QLinearConv", ""),
                                   std::pair("MatMulInteger", ""), std::pair("QGemm", "com.microsoft"),
                                   std::pair("DynamicQuantizeLSTM", "com.microsoft")}) {
    CAPTURE(op);
    ModelBuilder build;
    build.input("x", {"N", "4"}).node(op, {"x"}, {"y"}, "odd").set_domain(domain);
    const std::string told = outcome(build.output("y").import());
    CHECK_THAT(told, StartsWith("5: ") && Contains("quantized") && Contains("compile the float32 model"));
    CHECK(told.find("ORT_ENABLE_BASIC") == told.npos);
  }
  ModelBuilder trees;
  trees.input("x", {"N", "4"}).node("TreeEnsembleRegressor", {"x"}, {"y"}, "trees").set_domain("ai.onnx.ml");
  CHECK_THAT(outcome(trees.output("y").import()), StartsWith("5: ") && Contains("classical models"));
  trees.model.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  CHECK_THAT(outcome(trees.import()), StartsWith("4: ") && Contains("a classical model"));
}

TEST_CASE("a selection whose size depends on data is refused with what to do instead") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  build.node("NonZero", {"x"}, {"chosen"}, "first");
  build.node("NonZero", {"x"}, {"y"}, "second");
  const std::string told = outcome(build.output("y").import());
  CHECK_THAT(told, StartsWith("5: ") && Contains("a label that the loss ignores"));
  CHECK(told.find("depends on data") == told.rfind("depends on data"));
}

TEST_CASE("a small file that computes many large constants is refused") {
  ModelBuilder build(17);
  build.input("x", {"N", "2000"}).constant("square", {2000, 2000});
  build.node("ConstantOfShape", {"square"}, {"zeros"});
  std::string last = "x";
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    build.node("EyeLike", {"zeros"}, {"eye" + name}, "eye" + name);
    build.node("MatMul", {last, "eye" + name}, {"y" + name});
    last = "y" + name;
  }
  build.output(last);
  CHECK_THAT(outcome(build.import()),
             Contains("5: node 'eye16' (EyeLike): the constants that the model computes up to here have more than"));
}
