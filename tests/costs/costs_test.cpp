// Costs: the roofline model, the exchange with the profiler, and the cache between runs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/costs/cache.h"
#include "compiler/costs/convolution.h"
#include "compiler/costs/exchange.h"
#include "compiler/costs/modelled.h"
#include "compiler/costs/profiled.h"
#include "compiler/costs/work_map.h"
#include "compiler/support/bytes.h"
#include "runtime/attrs/conv.h"

using namespace plimsoll;
namespace fs = std::filesystem;

namespace {

// A convolution of 3x3, 16 channels, 8x8 pixels, and its ReLU, which may be in a layout of 8-channel blocks.
TaskGraph conv_and_relu(Layout layout = Layout::plain) {
  TaskGraph graph;
  const TensorType image{.dims = {kBatch, {16}, {8}, {8}}, .layout = layout};
  const TensorType filter{.dims = {{16}, {16}, {3}, {3}},
                          .layout = layout == Layout::nChw8c ? Layout::OIhw8i8o : layout};
  const TensorId x = graph.tensors.push_back({.name = "x", .kind = TensorKind::input, .type = image});
  const TensorId w =
      graph.tensors.push_back({.name = "w", .kind = TensorKind::weight, .type = filter, .persistent = true});
  const TensorId c = graph.tensors.push_back({.name = "c", .type = image});
  const TensorId y = graph.tensors.push_back({.name = "y", .type = image});
  graph.tasks.push_back(
      {.name = "conv.forward",
       .kernel = "ConvForward",
       .attributes = to_attributes(ConvAttrs{.pads = {1, 1, 1, 1}}),
       .operands = {{x, Access::read, image}, {w, Access::read, filter}, {}, {c, Access::write, image}},
       .flops = {0, 2 * 16 * 64 * 16 * 9}});
  graph.tasks.push_back({.name = "relu.forward",
                         .kernel = "ReluForward",
                         .operands = {{c, Access::read, image}, {y, Access::write, image}},
                         .flops = {0, 16 * 64}});
  return graph;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "plimsoll-costs-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
    path = pattern;
  }
  ~TemporaryDirectory() { fs::remove_all(path); }
  std::string path;
};

ProfiledOptions options(const std::string& cache = "") {
  return {.profiler = PLIMSOLL_PROFILER, .threads = 2, .measure = false, .device = *find_device("host"),
          .cache_directory = cache};
}

std::string only_file(const std::string& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) return entry.path().string();
  return "";
}

std::string contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A profiler that works only once, so that a second call is noticed.
ProfiledOptions with_broken_profiler(const TemporaryDirectory& place, const std::string& cache) {
  const std::string script = place.path + "/profiler";
  std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --describe ] && exec " PLIMSOLL_PROFILER " --describe\n"
                           "[ -e " << place.path << "/broken ] && { echo 'it is broken' >&2; exit 8; }\n"
                           "exec " PLIMSOLL_PROFILER " \"$@\"\n";
  fs::permissions(script, fs::perms::owner_all);
  ProfiledOptions with = options(cache);
  with.profiler = script;
  return with;
}

}  // namespace

TEST_CASE("every built-in device is a device") {
  for (const std::string& name : device_names()) {
    INFO(name);
    const Result<Device> device = find_device(name);
    REQUIRE(device.ok());
    CHECK(device->name == name);
    CHECK((device->kind == "cuda" || device->kind == "host"));
  }
  const Result<Device> unknown = find_device("abacus");
  REQUIRE(!unknown.ok());
  CHECK(unknown.error().code == ExitCode::usage);
  CHECK(unknown.error().message.find("k40m") != std::string::npos);
  CHECK(!parse_device("{\"name\": \"x\"}").ok());
  CHECK(!parse_device("[").ok());
}

namespace {

// Round figures: a flop and a byte take a nanosecond each.
Device toy() {
  return {.name = "toy", .kind = "cuda", .title = "toy", .memory_bytes = 1 << 30, .flops_per_second = 1e9,
          .memory_bytes_per_second = 1e9, .d2h_bytes_per_second = 1e9, .h2d_bytes_per_second = 1e9,
          .launch_seconds = 1e-6, .efficiency = {.memory = 0.5}, .algorithms = {{"implicit_gemm", 0.5}}};
}

// y = conv(x): square planes and filters.
ConvShape convolution(int64_t samples, int64_t in, int64_t out, int64_t side, int64_t kernel, int64_t pad) {
  const int64_t out_side = side + 2 * pad - kernel + 1;
  return {.samples = samples, .in_channels = in, .out_channels = out, .height = side, .width = side,
          .out_height = out_side, .out_width = out_side, .kernel_height = kernel, .kernel_width = kernel,
          .pad_height = 2 * pad, .pad_width = 2 * pad,
          .bytes = 4 * (samples * in * side * side + samples * out * out_side * out_side + in * out * kernel * kernel)};
}

std::vector<std::string> names_of(const std::vector<AlgorithmCost>& costs) {
  std::vector<std::string> names;
  for (const AlgorithmCost& cost : costs) names.push_back(cost.name);
  std::sort(names.begin(), names.end());
  return names;
}

AlgorithmCost named(const std::vector<AlgorithmCost>& costs, const std::string& name) {
  for (const AlgorithmCost& cost : costs)
    if (cost.name == name) return cost;
  FAIL("no algorithm " << name);
  return {};
}

const std::vector<std::string> kAll = {"fft", "fft_tiling", "gemm", "implicit_gemm", "implicit_precomp_gemm",
                                       "winograd", "winograd_nonfused"};

std::vector<std::string> all_but(std::initializer_list<std::string_view> left_out) {
  std::vector<std::string> names;
  for (const std::string& name : kAll)
    if (std::find(left_out.begin(), left_out.end(), name) == left_out.end()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("modelled costs follow the roofline and claim nothing else") {
  const TaskGraph graph = conv_and_relu();
  ModelledCosts costs(toy());
  REQUIRE(costs.prepare(graph, 4).ok());
  const AlgorithmCost conv = costs.algorithms(graph.tasks[TaskId(0)], 4)[0];
  CHECK(conv.name == "implicit_gemm");
  CHECK(conv.seconds == Approx(4 * 294912 / 0.5e9 + 1e-6));  // limited by compute
  CHECK(conv.workspace_bytes == 0);
  CHECK(!conv.time_measured);
  CHECK(!conv.workspace_exact);
  const AlgorithmCost relu = costs.algorithms(graph.tasks[TaskId(1)], 4)[0];
  CHECK(relu.seconds == Approx(2 * 4 * 4096 / 0.5e9 + 1e-6));  // limited by memory
  CHECK(relu.workspace_bytes == 0);
}

TEST_CASE("what is read in two passes is moved twice: run again from what is remembered, once") {
  TaskGraph graph = conv_and_relu();
  Task& relu = graph.tasks[TaskId(1)];
  relu.operands[0].twice = true;
  relu.remembers = {
      graph.tensors.push_back({.name = "found", .kind = TensorKind::stash, .type = {DataType::f32, {{64}}}})};
  relu.operands.push_back({relu.remembers[0], Access::write, graph.tensors[relu.remembers[0]].type});
  ModelledCosts costs(toy());
  REQUIRE(costs.prepare(graph, 4).ok());
  CHECK(costs.algorithms(relu, 4)[0].seconds == Approx((3 * 4 * 4096 + 256) / 0.5e9 + 1e-6));
  CHECK(costs.algorithms(as_run_again(relu), 4)[0].seconds == Approx((2 * 4 * 4096 + 256) / 0.5e9 + 1e-6));
}

TEST_CASE("tensor cores are a rate of their own, for what they can do and where they are asked for") {
  const TaskGraph graph = conv_and_relu(Layout::nhwc);
  Device device = toy();
  CHECK(!tf32_algorithm(device, graph.tasks[TaskId(0)], 4));
  device.tf32_flops_per_second = 8e9;
  device.efficiency.tf32 = 0.25;
  const double seconds = 4 * 294912 / 2e9 + 1e-6;
  CHECK(tf32_algorithm(device, graph.tasks[TaskId(0)], 4)->seconds == Approx(seconds));
  CHECK(!tf32_algorithm(device, graph.tasks[TaskId(1)], 4));
  ModelledCosts exact(device), fast(device, true);
  REQUIRE(exact.prepare(graph, 4).ok());
  REQUIRE(fast.prepare(graph, 4).ok());
  CHECK(exact.algorithms(graph.tasks[TaskId(0)], 4).size() == 1);
  const auto both = fast.algorithms(graph.tasks[TaskId(0)], 4);
  REQUIRE(both.size() == 2);
  CHECK((both[0].tf32 && both[0].seconds == Approx(seconds) && !both[1].tf32));
  CHECK(fast.algorithms(graph.tasks[TaskId(1)], 4).size() == 1);
  // Operands must come from memory, however fast the tensor cores are.
  device.tf32_flops_per_second = 1e15;
  CHECK(tf32_algorithm(device, graph.tasks[TaskId(0)], 4)->seconds ==
        Approx(static_cast<double>(graph.tasks[TaskId(0)].bytes_moved(4)) / 0.5e9 + 1e-6));
  for (const char* const name : {"a100", "h100", "h200", "rtx3090", "rtx4090", "l4"})
    CHECK(find_device(name)->tf32_flops_per_second > 0);
  for (const char* const name : {"t4", "v100", "p100"}) CHECK(find_device(name)->tf32_flops_per_second == 0);
}

TEST_CASE("factors in bf16 are multiplied on tensor cores, at a rate of their own") {
  TaskGraph graph = conv_and_relu(Layout::nhwc);
  Task& conv = graph.tasks[TaskId(0)];
  Device device = toy();
  device.bf16_flops_per_second = 16e9;
  device.efficiency.tf32 = 0.25;
  CHECK(modelled_algorithms(device, conv, 4).size() == toy().algorithms.size());
  const double in_f32 = static_cast<double>(conv.bytes_moved(4));
  for (const size_t slot : {0, 1}) conv.operands[slot].type.type = DataType::bf16;
  const std::vector<AlgorithmCost> costs = modelled_algorithms(device, conv, 4);
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].seconds == Approx(4 * 294912 / 4e9 + 1e-6));
  CHECK(!costs[0].tf32);
  CHECK(static_cast<double>(conv.bytes_moved(4)) < in_f32);
  // On f32 copies, each operand in bf16 is read, written as f32, and read again.
  const int64_t halves = conv.operands[0].type.at(4).bytes() + conv.operands[1].type.at(4).bytes();
  CHECK(widening_seconds(device, conv, 4) == Approx(4 * static_cast<double>(halves) / 0.5e9));
  device.bf16_flops_per_second = 0;  // older than Ampere
  CHECK(modelled_algorithms(device, conv, 4).size() == toy().algorithms.size());
  for (const char* const name : {"a100", "h100", "h200", "rtx3090", "rtx4090", "l4"})
    CHECK(find_device(name)->bf16_flops_per_second >= 2 * find_device(name)->tf32_flops_per_second * 0.99);
  for (const char* const name : {"t4", "v100", "p100", "host"}) CHECK(find_device(name)->bf16_flops_per_second == 0);
}

// Agrees with cuDNN's exact workspaces (tests/cudnn/engines_test.cpp): a kernel that reads another layout transposes
// the images first.
TEST_CASE("images that lie the wrong way for an algorithm are copied first: time and workspace") {
  Device device = toy();
  device.tf32_flops_per_second = 8e9;
  device.algorithms["winograd"] = 0.9;
  const TaskGraph plain = conv_and_relu(), last = conv_and_relu(Layout::nhwc);
  const Task &in_plain = plain.tasks[TaskId(0)], &in_last = last.tasks[TaskId(0)];
  const int64_t images = in_plain.operands[0].type.at(4).bytes() + in_plain.operands[3].type.at(4).bytes();
  const double copies = 2 * static_cast<double>(images) / 0.5e9 + 2e-6;
  const AlgorithmCost turned = *tf32_algorithm(device, in_plain, 4), as_is = *tf32_algorithm(device, in_last, 4);
  CHECK(turned.seconds - as_is.seconds == Approx(copies));
  CHECK(turned.workspace_bytes - as_is.workspace_bytes == images);
  const auto named = [&](const Task& task, const std::string& name) {
    for (const AlgorithmCost& cost : modelled_algorithms(device, task, 4))
      if (cost.name == name) return cost;
    FAIL("no " << name);
    return AlgorithmCost{};
  };
  CHECK(named(in_last, "implicit_gemm").seconds == Approx(named(in_plain, "implicit_gemm").seconds));
  CHECK(named(in_last, "winograd").seconds - named(in_plain, "winograd").seconds == Approx(copies));
  CHECK(named(in_last, "winograd").workspace_bytes - named(in_plain, "winograd").workspace_bytes == images);
}

TEST_CASE("a device descriptor's faults are named") {
  std::string good = R"({"name": "x", "kind": "cuda", "title": "X", "memory_bytes": 1, "flops_per_second": 1e9,
      "memory_bytes_per_second": 1e9, "units": 1, "launch_seconds": 1e-6,
      "link": {"d2h_bytes_per_second": 1e9, "h2d_bytes_per_second": 1e9, "latency_seconds": 1e-6},
      "efficiency": {"memory": 1, "matrix_product": 1, "grouped": 1, "depthwise": 1, "backward_data": 1,
                     "backward_weights": 1}, "algorithms": {"implicit_gemm": 0.5}})";
  REQUIRE(parse_device(good).ok());
  const auto damaged = [&](const std::string& what, const std::string& with) {
    std::string text = good;
    text.replace(text.find(what), what.size(), with);
    const Result<Device> device = parse_device(text);
    REQUIRE(!device.ok());
    CHECK(device.error().code == ExitCode::unreadable_input);
    return device.error().message;
  };
  CHECK(damaged("\"units\": 1", "\"units\": 0").find("positive") != std::string::npos);
  CHECK(damaged("\"memory\": 1", "\"memory\": 1.5").find("efficiency") != std::string::npos);
  CHECK(damaged("implicit_gemm", "abacus").find("abacus") != std::string::npos);
  CHECK(damaged("implicit_gemm", "winograd").find("implicit_gemm") != std::string::npos);
  CHECK(damaged("\"units\"", "\"unit\"").find("units") != std::string::npos);
}

TEST_CASE("a convolution is offered what its shape allows") {
  const Device device = *find_device("p100");
  ConvShape three = convolution(8, 64, 64, 56, 3, 1);
  CHECK(names_of(convolution_algorithms(device, three)) == kAll);
  CHECK(names_of(convolution_algorithms(device, convolution(8, 64, 64, 56, 5, 2))) == all_but({"winograd"}));
  CHECK(names_of(convolution_algorithms(device, convolution(8, 64, 64, 56, 1, 0))) ==
        all_but({"winograd", "winograd_nonfused", "fft", "fft_tiling"}));
  CHECK(names_of(convolution_algorithms(device, convolution(8, 64, 64, 300, 3, 1))) == all_but({"fft"}));
  three.direction = ConvDirection::backward_data;
  CHECK(names_of(convolution_algorithms(device, three)) == all_but({"gemm"}));
  three.direction = ConvDirection::backward_weights;
  CHECK(names_of(convolution_algorithms(device, three)) == all_but({"gemm", "winograd"}));
  three.dense_steps = false;
  CHECK(names_of(convolution_algorithms(device, three)) ==
        std::vector<std::string>{"implicit_gemm", "implicit_precomp_gemm"});
  ConvShape depthwise = convolution(8, 64, 64, 56, 3, 1);
  depthwise.groups = 64;
  CHECK(names_of(convolution_algorithms(device, depthwise)) ==
        std::vector<std::string>{"implicit_gemm", "implicit_precomp_gemm"});
}

TEST_CASE("workspaces of the algorithms are what they keep") {
  const Device device = *find_device("p100");
  const auto costs = convolution_algorithms(device, convolution(8, 64, 128, 28, 3, 1));
  CHECK(named(costs, "implicit_gemm").workspace_bytes == 0);
  CHECK(named(costs, "implicit_precomp_gemm").workspace_bytes == align_up(4 * (64 * 9 + 28 * 28)));
  CHECK(named(costs, "gemm").workspace_bytes == align_up(4 * 64 * 9 * 28 * 28));
  const int64_t planes = 8 * 64 + 64 * 128 + 8 * 128;
  CHECK(named(costs, "fft").workspace_bytes == align_up(planes * 32 * 17 * 8));         // 28 + 2, rounded up to 32
  CHECK(named(costs, "fft_tiling").workspace_bytes == align_up(planes * 32 * 17 * 8));  // one tile of 30
  CHECK(named(costs, "winograd").workspace_bytes == align_up(64 * 128 * 16 * 4));
  CHECK(named(costs, "winograd_nonfused").workspace_bytes == align_up((49 * 8 * (64 + 128) + 64 * 128) * 36 * 4));
}

TEST_CASE("the model has the faces that planning is about") {
  for (const std::string& name : device_names()) {
    const Device device = *find_device(name);
    if (device.kind != "cuda") continue;
    INFO(name);
    // Faster algorithms need workspace, and the one without any is the slowest of the products.
    const auto costs = convolution_algorithms(device, convolution(32, 256, 256, 28, 3, 1));
    CHECK(costs.front().workspace_bytes > 0);
    CHECK(named(costs, "implicit_gemm").seconds > named(costs, "implicit_precomp_gemm").seconds);
    CHECK(named(costs, "implicit_precomp_gemm").seconds > costs.front().seconds);
    // Two halves of a batch take longer than the whole.
    for (const AlgorithmCost& whole : costs)
      CHECK(2 * named(convolution_algorithms(device, convolution(16, 256, 256, 28, 3, 1)), whole.name).seconds >
            whole.seconds);
    // Wide filters favour Fourier transforms if the planes are a power of two.
    const auto wide = convolution_algorithms(device, convolution(32, 64, 64, 22, 11, 5));
    CHECK(named(wide, "fft").seconds < named(wide, "implicit_precomp_gemm").seconds);
    // A depthwise convolution is far from peak.
    ConvShape depthwise = convolution(32, 256, 256, 28, 3, 1);
    depthwise.groups = 256;
    CHECK(convolution_algorithms(device, depthwise).front().seconds * device.flops_per_second * 0.1 >
          2.0 * 32 * 256 * 9 * 28 * 28);
  }
}

TEST_CASE("a profiler gives exact workspaces, and times only when it measures") {
  const TaskGraph graph = conv_and_relu(GENERATE(Layout::plain, Layout::nChw8c));
  ProfiledOptions with = options();
  with.measure = GENERATE(false, true);
  auto costs = ProfiledCosts::open(with);
  REQUIRE(costs.ok());
  REQUIRE((*costs)->prepare(graph, 2).ok());
  REQUIRE((*costs)->prepare(graph, 3).ok());
  for (const Task& task : graph.tasks) {
    for (const int64_t samples : {2, 3}) {
      const auto algorithms = (*costs)->algorithms(task, samples);
      REQUIRE(!algorithms.empty());
      for (size_t i = 0; i < algorithms.size(); ++i) {
        CHECK(algorithms[i].workspace_exact);
        CHECK(algorithms[i].time_measured == with.measure);
        CHECK(algorithms[i].seconds > 0);
        if (i > 0) CHECK(algorithms[i].seconds >= algorithms[i - 1].seconds);
      }
    }
  }
  CHECK((*costs)->profile().libraries.contains("onednn"));
  CHECK(!(*costs)->profile().device.empty());
}

TEST_CASE("a default for devices measures where there is one, and models where it was only described") {
  const TaskGraph graph = conv_and_relu();
  const TemporaryDirectory place;
  ProfiledOptions with = options();
  with.measure = true;
  with.elsewhere = "h200";
  with.only_if_none = true;
  size_t announced = 0;
  with.before_measuring = [&](size_t tasks) { announced += tasks; };
  const bool described = GENERATE(false, true);
  if (described) {
    with.profiler = place.path + "/profiler";
    std::ofstream(with.profiler) << "#!/bin/sh\n[ \"$1\" = --describe ] && { echo '{\"schema\":1,\"device\":\"a "
                                    "device\",\"libraries\":{},\"described\":true}'; exit; }\n"
                                    "exec " PLIMSOLL_PROFILER " \"$@\"\n";
    fs::permissions(with.profiler, fs::perms::owner_all);
  }
  auto costs = ProfiledCosts::open(with);
  REQUIRE(costs.ok());
  REQUIRE((*costs)->prepare(graph, 2).ok());
  CHECK((*costs)->measures() == !described);
  CHECK(announced == (described ? 0 : 2));
  for (const Task& task : graph.tasks)
    for (const AlgorithmCost& cost : (*costs)->algorithms(task, 2)) {
      CHECK(cost.time_measured == !described);
      CHECK(cost.workspace_exact);
    }
}

TEST_CASE("tasks are asked for until all are known, or nothing new comes") {
  const TaskGraph graph = conv_and_relu();
  const TemporaryDirectory place;
  ProfiledOptions with = options(place.path + "/cache");
  with.measure = true;
  with.profiler = place.path + "/profiler";
  // Either a profiler slow enough to be asked for one task at a time, or one that does not answer.
  const bool answers = GENERATE(true, false);
  std::ofstream(with.profiler) << "#!/bin/sh\n[ \"$1\" = --describe ] && exec " PLIMSOLL_PROFILER " \"$@\"\n"
                               << "echo >>" << place.path << "/asked\n"
                               << "sed -e 's/\"seconds\":[0-9.]*/\"seconds\":0/'"
                               << (answers ? "" : " -e '/signature/d'") << " | " PLIMSOLL_PROFILER " \"$@\"\n";
  fs::permissions(with.profiler, fs::perms::owner_all);
  auto costs = ProfiledCosts::open(with);
  REQUIRE(costs.ok());
  const Status prepared = (*costs)->prepare(graph, 2);
  CHECK(prepared.ok() == answers);
  CHECK(contents(place.path + "/asked") == (answers ? "\n\n\n" : "\n\n"));  // once for the links
  if (!answers) CHECK(prepared.error().message.find("left out") != std::string::npos);
}

TEST_CASE("what the backend cannot do is told with the task's name") {
  TaskGraph graph = conv_and_relu();
  graph.tasks[TaskId(1)].kernel = "Abacus";
  auto costs = ProfiledCosts::open(options());
  REQUIRE(costs.ok());
  const Status status = (*costs)->prepare(graph, 2);
  REQUIRE(!status.ok());
  CHECK(status.error().code == ExitCode::environment);
  REQUIRE(status.error().notes.size() == 1);
  CHECK(status.error().notes[0] == "relu.forward: no kernel 'Abacus'");

  ProfiledOptions nowhere = options();
  nowhere.profiler = "/nowhere/profiler";
  const auto missing = ProfiledCosts::open(nowhere);
  REQUIRE(!missing.ok());
  CHECK(missing.error().code == ExitCode::environment);
}

TEST_CASE("the profiler is started once for all numbers of samples that are expected") {
  const TemporaryDirectory place;
  const ProfiledOptions with = with_broken_profiler(place, place.path + "/cache");
  const TaskGraph graph = conv_and_relu();
  auto costs = ProfiledCosts::open(with);
  REQUIRE(costs.ok());
  REQUIRE((*costs)->expect(graph, std::vector<int64_t>{2, 3, 5}).ok());
  std::ofstream(place.path + "/broken") << "\n";
  for (const int64_t samples : {2, 3, 5}) CHECK((*costs)->prepare(graph, samples).ok());
  CHECK(!(*costs)->prepare(graph, 7).ok());
}

TEST_CASE("costs are kept between runs") {
  const TemporaryDirectory place;
  const std::string cache = place.path + "/cache";
  const ProfiledOptions with = with_broken_profiler(place, cache);
  const TaskGraph graph = conv_and_relu();
  const auto prepared = [&](const TaskGraph& of, int64_t samples) {
    auto costs = ProfiledCosts::open(with);
    REQUIRE(costs.ok());
    return (*costs)->prepare(of, samples);
  };
  REQUIRE(prepared(graph, 2).ok());
  std::ofstream(place.path + "/broken") << "\n";
  CHECK(prepared(graph, 2).ok());  // without asking the profiler
  const Status unknown = prepared(graph, 5);
  REQUIRE(!unknown.ok());
  CHECK(unknown.error().message.find("it is broken") != std::string::npos);

  SECTION("a damaged line is as good as absent, the others stay") {
    const std::string file = only_file(cache);
    std::string text = contents(file);
    const size_t second = text.find('\n') + 1;
    text.replace(second, 8, "{\"torn\": ");
    std::ofstream(file, std::ios::binary) << text.substr(0, text.size() - 1);  // and without the final newline
    fs::remove(place.path + "/broken");
    CHECK(prepared(graph, 2).ok());  // asks for the missing one, after a torn line
    std::ofstream(place.path + "/broken") << "\n";
    CHECK(prepared(graph, 2).ok());
  }
  SECTION("any bytes at all may stand in the file") {
    const std::string noise = GENERATE(std::string(), std::string("\0\n\xff{}\n[1]\n", 9), std::string(5000, '{'));
    std::ofstream(only_file(cache), std::ios::binary) << noise;
    CHECK(!prepared(graph, 2).ok());
    fs::remove(place.path + "/broken");
    CHECK(prepared(graph, 2).ok());
    std::ofstream(place.path + "/broken") << "\n";
    CHECK(prepared(graph, 2).ok());
  }
  SECTION("a cache that cannot be written is no error") {
    fs::remove(place.path + "/broken");
    fs::remove_all(cache);
    std::ofstream(cache) << "a file where the directory should be\n";
    CHECK(prepared(graph, 2).ok());
  }
}

// Both load the cache before either writes to it.
TEST_CASE("of two compilers that measure the same at once, the first to keep it has measured it for both") {
  const TemporaryDirectory place;
  const CostCache cache(place.path, "a device");
  const auto took = [](const char* task, double seconds) {
    return ProfiledTask{task, {{.name = "direct", .seconds = seconds, .time_measured = true}}, ""};
  };
  const auto link = [](double rate) {
    return MeasuredLinks{.ram = {rate, rate, rate, rate, 0}, .latency_seconds = 1e-5};
  };
  CostCache::Kept first{{took("both", 1)}, link(1e9)}, second{{took("both", 2), took("its own", 3)}, link(2e9)};
  cache.append(first);
  cache.append(second);
  CHECK(first.tasks[0].algorithms[0].seconds == 1);
  CHECK(second.tasks[0].algorithms[0].seconds == 1);
  CHECK(second.tasks[1].algorithms[0].seconds == 3);
  CHECK(second.links->ram.alone_d2h == 1e9);
  const CostCache::Kept kept = cache.load();
  REQUIRE(kept.tasks.size() == 2);
  CHECK(kept.tasks[0].algorithms[0].seconds == 1);
  CHECK(kept.tasks[1].signature == "its own");
  CHECK(kept.links->ram.alone_d2h == 1e9);

  CostCache::Kept again{{}, link(4e9)};
  cache.append(again, {.links = true});
  CHECK(again.links->ram.alone_d2h == 4e9);
  CHECK(cache.load().links->ram.alone_d2h == 4e9);
}

TEST_CASE("what was disturbed is not kept, and what is asked for again replaces what is kept only if it was not") {
  const TemporaryDirectory place;
  const CostCache cache(place.path, "a device");
  const auto took = [](const char* task, double seconds, bool disturbed) {
    return ProfiledTask{
        task, {{.name = "direct", .seconds = seconds, .time_measured = true, .disturbed = disturbed}}, ""};
  };
  const auto kept = [&] {
    std::map<std::string, double> seconds;
    for (const ProfiledTask& task : cache.load().tasks) seconds[task.signature] = task.algorithms[0].seconds;
    return seconds;
  };
  const auto link = [](double rate, bool disturbed) {
    return MeasuredLinks{.ram = {rate, rate, rate, rate, 0}, .latency_seconds = 1e-5, .disturbed = disturbed};
  };
  CostCache::Kept first{{took("calm", 1, false), took("busy", 9, true)}, link(1e9, true)};
  cache.append(first);
  CHECK(kept() == std::map<std::string, double>{{"calm", 1}});
  CHECK(!cache.load().links);
  CHECK(first.tasks[1].algorithms[0].seconds == 9);  // this plan has to use it
  CHECK(first.links->ram.alone_d2h == 1e9);

  CostCache::Kept busy{{took("calm", 8, true)}, {}};
  cache.append(busy, {.tasks = true});
  CHECK(busy.tasks[0].algorithms[0].seconds == 1);
  CostCache::Kept calm{{took("calm", 2, false), took("busy", 3, false)}, link(2e9, false)};
  cache.append(calm, {.tasks = true});
  CHECK(kept() == std::map<std::string, double>{{"calm", 2}, {"busy", 3}});
  CHECK(cache.load().links->ram.alone_d2h == 2e9);
  CostCache::Kept worse{{}, link(1e8, true)};
  cache.append(worse, {.links = true});
  CHECK(worse.links->ram.alone_d2h == 2e9);

  const std::vector<CacheFile> files = cache_files(place.path);
  REQUIRE(files.size() == 1);
  CHECK(files[0].key == "a device");
  CHECK(files[0].tasks == 3);
  std::ofstream(place.path + "/costs-of-mine.jsonl") << "something else\n";
  CHECK(cache_files(place.path).size() == 1);
  CHECK(cache_files(place.path + "/nowhere").empty());
}

TEST_CASE("a profile file is read as it was written") {
  const ProfileFile profile{.device = "a device",
                            .libraries = {{"onednn", "1.2.3"}},
                            .threads = 3,
                            .links = MeasuredLinks{.ram = {1e9, 2e9, 3e9, 4e9, 0.5},
                                                   .spill = MeasuredLink{5e9, 6e9, 7e9, 8e9, 0},
                                                   .latency_seconds = 1e-5,
                                                   .launch_seconds = 4e-6,
                                                   .disturbed = true,
                                                   .process_bytes = 512},
                            .tasks = {{"one",
                                       {{.name = "direct",
                                         .workspace_bytes = 64,
                                         .seconds = 0.25,
                                         .tf32 = true,
                                         .order = 3,
                                         .time_measured = true,
                                         .disturbed = true}},
                                       ""},
                                      {"two", {}, "it cannot"}}};
  const std::string text = profile_json(profile);
  const Result<ProfileFile> read = parse_profile(text);
  REQUIRE(read.ok());
  CHECK(profile_json(*read) == text);
  CHECK(read->threads == 3);
  CHECK(read->links->spill->beside_h2d == 8e9);
  CHECK(read->tasks[0].algorithms[0].seconds == 0.25);
  CHECK(read->tasks[0].disturbed());
  CHECK(read->links->disturbed);
  CHECK(read->tasks[0].algorithms[0].order == 3);
  CHECK(read->tasks[0].algorithms[0].tf32);
  CHECK(read->tasks[1].error == "it cannot");
  const Result<MeasuredLinks> links = parse_links(links_json(*profile.links));
  REQUIRE(links.ok());
  CHECK(links->ram.slowdown == 0.5);
  CHECK(links->launch_seconds == 4e-6);
  CHECK(links->process_bytes == 512);
}

TEST_CASE("what is wrong in a profile is told with its place") {
  const std::string good = profile_json(
      {.device = "a device",
       .libraries = {{"onednn", "1.2.3"}},
       .threads = 3,
       .links = MeasuredLinks{.ram = {1e9, 2e9, 3e9, 4e9, 0.5}, .latency_seconds = 1e-5},
       .tasks = {{"one", {{.name = "direct", .workspace_bytes = 64, .seconds = 0.25, .time_measured = true}}, ""}}});
  const auto complaint = [](const std::string& text) {
    const Result<ProfileFile> read = parse_profile(text);
    REQUIRE(!read.ok());
    CHECK(read.error().code == ExitCode::unreadable_input);
    CHECK(read.error().notes.size() == 1);
    return read.error().message;
  };
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    return complaint(text.replace(text.find(from), from.size(), to));
  };
  REQUIRE(parse_profile(good).ok());
  CHECK(complaint("{") == "profile.json: is not JSON: line 1, column 2: it ends there; is it truncated?");
  CHECK(complaint("[]") == "profile.json: is an array; expected an object");
  CHECK(complaint("{\"schema\": 2}") ==
        "profile.json: schema is 2, but only 1 is supported; use the version of plimsoll that wrote it");
  CHECK(complaint("{\"schema\": 1}") == "profile.json: device is missing");
  CHECK(broken("\"workspace_bytes\":64", "\"workspace_bytes\":-1") ==
        "profile.json: tasks[0].algorithms[0].workspace_bytes is -1; expected at least 0");
  CHECK(broken("\"seconds\":0.25", "\"seconds\":\"fast\"") ==
        "profile.json: tasks[0].algorithms[0].seconds is \"fast\"; expected a number of seconds");
  CHECK(broken("\"seconds\":0.25", "\"seconds\":-0.25") == "profile.json: tasks[0].algorithms[0].seconds is negative");
  CHECK(broken("\"latency_seconds\":1e-05", "\"latency_seconds\":0") ==
        "profile.json: links.latency_seconds is not above 0");
  CHECK(broken("\"d2h_bytes_per_second\":3000000000.0", "\"d2h_bytes_per_second\":null") ==
        "profile.json: links.ram.beside.d2h_bytes_per_second is null; expected a number of bytes per second");
  // With such figures, a sum over a plan is above 2^62 bytes, or infinite.
  CHECK(broken("\"workspace_bytes\":64", "\"workspace_bytes\":9223372036854775807") ==
        "profile.json: tasks[0].algorithms[0].workspace_bytes is 9223372036854775807; expected at most 17592186044416");
  CHECK(broken("\"seconds\":0.25", "\"seconds\":1e308") ==
        "profile.json: tasks[0].algorithms[0].seconds is 1e+308; expected at most 1e+09 seconds");
  CHECK(broken("\"latency_seconds\":1e-05", "\"latency_seconds\":1e308") ==
        "profile.json: links.latency_seconds is 1e+308; expected at most 1e+09 seconds");
  CHECK(broken("\"d2h_bytes_per_second\":3000000000.0", "\"d2h_bytes_per_second\":1e-300") ==
        "profile.json: links.ram.beside.d2h_bytes_per_second is 1e-300; expected at least 1 byte per second");
  CHECK(broken("\"slowdown\":0.5", "\"slowdown\":-0.5") ==
        "profile.json: links.ram.beside.slowdown is -0.5; expected 0 to 1e+09");
  CHECK(broken("\"slowdown\":0.5", "\"slowdown\":1e300") ==
        "profile.json: links.ram.beside.slowdown is 1e+300; expected 0 to 1e+09");
  for (size_t length = 0; length + 2 < good.size(); ++length) CHECK(!parse_profile(good.substr(0, length)).ok());
}

TEST_CASE("a plan's copies go at the rates of a profile, measured beside kernels") {
  const TemporaryDirectory place;
  const std::string path = place.path + "/P.json";
  ProfileFile profile{.device = "elsewhere", .libraries = {{"onednn", "0"}}, .threads = 2};
  std::ofstream(path) << profile_json(profile);
  ProfiledOptions with = options();
  with.measure = true;
  with.profile_file = path;
  REQUIRE(!ProfiledCosts::open(with).ok());  // no links
  profile.links = MeasuredLinks{.ram = {1e9, 2e9, 3e9, 4e9, 0.5}, .latency_seconds = 1e-5};
  std::ofstream(path) << profile_json(profile);
  auto costs = ProfiledCosts::open(with);
  REQUIRE(costs.ok());
  CHECK((*costs)->links().d2h_bytes_per_second == 3e9);
  CHECK((*costs)->links().h2d_bytes_per_second == 4e9);
  CHECK((*costs)->links().latency_seconds == 1e-5);
  const Status lacking = (*costs)->prepare(conv_and_relu(), 2);
  REQUIRE(!lacking.ok());
  CHECK(lacking.error().code == ExitCode::environment);

  CHECK(ModelledCosts(*find_device("h200")).links().d2h_bytes_per_second == 52e9);
}

TEST_CASE("equal work has one value, and work that differs in anything has its own") {
  const Task task = conv_and_relu().tasks[TaskId(0)];
  WorkMap<int> values;
  CHECK(!values.find(task, 8));
  values.find_or_add(task, 8) = 1;
  Task renamed = task;
  renamed.name = "another";
  REQUIRE(values.find(renamed, 8));
  CHECK(&values.find_or_add(renamed, 8) == values.find(task, 8));

  std::vector<Task> others(6, task);
  others[0].kernel = "ConvBackwardData";
  others[1].attributes = {};
  others[2].operands.back().access = Access::update;
  others[3].operands.back().type.type = DataType::bf16;
  others[4].operands.back().type.dims[1] = {8};
  others[5].operands.back().type.layout = Layout::nhwc;
  for (const Task& other : others) CHECK(!values.find(other, 8));
  CHECK(!values.find(task, 4));
}

TEST_CASE("the bytes of a type are those of its tensor in every layout") {
  for (size_t layout = 0; layout < kLayoutNames.size(); ++layout)
    for (const DataType type : {DataType::f32, DataType::bf16, DataType::q8}) {
      const TensorType image{.type = type, .dims = {kBatch, {17}, {3}, {5}}, .layout = static_cast<Layout>(layout)};
      CAPTURE(kLayoutNames[layout]);
      CHECK(image.bytes(9) == image.at(9).bytes());
    }
  CHECK(TensorType{}.bytes(9) == 4);
}
