// The graph for iterations of several rounds.
#include <catch2/catch.hpp>

#include "compiler/ir/task_graph_text.h"

namespace plimsoll {
namespace {

// A gradient read by two update tasks: first for the common factor of all gradients, then by the update itself.
constexpr const char* kClipped = R"(graph clipped v1 batch=8
tensor %w weight f32[4,2] persistent
tensor %x input f32[N,4]
tensor %t input f32[N,2]
tensor %y activation f32[N,2]
tensor %loss activation f32[1]
tensor %dy activation_gradient f32[N,2]
tensor %dw weight_gradient f32[4,2]
tensor %factor stash f32[1]
task forward Gemm forward layer=fc Test{} read %x read %w write %y
task loss Loss loss layer=loss Test{} read %y read %t write %loss write %dy
task weights Gemm backward_weights layer=fc Test{} read %x read %dy write %dw
task clip Update update layer=gradients Test{} read %dw write %factor
task w.update Update update layer=fc Test{} update %w read %dw read %factor
input %x
input %t
loss %loss
output %y
)";

}  // namespace

TEST_CASE("over several rounds a gradient is added to, and cleared by the last update that looks at it") {
  const auto graph = graph_from_text(kClipped);
  INFO((graph.ok() ? "" : graph.error().message));
  REQUIRE(graph.ok());
  const TaskGraph rounds = accumulating(*graph);
  const std::string text = to_text(rounds);
  INFO(text);
  CHECK(text.find("%dw weight_gradient f32[4,2] persistent") != std::string::npos);
  CHECK(text.find("read %dy update %dw") != std::string::npos);
  CHECK(text.find("read %dw write %factor") != std::string::npos);
  CHECK(text.find("update %w update %dw read %factor") != std::string::npos);
  CHECK(to_text(accumulating(rounds)) == text);
}

TEST_CASE("over several rounds a gradient in bf16 is summed in f32, also where an update reads a part of it") {
  std::string given = kClipped;
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = given.find(from);
    REQUIRE(at != given.npos);
    given.replace(at, from.size(), to);
  };
  replace("%dw weight_gradient f32[4,2]", "%dw weight_gradient bf16[4,2]");
  replace("update %w read %dw read %factor", "update %w read %dw as bf16[4] from 8 read %factor");
  const auto graph = graph_from_text(given);
  INFO((graph.ok() ? "" : graph.error().message));
  REQUIRE(graph.ok());
  const std::string text = to_text(accumulating(*graph));
  INFO(text);
  CHECK(text.find("%dw weight_gradient f32[4,2] persistent") != std::string::npos);
  CHECK(text.find("update %w update %dw as f32[4] from 16 read %factor") != std::string::npos);
  CHECK(text.find("bf16") == std::string::npos);
}

}  // namespace plimsoll
