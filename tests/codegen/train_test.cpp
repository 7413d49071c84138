// Generated trainers, built against this build's runtime and executed.
#include <catch2/catch.hpp>

#include <cmath>

#include "graphs.h"
#include "trainer_project.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

const std::string kWithRuntime = "-DPLIMSOLL_WERROR=ON -DPLIMSOLL_RUNTIME=" PLIMSOLL_BUILD_DIR;
constexpr size_t kHeader = 100;  // of the fake model file, before the weights

// x and t = x·W for a W that training must find.
const std::vector<float> kTrue = {1, -2, 0.5f, 3, -1.5f, 0.25f, 2, -0.75f};

struct Regression {
  std::vector<float> x, t;
};

Regression samples(size_t count) {
  Regression data;
  uint32_t state = 1;
  for (size_t i = 0; i < count * 4; ++i) {
    state = state * 1664525 + 1013904223;
    data.x.push_back(static_cast<float>(state >> 8) / (1 << 23) - 1);
  }
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < 2; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += data.x[i * 4 + k] * kTrue[k * 2 + j];
      data.t.push_back(sum);
    }
  return data;
}

// One step of SGD on the first `batch` samples, with weights starting at zero.
std::vector<float> one_step(const Regression& data, size_t batch, double rate) {
  std::vector<float> w(8);
  for (size_t k = 0; k < 4; ++k)
    for (size_t j = 0; j < 2; ++j) {
      double gradient = 0;
      for (size_t i = 0; i < batch; ++i) gradient += -2.0 * data.t[i * 2 + j] * data.x[i * 4 + k];
      w[k * 2 + j] = static_cast<float>(-rate * gradient / static_cast<double>(2 * batch));
    }
  return w;
}

std::vector<GeneratedFile> generated(const TaskGraph& graph, int64_t sub_batch, int64_t model_bytes) {
  GenerateOptions options{.command = "plimsoll compile regression.onnx", .threads = 2, .model_bytes = model_bytes};
  int64_t offset = kHeader;
  for (const Parameter& parameter : graph.parameters) {
    options.initializers[parameter.initializer] = {offset};
    offset += parameter.stored.at(1).bytes();
  }
  auto files = generate(graph, naive_plan(graph, sub_batch), options);
  REQUIRE(files.ok());
  return *files;
}

}  // namespace

TEST_CASE("a generated trainer builds, takes the step that SGD takes, and finds the weights") {
  const int64_t sub_batch = GENERATE(8, 3, 1);  // one round; rounds of 3, 3 and 2; eight rounds
  const std::string model = std::string(kHeader, 'h') + bytes_of_floats(std::vector<float>(8, 0.0f)) + "tail";
  const TaskGraph graph = regression(8);
  TrainerProject project(generated(graph, sub_batch, static_cast<int64_t>(model.size())), model);
  INFO(project.path(""));
  const int built = project.build(kWithRuntime);
  INFO(project.output());
  REQUIRE(built == 0);

  const Regression data = samples(68);
  project.write_npy("x.npy", "68, 4", data.x);
  project.write_npy("t.npy", "68, 2", data.t);

  const int stepped = project.run("--data npy:x.npy,t.npy --no-shuffle --steps 1 --lr 0.5 --save one.onnx");
  INFO(project.output());
  REQUIRE(stepped == 0);
  const std::string saved = project.read("one.onnx");
  REQUIRE(saved.size() == model.size());
  CHECK(saved.substr(0, kHeader) == std::string(kHeader, 'h'));
  CHECK(saved.substr(saved.size() - 4) == "tail");
  const std::vector<float> w = floats_of_bytes(saved, kHeader, 8), expected = one_step(data, 8, 0.5);
  for (size_t i = 0; i < 8; ++i) CHECK(w[i] == Approx(expected[i]).margin(1e-5));

  // Without overlap, each step completes when its line is called: the same numbers.
  REQUIRE(project.run("--data npy:x.npy,t.npy --no-shuffle --steps 1 --lr 0.5 --save stepped.onnx --no-overlap --test "
                      "npy:x.npy,t.npy") == 0);
  CHECK(project.read("stepped.onnx").substr(0, saved.size()) == saved);  // metrics of the evaluation follow

  REQUIRE(project.run("--data npy:x.npy,t.npy --epochs 100 --lr 0.5 --save trained.onnx --test npy:x.npy,t.npy "
                      "--metrics metrics.jsonl") == 0);
  const std::vector<float> trained = floats_of_bytes(project.read("trained.onnx"), kHeader, 8);
  for (size_t i = 0; i < 8; ++i) CHECK(trained[i] == Approx(kTrue[i]).margin(1e-3));
  const std::string metrics = project.read("metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 800 + 100);  // iterations, and one evaluation per epoch
}

// Everything in the directory, with both compilers, warnings as errors.
TEST_CASE("a model with names out of a bad dream still becomes a trainer") {
  const std::string worst =
      "\"; } int x = *(int*)0; /* */ // \\\n#error ?"
      "?/\n%s%n ${PATH} $(rm) `ls` \xe2\x80\xae\xff\x01)~~~\" end\\";
  TaskGraph graph = regression(4);
  graph.name = worst;
  for (Tensor& tensor : graph.tensors) {
    tensor.name += worst;
    if (!tensor.onnx_name.empty()) tensor.onnx_name += worst;
  }
  for (Task& task : graph.tasks) {
    task.name += worst;
    task.layer += worst;
  }
  for (Parameter& parameter : graph.parameters) parameter.initializer += worst;
  const std::string model(kHeader + 32, '\0');
  std::vector<GeneratedFile> files = generated(graph, 4, static_cast<int64_t>(model.size()));
  TrainerProject project(files, model);
  const std::string compiler = GENERATE("g++", "clang++");
  const int built = project.build(kWithRuntime + " -DCMAKE_CXX_COMPILER=" + compiler);
  INFO(project.output());
  REQUIRE(built == 0);
  CHECK(project.run("--data synthetic --steps 1") == 0);
}

TEST_CASE("a program does not link with a runtime library of other sources") {
  TrainerProject project(generated(regression(4), 4, 0), "");
  std::string program = project.read("program.cpp");
  const size_t at = program.find("plimsoll_runtime_");
  REQUIRE(at != std::string::npos);
  const std::string symbol = program.substr(at, program.find(';', at) - at);
  CHECK(project.read("runtime/stamp.cpp").find("const char " + symbol + " = 0;") != std::string::npos);
  for (size_t found = at; found != std::string::npos; found = program.find(symbol, found + 1))
    program.replace(found, symbol.size(), "plimsoll_runtime_0123456789abcdef");
  project.write("program.cpp", program);
  CHECK(project.build(kWithRuntime) != 0);
  CHECK(project.output().find("undefined reference to `plimsoll_runtime_0123456789abcdef'") != std::string::npos);
}

TEST_CASE("tensors with the names of keywords, macros and the runtime compile") {
  const char* const names[] = {"int",    "Round",     "read",  "none", "NULL", "stdin", "forward_0",
                               "MatMul", "mat_mul_0", "lives", "a.b",  "a_b",  "K",     "I"};
  for (size_t first = 0; first < std::size(names); first += 7) {
    TaskGraph graph = regression(4);
    size_t next = first;
    for (Tensor& tensor : graph.tensors)
      if (next < std::size(names)) tensor.name = names[next++];
    TrainerProject project(generated(graph, 4, 0), "");
    const std::string sources = " steps_0.cpp program.cpp kernels_0.cpp lives.cpp";
    const int compiled =
        project.shell("cd " + project.path("") + " && for source in" + sources +
                      "; do c++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I . $source || exit 1; done");
    INFO(project.output());
    CHECK(compiled == 0);
  }
}

TEST_CASE("a trainer keeps its promises at the command line") {
  const std::string model = std::string(kHeader, 'h') + bytes_of_floats(std::vector<float>(8, 0.0f));
  const TaskGraph graph = regression(8);
  TrainerProject project(generated(graph, 4, static_cast<int64_t>(model.size())), model);
  REQUIRE(project.build(kWithRuntime) == 0);
  const Regression data = samples(68);
  project.write_npy("x.npy", "68, 4", data.x);
  project.write_npy("t.npy", "68, 2", data.t);
  const std::string good = "--data npy:x.npy,t.npy ";

  // Arguments, the expected exit code, and a word of the message.
  struct Case {
    std::string arguments;
    int code;
    std::string word;
  };
  project.write("short.npy", project.read("x.npy").substr(0, 300));
  project.write("noise.npy", "this is no array at all, and long enough");
  project.write_npy("wide.npy", "34, 8", data.x);
  project.write_npy("few.npy", "3, 4", std::vector<float>(12));
  project.write_npy("few_t.npy", "3, 2", std::vector<float>(6));
  project.write("other.onnx", model + "longer");
  const std::vector<Case> cases = {
      {"--epochs 0", 2, "--epochs"},
      {"--steps ten", 2, "--steps"},
      {"--lr nan", 2, "--lr"},
      {"--lr", 2, "needs a value"},
      {"--metrics --quiet", 2, "--metrics needs a value"},
      {"--frobnicate", 2, "--frobnicate"},
      {"--freeze conv1", 2, "plimsoll compile … --freeze"},
      {"--keep 2", 2, "--keep needs --checkpoint"},
      {"--lr-gamma 0.5", 2, "--lr-gamma requires --lr-schedule step"},
      {"--lr-schedule step --lr-step 2 --lr-min 0.1", 2, "--lr-min requires --lr-schedule cosine or linear"},
      {good + "--flip", 2, "--flip needs images"},
      {"--quiet=1", 2, "takes no value"},
      {"--data parquet:x", 2, "parquet"},
      {"--data npy:x.npy", 2, "2 inputs"},
      {"--data synthetic:often", 2, "often"},
      {good + "--init xavier", 2, "xavier"},
      {good + "--init he:", 2, "he:"},
      {"--data npy:nowhere.npy,t.npy", 3, "nowhere.npy"},
      {"--data npy:.,t.npy", 3, "not a file"},
      {"--data npy:short.npy,t.npy", 3, "bytes"},
      {"--data npy:noise.npy,t.npy", 3, "npy"},
      {good + "--model nowhere.onnx", 3, "nowhere.onnx"},
      {"--data npy:wide.npy,t.npy", 4, "f32[8]"},
      {"--data npy:x.npy,few_t.npy", 4, "3 of t"},
      {"--data npy:few.npy,few_t.npy", 4, "an iteration takes 8"},
      {"--data mnist:.", 4, "28x28"},
      {good + "--model other.onnx", 4, "other.onnx"},
      {good + "--save nowhere/trained.onnx", 7, "nowhere"},
      {good + "--save .", 7, "not a file"},
      {good + "--metrics nowhere/metrics.jsonl", 7, "nowhere"},
  };
  for (const Case& wrong : cases) {
    INFO(wrong.arguments);
    const int code = project.run(wrong.arguments);
    INFO(project.output());
    CHECK(code == wrong.code);
    CHECK(project.output().find("error: ") != std::string::npos);
    CHECK(project.output().find(wrong.word) != std::string::npos);
  }

  CHECK(project.run("--help") == 0);
  CHECK(project.output().find("--save FILE") != std::string::npos);

  SECTION("two runs give the same bits, another order others") {
    REQUIRE(project.run(good + "--init he:3 --epochs 2 --seed 5 --save a.onnx") == 0);
    REQUIRE(project.run(good + "--init he:3 --epochs 2 --seed 5 --save b.onnx") == 0);
    REQUIRE(project.run(good + "--init he:3 --epochs 2 --seed 6 --save c.onnx") == 0);
    CHECK(project.read("a.onnx") == project.read("b.onnx"));
    CHECK(project.read("a.onnx") != project.read("c.onnx"));
    CHECK(project.run(good + "--init he:3 --steps 1 --lr 0 --save he.onnx") == 0);
    CHECK(project.read("he.onnx").size() == model.size());
    CHECK(project.read("he.onnx") != model);
  }
  SECTION("its own code allocates nothing after the first iteration") {
    const auto allocations = [&](int steps) -> int64_t {
      const int code = project.run(good + "--test npy:x.npy,t.npy --metrics m.jsonl --quiet --steps " +
                                   std::to_string(steps) + " 2>&1", "LD_PRELOAD=" PLIMSOLL_ALLOCATION_COUNTER);
      REQUIRE(code == 0);
      const std::string said = project.output(), label = "own allocations ";
      REQUIRE(said.starts_with(label));
      return std::stoll(said.substr(label.size()));
    };
    // On a loaded machine, two processes with the same work may differ by one allocation in either direction.
    CHECK(std::abs(allocations(100) - allocations(1)) <= 1);
  }
  SECTION("interrupted, it finishes the iteration and saves") {
    for (const auto& [signal, exit] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
      const int code = project.shell("cd " + project.path("") + " && rm -f m.jsonl half.onnx && (build/train " + good +
                                     "--epochs 100000000 --metrics m.jsonl --save half.onnx & child=$!; "
                                     "while [ ! -s m.jsonl ]; do sleep 0.05; done; kill -" +
                                     signal + " $child; wait $child)");
      INFO(project.output());
      CHECK(code == exit);
      CHECK(project.output().find("stopped after") != std::string::npos);
      CHECK(project.read("half.onnx").size() == model.size());
    }
  }
  SECTION("where nothing can be written nothing is left") {
    project.write("kept.onnx", "the file of yesterday");
    const int code = project.shell("cd " + project.path("") + " && (ulimit -f 0; build/train " + good +
                                   "--quiet --steps 1 --save kept.onnx) 2>&1 | cat; ls -A");
    CHECK(code == 0);
    CHECK(project.output().find("cannot write 'kept.onnx'") != std::string::npos);
    CHECK(project.output().find(".plimsoll-") == std::string::npos);
    CHECK(project.read("kept.onnx") == "the file of yesterday");
  }
  SECTION("a program that was moved finds the model beside it") {
    REQUIRE(project.shell("cd " + project.path("") + " && mkdir elsewhere && mv build/train model.onnx elsewhere && "
                          "elsewhere/train " + good + "--steps 1 --save moved.onnx") == 0);
    CHECK(project.read("moved.onnx").size() == model.size());
  }
}

// Filters of 36 weights that sum to one, so that values stay finite through a thousand of them.
TEST_CASE("a program of a thousand layers builds and runs") {
  const TaskGraph graph = tower(4, 1000);
  const std::string model = std::string(kHeader, 'h') + bytes_of_floats(std::vector<float>(1000 * 144, 1.0f / 36));
  TrainerProject project(generated(graph, 4, static_cast<int64_t>(model.size())), model);
  const int built = project.build(kWithRuntime);
  INFO(project.output());
  REQUIRE(built == 0);
  const int code = project.run("--data synthetic --steps 2");
  INFO(project.output());
  CHECK(code == 0);
}
