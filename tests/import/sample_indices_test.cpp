// Reads and writes by sample numbers, as PyTorch's exporters write x[arange(N), i] and x[:, 2:5] = y: the resulting
// nodes, and what is rejected. tools/bench/parity.py compares the numbers with PyTorch's.
#include <catch2/catch.hpp>
#include <optional>

#include "tests/import/model_builder.h"
#include "tests/import/spelled.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

namespace {

// x [N,10,8], n = 0, 1, 2, … of the samples, i [N] computed.
struct Indexed {
  ModelBuilder build = ModelBuilder(18);

  explicit Indexed(const std::string& samples = "N") {
    build.input("x", {samples, "10", "8"}).weight("w", {8, 8});
    build.node("MatMul", {"x", "w"}, {"h"});
    build.constant_scalar("zero", 0).constant_scalar("one", 1).constant("last", {-1}).constant("front", {0});
    if (samples == "N") {
      onnx::NodeProto& shape = build.node("Shape", {"x"}, {"samples"});
      ModelBuilder::integer(shape, "start", 0);
      ModelBuilder::integer(shape, "end", 1);
      build.node("Squeeze", {"samples", "front"}, {"count"});
    } else {
      build.constant_scalar("count", std::stoll(samples));
    }
    build.node("Range", {"zero", "count", "one"}, {"n"});
    onnx::NodeProto& largest = build.node("ArgMax", {"h"}, {"of_columns"});
    ModelBuilder::integer(largest, "axis", 1);
    ModelBuilder::integer(largest, "keepdims", 0);
    onnx::NodeProto& first = build.node("Gather", {"of_columns", "zero"}, {"i"});
    ModelBuilder::integer(first, "axis", 1);
  }

  // [[n, i]], as the dynamo exporter concatenates them.
  void pair(const std::string& i) {
    build.node("Max", {"n", i}, {"like"});
    build.node("Shape", {"like"}, {"shape"});
    build.node("Expand", {"n", "shape"}, {"all_n"});
    build.node("Unsqueeze", {"all_n", "last"}, {"column_n"});
    build.node("Unsqueeze", {i, "last"}, {"column_i"});
    ModelBuilder::integer(build.node("Concat", {"column_n", "column_i"}, {"pairs"}), "axis", -1);
  }
  onnx::NodeProto& pick(const std::string& op, const std::vector<std::string>& inputs) {
    build.output("y");
    return build.node(op, inputs, {"y"}, "pick");
  }
  // After the MatMul.
  std::string said(const ImportOptions& options = {.batch = 4}) const {
    const auto imported = build.import(options);
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& node : imported->network.nodes)
      if (node.op != "MatMul" && node.op != "ArgMax") ops += node.op + " ";
    return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  }
};

void of_reduction(onnx::NodeProto& node, const std::string& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("reduction");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

}  // namespace

TEST_CASE("a computed number of each sample picks within it") {
  for (const char* samples : {"N", "4", "1"}) {  // also with the batch of the exporter's example as a number
    INFO(samples);
    Indexed dynamo(samples);
    dynamo.pair("i");
    dynamo.pick("GatherND", {"h", "pairs"});
    CHECK(dynamo.said() == "Gather Unsqueeze Reshape Reshape Expand GatherElements Reshape [N,8]");

    Indexed torchscript(samples);
    torchscript.build.constant_scalar("rows", 10).constant("flat", {-1, 8});
    torchscript.build.node("Reshape", {"h", "flat"}, {"all_rows"});
    torchscript.build.node("Mul", {"n", "rows"}, {"begins"});
    torchscript.build.node("Add", {"begins", "i"}, {"numbers"});
    torchscript.pick("Gather", {"all_rows", "numbers"});
    CHECK(torchscript.said() == "Gather Reshape Reshape Reshape Expand GatherElements Reshape [N,8]");
  }
}

TEST_CASE("the number of the only sample may mean a row of something that is computed later") {
  Indexed later("1");
  later.build.node("Unsqueeze", {"n", "last"}, {"column_n"});
  later.build.node("Unsqueeze", {"i", "last"}, {"column_i"});
  ModelBuilder::integer(later.build.node("Concat", {"column_n", "column_i"}, {"pairs"}), "axis", -1);
  later.build.node("Relu", {"h"}, {"later"});
  later.pick("GatherND", {"later", "pairs"});
  CHECK_THAT(later.said(), Contains("5: ") && Contains("picks from samples by computed numbers"));
}

TEST_CASE("numbers of each sample by ONNX's own batch_dims") {
  Indexed given;
  given.build.node("Unsqueeze", {"i", "last"}, {"column"});
  ModelBuilder::integer(given.pick("GatherND", {"h", "column"}), "batch_dims", 1);
  CHECK(given.said() == "Gather Unsqueeze Reshape Reshape Expand GatherElements Reshape [N,8]");
}

TEST_CASE("numbers along two axes of each sample count from the end where they are negative") {
  Indexed two;
  two.build.node("Unsqueeze", {"n", "last"}, {"column_n"});
  two.build.node("Unsqueeze", {"i", "last"}, {"column_i"});
  ModelBuilder::integer(two.build.node("Concat", {"column_n", "column_i", "column_i"}, {"triples"}), "axis", -1);
  two.pick("GatherND", {"h", "triples"});
  CHECK(two.said() ==
        "Gather Unsqueeze Reshape Less Add Where Less Add Where Mul Add Reshape GatherElements Reshape [N]");
}

TEST_CASE("what is written at a computed place of each sample") {
  const auto said = [](const std::string& reduction) {
    Indexed put;
    put.pair("i");
    put.build.node("Gather", {"h", "zero"}, {"first"});
    ModelBuilder::integer(*put.build.graph().mutable_node(put.build.graph().node_size() - 1), "axis", 1);
    of_reduction(put.pick("ScatterND", {"h", "pairs", "first"}), reduction);
    return put.said();
  };
  const std::string expected =
      "Gather Unsqueeze Gather Reshape Reshape Expand Reshape ScatterElements Reshape [N,10,8]";
  CHECK(said("none") == expected);
  CHECK(said("add") == expected);
  CHECK_THAT(said("mul"), Contains("5: ") && Contains("reduction mul with indices of each sample"));
}

TEST_CASE("numbers of samples are refused where something else is made of them") {
  Indexed kept;
  kept.build.constant_scalar("rows", 10);
  kept.build.node("Mul", {"n", "rows"}, {"begins"});
  kept.build.node("Add", {"begins", "i"}, {"numbers"});
  onnx::NodeProto& cast = kept.pick("Cast", {"numbers"});
  ModelBuilder::integer(cast, "to", onnx::TensorProto::FLOAT);
  CHECK_THAT(kept.said(), Contains("5: ") && Contains("depends on the batch"));

  Indexed other;  // steps of 7 in rows of 10
  other.build.constant_scalar("rows", 7).constant("flat", {-1, 8});
  other.build.node("Reshape", {"h", "flat"}, {"all_rows"});
  other.build.node("Mul", {"n", "rows"}, {"begins"});
  other.build.node("Add", {"begins", "i"}, {"numbers"});
  other.pick("Gather", {"all_rows", "numbers"});
  CHECK_THAT(other.said(), Contains("5: ") && Contains("its indices step by 7 from sample to sample"));
}

// Assigning to h[:, rows] with TorchScript's exporter: the numbers of samples and rows, broadcast to both dimensions.
TEST_CASE("known rows of each sample are written by Split and Concat where they follow one another") {
  const auto said = [](const std::vector<int64_t>& rows, const std::string& reduction) {
    Indexed put;
    const int64_t count = static_cast<int64_t>(rows.size());
    put.build.constant("rows", rows).constant("column", {-1, 1});
    put.build.constant("count_of_rows", {count}).constant("axis", {1});
    put.build.node("Reshape", {"n", "column"}, {"n_in_front"});
    ModelBuilder::integer(put.build.node("Concat", {"samples", "count_of_rows"}, {"shape"}), "axis", 0);
    put.build.node("Expand", {"n_in_front", "shape"}, {"all_n"});
    put.build.node("Expand", {"rows", "shape"}, {"all_rows"});
    put.build.node("Unsqueeze", {"all_n", "last"}, {"column_n"});
    put.build.node("Unsqueeze", {"all_rows", "last"}, {"column_rows"});
    ModelBuilder::integer(put.build.node("Concat", {"column_n", "column_rows"}, {"pairs"}), "axis", -1);
    put.build.node("Slice", {"h", "front", "count_of_rows", "axis"}, {"updates"});
    of_reduction(put.pick("ScatterND", {"h", "pairs", "updates"}), reduction);
    return put.said();
  };
  CHECK(said({2, 3, 4}, "none") == "Slice Reshape Reshape Split Concat Reshape [N,10,8]");
  CHECK(said({0, 1}, "none") == "Slice Reshape Reshape Split Concat Reshape [N,10,8]");
  CHECK(said({1, 7, 4}, "none") == "Slice Reshape Reshape Gather Where Reshape [N,10,8]");
  CHECK(said({1, 7, 4}, "max") == "Slice Reshape Reshape Gather Max Where Reshape [N,10,8]");
  CHECK(said({1, 7, 1}, "add") == "Slice Reshape Reshape Expand ScatterElements Reshape [N,10,8]");
  CHECK_THAT(said({1, 7, 1}, "mul"), Contains("5: ") && Contains("writes an element twice with reduction mul"));
}

// More indices than are stored: those of each dimension are enough.
TEST_CASE("a part that is cut out of each sample is written however large it is") {
  ModelBuilder build(18);
  build.input("x", {"N", "1500", "1500"}).constant("front", {0}).constant("last", {-1});
  build.node("Relu", {"x"}, {"h"});
  onnx::NodeProto& samples = build.node("Shape", {"x"}, {"samples"});
  ModelBuilder::integer(samples, "start", 0);
  ModelBuilder::integer(samples, "end", 1);
  build.node("Squeeze", {"samples", "front"}, {"count"});
  build.constant_scalar("zero", 0).constant_scalar("one", 1).constant_scalar("end", 1500);
  build.constant("inner", {1499, 1500});
  build.node("Range", {"zero", "count", "one"}, {"n"});
  build.node("Range", {"one", "end", "one"}, {"rows"});
  build.node("Range", {"zero", "end", "one"}, {"columns"});
  build.constant("as_samples", {-1, 1, 1}).constant("as_rows", {-1, 1});
  build.node("Reshape", {"n", "as_samples"}, {"n3"});
  build.node("Reshape", {"rows", "as_rows"}, {"rows3"});
  ModelBuilder::integer(build.node("Concat", {"samples", "inner"}, {"shape"}), "axis", 0);
  std::vector<std::string> columns;
  for (const char* name : {"n3", "rows3", "columns"}) {
    build.node("Expand", {name, "shape"}, {std::string(name) + "_all"});
    columns.push_back(std::string(name) + "_column");
    build.node("Unsqueeze", {std::string(name) + "_all", "last"}, {columns.back()});
  }
  ModelBuilder::integer(build.node("Concat", columns, {"triples"}), "axis", -1);
  build.constant("begin", {1}).constant("stop", {1500}).constant("axis", {1});
  build.node("Slice", {"x", "begin", "stop", "axis"}, {"updates"});
  build.node("ScatterND", {"h", "triples", "updates"}, {"y"}, "put");
  build.output("y");
  const auto imported = build.import();
  REQUIRE(outcome(imported) == "ok");
  std::string ops;
  for (const Node& node : imported->network.nodes) ops += node.op + " ";
  CHECK(ops == "Relu Slice Split Reshape Concat ");
}

TEST_CASE("zeros that were written down for the samples of an example follow the batch") {
  Indexed state;
  state.build.constant_real("zeros", std::vector<float>(2 * 8, 0)).constant("as_example", {2, 1, 8});
  state.build.constant("wide", {1, 8});
  state.build.node("Reshape", {"zeros", "as_example"}, {"of_example"});
  ModelBuilder::integer(state.build.node("Concat", {"samples", "wide"}, {"shape"}), "axis", 0);
  state.build.node("Expand", {"of_example", "shape"}, {"of_samples"});
  ModelBuilder::integer(state.pick("Concat", {"h", "of_samples"}), "axis", 1);
  CHECK_THAT(state.said(), Contains("Concat [N,11,8]"));
}

TEST_CASE("what indices read or write in a constant that is alike for the samples of an example follows the batch") {
  const auto said = [](const std::vector<float>& items, bool reads) {
    Indexed sums("3");
    sums.build.constant_real("items", items).constant("as_example", {3, 4, 8}).constant("wide", {1, 1, 8});
    sums.build.node("Reshape", {"items", "as_example"}, {"of_example"});
    onnx::NodeProto& rows = sums.build.node("ArgMax", {"h"}, {"rows"});  // [N,10,1]
    ModelBuilder::integer(rows, "axis", 2);
    sums.build.node("Expand", {"rows", "wide"}, {"places"});
    if (reads) sums.pick("GatherElements", {"of_example", "places"});
    else of_reduction(sums.pick("ScatterElements", {"of_example", "places", "h"}), "add");
    ModelBuilder::integer(*sums.build.graph().mutable_node(sums.build.graph().node_size() - 1), "axis", 1);
    return sums.said();
  };
  std::vector<float> zeros(3 * 4 * 8, 0);
  CHECK(said(zeros, false) == "Expand Expand ScatterElements [N,4,8]");
  std::vector<float> alike;
  for (int i = 0; i < 3 * 4 * 8; ++i) alike.push_back(static_cast<float>(i % (4 * 8)));
  CHECK(said(alike, true) == "Expand Expand GatherElements [N,10,8]");
  zeros.back() = 1;  // the samples of the example differ
  CHECK_THAT(said(zeros, false), Contains("5: ") && Contains("do not cover the batch of f32[3,4,8]"));
}

// z = torch.zeros(len(i), 5, dtype=torch.long); z[:, 1::2] = i, as TorchScript's exporter writes it for three samples.
TEST_CASE("what is assigned within a constant of an example's samples follows the batch") {
  const auto said = [](std::vector<int64_t> zeros) {
    Indexed put("3");
    std::vector<int64_t> pairs;
    for (const int64_t sample : {0, 1, 2})
      for (const int64_t place : {1, 3}) pairs.insert(pairs.end(), {sample, place});
    put.build.constant("flat_pairs", pairs).constant("of_pairs", {3, 2, 2}).constant("wide", {1, 2});
    put.build.constant("flat_zeros", zeros).constant("of_zeros", {3, 5});
    put.build.node("Reshape", {"flat_pairs", "of_pairs"}, {"pairs"});
    put.build.node("Reshape", {"flat_zeros", "of_zeros"}, {"zeros"});
    put.build.node("Unsqueeze", {"i", "last"}, {"column"});
    put.build.node("Expand", {"column", "wide"}, {"updates"});
    put.pick("ScatterND", {"zeros", "pairs", "updates"});
    return put.said();
  };
  std::vector<int64_t> zeros(3 * 5, 0);
  CHECK(said(zeros) == "Gather Unsqueeze Expand Expand Reshape Reshape Gather Where Reshape [N,5]");
  zeros.back() = 1;  // the samples of the example differ
  CHECK_THAT(said(zeros), Contains("fixes the batch"));
}

TEST_CASE("a constant that is alike for several rows of each sample is stretched") {
  Indexed ones;
  ones.build.constant("flat", {-1, 8}).constant_real("one_real", {1}, true);
  ones.build.node("Reshape", {"h", "flat"}, {"rows"});
  onnx::NodeProto& sum = ones.build.node("ReduceSum", {"rows", "last"}, {"sums"});
  ModelBuilder::integer(sum, "keepdims", 1);
  ones.build.node("Shape", {"sums"}, {"shape"});
  ones.build.node("Expand", {"one_real", "shape"}, {"ones"});
  ModelBuilder::integer(ones.pick("Concat", {"rows", "sums", "ones"}), "axis", -1);
  CHECK_THAT(ones.said(), Contains("Expand Reshape Concat [10N,10]"));
}

// z = torch.zeros(len(i), 5, dtype=torch.long); z[:, 1::2] = i, as the dynamo exporter writes it: with the steps first.
TEST_CASE("integers may be written into new ones of each sample") {
  Indexed put;
  put.build.constant("width", {5}).constant("places", {1, 3}).constant("column", {2, 1}).constant("two", {2});
  ModelBuilder::integer(put.build.node("Concat", {"samples", "width"}, {"shape"}), "axis", 0);
  put.build.node("Expand", {"zero", "shape"}, {"zeros"});
  ModelBuilder::ints(put.build.node("Transpose", {"zeros"}, {"turned"}), "perm", {1, 0});
  put.build.node("Reshape", {"places", "column"}, {"rows"});
  ModelBuilder::integer(put.build.node("Concat", {"two", "samples"}, {"of_updates"}), "axis", 0);
  put.build.node("Expand", {"i", "of_updates"}, {"updates"});
  put.build.node("ScatterND", {"turned", "rows", "updates"}, {"written"});
  ModelBuilder::ints(put.pick("Transpose", {"written"}), "perm", {1, 0});
  CHECK(put.said() == "Gather Expand Expand Reshape Reshape Gather Where Reshape Transpose [N,5]");
}

TEST_CASE("an affine grid is a product with the places of an even one") {
  const auto said = [](const std::vector<int64_t>& size, const std::string& samples) {
    ModelBuilder build(20);
    build.input("theta", {samples, "2", "3"}).integers("size", size);
    build.output("y");
    build.node("AffineGrid", {"theta", "size"}, {"y"}, "grid");
    const auto imported = build.import();
    if (!imported.ok()) return outcome(imported);
    std::string ops;
    for (const Node& node : imported->network.nodes) ops += node.op + " ";
    return ops + to_string(imported->network.values[imported->network.outputs[0]].type.dims);
  };
  CHECK(said({4, 3, 5, 7}, "4") == "Transpose MatMul Reshape [N,5,7,2]");
  CHECK_THAT(said({3, 3, 5, 7}, "4"), Contains("5: ") && Contains("a grid of [3] samples"));
  CHECK_THAT(said({4, 3, 5, 7, 2}, "4"), Contains("4: ") && Contains("theta is [N,2,3]"));
}

// As TorchScript's exporter writes diagonal() within each sample.
TEST_CASE("picks that are the same within each sample are a Gather along the axes that they index") {
  const auto said = [](int64_t depth, const std::vector<int64_t>& numbers, bool of_channels = false) {
    Spelled spelled;
    spelled.build.input("x", {"N", "3", "4", "2"}).constant("places", numbers).constant("zero", {0});
    const int64_t channels = of_channels ? 3 : 1, count = static_cast<int64_t>(numbers.size()) / channels / depth;
    std::vector<int64_t> tail = {count, depth};
    if (of_channels) tail.insert(tail.begin(), channels);
    std::vector<int64_t> each = tail;
    each.insert(each.begin(), 1);
    spelled.build.constant("each", each).constant("tail", tail);
    spelled.build.node("Reshape", {"places", "each"}, {"one"});
    spelled.build.node("Shape", {"x"}, {"shape"});
    spelled.build.node("Gather", {"shape", "zero"}, {"samples"});
    ModelBuilder::integer(spelled.build.node("Concat", {"samples", "tail"}, {"wanted"}), "axis", 0);
    spelled.build.node("Expand", {"one", "wanted"}, {"indices"});
    ModelBuilder::integer(spelled.node("GatherND", {"x", "indices"}), "batch_dims", of_channels ? 2 : 1);
    return spelled.said();
  };
  CHECK(said(1, {0, -1}) == "Gather [N,2,4,2]");
  CHECK(said(2, {0, 0, 1, 1, -1, 3}) == "Reshape Gather [N,3,2]");
  CHECK(said(3, {0, 0, 0, 2, 3, 1}) == "Reshape Gather [N,2]");
  CHECK(said(1, {3, 0, 3, 0, 3, 0}, true) == "Gather [N,3,2,2]");
  CHECK(said(2, {3, 0, 3, 0, 3, 0}, true) == "Reshape Gather [N,3,1]");
  CHECK_THAT(said(1, {3, 0, 3, 0, 3, 1}, true), Contains("its indices differ along the axes of batch_dims"));
  CHECK_THAT(said(1, {0, 3}), Contains("4: node 'node' (GatherND): index 3 is out of range for axis 1 of [N,3,4,2]"));
  CHECK_THAT(said(4, {0, 0, 0, 0, 1, 1, 1, 1}), Contains("indexes 4 axes of [N,3,4,2], beginning with axis 1"));
}

// A window that is shifted by 0 in one direction, as torchvision's Swin for videos writes its mask.
TEST_CASE("writing into a part without elements changes nothing") {
  ModelBuilder build(18);
  build.input("x", {"N", "8", "4"});
  build.node("Relu", {"x"}, {"h"});
  build.constant("from", {0}).constant("to", {0}).constant("axis", {1});
  build.node("Slice", {"h", "from", "to", "axis"}, {"none"});  // [N,0,4]
  build.constant("rows", {2, 1}).constant("two", {0, 1}).node("Reshape", {"two", "rows"}, {"indices"});
  build.node("ScatterND", {"none", "indices", "none"}, {"still_none"});
  ModelBuilder::integer(build.node("Concat", {"still_none", "h"}, {"y"}), "axis", 1);
  build.output("y");
  const auto imported = build.import({.batch = 2});
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == 1);
}
