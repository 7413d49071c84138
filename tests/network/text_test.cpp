// Passes on networks, each run on a text:   RUN: PASS [--images=nChw16c] [--freeze=PATTERN] [--trainable=PATTERN]
// [--keep=PATTERN]
#include <map>

#include "compiler/ir/network_text.h"
#include "compiler/network/check.h"
#include "compiler/network/composites.h"
#include "compiler/network/freeze.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/joined_slices.h"
#include "compiler/network/layout.h"
#include "compiler/network/pipeline.h"
#include "compiler/training/build.h"
#include "tests/text_case.h"

using namespace plimsoll;

namespace {

Layout layout_named(const std::string& name) {
  for (size_t i = 0; i < kLayoutNames.size(); ++i)
    if (kLayoutNames[i] == name) return static_cast<Layout>(i);
  FAIL("'" << name << "' is not a layout");
  return Layout::plain;
}

// The expected output: the notes of the pass, as comments, and the network; or the error.
std::string after_pass(const TextCase& text_case, Network network) {
  const std::string pass = text_case.run.substr(0, text_case.run.find(' '));
  std::vector<std::string> notes;
  if (pass == "fuse") {
    fuse(network);
  } else if (pass == "fuse_activations") {
    fuse_activations(network);
  } else if (pass == "fuse_additions") {
    fuse_additions(network);
  } else if (pass == "join_slices") {
    join_slices(network);
  } else if (pass == "composites") {
    fuse_composites(network);
  } else if (pass == "layout") {
    assign_layouts(network, layout_named(text_case.option("images", "nChw16c")));
  } else if (pass == "precision") {
    PrecisionRequest request{.precision =
                                 text_case.option("type", "bf16") == "fp16" ? Precision::fp16 : Precision::bf16};
    if (const std::string pattern = text_case.option("keep", ""); !pattern.empty()) request.keep_fp32 = {pattern};
    if (const Status status = assign_precision(network, request); !status.ok()) return status.error().message;
  } else {
    REQUIRE(pass == "freeze");
    WeightPatterns patterns;
    if (const std::string pattern = text_case.option("freeze"); !pattern.empty()) patterns.freeze = {pattern};
    if (const std::string pattern = text_case.option("trainable"); !pattern.empty()) patterns.trainable = {pattern};
    if (const Status status = freeze_weights(network, patterns, notes); !status.ok()) return status.error().message;
  }
  std::string text;
  for (const std::string& note : notes) text += "# " + note + "\n";
  CHECK(check_network(network).ok());
  return text + to_text(network);
}

}  // namespace

TEST_CASE("network passes on texts") {
  run_text_cases(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases", [](const TextCase& text_case) -> TextResults {
    auto network = network_from_text(text_case.input("in"), "in");
    INFO((network.ok() ? "" : network.error().message));
    REQUIRE(network.ok());
    const Status checked = check_network(*network);
    INFO((checked.ok() ? "" : checked.error().message));
    REQUIRE(checked.ok());
    return {{"out", after_pass(text_case, std::move(*network))}};
  });
}

TEST_CASE("a network of a text is checked before a pass sees it") {
  const std::string head =
      "network n v1 imported\nvalue %x input f32[N,4]\nvalue %w parameter f32[4,3] initializer=w\n";
  const auto error = [&](const std::string& rest) {
    const auto network = network_from_text(head + rest + "input %x\noutput %y\n");
    if (!network.ok()) return network.error().message;
    const Status status = check_network(*network);
    return status.ok() ? "" : status.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK(error("value %y intermediate f32[N,3]\nnode n MatMul opset=13 read %x %w write %y\n") == "");
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n MatMul opset=13 read %x %w write %y\n"),
             Contains("f32[N,4]; expected f32[N,3]"));
  CHECK_THAT(error("value %y intermediate f32[N,3]\nnode n MatMul opset=13 read %x write %y\n"),
             Contains("input 1 is missing"));
  CHECK_THAT(error("value %y intermediate f32[N,3]\nnode n MatMul opset=2147483648 read %x %w write %y\n"),
             Contains("at most 2147483647"));
  CHECK_THAT(error("value %y intermediate f32[N,3]\nnode n Matmul opset=13 read %x %w write %y\n"),
             Contains("unknown operator"));
  CHECK_THAT(error("value %y intermediate f32[N,3]\nnode n MatMul opset=13 read %x %w write %y relu\n"),
             Contains("applies relu to its output"));
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n Add opset=13 read %x %x write %y relu swish\n"),
             Contains("'swish' is not expected here"));
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n Relu opset=13 read %x write %y transposed_a\n"),
             Contains("a mark that its operator does not support"));
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n Relu opset=13 read %x write %y detached\n"),
             Contains("a mark that its operator does not support"));
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n Relu opset=13 read %x write %y frozen_statistics\n"),
             Contains("a mark that its operator does not support"));
  CHECK_THAT(error("value %y intermediate f32[N,4]\nnode n Relu opset=13 read %x write %y {frozen=1}\n"),
             Contains("its operator has no attribute 'frozen'"));
}

TEST_CASE("frozen statistics are in the text of a network, and its tasks follow from the text") {
  const auto text = [](const char* mark) {
    return std::string(
               "network bn v1 trainable\nvalue %x input f32[N,4]\n"
               "value %scale parameter f32[4] trainable initializer=scale\n"
               "value %bias parameter f32[4] trainable initializer=bias\n"
               "value %mean statistic f32[4] initializer=mean\nvalue %var statistic f32[4] initializer=var\n"
               "value %target input f32[N,4]\nvalue %y intermediate f32[N,4]\nvalue %loss intermediate f32[1]\n"
               "node bn BatchNormalization opset=17 read %x %scale %bias %mean %var write %y {epsilon=0.001}") +
           mark + "\nnode loss MseLoss opset=0 read %y %target write %loss\ninput %x\ninput %target\noutput %loss\n";
  };
  const auto forward = [&](const char* mark) {
    const auto network = network_from_text(text(mark));
    INFO((network.ok() ? "" : network.error().message));
    REQUIRE(network.ok());
    CHECK(to_text(*network) == text(mark));
    const Status checked = check_network(*network);
    INFO((checked.ok() ? "" : checked.error().message));
    REQUIRE(checked.ok());
    const auto graph = build_task_graph(*network, {.batch = 8});
    INFO((graph.ok() ? "" : graph.error().message));
    REQUIRE(graph.ok());
    return graph->tasks[TaskId(0)];
  };
  const Task trains = forward(""), keeps = forward(" frozen_statistics");
  CHECK(trains.mixes_samples);
  CHECK_FALSE(keeps.mixes_samples);
  CHECK(trains.operands[3].access == Access::update);
  CHECK(keeps.operands[3].access == Access::read);
}

TEST_CASE("a network of a text may omit inputs that ONNX requires, as the import does") {
  const auto error = [](const std::string& value, const std::string& node) {
    const auto network = network_from_text("network n v1 imported\nvalue %x input f32[N,4]\nvalue %y intermediate " +
                                           value + "\nnode n " + node + "\ninput %x\noutput %y\n");
    if (!network.ok()) return network.error().message;
    const Status status = check_network(*network);
    return status.ok() ? "" : status.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK(error("f32[N,4]", "LayerNormalization opset=17 read %x write %y") == "");
  CHECK(error("f32[N,2,2]", "Reshape opset=17 read %x write %y {shape=[-1,2,2]}") == "");
  CHECK_THAT(error("f32[N,2,2]", "Reshape opset=17 read %x write %y"), Contains("not known at compile time"));
  CHECK_THAT(error("f32[N,2,2]", "Reshape opset=17 write %y {shape=[-1,2,2]}"), Contains("input 0 is missing"));
  CHECK_THAT(error("f32[N,4]", "MatMul opset=17 read %x write %y"), Contains("input 1 is missing"));
}
