// The zoo: what it writes is whole, named as PyTorch names it, and as large as the networks are known to be.
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "models/weights.h"
#include "models/zoo.h"
#include "onnx/onnx.pb.h"

using namespace plimsoll;

namespace {

std::string temporary(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("plimsoll-zoo-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  return (folder / name).string();
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
    CHECK(file.path().filename().string().find(".tmp-") == std::string::npos);
}
