// As many indices as samples: what PyTorch's dynamo exporter writes for as_strided, after a mean over channels-last
// images.
#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

struct Strides {
  int64_t first = 0;     // the first element
  int64_t sample = 6;    // from one sample to the next
  int64_t channel = 1;   // from one channel to the next
  int64_t channels = 6;  // the number of channels taken, out of 6
  bool ones = false;     // TorchScript's exporter counts with NonZero of ones instead of Range
};

// 0, 1, … below `count`, a number or a list of one.
void count_to(ModelBuilder& build, bool ones, const std::string& count, const std::string& to) {
  if (!ones) {
    build.node("Range", {"zero", count, "one"}, {to});
    return;
  }
  build.node("Reshape", {count, "open"}, {count + "_list"});
  onnx::TensorProto one;
  one.set_data_type(onnx::TensorProto::INT64);
  one.add_dims(1);
  one.add_int64_data(1);
  ModelBuilder::tensor_attribute(build.node("ConstantOfShape", {count + "_list"}, {count + "_ones"}), "value", one);
  build.node("NonZero", {count + "_ones"}, {count + "_row"});
  ModelBuilder::ints(build.node("Transpose", {count + "_row"}, {count + "_column"}), "perm", {1, 0});
  build.node("Squeeze", {count + "_column", "one_row"}, {to});
}

// y[n, c, 0, 0] = flat[first + sample·n + channel·c] of a mean [N,6,1,1].
std::string said(const Strides& strides) {
  ModelBuilder build(18);
  build.input("x", {"N", "6", "4", "4"}).weight("w", {6, 6, 3, 3});
  build.conv("x", "w", "", "c");
  build.node("GlobalAveragePool", {"c"}, {"mean"});
  build.constant("open", {-1})
      .constant_scalar("zero", 0)
      .constant_scalar("one", 1)
      .constant("front", {0})
      .constant("behind", {1, 2, 3});
  build.constant("pixels", {1, 2})
      .constant_scalar("channels", strides.channels)
      .constant_scalar("first", strides.first);
  build.constant_scalar("per_channel", strides.channel)
      .constant("per_sample", {strides.sample})
      .constant("one_row", {1});
  build.node("Reshape", {"mean", "open"}, {"flat"});
  onnx::NodeProto& shape = build.node("Shape", {"x"}, {"samples"});
  ModelBuilder::integer(shape, "start", 0);
  ModelBuilder::integer(shape, "end", 1);
  build.node("Squeeze", {"samples", "front"}, {"n"});
  count_to(build, strides.ones, "n", "rows");
  build.node("Mul", {"rows", "per_sample"}, {"begins"});
  build.node("Unsqueeze", {"begins", "behind"}, {"of_samples"});
  count_to(build, strides.ones, "channels", "numbers");
  build.node("Mul", {"numbers", "per_channel"}, {"offsets"});
  build.node("Unsqueeze", {"offsets", "pixels"}, {"of_channels"});
  build.constant("count", {strides.channels});
  ModelBuilder::integer(build.node("Concat", {"samples", "count", "one_row", "one_row"}, {"wide"}), "axis", 0);
  build.node("Expand", {"of_channels", "wide"}, {"everywhere"});
  build.node("Add", {"everywhere", "of_samples"}, {"sum"});
  build.node("Add", {"sum", "first"}, {"indices"});
  build.node("Gather", {"flat", "indices"}, {"y"}, "pick");
  build.output("y");
  const auto imported = build.import();
  if (!imported.ok()) return outcome(imported);
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
}

}  // namespace

TEST_CASE("indices that count through all samples are a reshape") {
  CHECK(said({}) == "Conv GlobalAveragePool Reshape Reshape [N,6,1,1]");
  CHECK(said({.ones = true}) == "Conv GlobalAveragePool Reshape Reshape [N,6,1,1]");
}

TEST_CASE("indices that are the same within each sample pick of each the same") {
  CHECK(said({.first = 1, .channels = 4}) == "Conv GlobalAveragePool Reshape Reshape Gather [N,4,1,1]");
  CHECK(said({.first = 1, .channels = 4, .ones = true}) ==
        "Conv GlobalAveragePool Reshape Reshape Gather [N,4,1,1]");
  CHECK(said({.first = 5, .channel = -1}) == "Conv GlobalAveragePool Reshape Reshape Gather [N,6,1,1]");
}

TEST_CASE("indices that leave their sample are refused, with the node") {
  for (const Strides& strides : {Strides{.first = 1}, Strides{.channel = 2}, Strides{.sample = 5},
                                 Strides{.channel = int64_t{1} << 60}, Strides{.first = -1}}) {
    INFO(strides.first << " " << strides.channel << " " << strides.sample);
    CHECK_THAT(said(strides), Contains("5: ") && Contains("node 'pick' (Gather)") && Contains("depend on the batch"));
  }
}
