// The zoo: what it writes is whole, named as PyTorch names it, and as large as the networks are known to be.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <unistd.h>

#include "compiler/import/model_file.h"
#include "models/weights.h"
#include "models/zoo.h"
#include "onnx/onnx.pb.h"

using namespace plimsoll;

namespace {

// A path in a folder that goes away with the test program.
std::string temporary(const std::string& name) {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("plimsoll-zoo-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return (folder.path / name).string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

onnx::ModelProto written(const std::string& spec) {
  const std::string path = temporary("model.onnx");
  const Result<std::string> summary = write_zoo_model(spec, path);
  INFO((summary.ok() ? *summary : summary.error().message));
  REQUIRE(summary.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes_of(path)));
  std::filesystem::remove(path);
  return model;
}

int64_t parameters(const std::string& spec) {
  const Result<ZooFacts> facts = zoo_facts(spec);
  INFO((facts.ok() ? spec : facts.error().message));
  REQUIRE(facts.ok());
  return facts->parameters;
}

std::string refusal(const std::string& spec) {
  const Result<ZooFacts> facts = zoo_facts(spec);
  REQUIRE(!facts.ok());
  CHECK(facts.error().code == ExitCode::usage);
  return facts.error().message;
}

}  // namespace

TEST_CASE("the networks have the parameters of their published implementations") {
  CHECK(parameters("lenet") == 61'706);
  CHECK(parameters("gpt") == 124'439'808);  // Hugging Face's gpt2
  CHECK(parameters("vit") == 86'567'656);   // torchvision's vit_b_16
  CHECK(parameters("alexnet") == 62'378'344);
  CHECK(parameters("alexnet:groups=2") == 60'965'224);  // as in Caffe
  CHECK(parameters("alexnet:torchvision=1,input=224") == 61'100'840);
  CHECK(parameters("overfeat") == 145'920'872);
  CHECK(parameters("vgg11") == 132'863'336);
  CHECK(parameters("vgg13") == 133'047'848);
  CHECK(parameters("vgg16") == 138'357'544);
  CHECK(parameters("vgg19") == 143'667'240);
  CHECK(parameters("vgg16:batch_norm=1") == 138'365'992);
  CHECK(parameters("vgg:conv=13") == 138'357'544);
  CHECK(parameters("googlenet") == 6'624'904);
  CHECK(parameters("googlenet:paper=1") == 6'998'552);
  CHECK(parameters("inception_v3") == 23'834'568);
  CHECK(parameters("inception_v4") == 42'679'816);
  CHECK(parameters("densenet121") == 7'978'856);
  CHECK(parameters("densenet169") == 14'149'480);
  CHECK(parameters("densenet201") == 20'013'928);
  CHECK(parameters("mobilenet_v2") == 3'504'872);
  CHECK(parameters("unet") == 31'037'698);
  CHECK(parameters("resnet18") == 11'689'512);
  CHECK(parameters("resnet34") == 21'797'672);
  CHECK(parameters("resnet50") == 25'557'032);
  CHECK(parameters("resnet101") == 44'549'160);
  CHECK(parameters("resnet152") == 60'192'808);
  CHECK(parameters("resnet20") == 272'474);  // with projections as shortcuts (option B)
  CHECK(parameters("resnet:n=3,4,6,3") == 25'557'032);
  CHECK(parameters("resnet:n=2,2,2,2,block=basic,input=64") == 11'689'512);
}

TEST_CASE("every model of the zoo is a graph whose names are unique and made before use") {
  for (const ZooModel& zoo : zoo_models()) {
    INFO(zoo.name);
    CHECK(!zoo.summary.empty());
    const onnx::ModelProto model = written(zoo.name + ":init=zeros");
    std::set<std::string> values, nodes;
    for (const auto& value : model.graph().input()) CHECK(values.insert(value.name()).second);
    for (const auto& tensor : model.graph().initializer()) CHECK(values.insert(tensor.name()).second);
    for (const auto& node : model.graph().node()) {
      CHECK(nodes.insert(node.name()).second);
      for (const std::string& input : node.input()) CHECK((input.empty() || values.count(input) == 1));
      for (const std::string& output : node.output()) CHECK(values.insert(output).second);
    }
    CHECK(values.count("output") == 1);
  }
}

TEST_CASE("names are those that PyTorch's exporter gives") {
  const onnx::ModelProto model = written("resnet18:input=32,width=4,classes=10");
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) names.insert(node.name());
  CHECK(names.count("/conv1/Conv") == 1);
  CHECK(names.count("/layer1/layer1.0/conv1/Conv") == 1);
  CHECK(names.count("/layer2/layer2.0/downsample/downsample.0/Conv") == 1);
  CHECK(names.count("/layer1/layer1.0/Add") == 1);
  std::set<std::string> weights;
  for (const auto& tensor : model.graph().initializer()) weights.insert(tensor.name());
  CHECK(weights.count("layer1.0.conv1.weight") == 1);
  CHECK(weights.count("layer1.0.bn1.running_var") == 1);
  CHECK(weights.count("fc.bias") == 1);
}

TEST_CASE("the batch is symbolic unless it is given") {
  CHECK(written("lenet").graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "N");
  const onnx::ModelProto fixed = written("lenet:batch=8,channels=3,input=28");
  const auto& shape = fixed.graph().input(0).type().tensor_type().shape();
  CHECK(shape.dim(0).dim_value() == 8);
  CHECK(shape.dim(1).dim_value() == 3);
  CHECK(shape.dim(2).dim_value() == 28);
}

TEST_CASE("all steps of an LSTM use the same weights") {
  const onnx::ModelProto model = written("lstm:steps=5,layers=2");
  CHECK(model.graph().initializer_size() == 2 * 3 + 2);
  int64_t uses = 0;
  for (const auto& node : model.graph().node())
    uses += std::count(node.input().begin(), node.input().end(), "lstm.weight_hh_l1");
  CHECK(uses == 4);  // the state before the first step is zero
}

TEST_CASE("segmentation networks give a class to every pixel") {
  for (const std::string spec : {"fcn:input=96,width=8,hidden=16", "fcn:input=90,width=8,hidden=16,pad1=100",
                                 "unet:input=48,width=4,classes=21,depth=3"}) {
    INFO(spec);
    const auto input = written(spec).graph().input(0).type().tensor_type().shape();
    const auto output = written(spec).graph().output(0).type().tensor_type().shape();
    CHECK(output.dim(1).dim_value() == 21);
    CHECK(output.dim(2).dim_value() == input.dim(2).dim_value());
    CHECK(output.dim(3).dim_value() == input.dim(3).dim_value());
  }
}

TEST_CASE("weights depend on the seed and the name only, and are spread as they should be") {
  const std::string a = temporary("a.onnx"), b = temporary("b.onnx"), c = temporary("c.onnx");
  REQUIRE(write_zoo_model("lenet", a).ok());
  REQUIRE(write_zoo_model("lenet:seed=0", b).ok());
  REQUIRE(write_zoo_model("lenet:seed=1", c).ok());
  CHECK(bytes_of(a) == bytes_of(b));
  CHECK(bytes_of(a) != bytes_of(c));

  std::vector<float> all(1 << 20), piece(1000);
  const uint64_t key = weight_key(7, "conv1.weight");
  fill_normal(all, key, 0, 0.5);
  fill_normal(piece, key, 12345, 0.5);
  CHECK(std::equal(piece.begin(), piece.end(), all.begin() + 12345));
  double sum = 0, squares = 0, products = 0;
  int64_t beyond = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    sum += all[i];
    squares += static_cast<double>(all[i]) * all[i];
    products += i > 0 ? static_cast<double>(all[i]) * all[i - 1] : 0;
    beyond += std::abs(all[i]) > 1.0F;  // two deviations: 4.55 % of a normal distribution
  }
  const double n = static_cast<double>(all.size());
  CHECK(std::abs(sum / n) < 0.002);
  CHECK(std::abs(squares / n - 0.25) < 0.001);
  CHECK(std::abs(products / n) < 0.001);
  CHECK(static_cast<double>(beyond) / n == Approx(0.0455).margin(0.002));
}

TEST_CASE("the file is what a whole message would be, whatever way it was written") {
  const onnx::ModelProto model = written("lenet");
  CHECK(model.ir_version() == 8);
  CHECK(model.opset_import(0).version() == 17);
  for (const auto& tensor : model.graph().initializer()) {
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims()) elements *= dim;
    CHECK(static_cast<int64_t>(tensor.raw_data().size()) == 4 * elements);
  }
}

TEST_CASE("weights that do not fit a message lie beside the model") {
  const std::string path = temporary("zeros.onnx");
  REQUIRE(write_zoo_model("resnet18:init=zeros", path).ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes_of(path)));
  int64_t end = 0;
  for (const auto& tensor : model.graph().initializer()) {
    CHECK(tensor.data_location() == onnx::TensorProto::EXTERNAL);
    CHECK(tensor.external_data(0).value() == "zeros.onnx.data");
    CHECK(std::stoll(tensor.external_data(1).value()) >= end);
    end = std::stoll(tensor.external_data(1).value()) + std::stoll(tensor.external_data(2).value());
  }
  CHECK(static_cast<int64_t>(std::filesystem::file_size(path + ".data")) >= end);
  std::filesystem::remove(path + ".data");
}

TEST_CASE("a model that takes the place of another keeps its hands off that one's weights") {
  const std::string path = temporary("replaced.onnx");
  const auto beside = [&] {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(bytes_of(path)));
    return model.graph().initializer(0).external_data(0).value();
  };
  REQUIRE(write_zoo_model("lenet:init=zeros", path).ok());
  CHECK(beside() == "replaced.onnx.data");
  REQUIRE(write_zoo_model("lenet:init=zeros", path).ok());  // the same: any of its weights are right
  CHECK(beside() == "replaced.onnx.data");
  const auto line = write_zoo_model("lenet:init=zeros,classes=7", path);
  REQUIRE(line.ok());
  CHECK(beside() == weights_name("replaced.onnx"));
  CHECK_THAT(*line, Catch::Contains("weights in ") && Catch::Contains(beside()));
  CHECK(!std::filesystem::exists(path + ".data"));
  REQUIRE(write_zoo_model("lenet:init=zeros", path).ok());
  CHECK(beside() == "replaced.onnx.data");
  CHECK(!std::filesystem::exists(std::filesystem::path(path).parent_path() / weights_name("replaced.onnx")));
  std::filesystem::remove(path + ".data");
}

TEST_CASE("what cannot be is refused with its reason") {
  CHECK_THAT(refusal("resnet51"), Catch::Contains("no model is called 'resnet51'") && Catch::Contains("resnet50"));
  CHECK_THAT(refusal(""), Catch::Contains("lenet"));
  CHECK_THAT(refusal("lenet:size=3"), Catch::Contains("lenet has no parameter 'size'") && Catch::Contains("classes"));
  CHECK_THAT(refusal("lenet:input=3,input=4"), Catch::Contains("twice"));
  CHECK_THAT(refusal("lenet:32"), Catch::Contains("key=value"));
  CHECK_THAT(refusal("lenet:input=big"), Catch::Contains("input=big is not an integer from 1 to 16384"));
  CHECK_THAT(refusal("lenet:input=99999999999999999999"), Catch::Contains("is not an integer"));
  CHECK_THAT(refusal("lenet:batch=0"), Catch::Contains("or N"));
  CHECK_THAT(refusal("lenet:input=8"), Catch::Contains("layer 'conv2'") && Catch::Contains("5x5") &&
                                           Catch::Contains("2x2"));
  CHECK_THAT(refusal("resnet:n=1,2,3,4,5,6,7,input=2048"), Catch::Contains("7 stages"));
  CHECK_THAT(refusal("resnet:n=3,x"), Catch::Contains("list of integers"));
  CHECK_THAT(refusal("resnet18:stem=tiny"), Catch::Contains("imagenet, cifar"));
  CHECK_THAT(refusal("vgg:conv=9"), Catch::Contains("9 convolutions"));
  CHECK_THAT(refusal("vgg:groups=1,2,3"), Catch::Contains("5 groups") && Catch::Contains("3"));
  CHECK_THAT(refusal("unet:input=100"), Catch::Contains("multiple of 16"));
  CHECK_THAT(refusal("fcn:input=100"), Catch::Contains("multiple of 32"));
  CHECK_THAT(refusal("inception_v3:input=64"), Catch::Contains("a larger input= helps"));
  CHECK_THAT(refusal("resnet:width=4096,n=4096,4096,4096,4096,4096,4096"), Catch::Contains("exceed 1024"));
}

TEST_CASE("a file that cannot be written leaves nothing behind") {
  const Result<std::string> result = write_zoo_model("lenet", "/nowhere/at/all/lenet.onnx");
  REQUIRE(!result.ok());
  CHECK(result.error().code == ExitCode::unwritable_output);
  CHECK_THAT(result.error().message, Catch::Contains("/nowhere/at/all/lenet.onnx"));
  const std::string folder = temporary("taken.onnx");
  std::filesystem::create_directory(folder);
  CHECK(!write_zoo_model("lenet", folder).ok());
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(folder).parent_path()))
    CHECK(file.path().filename().string().find(".plimsoll-") == std::string::npos);
}
