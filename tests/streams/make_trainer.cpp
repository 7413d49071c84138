// make_trainer MODEL.onnx DIR name=value…: a trainer whose plan has copies and recomputations at random places.
//   batch, sub-batch, threads, seed, offload, recompute (percent of the gaps), wait (the number of one to leave out)
// Prints what the plan has of each, and its waits.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "codegen/generate.h"
#include "compiler/check/check.h"
#include "compiler/costs/profiled.h"
#include "compiler/import/model_file.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/plan_json.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/layout.h"
#include "compiler/network/loss.h"
#include "compiler/training/build.h"
#include "scatter.h"

namespace plimsoll::test {
namespace {

using Arguments = std::map<std::string, int64_t>;

// Leaves wait number `number` out of the plan, behind the checker's back; it must have been needed.
Status drop_wait(Plan& plan, int64_t number) {
  for (const StepId id : ids_of(plan.steps))
    for (const StepId wait : plan.steps[id].waits) {
      if (number-- > 0) continue;
      std::erase(plan.steps[id].waits, wait);
      fmt::print("step {} no longer waits for step {}\n", id.value, wait.value);
      if (check_plan(plan).empty()) return Error{ExitCode::internal, "nobody needs that wait"};
      return {};
    }
  return Error{ExitCode::usage, "the plan has fewer waits"};
}

Status make(const std::string& model_path, const std::string& directory, Arguments given) {
  const auto argument = [&](const char* name, int64_t otherwise) {
    return given.contains(name) ? given.at(name) : otherwise;
  };
  const int64_t batch = argument("batch", 8), threads = argument("threads", 2);
  PLIMSOLL_ASSIGN(ImportedModel model, import_onnx(model_path, {.batch = batch}));
  std::vector<std::string> notes;
  PLIMSOLL_TRY(attach_loss(model.network, LossKind::softmax_cross_entropy, notes));
  fuse_additions(model.network);
  fuse_activations(model.network);
  assign_layouts(model.network, __builtin_cpu_supports("avx512f") ? Layout::nChw16c
                                : __builtin_cpu_supports("avx2")  ? Layout::nChw8c
                                                                  : Layout::plain);
  PLIMSOLL_ASSIGN(TaskGraph graph, build_task_graph(model.network, {.batch = batch}));
  const int64_t sub_batch = argument("sub-batch", batch);
  if (sub_batch < batch) graph = accumulating(std::move(graph));

  PLIMSOLL_ASSIGN(const Device device, find_device("host"));
  PLIMSOLL_ASSIGN(std::unique_ptr<ProfiledCosts> costs,
                  ProfiledCosts::open({.threads = threads, .measure = false, .device = device}));
  PLIMSOLL_ASSIGN(Plan plan, scattered_plan(graph, *costs, {.batch = batch,
                                                            .sub_batch = sub_batch,
                                                            .seed = static_cast<uint64_t>(argument("seed", 0)),
                                                            .offload = static_cast<int>(argument("offload", 0)),
                                                            .recompute = static_cast<int>(argument("recompute", 0)),
                                                            .homes = static_cast<int>(argument("homes", 0))}));
  std::vector<Violation> violations = check_plan(plan);
  for (Violation& violation : check_against_graph(plan, graph)) violations.push_back(std::move(violation));
  if (!violations.empty()) return Error{ExitCode::verification_failed, to_string(violations)};
  size_t waits = 0;
  for (const Step& step : plan.steps) waits += step.waits.size();
  fmt::print("arena {} host pool {} offloaded {} prefetched {} recomputed {} waits {}\n", plan.summary.arena_bytes,
             plan.summary.host_pool_bytes, plan.summary.offloaded_bytes, plan.summary.prefetched_bytes,
             plan.summary.recomputed_tasks, waits);
  if (given.contains("wait")) PLIMSOLL_TRY(drop_wait(plan, given.at("wait")));

  namespace fs = std::filesystem;
  fs::create_directories(directory);
  const std::string file = directory + "/model.onnx";
  PLIMSOLL_ASSIGN(const auto ranges, write_model(*model.file, file));
  GenerateOptions options{.threads = threads, .model_bytes = static_cast<int64_t>(fs::file_size(file))};
  for (const auto& [name, range] : ranges) options.initializers[name] = {range.offset, range.type};
  PLIMSOLL_ASSIGN(std::vector<GeneratedFile> files, generate(graph, plan, options));
  files.push_back({"plan.json", to_json(plan)});
  for (const GeneratedFile& each : files) {
    const fs::path path = fs::path(directory) / each.path;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << each.contents;
  }
  return {};
}

}  // namespace
}  // namespace plimsoll::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  plimsoll::test::Arguments given;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    given[text.substr(0, equals)] = std::atoll(text.c_str() + equals + 1);
  }
  const plimsoll::Status made = plimsoll::test::make(argv[1], argv[2], given);
  if (made.ok()) return 0;
  fmt::print(stderr, "error: {}\n", made.error().message);
  return static_cast<int>(made.error().code);
}
