// The graph in which large weights are updated slice by slice.
#include <catch2/catch.hpp>

#include "compiler/ir/task_graph_text.h"

namespace plimsoll {
namespace {

// 640 bytes, with momentum and a factor shared by all elements; %b is small.
constexpr const char* kMomentum = R"(graph momentum v1 batch=8
tensor %w weight f32[16,10] persistent
tensor %b weight f32[10] persistent
tensor %w.v optimizer_state f32[16,10] persistent
tensor %dw weight_gradient f32[16,10]
tensor %db weight_gradient f32[10]
tensor %factor stash f32[1]
task clip Update update layer=gradients Test{} read %dw read %db write %factor
task w.update Update update layer=fc Test{rate=0.5} update %w read %dw update %w.v read %factor flops=640 once
task b.update Update update layer=fc Test{} update %b read %db read %factor once
)";

TaskGraph graph_of(const std::string& text) {
  const auto graph = graph_from_text(text);
  INFO((graph.ok() ? "" : graph.error().message));
  REQUIRE(graph.ok());
  return *graph;
}

std::string task_lines(const TaskGraph& graph) {
  std::string text = to_text(graph);
  return text.substr(text.find("task"));
}

}  // namespace

TEST_CASE("a large weight is updated slice by slice, with its state and its part of the gradient") {
  const TaskGraph cut = sliced(graph_of(kMomentum), 256);
  const std::string text = to_text(cut);
  INFO(text);
  CHECK(cut.slice_bytes == 256);
  CHECK(text.find("tensor %w.slice0 weight f32[64] persistent slice %w\n") != std::string::npos);
  CHECK(text.find("tensor %w.slice2 weight f32[32] persistent slice %w from 512\n") != std::string::npos);
  CHECK(text.find("tensor %w.v.slice1 optimizer_state f32[64] persistent slice %w.v from 256\n") != std::string::npos);
  CHECK(task_lines(cut) == R"(task clip Update update layer=gradients Test{} read %dw read %db write %factor
task w.update.slice0 Update update layer=fc Test{rate=0.5} )"
R"(update %w.slice0 read %dw as f32[64] update %w.v.slice0 read %factor flops=256 once
task w.update.slice1 Update update layer=fc Test{rate=0.5} )"
R"(update %w.slice1 read %dw as f32[64] from 256 update %w.v.slice1 read %factor flops=256 once
task w.update.slice2 Update update layer=fc Test{rate=0.5} )"
R"(update %w.slice2 read %dw as f32[32] from 512 update %w.v.slice2 read %factor flops=128 once
task b.update Update update layer=fc Test{} update %b read %db read %factor once
)");
  CHECK(to_text(graph_of(text)) == text);
  CHECK(to_text(sliced(cut, 256)) == text);
}

TEST_CASE("over several rounds each slice clears its part of the gradient, whichever is done first, slices or rounds") {
  const TaskGraph graph = graph_of(kMomentum);
  const std::string text = to_text(sliced(accumulating(graph), 256));
  INFO(text);
  CHECK(text.find("task w.update.slice1 Update update layer=fc Test{rate=0.5} update %w.slice1 update %dw as f32[64] "
                  "from 256") != std::string::npos);
  CHECK(text.find("read %dw read %db write %factor") != std::string::npos);
  CHECK(to_text(accumulating(sliced(graph, 256))) == text);
  CHECK(to_text(planned_graph(graph, 2, 256, false)) == text);
  CHECK(to_text(planned_graph(sliced(graph, 256), 2, 256, false)) == text);
}

TEST_CASE(
    "of a weight that stays whole the state alone is cut, and each slice's update changes its part of the weight") {
  const TaskGraph cut = sliced(graph_of(kMomentum), 256, true);
  const std::string text = to_text(cut);
  INFO(text);
  CHECK(cut.slice_bytes == 256);
  CHECK(cut.whole_weights);
  CHECK(text.find("%w.slice") == std::string::npos);
  CHECK(text.find("tensor %w.v.slice2 optimizer_state f32[32] persistent slice %w.v from 512\n") != std::string::npos);
  CHECK(text.find("task w.update.slice1 Update update layer=fc Test{rate=0.5} update %w as f32[64] from 256 read %dw "
                  "as f32[64] from 256 update %w.v.slice1 "
                  "read %factor flops=256 once\n") != std::string::npos);
  CHECK(to_text(graph_of(text)) == text);
  CHECK(to_text(sliced(cut, 256, true)) == text);
  CHECK(to_text(planned_graph(graph_of(kMomentum), 2, 256, true)) == to_text(accumulating(cut)));
  std::string stateless = kMomentum;
  stateless.replace(stateless.find(" update %w.v"), 12, "");
  CHECK(sliced(graph_of(stateless), 256, true).slice_bytes == 0);
}

TEST_CASE("a weight in two halves is cut where it would be in f32, and its lower half along with it") {
  std::string text = kMomentum;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"[16,10]", "[16,4096]"},
        {"%w weight f32", "%w weight bf16"},
        {"tensor %factor", "tensor %w.low optimizer_state i16[16,4096] persistent\ntensor %factor"},
        {"update %w.v read %factor", "update %w.v update %w.low read %factor"}})
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  for (const bool whole_weights : {false, true}) {
    const TaskGraph cut = sliced(graph_of(text), 100000, whole_weights);
    const std::string lines = to_text(cut);
    INFO(lines);
    CHECK(to_text(graph_of(lines)) == lines);
    CHECK(to_text(sliced(cut, 100000, whole_weights)) == lines);
    CHECK((lines.find("%w.slice1 weight bf16[21888] persistent slice %w from 43776\n") != lines.npos) !=
          whole_weights);
    CHECK(lines.find("%w.low.slice1 optimizer_state i16[21888] persistent slice %w.low from 43776\n") != lines.npos);
    CHECK(lines.find("read %dw as f32[21888] from 87552 update %w.v.slice1 update %w.low.slice1 read %factor") !=
          lines.npos);
    if (whole_weights) CHECK(lines.find("update %w as bf16[21888] from 43776 read %dw") != lines.npos);
  }
}

TEST_CASE("state in fewer bytes is cut along with the weight, at addresses that are aligned for both") {
  const auto cut_at = [](const char* type, int64_t slice_bytes) {
    std::string text = kMomentum;
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"[16,10]", "[16,4096]"},
                                   {"%w.v optimizer_state f32", std::string("%w.v optimizer_state ") + type}})
      for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    const std::string cut = to_text(sliced(graph_of(text), slice_bytes));
    CHECK(to_text(graph_of(cut)) == cut);
    CHECK(to_text(sliced(graph_of(cut), slice_bytes)) == cut);
    return cut;
  };
  const auto has = [](const std::string& text, const char* line) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  };
  const std::string in_bf16 = cut_at("bf16", 100000);
  has(in_bf16, "tensor %w.slice1 weight f32[21888] persistent slice %w from 87552\n");
  has(in_bf16, "tensor %w.v.slice1 optimizer_state bf16[21888] persistent slice %w.v from 43776\n");
  const std::string in_8_bits = cut_at("q8", 140000);
  has(in_8_bits, "tensor %w.slice1 weight f32[32768] persistent slice %w from 131072\n");
  has(in_8_bits, "tensor %w.v.slice1 optimizer_state q8[32768] persistent slice %w.v from 33280\n");
  CHECK(cut_at("q8", 65000).find("slice0") == std::string::npos);  // less than 64 blocks
  CHECK(!graph_from_text("graph g v1 batch=8\ntensor %x activation q8[8]\ntask a Relu forward Test{} read %x\n").ok());
}

TEST_CASE("what is small, is changed by two, or is left whole stays as it is") {
  const TaskGraph graph = graph_of(kMomentum);
  for (const int64_t bytes : {int64_t{0}, int64_t{255}, int64_t{768}}) {
    const TaskGraph same = sliced(graph, bytes);
    CHECK(same.slice_bytes == 0);
    CHECK(to_text(same) == to_text(graph));
  }
  std::string twice = kMomentum;
  twice += "task w.again Update update layer=fc Test{} update %w read %dw once\n";
  CHECK(to_text(sliced(graph_of(twice), 256)) == to_text(graph_of(twice)));
}

TEST_CASE("a slice that is no part of its whole is no graph") {
  const auto message = [](const std::string& line) {
    const auto graph = graph_from_text(kMomentum + line);
    return graph.ok() ? std::string() : graph.error().message;
  };
  CHECK(message("tensor %s weight f32[64] persistent slice %w from 512\n")
            .find("a slice of 256 bytes from 512 on ends beyond 640 bytes") != std::string::npos);
  CHECK(message("tensor %s weight f32[64] persistent slice %s\n").find("a tensor cannot be a slice of itself") !=
        std::string::npos);
  CHECK(message("task t Update update layer=fc Test{} read %dw as f32[64] from 512\n")
            .find("f32[64] from byte 512 on is not part of %dw") != std::string::npos);
}

TEST_CASE("the text of a graph gives a weight in bf16 its lower half, and no other tensor") {
  const auto read = [](const char* weight, const char* low) {
    return graph_from_text(std::string("graph halves v1 batch=8\ntensor %w weight ") + weight +
                           "[16,10] persistent\ntensor %w.low optimizer_state " + low +
                           " persistent\nparameter %w initializer=w stored=f32[16,10] low %w.low\n");
  };
  const auto graph = read("bf16", "i16[16,10]");
  REQUIRE(graph.ok());
  CHECK(graph->parameters.front().low == TensorId(1));
  CHECK(to_text(*graph_from_text(to_text(*graph))) == to_text(*graph));
  for (const auto& [weight, low] : {std::pair{"bf16", "i16[16,9]"}, {"bf16", "bf16[16,10]"}, {"f32", "i16[16,10]"}}) {
    const auto refused = read(weight, low);
    REQUIRE(!refused.ok());
    CHECK(refused.error().message.find(std::string("the lower half of a weight in bf16 is in i16 and has its "
                                                   "dimensions; this is ") + low) != std::string::npos);
  }
}

}  // namespace plimsoll
