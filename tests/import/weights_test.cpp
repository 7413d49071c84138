// Weights: which are trained, which module they belong to, and where they are in the file that is written.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// x → conv → bn → relu, twice, as TorchScript's exporter writes it for evaluation: the vectors of the normalizations
// are merged into those of layer1, and Identity nodes have the other names.
ModelBuilder merged_model(int ir = 8) {
  ModelBuilder build(17, ir);
  build.model.set_producer_name("pytorch");
  build.input("x", {"N", "3", "8", "8"}).weight("w1", {4, 3, 3, 3}).weight("w2", {4, 4, 3, 3});
  build.weight("layer1.bn.bias", {4}, 0, 0).weight("layer1.bn.weight", {4}, 1, 0);
  for (const char* zeros : {"layer1.bn.running_mean", "layer2.bn.bias", "layer2.bn.running_mean"})
    build.node("Identity", {"layer1.bn.bias"}, {zeros}, std::string("Identity_") + zeros);
  for (const char* ones : {"layer1.bn.running_var", "layer2.bn.weight", "layer2.bn.running_var"})
    build.node("Identity", {"layer1.bn.weight"}, {ones}, std::string("Identity_") + ones);
  const auto layer = [&](const std::string& name, const std::string& x, const std::string& w, const std::string& n) {
    build.conv(x, w, "", name + "c", "/" + name + "/conv/Conv");
    build.node("BatchNormalization", {name + "c", name + ".bn.weight", name + ".bn.bias", name + ".bn.running_mean",
                                      name + ".bn.running_var"}, {n}, "/" + name + "/bn/BatchNormalization");
  };
  layer("layer1", "x", "w1", "n1");
  build.node("Relu", {"n1"}, {"r1"}, "/layer1/relu/Relu");
  layer("layer2", "r1", "w2", "n2");
  build.output("n2");
  return build;
}

std::vector<std::string> inputs_of(const Network& network, const std::string& node) {
  std::vector<std::string> names;
  for (const ValueId id : find_node(network, node)->inputs) names.push_back(network.values[id].name);
  return names;
}

}  // namespace

TEST_CASE("weights that were merged for being equal are apart again") {
  for (const int ir : {3, 8}) {
    const auto imported = merged_model(ir).import();
    REQUIRE(outcome(imported) == "ok");
    const Network& network = imported->network;
    CHECK(inputs_of(network, "/layer1/bn/BatchNormalization") ==
          std::vector<std::string>{"layer1c", "layer1.bn.weight", "layer1.bn.bias", "layer1.bn.running_mean",
                                   "layer1.bn.running_var"});
    CHECK(inputs_of(network, "/layer2/bn/BatchNormalization") ==
          std::vector<std::string>{"layer2c", "layer2.bn.weight", "layer2.bn.bias", "layer2.bn.running_mean",
                                   "layer2.bn.running_var"});
    CHECK(find_value(network, "layer2.bn.running_mean")->kind == ValueKind::statistic);
    CHECK_FALSE(find_value(network, "layer2.bn.running_mean")->trainable);
    CHECK(find_value(network, "layer2.bn.bias")->trainable);
    CHECK(find_node(network, "/layer2/bn/BatchNormalization")->module_path == "layer2.bn");
    CHECK(find_node(network, "/layer2/bn/BatchNormalization")->outputs.size() == 1);
    REQUIRE(imported->notes.size() == 1);
    CHECK_THAT(imported->notes[0], Contains("merged 6 weights"));

    // They are also separate in the file that is written: importing it again changes nothing.
    const ScratchDirectory directory;
    const auto ranges = write_model(*imported->file, directory / "again.onnx");
    REQUIRE(outcome(ranges) == "ok");
    CHECK(ranges->contains("layer2.bn.running_var"));
    const auto again = import_onnx(directory / "again.onnx", {.batch = 4});
    REQUIRE(outcome(again) == "ok");
    CHECK(again->notes.empty());
    CHECK(again->network.values.size() == network.values.size());
  }
}

TEST_CASE("an Identity of TorchScript's exporter tells the name that a merged weight had") {
  const auto model = [](const std::string& name, const std::string& producer) {
    ModelBuilder build;
    build.model.set_producer_name(producer);
    build.input("x", {"N", "4"}).weight("a.weight", {4, 4}, 0, 0).weight("a.bias", {4}, 0, 0);
    build.node("Identity", {"a.bias"}, {name}, "Identity_0");
    build.node("Identity", {"a.weight"}, {"b.weight"}, "Identity_1");
    build.node("Gemm", {"x", "a.weight", "a.bias"}, {"h"}, "a");
    build.node("Gemm", {"h", "b.weight", name}, {"y"}, "b");
    build.output("y");
    return build;
  };
  const auto imported = model("b.bias", "pytorch").import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(inputs_of(imported->network, "b") == std::vector<std::string>{"h", "b.weight", "b.bias"});
  const ScratchDirectory directory;
  REQUIRE(outcome(write_model(*imported->file, directory / "m.onnx")) == "ok");
  const auto again = import_onnx(directory / "m.onnx", {.batch = 4});
  REQUIRE(outcome(again) == "ok");
  CHECK(again->notes.empty());
  // A value computed by a model does not have a parameter's name, and in files of other exporters an Identity is just
  // an Identity.
  CHECK(inputs_of(model("/b/Identity_output_0", "pytorch").import()->network, "b") ==
        std::vector<std::string>{"h", "b.weight", "a.bias"});
  CHECK(inputs_of(model("b.bias", "tf2onnx").import()->network, "b") ==
        std::vector<std::string>{"h", "a.weight", "a.bias"});
  // The dynamo exporter writes .detach() and .clone() of a parameter as an Identity, too.
  ModelBuilder dynamo = model("clone", "pytorch");
  for (int i = 0; i < 2; ++i) {
    onnx::StringStringEntryProto& entry = *dynamo.graph().mutable_node(i)->add_metadata_props();
    entry.set_key("pkg.torch.onnx.name_scopes");
    entry.set_value("['', 'clone']");
  }
  CHECK(inputs_of(dynamo.import()->network, "b") == std::vector<std::string>{"h", "a.weight", "a.bias"});
}

TEST_CASE("one initializer is one weight, whatever its shape and whoever reads it") {
  // for _ in range(2): x = tanh(l(ln(x))), as TorchScript's exporter writes it: the module paths differ
  ModelBuilder build;
  build.model.set_producer_name("pytorch");
  build.input("x", {"N", "4"}).weight("l.weight", {4, 4}).weight("l.bias", {4}, 0, 0).weight("ln.weight", {4}, 1, 0);
  build.weight("bn.weight", {4}, 1, 0)
      .weight("bn.bias", {4}, 0, 0)
      .weight("bn.running_mean", {4}, 0, 0)
      .weight("bn.running_var", {4}, 1, 0);
  std::string x = "x";
  for (const std::string call : {"", "_1"}) {
    build.node("LayerNormalization", {x, "ln.weight"}, {"n" + call}, "/ln" + call + "/LayerNormalization");
    build.node("Gemm", {"n" + call, "l.weight", "l.bias"}, {"h" + call}, "/l" + call + "/Gemm");
    ModelBuilder::integer(
        build.node("BatchNormalization", {"h" + call, "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"},
                   {"b" + call, "m" + call, "v" + call}, "/bn" + call + "/BatchNormalization"),
        "training_mode", 1);
    x = "b" + call;
  }
  build.output(x);
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->notes.empty());
  CHECK(imported->warnings.empty());
  CHECK(inputs_of(imported->network, "/ln_1/LayerNormalization") == std::vector<std::string>{"b", "ln.weight"});
  CHECK(inputs_of(imported->network, "/l_1/Gemm") == std::vector<std::string>{"n_1", "l.weight", "l.bias"});
  CHECK(inputs_of(imported->network, "/bn_1/BatchNormalization") ==
        std::vector<std::string>{"h_1", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"});
}

// As torch's dynamo exporter marks them: in the metadata of the value_info with the initializer's name.
TEST_CASE("what the file marks as a buffer or a constant is not trained") {
  ModelBuilder build(20, 10);
  build.input("x", {"N", "4"}).weight("scale", {4}).weight("shift", {4}).weight("weight", {4}).weight("unmarked", {4});
  const auto mark = [&](const std::string& name, const std::string& kind) {
    onnx::ValueInfoProto& info = *build.graph().add_value_info();
    info.set_name(name);
    info.add_metadata_props()->set_key("pkg.torch.export.graph_signature.InputSpec.kind");
    info.mutable_metadata_props(0)->set_value(kind);
  };
  mark("scale", "BUFFER");
  mark("shift", "CONSTANT_TENSOR");
  mark("weight", "PARAMETER");
  std::string x = "x";
  for (const std::string name : {"scale", "shift", "weight", "unmarked"}) {
    build.node("Mul", {x, name}, {name + "_y"});
    x = name + "_y";
  }
  build.output(x);
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  for (const std::string name : {"scale", "shift", "weight", "unmarked"}) {
    REQUIRE(find_value(imported->network, name));
    CHECK(find_value(imported->network, name)->trainable == (name == "weight" || name == "unmarked"));
  }
}

// An InstanceNorm2d without parameters is written as an InstanceNormalization, which has ones and zeros.
TEST_CASE("the ones and zeros that PyTorch's exporters give a normalization without parameters are not trained") {
  const auto model = [](const std::string& ones, const std::string& zeros) {
    ModelBuilder build(20, 10);
    build.model.set_producer_name("pytorch");
    build.input("x", {"N", "4", "8", "8"}).weight("c.weight", {4, 4, 3, 3});
    build.weight(ones, {4}, 1, 0).weight(zeros, {4}, 0, 0);
    build.conv("x", "c.weight", "", "c", "node_conv2d");
    build.node("InstanceNormalization", {"c", ones, zeros}, {"y"}, "norm");
    return build.output("y");
  };
  const auto trains = [](const Result<ImportedModel>& imported, const std::string& name) {
    REQUIRE(outcome(imported) == "ok");
    const Value* const value = find_value(imported->network, name);
    return value && value->trainable;
  };
  CHECK(trains(model("n.weight", "n.bias").import(), "n.weight"));

  SECTION("dynamo's optimizer notes what it computed them from") {
    const auto noted = [&](const std::string& sources, const std::string& more_parameters) {
      ModelBuilder build = model("val_3", "val_7");
      onnx::NodeProto& norm = *build.graph().mutable_node(1);
      norm.add_metadata_props()->set_key("pkg.torch.onnx.name_scopes");
      norm.mutable_metadata_props(0)->set_value("['', 'n', 'instance_norm']");
      onnx::StringStringEntryProto& list = *build.graph().add_metadata_props();
      list.set_key("pkg.torch.export.ExportedProgram.graph_signature");
      list.set_value("# inputs\np_c_weight: PARAMETER target='c.weight'\n" + more_parameters);
      for (const std::string name : {"val_3", "val_7"}) {
        onnx::ValueInfoProto& info = *build.graph().add_value_info();
        info.set_name(name);
        info.add_metadata_props()->set_key("pkg.onnxscript.optimizer.folded_from");
        info.mutable_metadata_props(0)->set_value(sources);
      }
      const auto imported = build.import();
      CHECK(trains(imported, "val_3") == trains(imported, "val_7"));
      return trains(imported, "val_3");
    };
    const std::string of_norm = "p_n_weight: PARAMETER target='n.weight'\n";
    CHECK_FALSE(noted("['conv2d', 'val_1']", ""));
    CHECK(noted("['n.weight', 'val_1']", of_norm));
    // Equal tensors are merged: they may be the parameter of the same module that is missing, but no other's.
    CHECK(noted("['conv2d', 'val_1']", of_norm));
    CHECK_FALSE(noted("['conv2d', 'val_1']", "p_o_bias: PARAMETER target='o.bias'\n"));
  }
  SECTION("other optimizers keep the names") {
    CHECK_FALSE(trains(model("/n/Constant_output_0", "/n/Constant_1_output_0").import(), "/n/Constant_output_0"));
    CHECK_FALSE(trains(model("val_3", "val_7").import(), "val_3"));
    CHECK(trains(model("/n/Constant_weight", "val_x").import(), "/n/Constant_weight"));
    ModelBuilder of_paddle = model("helper.constant.1", "helper.constant.2");
    of_paddle.model.clear_producer_name();
    CHECK_FALSE(trains(of_paddle.import(), "helper.constant.1"));
  }
  SECTION("if several nodes read them, they may be merged with a parameter: the compiler asks") {
    ModelBuilder build = model("/n/Constant_output_0", "/n/Constant_1_output_0");
    build.graph().clear_output();
    build.node("InstanceNormalization", {"y", "/n/Constant_output_0", "/n/Constant_1_output_0"}, {"z"}, "norm_1");
    const auto imported = build.output("z").import();
    REQUIRE(outcome(imported) == "ok");
    const Value* const ones = find_value(imported->network, "/n/Constant_output_0");
    REQUIRE(ones);
    CHECK(ones->undecided);
  }
  SECTION("a number of the code after a normalization is no scale") {
    for (const std::string name : {"/Constant_output_0", "scale"}) {
      ModelBuilder build = model("n.weight", "n.bias");
      build.graph().clear_output();
      build.weight(name, {}, 2).node("Mul", {"y", name}, {"z"});
      CHECK(trains(build.output("z").import(), name) == (name == "scale"));
    }
  }
}

// plimsoll.export records more than other exporters, and takes precedence over what the compiler would infer.
TEST_CASE("what plimsoll.export says is trained is, and nothing else") {
  const auto model = [](const std::string& notes) {
    ModelBuilder build(20, 10);
    build.input("x", {"N", "4"}).weight("scale", {4}).weight("shift", {4}).weight("weight", {4});
    onnx::StringStringEntryProto& entry = *build.model.add_metadata_props();
    entry.set_key("plimsoll.export");
    entry.set_value(notes);
    std::string x = "x";
    for (const std::string name : {"scale", "shift", "weight"}) {
      build.node("Mul", {x, name}, {name + "_y"});
      x = name + "_y";
    }
    build.output(x);
    return build.import();
  };
  const auto imported = model(
      R"({"schema": 1, "trained": ["weight", "unused"], "frozen": ["shift"], )"
      R"("buffers": ["scale"], "modes": "stated"})");
  REQUIRE(outcome(imported) == "ok");
  for (const std::string name : {"scale", "shift", "weight"}) {
    REQUIRE(find_value(imported->network, name));
    CHECK(find_value(imported->network, name)->trainable == (name == "weight"));
  }
  CHECK(imported->network.modes_are_stated);
  CHECK_FALSE(model(R"({"schema": 1, "trained": ["weight"]})")->network.modes_are_stated);

  for (const std::string broken : {"", "[]", "{", R"({"trained": []})", R"({"schema": 1})",
                                   R"({"schema": 1, "trained": [3]})", R"({"schema": "1", "trained": []})"}) {
    INFO(broken);
    CHECK(model(broken).error().code == ExitCode::invalid_model);
  }
  const auto newer = model(R"({"schema": 2, "trained": ["weight"]})");
  CHECK(newer.error().code == ExitCode::unsupported);
  CHECK_THAT(newer.error().message, Contains("schema 2"));
}

TEST_CASE("the log probabilities that a loss gives are not taken for what its kernel counts") {
  ModelBuilder build;
  build.input("x", {"N", "4"}).input("labels", {"N"}, onnx::TensorProto::INT64).weight("w", {4, 4});
  build.node("MatMul", {"x", "w"}, {"scores"}, "fc");
  build.node("SoftmaxCrossEntropyLoss", {"scores", "labels"}, {"loss", "logs"}, "loss");
  build.output("loss");
  CHECK(outcome(build.import()) == "ok");  // an unread output does not count as one
  build.output("logs");
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains("node 'loss' (SoftmaxCrossEntropyLoss)") &&
                                          Contains("is read, but not supported"));
}

TEST_CASE("what is detached is not trained") {
  ModelBuilder build;
  build.input("x", {"N", "4"}).weight("a", {4, 4}).weight("b", {4, 4});
  build.node("MatMul", {"x", "a"}, {"h"}, "first");
  onnx::NodeProto& cut = build.node("Identity", {"h"}, {"c"}, "node_detach");
  cut.add_metadata_props()->set_key("pkg.torch.onnx.fx_node");
  cut.mutable_metadata_props(0)->set_value(
      "%detach : call_function[target=torch.ops.aten.detach.default](args = (%h,), kwargs = {})");
  build.node("MatMul", {"c", "b"}, {"y"}, "second");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK_FALSE(find_value(imported->network, "a")->trainable);
  CHECK(find_value(imported->network, "b")->trainable);
  REQUIRE(find_node(imported->network, "node_detach"));
  CHECK(find_node(imported->network, "node_detach")->marks.detached);
}

// The dynamo exporter's optimizer merges small equal initializers and leaves no trace.
TEST_CASE("weights that dynamo's optimizer may have merged are named, and those that it has are refused") {
  const auto model = [](const std::string& mean) {
    ModelBuilder build(20, 10);
    build.model.set_producer_name("pytorch");
    build.input("x", {"N", "3", "8", "8"}).weight("w1", {4, 3, 3, 3}).weight("w2", {4, 4, 3, 3});
    build.weight("1.weight", {4}, 1, 0).weight("1.bias", {4}, 0, 0).weight("mean", {4}, 0, 0).weight("var", {4}, 1, 0);
    build.conv("x", "w1", "", "c1", "c1");
    onnx::NodeProto& first = build.node("BatchNormalization", {"c1", "1.weight", "1.bias", mean, "var"}, {"n1"}, "n1");
    for (const auto& [key, value] : {std::pair("pkg.torch.onnx.name_scopes", "['', '1', 'batch_norm']")}) {
      first.add_metadata_props()->set_key(key);
      first.mutable_metadata_props(0)->set_value(value);
    }
    build.conv("n1", "w2", "", "c2", "c2");
    onnx::NodeProto second = build.graph().node(1);
    second.set_name("n2");
    second.set_input(0, "c2");
    second.set_output(0, "n2");
    second.mutable_metadata_props(0)->set_value("['', '3', 'batch_norm']");
    *build.graph().add_node() = second;
    build.output("n2");
    return build;
  };
  const auto shared = model("mean").import();
  REQUIRE(outcome(shared) == "ok");
  CHECK_THAT(shared->perhaps_merged, Contains("4 weights") && Contains("'1.weight' by '1' and '3'"));
  // With the list of the module's parameters: weights that are not missing are shared, and omitted ones are named.
  const auto listed = [&](const std::string& parameters) {
    ModelBuilder build = model("mean");
    onnx::StringStringEntryProto& entry = *build.graph().add_metadata_props();
    entry.set_key("pkg.torch.export.ExportedProgram.graph_signature");
    entry.set_value("# inputs\np_1_weight: PARAMETER target='1.weight'\np_1_bias: PARAMETER target='1.bias'\n" +
                    parameters);
    return build.import();
  };
  CHECK(listed("x: USER_INPUT\n")->perhaps_merged.empty());
  CHECK_THAT(listed("p_3_bias: PARAMETER target='3.bias'\n")->perhaps_merged, Contains("4 weights"));
  // Two of the module's tensors that are equal and apart: the optimizer has not run.
  const auto marked = [&](const std::vector<std::string>& names) {
    ModelBuilder build = model("mean");  // "1.bias" and "mean" are equal, and so are "1.weight" and "var"
    for (const std::string& name : names) {
      onnx::ValueInfoProto& value = *build.graph().add_value_info();
      value.set_name(name);
      value.add_metadata_props()->set_key("pkg.torch.export.graph_signature.InputSpec.kind");
      value.mutable_metadata_props(0)->set_value(name == "mean" || name == "var" ? "BUFFER" : "PARAMETER");
    }
    return build.import();
  };
  CHECK(marked({"1.bias", "mean"})->perhaps_merged.empty());
  CHECK(marked({"1.weight", "1.bias", "var"})->perhaps_merged.empty());
  CHECK_FALSE(marked({"1.bias", "var"})->perhaps_merged.empty());
  CHECK_FALSE(marked({"1.bias"})->perhaps_merged.empty());
  const auto dropped = listed("p_c: PARAMETER target='1.scale'\n");
  CHECK_THAT(dropped->perhaps_merged, Contains("4 weights"));
  CHECK_THAT(outcome(model("1.bias").import()),
             StartsWith("4: initializer '1.bias' is a parameter of 'n1' and a running statistic of 'n1'") &&
                 Contains("optimize=False"));
}

// So does onnxruntime, with initializers of at most 8 elements. It does not keep the nodes' metadata.
TEST_CASE("weights that onnxruntime may have merged are named") {
  const auto model = [](int64_t features, bool by_onnxruntime) {
    ModelBuilder build(17);
    build.input("x", {"N", std::to_string(features)});
    build.weight("scale", {features}, 1, 0).weight("bias", {features}, 0, 0);
    build.node("LayerNormalization", {"x", "scale", "bias"}, {"a"}, "first");
    build.node("LayerNormalization", {"a", "scale", "bias"}, {"y"}, "second");
    if (by_onnxruntime) build.model.add_opset_import()->set_domain("com.microsoft.nchwc");
    return build.output("y");
  };
  const auto merged = model(8, true).import();
  REQUIRE(outcome(merged) == "ok");
  CHECK_THAT(merged->perhaps_merged, Contains("2 weights are read by several nodes: 'scale' by 'first' and 'second'") &&
                                         Contains("or onnxruntime merged equal weights"));
  CHECK(model(9, true).import()->perhaps_merged.empty());
  CHECK(model(8, false).import()->perhaps_merged.empty());
  // TorchScript's exporter, exporting for evaluation, merges equal weights of any size and marks them by Identity
  // nodes. onnxruntime removes these, and its optimizer of transformers also replaces the producer's name.
  const auto of_pytorch = [&](const std::string& producer, bool by_onnxruntime, bool keeps_equal) {
    ModelBuilder build = model(9, by_onnxruntime);
    build.model.set_producer_name(producer);
    if (keeps_equal) build.weight("third.scale", {9}, 1, 0).weight("third.bias", {9}, 0, 0);
    return build.import()->perhaps_merged;
  };
  CHECK_THAT(of_pytorch("pytorch", true, false), Contains("'scale' by 'first' and 'second'") &&
                                                     Contains("or the exporter or onnxruntime merged equal weights"));
  CHECK_THAT(of_pytorch("onnxruntime.transformers", false, false), Contains("2 weights are read by several nodes"));
  CHECK(of_pytorch("pytorch", true, true).empty());
  CHECK(of_pytorch("onnxruntime.transformers", false, true).empty());
  // plimsoll.export lists the parameters: if all of them are there, none was merged.
  const auto listed = [&](const std::string& trained) {
    ModelBuilder build = model(8, true);
    onnx::StringStringEntryProto& entry = *build.model.add_metadata_props();
    entry.set_key("plimsoll.export");
    entry.set_value(R"({"schema": 1, "trained": [)" + trained + R"(], "frozen": [], "buffers": [], "inputs": ["x"]})");
    return build.import()->perhaps_merged;
  };
  CHECK(listed(R"("scale", "bias")").empty());
  CHECK_THAT(listed(R"("scale", "bias", "second.scale")"), Contains("2 weights"));
}

// onnxsim and onnxslim merge equal initializers of any size. onnxsim says so; onnxslim leaves no mark. onnxoptimizer
// leaves none either, and removes the Identity nodes by which TorchScript's exporter marks the weights that it merged.
TEST_CASE("weights that onnxsim, onnxslim or onnxoptimizer may have merged are named") {
  struct Readers { std::string first, second, weight = "norm1.weight", bias = "norm1.bias"; };
  const auto model = [](const Readers& readers, float scale_step = 0) {
    ModelBuilder build(17);
    build.model.set_producer_name("pytorch");
    build.graph().add_value_info()->set_name("a");  // of which onnxslim would give the shape
    build.input("x", {"N", "32"}).weight(readers.weight, {32}, 1, scale_step).weight(readers.bias, {32}, 0, scale_step);
    build.node("LayerNormalization", {"x", readers.weight, readers.bias}, {"a"}, readers.first);
    build.node("LayerNormalization", {"a", readers.weight, readers.bias}, {"y"}, readers.second);
    return build.output("y");
  };
  const auto named = [](const ModelBuilder& build) {
    const auto imported = build.import();
    return outcome(imported) == "ok" ? imported->perhaps_merged : outcome(imported);
  };
  const Readers two = {"/norm1/LayerNormalization", "/norm2/LayerNormalization"};
  CHECK_THAT(named(model(two)), Contains("2 weights are read by several modules: 'norm1.weight' by 'norm1' and "
                                         "'norm2'") && Contains("or a tool merged equal weights"));
  CHECK(named(model(two, 0.25f)).empty());  // not initial values: no two tensors were equal
  ModelBuilder simplified = model(two, 0.25f);
  simplified.model.add_metadata_props()->set_key("onnxsim.removed_nodes.count");
  CHECK_THAT(named(simplified), Contains("2 weights") && Contains("or onnxsim merged equal weights"));
  // onnxoptimizer adds no shapes of values.
  ModelBuilder optimized = model(two);
  optimized.graph().clear_value_info();
  CHECK_THAT(named(optimized), Contains("2 weights") && Contains("or a tool merged equal weights"));
  // A module's own parameters, which it passes to its children, in a file as TorchScript's exporter writes it.
  const auto passed = [&](const std::string& inside, const std::string& owner) {
    ModelBuilder build = model({"/" + inside + "norm1/LayerNormalization", "/" + inside + "norm2/LayerNormalization",
                                owner + "scale", owner + "shift"});
    build.graph().clear_value_info();
    return named(build);
  };
  CHECK(passed("", "").empty());
  CHECK(passed("both/both.", "both.").empty());
  CHECK_THAT(passed("", "norm1.part."), Contains("2 weights"));  // as in nn.MultiheadAttention
  CHECK_THAT(passed("", "other."), Contains("2 weights"));
  // A file with two equal initializers, or with a Constant node, is as it was exported.
  CHECK(named(model(two).weight("other", {32}, 1, 0)).empty());
  CHECK(named(model(two).constant("unread", {1})).empty());
  // One module, called twice or contained in several.
  CHECK(named(model({"/norm1/LayerNormalization", "/norm1_1/LayerNormalization"})).empty());
  CHECK(named(model({"/a/a.1/LayerNormalization", "/b.0/a.1/LayerNormalization", "a.1.weight", "a.1.bias"})).empty());
  CHECK(named(model({"/norm1/Sub/Pow", "/norm1_1/Sub/Pow"})).empty());
  CHECK_THAT(named(model({"/norm1/LayerNormalization", "/norm11/LayerNormalization"})), Contains("2 weights"));
  // Nodes with the names of dynamo's exporter, without its metadata.
  CHECK_THAT(named(model({"node_layer_norm", "node_layer_norm_1"}, 0.25f)), Contains("2 weights"));
}

// A table that is also the last matrix, which an exporter that evaluates constants writes a second time.
TEST_CASE("a weight that the exporter copied gets a warning") {
  const auto model = [](float first, float step, float other) {
    ModelBuilder build(17);
    build.input("ids", {"N", "4"}, onnx::TensorProto::INT64).weight("table", {3, 2}, first, step);
    build.weight("head", {2, 3}, first, step);  // 0 1 2 / 3 4 5
    float items[] = {first, first + 2 * step, first + 4 * step, first + step, first + 3 * step, first + other * step};
    std::string& data = *build.graph().mutable_initializer(1)->mutable_raw_data();
    REQUIRE(data.size() == sizeof items);
    std::memcpy(data.data(), items, sizeof items);
    build.node("Gather", {"table", "ids"}, {"x"}, "embedding");
    build.node("MatMul", {"x", "head"}, {"y"}, "product");
    return build.output("y").import()->warnings;
  };
  const std::vector<std::string> said = model(1, 0.25F, 5);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], StartsWith("1 pair of weights is equal, one transposed: 'table' and 'head'. ") &&
                          Contains("do_constant_folding=False"));
  CHECK(model(1, 0.25F, 6).empty());
  CHECK(model(1, 0, 5).empty());  // initial weights of two layers
  // Two layers that begin with the identity: a symmetric matrix is its own transpose.
  ModelBuilder alike(17);
  alike.input("x", {"N", "2"});
  for (const std::string name : {"first", "second"}) {
    alike.weight(name, {2, 2}, 1, 0);
    const float items[] = {1, 0, 0, 1};
    std::string& data = *alike.graph().mutable_initializer(alike.graph().initializer_size() - 1)->mutable_raw_data();
    REQUIRE(data.size() == sizeof items);
    std::memcpy(data.data(), items, sizeof items);
  }
  alike.node("MatMul", {"x", "first"}, {"a"}, "first");
  alike.node("MatMul", {"a", "second"}, {"y"}, "second");
  CHECK(alike.output("y").import()->warnings.empty());
}

TEST_CASE("the ranges of a written model are the bytes of its weights") {
  const auto imported = small_model().import();
  REQUIRE(outcome(imported) == "ok");
  const ScratchDirectory directory;
  const std::string path = directory / "out.onnx";
  const auto ranges = write_model(*imported->file, path);
  REQUIRE(outcome(ranges) == "ok");
  REQUIRE(ranges->size() == 2);
  const FileRange w = ranges->at("w"), b = ranges->at("b");
  CHECK(w.bytes == 4 * 3 * 3 * 3 * 4);
  CHECK(b.bytes == 16);
  std::string bytes = slurp(path);
  float bias[4];
  std::memcpy(bias, bytes.data() + b.offset, sizeof bias);
  CHECK(bias[3] == 0.75f);

  // Overwriting it in place gives the same model with another weight.
  const float trained[4] = {5, 6, 7, 8};
  std::memcpy(bytes.data() + b.offset, trained, sizeof trained);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes));
  CHECK(std::memcmp(model.graph().initializer(1).raw_data().data(), trained, sizeof trained) == 0);
  CHECK(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "N");
  CHECK(model.graph().node_size() == 2);
}

TEST_CASE("data from outside and typed data are inline in the written model") {
  ModelBuilder build = small_model(17, 10);
  onnx::TensorProto& w = *build.graph().mutable_initializer(0);
  const ScratchDirectory directory;
  directory.write("w.data", w.raw_data());
  const std::string data = w.raw_data();
  w.clear_raw_data();
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  w.add_external_data()->set_key("location");
  w.mutable_external_data(0)->set_value("w.data");
  build.graph().mutable_initializer(1)->clear_raw_data();
  for (int i = 0; i < 4; ++i) build.graph().mutable_initializer(1)->add_float_data(static_cast<float>(i));
  const auto imported = import_onnx(directory.write("m.onnx", build.bytes()), {.batch = 4});
  REQUIRE(outcome(imported) == "ok");
  const auto ranges = write_model(*imported->file, directory / "out.onnx");
  REQUIRE(outcome(ranges) == "ok");
  CHECK(slurp(directory / "out.onnx").substr(static_cast<size_t>(ranges->at("w").offset), data.size()) == data);
  CHECK(ranges->at("b").bytes == 16);
  CHECK_THAT(outcome(write_model(*imported->file, directory / "no/such/place.onnx")), StartsWith("7: "));
}

TEST_CASE("a filled weight of absurd size is refused before it is made") {
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"}).integers("shape", {1 << 20, 1 << 20, 3, 3});
  build.node("ConstantOfShape", {"shape"}, {"w"});
  build.conv("x", "w", "", "y", "conv");
  build.output("y");
  CHECK_THAT(outcome(build.import()), StartsWith("5: ") && Contains("2 GiB"));
}

TEST_CASE("a constant in arithmetic is a frozen weight of the written model") {
  ModelBuilder build;
  build.input("x", {"N", "3"}).constant_real("mean", {0.5f, 0.25f, 0.125f});
  build.node("Sub", {"x", "mean"}, {"y"}, "centre");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  const Value* mean = find_value(imported->network, "mean");
  REQUIRE(mean);
  CHECK(mean->kind == ValueKind::parameter);
  CHECK_FALSE(mean->trainable);
  CHECK(mean->initializer == "mean");
  CHECK_FALSE(mean->constant);
  const ScratchDirectory directory;
  const auto ranges = write_model(*imported->file, directory / "m.onnx");
  REQUIRE(outcome(ranges) == "ok");
  CHECK(ranges->at("mean").bytes == 12);
  CHECK(outcome(import_onnx(directory / "m.onnx", {.batch = 4})) == "ok");
}

TEST_CASE("a single number in arithmetic is a constant") {
  ModelBuilder build;
  build.input("x", {"N", "3"})
      .constant_real("half", {0.5f}, true)
      .constant_real("two", {2}, true)
      .weight("val_3", {}, 4)
      .weight("int64_1_cast", {}, 1);  // of onnxscript's expm1, which dynamo's optimizer has folded
  build.node("Mul", {"half", "two"}, {"one"}, "folded");
  build.node("Mul", {"x", "one"}, {"a"}, "first");
  build.node("Div", {"a", "val_3"}, {"b"}, "second");
  build.node("Sub", {"b", "int64_1_cast"}, {"y"}, "third");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == 3);
  CHECK(find_value(imported->network, "one")->kind == ValueKind::constant);
  CHECK(find_value(imported->network, "one")->constant->reals == std::vector<double>{1});
  CHECK(find_value(imported->network, "val_3")->constant->reals == std::vector<double>{4});
  CHECK(find_value(imported->network, "int64_1_cast")->constant->reals == std::vector<double>{1});
}

// The decision at 2 GiB, tested at a smaller size: the same model becomes one file, two files, one file again.
TEST_CASE("a model that is too large for one file goes into two, and comes back the same") {
  const ScratchDirectory directory;
  const auto imported = small_model().import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(write_model(*imported->file, directory / "one.onnx").ok());
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(directory / "one.onnx"));
  CHECK(!is_too_large_for_one_file(*imported->file));
  CHECK(!is_too_large_for_one_file(*imported->file, bytes));
  CHECK(is_too_large_for_one_file(*imported->file, bytes - 1));

  const auto files = write_model_in_two(*imported->file, directory / "two.onnx");
  REQUIRE(files.ok());
  CHECK(files->ranges.at("w") == FileRange{0, 4 * 3 * 3 * 3 * 4});
  CHECK(files->ranges.at("b").offset % 4096 == 0);
  CHECK(files->weights == weights_name("two.onnx"));
  CHECK(std::filesystem::exists(directory / files->weights));
  const auto is_one = [&](const std::string& model) {
    const auto exported = export_model({.model = directory / model}, directory / "again.onnx");
    REQUIRE(exported.ok());
    CHECK(exported->empty());
    std::ifstream one(directory / "one.onnx"), again(directory / "again.onnx");
    CHECK(std::string(std::istreambuf_iterator<char>(one), {}) ==
          std::string(std::istreambuf_iterator<char>(again), {}));
  };
  is_one("two.onnx");

  // A model that is too large for one file stays in two, also if it replaces another: then its weights take the other
  // name.
  const auto exported =
      export_model({.model = directory / "two.onnx", .most_bytes = bytes - 1}, directory / "large.onnx");
  REQUIRE(exported.ok());
  CHECK(*exported == weights_name("large.onnx"));
  is_one("large.onnx");
  ModelBuilder other = small_model();
  other.graph().set_name("another");
  const auto replacing = other.import();
  const auto second = write_model_in_two(*replacing->file, directory / "large.onnx");
  REQUIRE(second.ok());
  CHECK(second->weights == weights_name("large.onnx "));
  CHECK(!std::filesystem::exists(directory / *exported));
  CHECK(outcome(import_onnx(directory / "large.onnx", {.batch = 4})) == "ok");
}

// As torch's dynamo exporter writes a layer without a bias, without its optimizer.
TEST_CASE("a bias that is computed to be zero is none") {
  ModelBuilder build(20, 10);
  build.input("x", {"N", "3", "8", "8"}).weight("w", {4, 3, 3, 3}).constant_real("zero", {0}, true);
  onnx::NodeProto& shape = build.node("Shape", {"w"}, {"s"});
  ModelBuilder::integer(shape, "start", 0);
  ModelBuilder::integer(shape, "end", 1);
  build.node("CastLike", {"zero", "x"}, {"z"});
  build.node("Expand", {"z", "s"}, {"b"});
  build.conv("x", "w", "b", "y", "conv");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  REQUIRE(imported->network.nodes.size() == 1);
  CHECK(imported->network.nodes[NodeId(0)].inputs.size() == 2);
}

TEST_CASE("an exporter that folded batch normalizations, or writes them for evaluation only, is quoted") {
  ModelBuilder build = small_model(20, 10);
  onnx::StringStringEntryProto& rule = *build.graph().mutable_node(0)->add_metadata_props();
  rule.set_key("pkg.onnxscript.rewriter.rule_name");
  rule.set_value("RemoveOptionalBiasFromConv, FuseBatchNormIntoConv");
  const auto folded = build.import();
  REQUIRE(outcome(folded) == "ok");
  REQUIRE(folded->warnings.size() == 1);
  CHECK_THAT(folded->warnings[0],
             Contains("folded 1 batch normalization into") && Contains("dynamo=True, optimize=False"));
  CHECK_THAT(outcome(build.import({.batch = 4, .require_normalization = true})),
             StartsWith("4: the exporter folded 1 batch normalization"));

  ModelBuilder scopes(20, 10);
  scopes.input("x", {"N", "3", "4", "4"})
      .weight("scale", {3})
      .weight("bias", {3})
      .weight("mean", {3})
      .weight("var", {3});
  scopes.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  scopes.output("y");
  CHECK_THAT(scopes.import()->warnings[0], Contains("To keep the running statistics: --modes as-exported"));
  CHECK(scopes.import({.batch = 4, .modes_are_given = true})->warnings.empty());  // the user has answered
  CHECK(outcome(scopes.import({.batch = 4, .strict = true, .modes_are_given = true})) == "ok");
  const ImportOptions required{.batch = 4, .require_normalization = true, .modes_are_given = true};
  CHECK_THAT(outcome(scopes.import(required)), StartsWith("4: the model has 1 batch normalization in evaluation mode"));
  onnx::StringStringEntryProto& scope = *scopes.graph().mutable_node(0)->add_metadata_props();
  scope.set_key("pkg.torch.onnx.name_scopes");
  scope.set_value("['', 'bn', 'batch_norm']");
  CHECK(scopes.import()->warnings.empty());  // it writes the same node for both modes
  CHECK(outcome(scopes.import(required)) == "ok");
}

TEST_CASE("an export for evaluation is told from one that never had batch normalization") {
  const auto chain = [](const std::string& weight, const std::string& bias, bool required = false, int count = 9) {
    ModelBuilder build;
    build.model.set_producer_name("pytorch");
    build.input("x0", {"N", "3", "8", "8"});
    // A name that begins with a dot is that of a module's own tensor, as "3.weight".
    const auto named = [](const std::string& n, const std::string& name) {
      return name.starts_with('.') ? n + name : name + n;
    };
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      build.weight(named(n, weight), {3, 3, 3, 3}).weight(named(n, bias), {3}, static_cast<float>(i));
      build.conv("x" + n, named(n, weight), named(n, bias), "x" + std::to_string(i + 1));
    }
    build.output("x" + std::to_string(count));
    return build.import({.batch = 4, .require_normalization = required});
  };
  const auto folded = chain("w", "b"), vgg = chain(".weight", ".bias");
  REQUIRE(outcome(folded) == "ok");
  REQUIRE(folded->warnings.size() == 1);
  CHECK_THAT(folded->warnings[0], Contains("TrainingMode.TRAINING, do_constant_folding=False, dynamo=False"));
  CHECK(vgg->warnings.empty());
  // If normalizations are required, they are reported missing both where they were folded and where there never were
  // any.
  CHECK_THAT(outcome(chain("w", "b", true)), StartsWith("4: 9 of 9 convolutions have a bias"));
  CHECK_THAT(outcome(chain(".weight", ".bias", true)), StartsWith("4: the model has no batch normalization."));
  // In a small network, names tell: those of TorchScript's exporter, onnxsim, onnxruntime and onnxslim. weight_norm
  // leaves the bias alone.
  for (const std::string name :
       {"onnx::Conv_", "_v_", "ConvBnFusion_W_", "/1/BatchNormalization_output_0_weight"}) {
    const auto small = chain(name + "1", name + "2", false, 2);
    REQUIRE(outcome(small) == "ok");
    REQUIRE(small->warnings.size() == 1);
    const std::string said = "the weight and the bias of 2 of 2 convolutions were computed during the export, as '";
    CHECK_THAT(small->warnings[0], StartsWith(said + name));
  }
  CHECK(chain("onnx::Conv_1", ".bias", false, 2)->warnings.empty());
  CHECK(chain("w", "b", false, 2)->warnings.empty());
  CHECK(chain(".weight", ".bias", false, 2)->warnings.empty());
}

// What a plan needs of a model: the large weights stay in their files, and all findings about them are still reported.
TEST_CASE("weights that are not held are looked at all the same") {
  const int64_t rows = GENERATE(int64_t{40}, int64_t{150});  // a few kilobytes, and many
  const auto side = std::to_string(rows);
  ModelBuilder build;
  build.input("x", {"N", side, side}).weight("w", {rows, rows}, -7).weight("table", {1, rows, rows}, -3);
  build.weight("mask", {1, rows, rows}, 0, 0);
  build.constant_real("zero", {0}, true).constant_real("fill", {-1}, true);
  for (const int64_t at : {int64_t{5}, int64_t{6}, rows * rows - 1})
    // -infinity
    build.graph().mutable_initializer(2)->mutable_raw_data()->replace(4 * static_cast<size_t>(at), 4,
                                                                      std::string("\0\0\x80\xff", 4));
  build.graph().mutable_initializer(0)->mutable_raw_data()->replace(4 * 77, 8,
                                                                    std::string("\0\0\xc0\x7f\0\0\x80\xff", 8));
  build.node("MatMul", {"x", "w"}, {"h"}, "matmul");
  build.node("Equal", {"table", "zero"}, {"m"}, "equal");
  build.node("Where", {"m", "fill", "h"}, {"chosen"}, "where");
  build.node("Add", {"chosen", "mask"}, {"y"}, "add");
  build.output("y");
  const ScratchDirectory directory;
  for (onnx::TensorProto& tensor : *build.graph().mutable_initializer()) {
    directory.write(tensor.name() + ".data", tensor.raw_data());
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& location = *tensor.add_external_data();
    location.set_key("location");
    location.set_value(tensor.name() + ".data");
  }
  const std::string path = directory.write("m.onnx", build.bytes());
  const auto held = import_onnx(path, {.batch = 4}),
             looked_at = import_onnx(path, {.batch = 4, .holds_weights = false});
  REQUIRE(outcome(held) == "ok");
  REQUIRE(outcome(looked_at) == "ok");
  CHECK(held->warnings == looked_at->warnings);
  REQUIRE(held->warnings.size() == 1);
  CHECK_THAT(held->warnings[0], Contains("2 weights in 1 tensor are") && Contains("'w': 2"));
  REQUIRE(held->network.values.size() == looked_at->network.values.size());
  for (const ValueId id : ids_of(held->network.values)) {
    const Value &a = held->network.values[id], &b = looked_at->network.values[id];
    CAPTURE(a.name);
    CHECK(a.name == b.name);
    CHECK(a.type == b.type);
    CHECK(a.trainable == b.trainable);
    if (a.name == "w" || a.name == "mask") CHECK(a.trainable == (a.name == "w"));
    CHECK(a.constant.has_value() == b.constant.has_value());
    const bool same = !a.constant || (a.constant->ints == b.constant->ints && a.constant->reals == b.constant->reals);
    CHECK(same);
  }
  CHECK(held->network.nodes.size() == looked_at->network.nodes.size());

  std::filesystem::resize_file(directory / "w.data", 100);
  CHECK_THAT(outcome(import_onnx(path, {.batch = 4, .holds_weights = false})),
             StartsWith("3: initializer 'w': its external data"));
}
