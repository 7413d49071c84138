#include "compiler/costs/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/costs/reuse.h"
#include "compiler/ir/attributes_json.h"
#include "compiler/ir/json_reader.h"

namespace plimsoll {
namespace {

std::string_view name_of(Access access) {
  switch (access) {
    case Access::absent: return "absent";
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::update: return "update";
  }
  return "";
}

Json operand_json(const Operand& operand, int64_t samples, int64_t reuse) {
  Json entry = {{"access", name_of(operand.access)}};
  if (operand.access == Access::absent) return entry;
  const TensorDesc desc = operand.type.at(samples);
  entry["type"] = plimsoll::name_of(desc.type);
  entry["layout"] = plimsoll::name_of(desc.layout);
  entry["dims"] = std::vector<int64_t>(desc.dims.begin(), desc.dims.end());
  entry["reuse_bytes"] = reuse;
  return entry;
}

std::string task_json(const Task& task, int64_t samples, const std::vector<int64_t>& reuse) {
  Json operands = Json::array();
  for (size_t i = 0; i < task.operands.size(); ++i)
    operands.push_back(operand_json(task.operands[i], samples, reuse[i]));
  return dump({{"signature", signature(task, samples)},
               {"kernel", task.kernel},
               {"attributes", json_of(task.attributes)},
               {"operands", std::move(operands)}});
}

using Place = JsonReader::Place;

JsonReader reader() {
  return {"profile.json", ExitCode::unreadable_input,
          "run `plimsoll profile` again; docs/profile-format.md documents the format"};
}

// No device reaches these. Within them, sums over a plan of 250,000 steps are finite and at most 2^62 bytes.
constexpr int64_t kMostWorkspaceBytes = int64_t{1} << 44;
constexpr double kMostSeconds = 1e9, kMostSlowdown = 1e9, kLeastRate = 1;

void expect_at_most(JsonReader& read, const Place& object, const char* key, double seconds) {
  if (seconds > kMostSeconds)
    read.complain(JsonReader::field(object, key),
                  fmt::format("is {}; expected at most {:g} seconds", seconds, kMostSeconds));
}

AlgorithmCost algorithm_from(JsonReader& read, const Place& entry) {
  read.object(entry);
  AlgorithmCost cost{.name = read.text(entry, "name", true),
                     .workspace_bytes = read.bytes(entry, "workspace_bytes"),
                     .deterministic = read.flag(entry, "deterministic", true),
                     .workspace_exact = true};
  if (cost.workspace_bytes > kMostWorkspaceBytes)
    read.complain(JsonReader::field(entry, "workspace_bytes"),
                  fmt::format("is {}; expected at most {}", cost.workspace_bytes, kMostWorkspaceBytes));
  cost.tf32 = read.text(entry, "math") == "tf32";
  cost.order = read.bytes(entry, "order", false);
  cost.time_measured = JsonReader::field(entry, "seconds").json != nullptr;
  cost.seconds = read.seconds(entry, "seconds");
  if (cost.time_measured) cost.spread_seconds = read.seconds(entry, "spread_seconds");
  cost.disturbed = read.flag(entry, "disturbed");
  if (!std::isfinite(cost.seconds) || cost.seconds < 0)
    read.complain(JsonReader::field(entry, "seconds"), "is negative");
  expect_at_most(read, entry, "seconds", cost.seconds);
  return cost;
}

ProfiledTask task_from(JsonReader& read, const Place& entry) {
  read.object(entry);
  ProfiledTask task{
      .signature = read.text(entry, "signature", true), .algorithms = {}, .error = read.text(entry, "error")};
  if (!task.error.empty()) return task;
  read.array(entry, "algorithms", true,
             [&](const Place& algorithm) { task.algorithms.push_back(algorithm_from(read, algorithm)); });
  if (task.algorithms.empty())
    read.complain(JsonReader::field(entry, "algorithms"), "is empty: no algorithm runs '" + task.signature + "'");
  return task;
}

double positive(JsonReader& read, const Place& object, const char* key, const char* unit) {
  const double value = read.number(object, key, unit, true);
  if (!std::isfinite(value) || value <= 0) read.complain(JsonReader::field(object, key), "is not above 0");
  return value;
}

double positive_seconds(JsonReader& read, const Place& object, const char* key) {
  const double value = positive(read, object, key, "seconds");
  expect_at_most(read, object, key, value);
  return value;
}

double rate_from(JsonReader& read, const Place& object, const char* key) {
  const double value = positive(read, object, key, "bytes per second");
  if (value < kLeastRate)
    read.complain(JsonReader::field(object, key),
                  fmt::format("is {}; expected at least {:g} byte per second", value, kLeastRate));
  return value;
}

double slowdown_from(JsonReader& read, const Place& object) {
  const double value = read.number(object, "slowdown", "times", true);
  if (!(value >= 0 && value <= kMostSlowdown))
    read.complain(JsonReader::field(object, "slowdown"),
                  fmt::format("is {}; expected 0 to {:g}", value, kMostSlowdown));
  return value;
}

MeasuredLink link_from(JsonReader& read, const Place& link) {
  const Place alone = JsonReader::field(link, "alone"), beside = JsonReader::field(link, "beside");
  return {.alone_d2h = rate_from(read, alone, "d2h_bytes_per_second"),
          .alone_h2d = rate_from(read, alone, "h2d_bytes_per_second"),
          .beside_d2h = rate_from(read, beside, "d2h_bytes_per_second"),
          .beside_h2d = rate_from(read, beside, "h2d_bytes_per_second"),
          .slowdown = slowdown_from(read, beside)};
}

MeasuredLinks links_from(JsonReader& read, const Place& links) {
  const Place spill = JsonReader::field(links, "spill");
  MeasuredLinks measured{.ram = link_from(read, JsonReader::field(links, "ram")),
                         .latency_seconds = positive_seconds(read, links, "latency_seconds")};
  if (spill.json) measured.spill = link_from(read, spill);
  if (JsonReader::field(links, "launch_seconds").json)
    measured.launch_seconds = positive_seconds(read, links, "launch_seconds");
  measured.process_bytes = read.bytes(links, "process_bytes", false);
  measured.disturbed = read.flag(links, "disturbed");
  return measured;
}

// Applies `from` to the document; returns the reader's first error, if any.
template <class From>
auto read_all(std::string_view text, From from) -> Result<decltype(from(std::declval<JsonReader&>(), Place()))> {
  JsonReader read = reader();
  const Json document = read.parse(text);
  auto made = from(read, JsonReader::root(document));
  if (read.error()) return *read.error();
  return made;
}

Json as_json(const MeasuredLink& link) {
  return {{"alone", {{"d2h_bytes_per_second", link.alone_d2h}, {"h2d_bytes_per_second", link.alone_h2d}}},
          {"beside",
           {{"d2h_bytes_per_second", link.beside_d2h},
            {"h2d_bytes_per_second", link.beside_h2d},
            {"slowdown", link.slowdown}}}};
}

Json as_json(const MeasuredLinks& links) {
  Json text = {{"ram", as_json(links.ram)}, {"latency_seconds", links.latency_seconds}};
  if (links.spill) text["spill"] = as_json(*links.spill);
  if (links.launch_seconds > 0) text["launch_seconds"] = links.launch_seconds;
  if (links.process_bytes > 0) text["process_bytes"] = links.process_bytes;
  if (links.disturbed) text["disturbed"] = true;
  return text;
}

}  // namespace

bool ProfiledTask::disturbed() const {
  return std::any_of(algorithms.begin(), algorithms.end(), [](const AlgorithmCost& cost) { return cost.disturbed; });
}

std::map<std::string, std::string> task_entries(const TaskGraph& graph, int64_t samples) {
  const auto reuse = reuse_bytes(graph, samples);
  std::map<std::string, std::string> entries;
  for_each_work(graph, [&](const Task& task) {
    std::string& entry = entries[signature(task, samples)];
    if (entry.empty()) entry = task_json(task, samples, reuse.at(signature(task, samples)));
  });
  return entries;
}

std::string tasks_json(const Question& question) {
  Json head = {{"threads", question.threads}};
  if (question.arithmetic.tf32) head["math"] = "tf32";
  if (question.arithmetic.nondeterministic) head["nondeterministic"] = true;
  if (!question.spill_directory.empty()) head["links"] = {{"spill_directory", question.spill_directory}};
  if (question.seconds > 0) head["seconds"] = question.seconds;
  if (question.done > 0) head["done"] = question.done;
  std::string text = "{\"schema\":1," + dump(head).substr(1);
  text.pop_back();
  text += ",\"tasks\":[";
  for (size_t i = 0; i < question.tasks.size(); ++i) text += (i ? ",\n" : "\n") + question.tasks[i];
  return text + "\n]}\n";
}

Result<ProfileFile> parse_profile(std::string_view text) {
  return read_all(text, [](JsonReader& read, const Place& root) {
    read.object(root);
    read.schema(root, 1);
    ProfileFile profile{.device = read.text(root, "device", true),
                        .libraries = read.texts(JsonReader::field(root, "libraries")),
                        .threads = read.integer(root, "threads", 0, std::numeric_limits<int32_t>::max()),
                        .tf32 = read.text(root, "math") == "tf32"};
    const Place links = JsonReader::field(root, "links");
    if (links.json) profile.links = links_from(read, links);
    read.array(root, "tasks", true, [&](const Place& task) { profile.tasks.push_back(task_from(read, task)); });
    return profile;
  });
}

std::string profile_json(const ProfileFile& profile) {
  Json head = {{"device", profile.device}, {"libraries", profile.libraries}, {"threads", profile.threads}};
  if (profile.tf32) head["math"] = "tf32";
  std::string text = "{\"schema\":1,\n" + dump(head).substr(1);
  text.pop_back();
  if (profile.links) text += ",\n\"links\":" + dump(as_json(*profile.links));
  text += ",\n\"tasks\":[";
  for (size_t i = 0; i < profile.tasks.size(); ++i) text += (i ? ",\n" : "\n") + profiled_task_json(profile.tasks[i]);
  return text + "\n]}\n";
}

std::string links_json(const MeasuredLinks& links) { return dump({{"links", as_json(links)}}); }

Result<MeasuredLinks> parse_links(std::string_view text) {
  return read_all(
      text, [](JsonReader& read, const Place& root) { return links_from(read, JsonReader::field(root, "links")); });
}

std::string profiled_task_json(const ProfiledTask& task) {
  Json entry = {{"signature", task.signature}};
  if (!task.error.empty()) entry["error"] = task.error;
  entry["algorithms"] = Json::array();
  for (const AlgorithmCost& cost : task.algorithms) {
    Json algorithm = {{"name", cost.name},
                      {"workspace_bytes", cost.workspace_bytes},
                      {"deterministic", cost.deterministic}};
    if (cost.tf32) algorithm["math"] = "tf32";
    if (cost.order > 0) algorithm["order"] = cost.order;
    if (cost.time_measured) algorithm["seconds"] = cost.seconds;
    if (cost.spread_seconds > 0) algorithm["spread_seconds"] = cost.spread_seconds;
    if (cost.disturbed) algorithm["disturbed"] = true;
    entry["algorithms"].push_back(std::move(algorithm));
  }
  return dump(entry);
}

Result<ProfiledTask> parse_profiled_task(std::string_view text) { return read_all(text, task_from); }

Result<MeasuredRanks> parse_rank_rates(std::string_view text) {
  JsonReader read{"rates between ranks", ExitCode::unreadable_input,
                  "measure them with a trainer of several ranks: train --measure-ranks FILE.json"};
  const Json document = read.parse(text);
  const Place root = JsonReader::root(document);
  read.object(root);
  read.schema(root, 1);
  const auto link = [&](const char* key) {
    const Place rates = JsonReader::field(root, key);
    return RankLink{.bytes_per_second = rate_from(read, rates, "bytes_per_second"),
                    .latency_seconds = positive_seconds(read, rates, "latency_seconds")};
  };
  const MeasuredRanks measured{.ranks = read.integer(root, "ranks", 2, int64_t{1} << 20),
                               .engine = read.text(root, "engine"),
                               .alone = link("alone"),
                               .beside = link("beside")};
  if (read.error()) return *read.error();
  return measured;
}

Result<ProfilerDescription> parse_description(std::string_view text) {
  return read_all(text, [](JsonReader& read, const Place& root) {
    return ProfilerDescription{.device = read.text(root, "device", true),
                               .elsewhere = read.flag(root, "described"),
                               .libraries = read.texts(JsonReader::field(root, "libraries"))};
  });
}

}  // namespace plimsoll
