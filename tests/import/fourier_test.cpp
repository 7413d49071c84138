// DFT is written as a product, STFT as a convolution. ONNX's node tests (tests/node) check the numbers.
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

TEST_CASE("Fourier transforms of frames are a convolution") {
  const auto said = [](std::vector<std::string> signal, int64_t step, int64_t window, int64_t length, bool onesided) {
    Spelled spelled;
    spelled.build = ModelBuilder(20);
    spelled.build.input("x", std::move(signal)).constant_scalar("step", step).constant_scalar("length", length);
    spelled.build.constant_scalar("size", window);
    if (window != 0) spelled.build.node("HannWindow", {"size"}, {"window"});
    onnx::NodeProto& node = spelled.node("STFT", {"x", "step", window ? "window" : "", length ? "length" : ""});
    ModelBuilder::integer(node, "onesided", onesided);
    return spelled.said();
  };
  const std::string written = "Reshape Transpose Conv Transpose Reshape ";
  CHECK(said({"N", "40", "1"}, 4, 0, 16, true) == written + "[N,7,9,2]");
  CHECK(said({"N", "40"}, 5, 16, 0, true) == written + "[N,5,9,2]");
  CHECK(said({"N", "40", "2"}, 40, 16, 16, false) == written + "[N,1,16,2]");
  CHECK_THAT(said({"N", "40", "2"}, 4, 0, 16, true), Contains("4: node 'node' (STFT): its signal is [N,40,2]; one"));
  CHECK_THAT(said({"N", "40", "3"}, 4, 0, 16, true), Contains("its signal is [N,40,3]; expected [samples, length, 1"));
  CHECK_THAT(said({"40", "N", "1"}, 4, 0, 16, true), Contains("5: node 'node' (STFT): it transforms across samples"));
  CHECK_THAT(said({"N", "40", "1"}, 0, 0, 16, true), Contains("frames of 16 at every 0 numbers, of a signal of 40"));
  CHECK_THAT(said({"N", "40", "1"}, 4, 0, INT64_MAX, true), Contains("frames of 9223372036854775807 at every 4"));
  CHECK_THAT(said({"N", "40", "1"}, 4, 0, -1, true), Contains("a transform of length -1"));
  CHECK_THAT(said({"N", "40", "1"}, 4, 12, 16, true), Contains("a window of 12 numbers, for frames of 16"));
  CHECK_THAT(said({"N", "40", "1"}, 4, 0, 0, true), Contains("a transform of length 0"));
  // Of more than a constant may have.
  CHECK(said({"N", "2048", "1"}, 512, 0, 2048, true) ==
        "Reshape Transpose Conv Conv Concat Transpose Reshape [N,1,1025,2]");
  CHECK_THAT(said({"N", "8192"}, 512, 0, 8192, true), Contains("needs a matrix of more than 20971520 elements"));

  ModelBuilder build(20);
  build.input("x", {"N", "40"}).weight("window", {4, 4}, 1, 0).constant_scalar("step", 4);
  build.node("STFT", {"x", "step", "window"}, {"y"}, "node");
  CHECK_THAT(outcome(build.output("y").import()), Contains("4: node 'node' (STFT): its window is [4,4]; expected one"));
}

TEST_CASE("a window that is trained, or computed from something trained, multiplies the kernels of a Conv") {
  const auto said = [](const std::string& trained, bool computed) {
    Spelled spelled;
    spelled.build = ModelBuilder(20, 10);
    spelled.build.input("x", {"N", "40", "1"}).constant_scalar("step", 4).weight("w", {16});
    onnx::StringStringEntryProto& entry = *spelled.build.model.add_metadata_props();
    entry.set_key("plimsoll.export");
    entry.set_value(R"({"schema": 1, "trained": [)" + trained + R"(], "frozen": [], "buffers": []})");
    if (computed) spelled.build.node("Sigmoid", {"w"}, {"window"});
    spelled.node("STFT", {"x", "step", computed ? "window" : "w"});
    return spelled.said();
  };
  CHECK(said("", false) == "Reshape Transpose Conv Transpose Reshape [N,7,9,2]");
  CHECK(said(R"("w")", false) == "Reshape Transpose Mul Conv Transpose Reshape [N,7,9,2]");
  CHECK(said(R"("w")", true) == "Sigmoid Reshape Transpose Mul Conv Transpose Reshape [N,7,9,2]");
  Spelled fed;
  fed.build = ModelBuilder(20);
  fed.build.input("x", {"N", "40", "1"}).input("w", {"N", "16"}).constant_scalar("step", 4);
  fed.node("STFT", {"x", "step", "w"});
  CHECK_THAT(fed.said(), Contains("4: node 'node' (STFT): its window is [N,16]; expected one dimension"));
}

TEST_CASE("a model whose operators need too many constants is refused") {
  ModelBuilder build(20);
  build.input("x", {"N", "4096"}).constant_scalar("step", 512).constant_scalar("length", 4096);
  for (int i = 0; i < 20; ++i)
    build.node("STFT", {"x", "step", "", "length"}, {"y" + std::to_string(i)}, "node" + std::to_string(i));
  for (int i = 0; i < 20; ++i) build.output("y" + std::to_string(i));
  const std::string said = outcome(build.import());
  CHECK_THAT(said, Contains("5: "));
  CHECK_THAT(said, !Contains("'node3'") && Contains("'node4' (STFT): the constants that replace operators before it"));
}
