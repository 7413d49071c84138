#include "compiler/costs/profiled.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "compiler/costs/find_profiler.h"
#include "compiler/costs/modelled.h"
#include "compiler/costs/subprocess.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::string profiler_of(const ProfiledOptions& options) {
  if (!options.profiler.empty()) return options.profiler;
  if (const char* set = std::getenv("PLIMSOLL_PROFILER"); set && *set) return set;
  return find_profiler(options.target);
}

// Another build of the profiler has other kernels, so its costs do not apply. Workspaces are a matter of safety.
std::string identity_of(const std::string& profiler) {
  std::error_code failed;
  const auto written = fs::last_write_time(profiler, failed);
  const auto bytes = fs::file_size(profiler, failed);
  return failed ? "" : fmt::format("{} {}", bytes, written.time_since_epoch().count());
}

// ", onednn 2.6.3"
std::string in_words(const std::map<std::string, std::string>& libraries) {
  std::string text;
  for (const auto& [library, version] : libraries) text += ", " + library + " " + version;
  return text;
}

std::string directory_for_temporary_files() {
  std::error_code failed;
  const fs::path directory = fs::temp_directory_path(failed);
  return failed ? "/tmp" : directory.string();
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// Advice if the profiler does not run.
std::vector<std::string> advice(const ProfiledOptions& options) {
  if (access(options.profiler.c_str(), X_OK) == 0) return {};
  std::vector<std::string> notes = {fmt::format("it determines workspaces{}: set PLIMSOLL_PROFILER to its path",
                                                options.measure ? " and measures" : ", with modelled times too")};
  if (options.target != "cuda") return notes;
  notes.emplace_back(
      "it is built with Plimsoll if CMake finds nvcc and cuDNN 9.8 or later; `plimsoll doctor` looks for them");
  notes.emplace_back("`plimsoll plan --target cuda --costs h200` works without it, with modelled workspaces");
  return notes;
}

Error profiler_failed(const std::string& profiler, const ProcessResult& result) {
  return {ExitCode::environment,
          fmt::format("the profiler '{}' failed with exit code {}{}", profiler, result.exit_code,
                      result.errors.empty() ? "" : ": " + last_line(result.errors))};
}

std::vector<std::string> which_device(const ProfiledOptions& options) {
  if (options.elsewhere.empty()) return {};
  return {options.only_if_none ? "--else-device-props" : "--device-props", options.elsewhere};
}

Result<ProfileFile> run_profiler(const ProfiledOptions& options, const Question& question) {
  std::vector<std::string> arguments{options.profiler, "-", "-o", "-"};
  if (!options.measure) arguments.push_back("--no-measure");
  for (const std::string& argument : which_device(options)) arguments.push_back(argument);
  if (options.show_progress) arguments.push_back("--progress");
  PLIMSOLL_ASSIGN(const ProcessResult result, run_process(arguments, tasks_json(question), options.show_progress));
  if (result.exit_code != 0) return profiler_failed(options.profiler, result);
  return parse_profile(result.output);
}

// A profile file that replaces the profiler must hold measured times.
Result<ProfileFile> read_profile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error{ExitCode::unreadable_input, "cannot read '" + path + "'"};
  Result<ProfileFile> file = parse_profile(text.str());
  if (!file.ok()) return Error{ExitCode::unreadable_input, path + ": " + file.error().message, file.error().notes};
  if (!file->links)
    return Error{
        ExitCode::unreadable_input, path + ": has no links (the times of copies)", {"run `plimsoll profile` again"}};
  for (const ProfiledTask& task : file->tasks)
    for (const AlgorithmCost& cost : task.algorithms)
      if (!cost.time_measured)
        return Error{ExitCode::unreadable_input, path + ": has no time for " + task.signature,
                     {"measure times on the device: `plimsoll profile` without --tasks-only"}};
  return file;
}

}  // namespace

ProfiledCosts::ProfiledCosts(const ProfiledOptions& options, const ProfileFile& made_by, const std::string& identity)
    : options_(options),
      cache_(options.cache_directory,
             fmt::format("{}{}, {}, {}{}{}, profiler {}", made_by.device, in_words(made_by.libraries),
                         counted(options.threads, "thread"), options.measure ? "measured" : "workspaces only",
                         options.arithmetic.tf32 ? ", tf32" : "",
                         options.arithmetic.nondeterministic ? ", nondeterministic" : "", identity)),
      profile_{.device = made_by.device, .libraries = made_by.libraries, .threads = options.threads} {}

Result<std::unique_ptr<ProfiledCosts>> ProfiledCosts::open(const ProfiledOptions& given) {
  ProfiledOptions options = given;
  options.profiler = profiler_of(given);
  std::optional<ProfileFile> file;
  if (!given.profile_file.empty()) {
    PLIMSOLL_ASSIGN(file, read_profile(given.profile_file));
    options.threads = file->threads;
    if (file->tf32 != options.arithmetic.tf32)
      return Error{ExitCode::usage, fmt::format("'{}' was measured with --precision {}", options.profile_file,
                                                file->tf32 ? "tf32" : "fp32")};
  }
  std::vector<std::string> described_by = {options.profiler, "--describe"};
  for (const std::string& argument : which_device(options)) described_by.push_back(argument);
  const auto described = [&]() -> Result<ProfilerDescription> {
    PLIMSOLL_ASSIGN(const ProcessResult result, run_process(described_by));
    if (result.exit_code != 0) return profiler_failed(options.profiler, result);
    return parse_description(result.output);
  }();
  if (!described.ok() && !file) {
    Error error = described.error();
    for (std::string& note : advice(options)) error.notes.push_back(std::move(note));
    return error;
  }
  const bool elsewhere =
      file && (!described.ok() || described->device != file->device || described->libraries != file->libraries);
  std::string identity = identity_of(options.profiler);
  if (described.ok() && described->elsewhere) {
    identity += " described";
    if (!options.elsewhere.empty()) options.measure = false;
  }
  const ProfileFile here = file ? *file : ProfileFile{.device = described->device, .libraries = described->libraries};
  std::unique_ptr<ProfiledCosts> costs(new ProfiledCosts(options, here, identity));
  costs->elsewhere_ = elsewhere;
  if (!elsewhere && !options.remeasure) {
    CostCache::Kept kept = costs->cache_.load();
    costs->learn(std::move(kept.tasks));
    costs->links_ = kept.links;
  }
  if (file) {
    costs->learn(std::move(file->tasks));
    if (file->links) costs->links_ = file->links;
  }
  const bool wanted = !costs->links_ || !options.spill_directory.empty();
  if (options.measure && wanted && !elsewhere) PLIMSOLL_TRY(costs->ask_for_links());
  return costs;
}

void ProfiledCosts::learn(std::vector<ProfiledTask> tasks) {
  for (ProfiledTask& task : tasks) {
    std::string signature = task.signature;
    known_[std::move(signature)] = std::move(task);
  }
}

Status ProfiledCosts::ask(const Question& question) {
  PLIMSOLL_ASSIGN(ProfileFile answer, run_profiler(options_, question));
  CostCache::Kept news{std::move(answer.tasks), answer.links};
  cache_.append(news, {.tasks = options_.remeasure, .links = options_.remeasure || !options_.spill_directory.empty()});
  learn(std::move(news.tasks));
  if (news.links) links_ = news.links;
  return {};
}

Status ProfiledCosts::ask_for_links() {
  return ask({.threads = options_.threads,
              .arithmetic = options_.arithmetic,
              .spill_directory =
                  options_.spill_directory.empty() ? directory_for_temporary_files() : options_.spill_directory});
}

// Measures in portions and stores each in the cache before the next, so an interrupted run keeps its results.
Status ProfiledCosts::ask_for(std::map<std::string, std::string> entries) {
  constexpr double kSecondsAtATime = 10;
  const size_t all = entries.size();
  for (size_t left = all + 1; !entries.empty() && entries.size() < left;) {
    left = entries.size();
    Question question{.threads = options_.threads,
                      .arithmetic = options_.arithmetic,
                      .seconds = options_.measure ? kSecondsAtATime : 0,
                      .done = all - left};
    for (const auto& [key, entry] : entries) question.tasks.push_back(entry);
    PLIMSOLL_TRY(ask(question));
    std::erase_if(entries, [&](const auto& entry) { return known_.contains(entry.first); });
  }
  return {};
}

// A device model cannot distinguish the algorithms of a library within a kind (with or without tensor cores). But the
// library lists them by preference: each place in its order adds this fraction of the first one's time. If the model
// knows all algorithms of a task by name, they have the model's times.
constexpr double kPerPlace = 0.08;

void ProfiledCosts::remember(const ProfiledTask& profiled, const Task& task, int64_t samples) {
  std::vector<AlgorithmCost> costs = profiled.algorithms;
  const std::vector<AlgorithmCost> modelled =
      options_.measure ? std::vector<AlgorithmCost>{} : modelled_algorithms(options_.device, task, samples);
  const double f32 = modelled.empty() ? 0 : modelled.front().seconds;
  const auto on_tensor_cores = options_.measure ? std::nullopt : tf32_algorithm(options_.device, task, samples);
  const double tf32 = on_tensor_cores ? std::min(f32, on_tensor_cores->seconds) : f32;
  const auto place = [&](const AlgorithmCost& cost) {  // within its kind
    return cost.order - std::count_if(profiled.algorithms.begin(), profiled.algorithms.end(),
                                      [&](const AlgorithmCost& other) {
      return other.tf32 != cost.tf32 && other.order < cost.order;
           });
  };
  const auto known = [&](const AlgorithmCost& cost) {
    return std::find_if(modelled.begin(), modelled.end(),
                        [&](const AlgorithmCost& other) { return other.name == cost.name; });
  };
  const bool all_known =
      std::all_of(costs.begin(), costs.end(), [&](const AlgorithmCost& cost) { return known(cost) != modelled.end(); });
  for (AlgorithmCost& cost : costs) {
    if (cost.time_measured) continue;
    if (all_known) cost.seconds = known(cost)->seconds;
    else
      cost.seconds = (cost.tf32 ? tf32 : f32) * (1 + kPerPlace * static_cast<double>(place(cost))) +
                     (cost.name.starts_with("widened") ? widening_seconds(options_.device, task, samples) : 0);
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const AlgorithmCost& a, const AlgorithmCost& b) { return a.seconds < b.seconds; });
  profile_.costs[profiled.signature] = std::move(costs);
}

// Adds the entries of tasks that no profiler has been asked for. To make entries takes long, so none are made if all
// tasks are known.
void ProfiledCosts::add_unknown(const TaskGraph& graph, int64_t samples,
                                std::map<std::string, std::string>& unknown) const {
  bool all_known = true;
  for_each_work(graph,
                [&](const Task& task) { all_known = all_known && known_.contains(signature(task, samples)); });
  if (all_known) return;
  for (auto& [key, entry] : task_entries(graph, samples))
    if (!known_.contains(key)) unknown.emplace(key, std::move(entry));
}

Status ProfiledCosts::prepare(const TaskGraph& graph, int64_t samples) {
  std::map<std::string, Task> wanted;
  for_each_work(graph, [&](const Task& task) {
    std::string key = signature(task, samples);
    if (!profile_.costs.contains(key)) wanted.try_emplace(std::move(key), task);
  });
  std::map<std::string, std::string> unknown;
  add_unknown(graph, samples, unknown);
  if (!unknown.empty() && elsewhere_)
    return Error{ExitCode::environment,
                 fmt::format("'{}' lacks {} of rounds of {}, and was measured on another machine: {}, {}",
                             options_.profile_file, counted(static_cast<int64_t>(unknown.size()), "task"),
                             counted(samples, "sample"), profile_.device, counted(profile_.threads, "thread")),
                 {fmt::format("profile the model on that machine with --sub-batch {}", samples)}};
  if (!unknown.empty() && options_.measure && options_.before_measuring) options_.before_measuring(unknown.size());
  PLIMSOLL_TRY(ask_for(std::move(unknown)));
  Error refused{ExitCode::environment, "the backend cannot run some tasks"};
  for (const auto& [key, task] : wanted) {
    const auto found = known_.find(key);
    if (found == known_.end())
      return Error{ExitCode::environment, "the profiler '" + options_.profiler + "' left out " + key};
    if (!found->second.error.empty()) refused.notes.push_back(task.name + ": " + found->second.error);
    else remember(found->second, task, samples);
  }
  if (!refused.notes.empty()) return refused;
  const auto disturbed = std::count_if(wanted.begin(), wanted.end(),
                                       [&](const auto& entry) { return known_.at(entry.first).disturbed(); });
  if (disturbed > 0 && options_.after_disturbed)
    options_.after_disturbed(static_cast<size_t>(disturbed), wanted.size());
  return {};
}

Status ProfiledCosts::expect(const TaskGraph& graph, std::span<const int64_t> samples) {
  if (options_.measure || elsewhere_) return {};
  std::map<std::string, std::string> unknown;
  for (const int64_t each : samples) add_unknown(graph, each, unknown);
  return ask_for(std::move(unknown));
}

LinkRates ProfiledCosts::links() const {
  if (!links_) return link_rates(options_.device);
  return {.d2h_bytes_per_second = links_->ram.beside_d2h,
          .h2d_bytes_per_second = links_->ram.beside_h2d,
          .latency_seconds = links_->latency_seconds,
          // Converts relative slowdown to the fraction of time lost.
          .slowdown = links_->ram.slowdown / (1 + links_->ram.slowdown),
          .ranks = options_.device.ranks};  // not measured: a profiler is one process
}

ProfileFile ProfiledCosts::file() const {
  ProfileFile file{.device = profile_.device, .libraries = profile_.libraries, .threads = profile_.threads,
                   .tf32 = options_.arithmetic.tf32, .links = links_};
  for (const auto& [signature, costs] : profile_.costs) file.tasks.push_back(known_.at(signature));
  return file;
}

std::span<const AlgorithmCost> ProfiledCosts::algorithms(const Task& task, int64_t samples) const {
  const auto found = profile_.costs.find(signature(task, samples));
  PLIMSOLL_CHECK(found != profile_.costs.end(), "costs were not prepared for " + task.name);
  return found->second;
}

}  // namespace plimsoll
