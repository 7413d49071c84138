#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "compiler/costs/profiled.h"
#include "compiler/driver/planning.h"
#include "compiler/support/counted.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/planning_options.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class ProfileCommand final : public Command {
 public:
  ProfileCommand()
      : Command("profile",
                "measure the kernels of a model: plimsoll profile net.onnx --batch 64 --sub-batch 64,32 -o P.json"),
        options_(sub),
        sub_batches_("sub-batch", cl::CommaSeparated, cl::value_desc("N,N…"),
                     cl::desc("sizes of a round to measure; default: the batch"), cl::sub(sub)),
        spill_("spill", cl::value_desc("DIR"),
               cl::desc("measure copies to a spill file in DIR; default: the directory for temporary files"),
               cl::sub(sub)),
        tasks_only_("tasks-only", cl::desc("write the profiler's input (tasks.json), to measure on another machine"),
                    cl::sub(sub)),
        output_("o", cl::Required, cl::value_desc("FILE"), cl::desc("profile.json; -: stdout"), cl::sub(sub)),
        json_("json", cl::desc("print the measured figures as JSON"), cl::sub(sub)) {}

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    if (json_ && output_ == "-") return Error{ExitCode::usage, "--json and -o - both write to stdout"};
    if (json_ && tasks_only_)
      return Error{ExitCode::usage, "--json prints measurements, but --tasks-only measures nothing"};
    for (const long long samples : sub_batches_)
      if (samples < 1 || samples > options_.batch)
        return Error{ExitCode::usage, fmt::format("--sub-batch is {}; expected 1 to the batch, {}", samples,
                                                  options_.batch.getValue())};
    PLIMSOLL_ASSIGN(const ModelRequest request, request_of(options_));
    PLIMSOLL_ASSIGN(const std::vector<TaskGraph> graphs, load_graphs(request, console.messages()));
    if (tasks_only_) return write(tasks_of(graphs, request));
    PLIMSOLL_ASSIGN(const std::unique_ptr<ProfiledCosts> costs,
                    ProfiledCosts::open({.target = request.target,
                                         .threads = threads_of(request),
                                         .measure = true,
                                         .arithmetic = arithmetic_of(request),
                                         .cache_directory = default_cache_directory(),
                                         .remeasure = request.remeasure,
                                         .spill_directory = spill_,
                                         .show_progress = console.messages().show_progress}));
    PLIMSOLL_TRY(for_each_round(
        graphs, [&](const TaskGraph& graph, int64_t samples) { return costs->prepare(graph, samples); }));
    const ProfileFile profile = costs->file();
    PLIMSOLL_TRY(write(profile_json(profile)));
    if (json_) fmt::print("{}\n", json_of(profile));
    else console.say(describe(profile));
    if (const int64_t disturbed = disturbed_of(profile); disturbed > 0)
      console.warning(fmt::format(
          "{} measured while other processes used the CPU, {} in '{}' and not cached: measure again on an idle machine",
          disturbed == 1 ? "1 time was" : fmt::format("{} times were", disturbed),
          disturbed == 1 ? "it is marked" : "they are marked", output_.getValue()));
    return {};
  }

 private:
  Status write(const std::string& json) const {
    if (output_ != "-") return write_file(output_, json);
    fmt::print("{}", json);
    return {};
  }

  // With several rounds, gradients accumulate, which are other tasks.
  template <class Body>
  Status for_each_round(const std::vector<TaskGraph>& graphs, const Body& body) const {
    for (const TaskGraph& graph : graphs) PLIMSOLL_TRY(for_each_round(graph, body));
    return {};
  }
  template <class Body>
  Status for_each_round(const TaskGraph& graph, const Body& body) const {
    std::set<int64_t> sub_batches(sub_batches_.begin(), sub_batches_.end());
    if (sub_batches.empty()) sub_batches.insert(options_.batch);
    std::optional<TaskGraph> in_rounds;
    for (const int64_t samples : sub_batches) {
      if (samples == options_.batch) {
        PLIMSOLL_TRY(body(graph, samples));
        continue;
      }
      if (!in_rounds) in_rounds = accumulating(graph);
      PLIMSOLL_TRY(body(*in_rounds, samples));
      if (const int64_t rest = options_.batch % samples; rest != 0) PLIMSOLL_TRY(body(*in_rounds, rest));
    }
    return {};
  }

  std::string tasks_of(const std::vector<TaskGraph>& graphs, const ModelRequest& request) const {
    std::map<std::string, std::string> tasks;
    const Status listed = for_each_round(graphs, [&](const TaskGraph& graph, int64_t samples) -> Status {
      tasks.merge(task_entries(graph, samples));
      return {};
    });
    PLIMSOLL_CHECK(listed.ok(), "listing tasks fails nowhere");
    std::vector<std::string> entries;
    for (auto& [key, task] : tasks) entries.push_back(std::move(task));
    return tasks_json({.tasks = std::move(entries),
                       .threads = threads_of(request),
                       .arithmetic = arithmetic_of(request),
                       .spill_directory = spill_.empty() ? "." : spill_.getValue()});
  }

  // Algorithms with unreliable times, and the links.
  static int64_t disturbed_of(const ProfileFile& profile) {
    int64_t disturbed = profile.links && profile.links->disturbed ? 1 : 0;
    for (const ProfiledTask& task : profile.tasks)
      disturbed += std::count_if(task.algorithms.begin(), task.algorithms.end(),
                                 [](const AlgorithmCost& cost) { return cost.disturbed; });
    return disturbed;
  }

  static int64_t algorithms_of(const ProfileFile& profile) {
    int64_t algorithms = 0;
    for (const ProfiledTask& task : profile.tasks) algorithms += static_cast<int64_t>(task.algorithms.size());
    return algorithms;
  }

  std::string json_of(const ProfileFile& profile) const {
    return JsonObject()
        .add("file", output_.getValue())
        .add("device", profile.device)
        .add("threads", profile.threads)
        .add("tasks", profile.tasks.size())
        .add("algorithms", algorithms_of(profile))
        .add("disturbed", disturbed_of(profile))
        .text();
  }

  static std::string describe(const ProfileFile& profile) {
    const int64_t algorithms = algorithms_of(profile);
    std::string text =
        fmt::format("profile  {}, {}, of {} with {}", counted(static_cast<int64_t>(profile.tasks.size()), "task"),
                    counted(algorithms, "algorithm"), profile.device, counted(profile.threads, "thread"));
    std::vector<double> spreads;
    for (const ProfiledTask& task : profile.tasks)
      for (const AlgorithmCost& algorithm : task.algorithms)
        if (algorithm.seconds > 0) spreads.push_back(algorithm.spread_seconds / algorithm.seconds);
    std::sort(spreads.begin(), spreads.end());
    if (!spreads.empty())
      text += fmt::format("\nspread   of the times: median {:.1f} %, 90th percentile {:.1f} %",
                          100 * spreads[spreads.size() / 2], 100 * spreads[spreads.size() * 9 / 10]);
    if (!profile.links) return text;
    const auto line = [&](const char* name, const MeasuredLink& link) {
      text += fmt::format(
          "\n{:8} {:.1f} GB/s out, {:.1f} back; with kernels running: {:.1f} and {:.1f} at once, kernels {:.0f} % "
          "slower",
          name, link.alone_d2h / 1e9, link.alone_h2d / 1e9, link.beside_d2h / 1e9, link.beside_h2d / 1e9,
          100 * link.slowdown);
    };
    line("memory", profile.links->ram);
    if (profile.links->spill) line("spill", *profile.links->spill);
    return text;
  }

  ModelOptions options_;
  cl::list<long long> sub_batches_;
  cl::opt<std::string> spill_;
  cl::opt<bool> tasks_only_;
  cl::opt<std::string> output_;
  cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> profile_command() { return std::make_unique<ProfileCommand>(); }

}  // namespace plimsoll
