// What is said about operators that are not supported: the PyTorch module of the node, and what to use instead.
#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string told_about(const std::string& op) {
  ModelBuilder build;
  build.input("x", {"N", "4"}).node(op, {"x"}, {"y"}, "odd");
  return outcome(build.output("y").import());
}

void put_origin(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *node.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

TEST_CASE("operators that PyTorch's exporters write are refused with what to use instead") {
  for (const auto& [op, advice] :
       {std::pair("NonZero", "a label that the loss ignores"), std::pair("Compress", "a label that the loss ignores"),
        std::pair("Loop", "for a Python loop over a fixed number of steps"), std::pair("Scan", "torch.while_loop"),
        std::pair("Unique", "F.one_hot"), std::pair("DeformConv", "F.grid_sample"),
        std::pair("Det", "of a small matrix by its elements"), std::pair("MaxUnpool", "F.interpolate"),
        std::pair("NonMaxSuppression", "--output"), std::pair("RoiAlign", "F.grid_sample"),
        std::pair("Multinomial", "give them as an input"), std::pair("BitwiseAnd", "logical_and"),
        std::pair("SequenceInsert", "torch.stack"), std::pair("StringNormalizer", "convert them to numbers")}) {
    CAPTURE(op);
    CHECK_THAT(told_about(op), StartsWith("5: ") && Contains(std::string(op) + ": 1 node, 'odd'") && Contains(advice));
  }
}

TEST_CASE("an operator of another domain has no advice of ONNX's") {
  ModelBuilder build;
  build.input("x", {"N", "4"}).node("Det", {"x"}, {"y"}, "odd").set_domain("com.example");
  CHECK_THAT(outcome(build.output("y").import()), Contains("com.example::Det: 1 node") && !Contains("by its elements"));
}

TEST_CASE("a node that dynamo's exporter wrote is named with its module") {
  ModelBuilder build;
  build.input("x", {"N", "4"});
  put_origin(build.node("Det", {"x"}, {"y"}, "node_linalg_det"), "pkg.torch.onnx.name_scopes",
             "['', 'body', 'body.area', 'linalg_det']");
  put_origin(build.node("Det", {"y"}, {"z"}, "node_linalg_det_1"), "pkg.torch.onnx.name_scopes", "['', 'linalg_det']");
  build.node("MaxUnpool", {"z"}, {"u"}, "/body/grow/MaxUnpool");  // the names of TorchScript's nodes begin with it
  CHECK_THAT(outcome(build.output("u").import()),
             Contains("Det: 2 nodes, 'node_linalg_det' of module 'body.area', 'node_linalg_det_1' | ") &&
                 Contains("MaxUnpool: 1 node, '/body/grow/MaxUnpool' | "));
}
