// The compiler without its command line: a request as input, files and messages as output.
#include <catch2/catch.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/driver/plan_file.h"
#include "models/zoo.h"

namespace fs = std::filesystem;

namespace plimsoll {
namespace {

struct Heard {
  std::vector<std::string> notes = {}, warnings = {};
  std::string text = {};

  Messages messages() {
    return {.on_note = [this](std::string_view said) { notes.emplace_back(said); },
            .on_warning = [this](std::string_view said) { warnings.emplace_back(said); },
            .on_text = [this](std::string_view said) { text += said; }};
  }
};

// A small model in its own directory.
class Workplace {
 public:
  Workplace() {
    std::string pattern = (fs::temp_directory_path() / "plimsoll-driver-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    path_ = pattern;
    ::setenv("PLIMSOLL_PROFILER", PLIMSOLL_PROFILER, 1);
    ::setenv("XDG_CACHE_HOME", path_.c_str(), 1);
    REQUIRE(write_zoo_model("lenet", model()).ok());
  }
  ~Workplace() { fs::remove_all(path_); }
  std::string model() const { return path_ + "/net.onnx"; }
  std::string trainer() const { return path_ + "/trainer"; }

  PlanningRequest planning() const {
    return {.of_model = {.model = model(), .batch = 8}, .effort = 0, .costs = "modelled"};
  }

 private:
  std::string path_;
};

std::string complaint(const Status& status) {
  return status.ok() ? "" : status.error().code == ExitCode::usage ? status.error().message : "not an error of usage";
}

}  // namespace

TEST_CASE("a request that says nothing is one that can be met") {
  CHECK(complaint(check_usage(ModelRequest{})) == "");
  CHECK(complaint(check_usage(PlanningRequest{})) == "");
  CHECK(complaint(check_usage(OnePlanRequest{})) == "");
}

TEST_CASE("what is given is checked, with the flag's name") {
  CHECK(complaint(check_usage(ModelRequest{.threads = 0})) == "--threads is 0; expected 1 to 1024");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(complaint(check_usage(ModelRequest{.clip_norm = 0.0})).starts_with("--clip-norm is 0; expected"));
  CHECK(complaint(check_usage(ModelRequest{.clip_norm = nan})).starts_with("--clip-norm is nan"));
  CHECK(complaint(check_usage(ModelRequest{.target = "tpu"})) == "unknown target 'tpu'; targets: host, cuda");
  CHECK(complaint(check_usage(PlanningRequest{.of_model = {.batch = 4}, .sub_batch = 8})) ==
        "--sub-batch is 8; expected 1 to the batch, 4");
  CHECK(complaint(check_usage(PlanningRequest{.jobs = 0})) == "--jobs is 0; expected 1 to 256");
  CHECK(complaint(check_usage(PlanningRequest{.of_model = {.batch = 5}, .ranks = 2})) ==
        "--batch 5 is not divisible by 2 ranks; 4 and 6 would be");
  CHECK(complaint(check_usage(PlanningRequest{.of_model = {.batch = 4}, .sub_batch = 2, .rules = "vdnn"})) ==
        "--rules vdnn does not support --sub-batch");
  const SizeSpec half = {.kind = SizeSpec::Kind::percent, .percent = 50};
  CHECK(complaint(check_usage(OnePlanRequest{.budget = half, .process_budget = 1})) ==
        "--budget and --process-budget are mutually exclusive");
}

TEST_CASE("a request becomes a directory that holds the plan it promises") {
  const Workplace workplace;
  Heard heard;
  const Result<Planned> planned = compile(
      {.planning = workplace.planning(), .directory = workplace.trainer(), .invocation = "as a test does"},
      heard.messages());
  INFO((planned.ok() ? "" : planned.error().message));
  REQUIRE(planned.ok());
  for (const char* file :
       {"model.onnx", "plan.json", "manifest.json", "CMakeLists.txt", "runtime/machine/processors.h"})
    CHECK(fs::exists(fs::path(workplace.trainer()) / file));
  const Result<Plan> read = read_plan(workplace.trainer());
  REQUIRE(read.ok());
  CHECK(read->summary.arena_bytes == planned->plan.summary.arena_bytes);
  CHECK(heard.warnings == std::vector<std::string>{});
  CHECK(heard.text.empty());
}

TEST_CASE("a dry run writes nothing, and passes are printed to who listens") {
  const Workplace workplace;
  Heard heard;
  const Result<Planned> planned = compile({.planning = workplace.planning(),
                                           .plan = {.print_after = "place"},
                                           .directory = workplace.trainer(),
                                           .dry_run = true},
                                          heard.messages());
  INFO((planned.ok() ? "" : planned.error().message));
  REQUIRE(planned.ok());
  CHECK_FALSE(fs::exists(workplace.trainer()));
  CHECK(heard.text.starts_with("# after place\n"));
}

TEST_CASE("rules of a paper make no trainer") {
  const Workplace workplace;
  PlanningRequest planning = workplace.planning();
  planning.rules = "vdnn";
  const Result<Planned> planned = compile({.planning = planning, .directory = workplace.trainer()}, {});
  REQUIRE_FALSE(planned.ok());
  CHECK(planned.error().code == ExitCode::usage);
}

}  // namespace plimsoll
