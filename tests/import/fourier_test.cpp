// DFT is written as a product. ONNX's node tests (tests/node) check the numbers.
#include <catch2/catch.hpp>

#include <cstdint>

#include "model_builder.h"
#include "spelled.h"

using namespace plimsoll;
using Catch::Matchers::Contains;

TEST_CASE("a Fourier transform is a product with a constant matrix") {
  const auto said = [](int64_t axis, const char* last, bool onesided, int64_t length, bool inverse) {
    Spelled spelled;
    spelled.build = ModelBuilder(20);
    spelled.build.input("x", {"N", "6", "5", last}).constant_scalar("axis", axis).constant_scalar("length", length);
    onnx::NodeProto& node = spelled.node("DFT", {"x", length ? "length" : "", "axis"});
    ModelBuilder::integer(node, "onesided", onesided);
    ModelBuilder::integer(node, "inverse", inverse);
    return spelled.said();
  };
  CHECK(said(2, "1", false, 0, false) == "Reshape MatMul Reshape [N,6,5,2]");
  CHECK(said(-2, "1", true, 0, false) == "Reshape MatMul Reshape [N,6,3,2]");
  CHECK(said(1, "2", false, 0, true) == "Transpose Reshape MatMul Reshape Transpose [N,6,5,2]");
  CHECK(said(1, "2", false, 9, false) == "Transpose Reshape MatMul Reshape Transpose [N,9,5,2]");
  Spelled older;  // the axis is an attribute
  older.build.input("x", {"N", "6", "5", "1"});
  older.node("DFT", {"x"});
  CHECK(older.said() == "Transpose Reshape MatMul Reshape Transpose [N,6,5,2]");
  CHECK_THAT(said(0, "2", false, 0, false), Contains("5: node 'node' (DFT): it transforms across samples"));
  CHECK_THAT(said(3, "2", false, 0, false), Contains("4: node 'node' (DFT): its input is [N,6,5,2], axis 3"));
  CHECK_THAT(said(1, "3", false, 0, false), Contains("4: node 'node' (DFT): its input is [N,6,5,3], axis 1"));
  CHECK(said(2, "2", true, 0, true) == "Reshape MatMul Reshape [N,6,8,1]");
  CHECK(said(2, "2", true, 9, true) == "Reshape MatMul Reshape [N,6,9,1]");
  CHECK_THAT(said(1, "2", true, 0, false), Contains("4: node 'node' (DFT): its input is [N,6,5,2]; onesided, it"));
  CHECK_THAT(said(1, "1", true, 0, true), Contains("transforms complex numbers"));
  CHECK_THAT(said(1, "2", false, 4000000, false), Contains("5: node 'node' (DFT): a transform of length 4000000"));
  CHECK_THAT(said(1, "2", false, INT64_MAX, false), Contains("5: node 'node' (DFT): a transform of length 9223"));
  CHECK_THAT(said(1, "2", false, -4, false), Contains("4: node 'node' (DFT): a transform of length -4"));
}
