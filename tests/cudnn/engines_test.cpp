// cuDNN's engines for a described device, on a machine that need not have one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/cuda/cudnn/convolution.h"
#include "runtime/cuda/cudnn/execution.h"
#include "tests/cudnn/described.h"

using namespace plimsoll;
using namespace plimsoll::cudnn;

namespace {

// A convolution of square filters over square planes.
struct Shape {
  std::string name;
  int64_t samples, in, out, side, kernel, group = 1;
  ConvAttrs attrs = {};

  Convolution in_direction(Direction direction) const {
    const auto length = [&](size_t axis) {
      const int64_t padded = side + attrs.pads[axis] + attrs.pads[axis + 2];
      return (padded - attrs.dilations[axis] * (kernel - 1) - 1) / attrs.strides[axis] + 1;
    };
    return {.direction = direction,
            .x = f32({samples, in, side, side}),
            .w = f32({out, in / group, kernel, kernel}),
            .y = f32({samples, out, length(0), length(1)}),
            .attrs = attrs};
  }
};

const std::vector<Shape> kShapes = {
    {"3x3", 64, 64, 64, 56, 3, 1, {.pads = {1, 1, 1, 1}}},
    {"1x1", 64, 256, 64, 56, 1, 1, {}},
    {"first", 64, 3, 64, 224, 7, 1, {.strides = {2, 2}, .pads = {3, 3, 3, 3}}},
    {"strided", 32, 128, 256, 28, 1, 1, {.strides = {2, 2}}},
    {"dilated", 8, 32, 32, 28, 3, 1, {.dilations = {2, 2}, .pads = {2, 2, 2, 2}}},
    {"grouped", 16, 64, 64, 28, 3, 4, {.pads = {1, 1, 1, 1}, .group = 4}},
    {"depthwise", 32, 96, 96, 28, 3, 96, {.pads = {1, 1, 1, 1}, .group = 96}},
    {"odd", 3, 5, 7, 11, 3, 1, {}},
};

constexpr Direction kDirections[] = {Direction::forward, Direction::backward_data, Direction::backward_weights};

Convolution channels_last(Convolution convolution) {
  for (TensorDesc* const tensor : {&convolution.x, &convolution.w, &convolution.y}) tensor->layout = Layout::nhwc;
  return convolution;
}

bool exact(const Engine& engine) { return engine.deterministic && !engine.tf32; }

}  // namespace

TEST_CASE("every convolution has a deterministic engine in f32 that needs no workspace") {
  describe("h200");
  for (const Shape& shape : kShapes)
    for (const Direction direction : kDirections) {
      INFO(shape.name << " in direction " << static_cast<int>(direction));
      const std::vector<Engine> engines = engines_for(graph_of(shape.in_direction(direction)));
      CHECK(std::any_of(engines.begin(), engines.end(),
                        [](const Engine& e) { return exact(e) && e.workspace_bytes == 0; }));
      std::set<std::string> names;
      for (const Engine& engine : engines) {
        names.insert(engine.name);
        CHECK(engine.name.starts_with("eng"));
        CHECK(engine.workspace_bytes >= 0);
      }
      CHECK(names.size() == engines.size());
    }
}

TEST_CASE("a convolution over three dimensions has a deterministic engine in f32") {
  describe("h200");
  Convolution volume{.x = f32({4, 16, 8, 14, 14}), .w = f32({32, 16, 3, 3, 3}), .y = f32({4, 32, 4, 14, 14}),
                     .attrs = {.strides = {2, 1, 1}, .dilations = {1, 1, 1}, .pads = {1, 1, 1, 1, 1, 1}}};
  Convolution grouped{.x = f32({2, 16, 4, 7, 7}), .w = f32({16, 4, 1, 3, 3}), .y = f32({2, 16, 4, 7, 7}),
                      .attrs = {.strides = {1, 1, 1}, .dilations = {1, 1, 1}, .pads = {0, 1, 1, 0, 1, 1}, .group = 4}};
  for (Convolution* const convolution : {&volume, &grouped})
    for (const Direction direction : kDirections) {
      INFO("direction " << static_cast<int>(direction) << ", groups " << convolution->attrs.group);
      convolution->direction = direction;
      const std::vector<Engine> engines = engines_for(graph_of(*convolution));
      CHECK(std::any_of(engines.begin(), engines.end(), exact));
    }
  volume.direction = Direction::forward;
  volume.bias = volume.relu = true;
  CHECK_NOTHROW(graph_of(volume));
}

TEST_CASE("engines that compute another convolution than the given one are not offered, and not built") {
  describe("h200");
  const Shape asymmetric{"asymmetric", 4, 8, 16, 13, 3, 1, {.strides = {2, 2}, .pads = {0, 0, 1, 1}}};
  Convolution volume{.direction = Direction::backward_weights, .x = f32({4, 16, 8, 14, 14}),
                     .w = f32({32, 16, 3, 3, 3}), .y = f32({4, 32, 8, 14, 14}),
                     .attrs = {.strides = {1, 1, 1}, .dilations = {1, 1, 1}, .pads = {1, 1, 1, 1, 1, 1}}};
  const std::pair<Convolution, std::set<std::string>> cases[] = {
      {asymmetric.in_direction(Direction::backward_data), {"eng50"}},
      {asymmetric.in_direction(Direction::backward_weights), {"eng1", "eng18", "eng20"}},
      {volume, {"eng1"}}};
  for (const auto& [convolution, wrong] : cases) {
    const Graph graph = graph_of(convolution);
    const std::vector<Engine> engines = engines_for(graph);
    CHECK(std::any_of(engines.begin(), engines.end(), exact));
    for (const Engine& engine : engines) {
      INFO(engine.name);
      CHECK(!wrong.contains(engine.name.substr(0, engine.name.find('_'))));
    }
    for (const std::string& name : wrong) CHECK_THROWS_AS(Plan(graph, name), KernelError);
  }
}

TEST_CASE("on tensor cores there is more, and it is told apart") {
  describe("h200");
  const std::vector<Engine> engines = engines_for(graph_of(kShapes[0].in_direction(Direction::forward)));
  CHECK(std::any_of(engines.begin(), engines.end(), [](const Engine& e) { return e.tf32; }));
  CHECK(std::any_of(engines.begin(), engines.end(), [](const Engine& e) { return !e.tf32; }));
}

TEST_CASE("what an engine loses by another algorithm is no reason to leave it out, but for one") {
  const auto coarse = [](std::initializer_list<cudnnBackendNumericalNote_t> notes) {
    return is_coarse(std::vector(notes));
  };
  CHECK(!coarse({}));
  CHECK(
      !coarse({CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}));
  CHECK(!coarse({CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4}));
  CHECK(!coarse({CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6}));
  CHECK(!coarse({CUDNN_NUMERICAL_NOTE_TENSOR_CORE}));
  CHECK(coarse({CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}));
  CHECK(coarse({CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}));
  CHECK(coarse({CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}));
}

// What decides between the layouts (compiler/costs/convolution.h): who reads the other way copies the images first.
TEST_CASE("engines in f32 want nchw, those on tensor cores nhwc: the workspaces say so") {
  describe("h200");
  for (const Direction direction : kDirections) {
    INFO("direction " << static_cast<int>(direction));
    const Convolution plain = kShapes[0].in_direction(direction), last = channels_last(plain);
    const int64_t images = plain.x.bytes() + plain.y.bytes();
    const auto first = [](const Convolution& convolution, bool tf32) {
      for (const Engine& engine : engines_for(graph_of(convolution)))
        if (engine.deterministic && engine.tf32 == tf32) return engine.workspace_bytes - engine.reserved_bytes;
      return int64_t{-1};
    };
    CHECK((first(plain, false) >= 0 && first(plain, false) < images / 16));
    CHECK(first(plain, true) >= images);
    CHECK((first(last, true) >= 0 && first(last, true) < images / 16));
    // The gradient of the weights has one that takes either.
    if (direction != Direction::backward_weights) CHECK(first(last, false) >= images);
  }
}

TEST_CASE("every convolution has an exact engine channels last, too, that needs no workspace") {
  describe("h200");
  for (const Shape& shape : kShapes)
    for (const Direction direction : kDirections) {
      INFO(shape.name << " in direction " << static_cast<int>(direction));
      Convolution convolution = channels_last(shape.in_direction(direction));
      const std::vector<Engine> engines = engines_for(graph_of(convolution));
      CHECK(std::any_of(engines.begin(), engines.end(),
                        [](const Engine& e) { return exact(e) && e.workspace_bytes == 0; }));
      CHECK(std::any_of(engines.begin(), engines.end(), [](const Engine& e) { return e.tf32; }));
      if (direction != Direction::forward) continue;
      convolution.bias = true;
      CHECK(!engines_for(graph_of(convolution)).empty());
    }
}

TEST_CASE("an engine is built by its name, and needs what was listed") {
  describe("h200");
  for (const Direction direction : kDirections) {
    const Graph graph = graph_of(kShapes[0].in_direction(direction));
    size_t turned = 0;
    for (const Engine& engine : engines_for(graph)) {
      INFO(engine.name);
      CHECK(Plan(graph, engine.name).workspace_bytes() == engine.workspace_bytes);
      if (engine.name.find("_k") != std::string::npos) ++turned;
    }
    CHECK(turned > 5);
  }
}

TEST_CASE("a bias comes with a convolution, and a gradient is added to in place") {
  describe("h200");
  Convolution forward = kShapes[0].in_direction(Direction::forward);
  forward.bias = true;
  CHECK(!engines_for(graph_of(forward)).empty());
  forward.relu = true;
  const std::vector<Engine> engines = engines_for(graph_of(forward));
  CHECK(std::any_of(engines.begin(), engines.end(), exact));
  CHECK(graph_of(forward).tensors().size() == 4);
  Convolution gradient = kShapes[0].in_direction(Direction::backward_weights);
  gradient.accumulate = true;
  CHECK(!engines_for(graph_of(gradient)).empty());
}

TEST_CASE("lists are the same at every asking, and another device has another") {
  const Convolution convolution = kShapes[0].in_direction(Direction::backward_weights);
  const auto listed = [&] {
    std::vector<std::pair<std::string, int64_t>> all;
    for (const Engine& engine : engines_for(graph_of(convolution)))
      all.emplace_back(engine.name, engine.workspace_bytes);
    return all;
  };
  describe("h200");
  const auto h200 = listed();
  CHECK(listed() == h200);
  describe("t4");
  CHECK(listed() != h200);
}

TEST_CASE("every description that comes along describes a device") {
  size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PLIMSOLL_DEVICE_PROPS)) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().filename());
    use_described_device(contents(entry.path()));
    CHECK(!engines_for(graph_of(kShapes[0].in_direction(Direction::forward))).empty());
    ++seen;
  }
  CHECK(seen >= 5);
}

TEST_CASE("what cannot be is refused with a sentence") {
  CHECK_THROWS_AS(use_described_device("{\"deviceName\": \"abacus\"}"), KernelError);
  CHECK_THROWS_AS(use_described_device("["), KernelError);
  describe("h200");
  const Graph graph = graph_of(kShapes[0].in_direction(Direction::forward));
  for (const char* name : {"", "eng", "engine34", "eng34_k", "eng34_k2=", "eng34 ", "eng99999", "eng0_k9999=1"}) {
    INFO(name);
    CHECK_THROWS_AS(Plan(graph, name), KernelError);
  }
  Convolution wrong = kShapes[0].in_direction(Direction::forward);
  wrong.y = f32({64, 64, 55, 56});
  CHECK_THROWS_AS(engines_for(graph_of(wrong)), KernelError);
  wrong.y = f32({64, 64, 56, 56}, Layout::nChw8c);
  CHECK_THROWS_AS(graph_of(wrong), KernelError);
  CHECK_THROWS_AS(handle(), KernelError);
}
