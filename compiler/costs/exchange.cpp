#include "compiler/costs/exchange.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/costs/reuse.h"

namespace plimsoll {
namespace {

using nlohmann::json;

std::string_view name_of(Access access) {
  switch (access) {
    case Access::absent: return "absent";
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::update: return "update";
  }
  return "";
}

json operand_json(const Operand& operand, int64_t samples, int64_t reuse) {
  json entry = {{"access", name_of(operand.access)}};
  if (operand.access == Access::absent) return entry;
  const TensorDesc desc = operand.type.at(samples);
  entry["type"] = plimsoll::name_of(desc.type);
  entry["layout"] = plimsoll::name_of(desc.layout);
  entry["dims"] = std::vector<int64_t>(desc.dims.begin(), desc.dims.end());
  entry["reuse_bytes"] = reuse;
  return entry;
}

std::string task_json(const Task& task, int64_t samples, const std::vector<int64_t>& reuse) {
  json attributes = json::object(), operands = json::array();
  for (const Attribute& attribute : task.attributes)
    std::visit([&](const auto& value) { attributes[attribute.name] = value; }, attribute.value);
  for (size_t i = 0; i < task.operands.size(); ++i) operands.push_back(operand_json(task.operands[i], samples, reuse[i]));
  return json{{"signature", signature(task, samples)},
              {"kernel", task.kernel},
              {"attributes", std::move(attributes)},
              {"operands", std::move(operands)}}
      .dump();
}

ProfiledTask task_from(const json& entry) {
  ProfiledTask task{.signature = entry.at("signature").get<std::string>(), .algorithms = {}, .error = {}};
  if (entry.contains("error")) task.error = entry.at("error").get<std::string>();
  else
    for (const json& algorithm : entry.at("algorithms")) {
      AlgorithmCost cost{.name = algorithm.at("name").get<std::string>(),
                         .workspace_bytes = algorithm.at("workspace_bytes").get<int64_t>(),
                         .deterministic = algorithm.at("deterministic").get<bool>(),
                         .workspace_exact = true};
      cost.tf32 = algorithm.value("math", "fp32") == "tf32";
      cost.order = algorithm.value("order", int64_t{0});
      if (algorithm.contains("seconds")) {
        cost.seconds = algorithm.at("seconds").get<double>();
        cost.spread_seconds = algorithm.value("spread_seconds", 0.0);
        cost.time_measured = true;
      }
      if (cost.workspace_bytes < 0 || cost.order < 0 || !std::isfinite(cost.seconds) || cost.seconds < 0)
        throw std::runtime_error("a figure of '" + task.signature + "' is negative");
      task.algorithms.push_back(std::move(cost));
    }
  if (task.algorithms.empty() && task.error.empty())
    throw std::runtime_error("'" + task.signature + "' has no algorithm");
  return task;
}

double positive(const json& figure) {
  const double value = figure.get<double>();
  if (!std::isfinite(value) || value <= 0) throw std::runtime_error("a figure of the links is not positive");
  return value;
}

MeasuredLink link_from(const json& link) {
  const json &alone = link.at("alone"), &beside = link.at("beside");
  return {.alone_d2h = positive(alone.at("d2h_bytes_per_second")),
          .alone_h2d = positive(alone.at("h2d_bytes_per_second")),
          .beside_d2h = positive(beside.at("d2h_bytes_per_second")),
          .beside_h2d = positive(beside.at("h2d_bytes_per_second")),
          .slowdown = beside.at("slowdown").get<double>()};
}

MeasuredLinks links_from(const json& links) {
  MeasuredLinks measured{.ram = link_from(links.at("ram")), .latency_seconds = positive(links.at("latency_seconds"))};
  if (links.contains("spill")) measured.spill = link_from(links.at("spill"));
  if (links.contains("launch_seconds")) measured.launch_seconds = positive(links.at("launch_seconds"));
  if (links.contains("process_bytes")) measured.process_bytes = links.at("process_bytes").get<int64_t>();
  return measured;
}

json as_json(const MeasuredLink& link) {
  return {{"alone", {{"d2h_bytes_per_second", link.alone_d2h}, {"h2d_bytes_per_second", link.alone_h2d}}},
          {"beside",
           {{"d2h_bytes_per_second", link.beside_d2h},
            {"h2d_bytes_per_second", link.beside_h2d},
            {"slowdown", link.slowdown}}}};
}

json as_json(const MeasuredLinks& links) {
  json text = {{"ram", as_json(links.ram)}, {"latency_seconds", links.latency_seconds}};
  if (links.spill) text["spill"] = as_json(*links.spill);
  if (links.launch_seconds > 0) text["launch_seconds"] = links.launch_seconds;
  if (links.process_bytes > 0) text["process_bytes"] = links.process_bytes;
  return text;
}

Error unreadable(const std::exception& error) {
  return {ExitCode::unreadable_input, std::string("the profile cannot be read: ") + error.what()};
}

}  // namespace

std::map<std::string, std::string> task_entries(const TaskGraph& graph, int64_t samples) {
  const auto reuse = reuse_bytes(graph, samples);
  std::map<std::string, std::string> entries;
  for (const Task& task : graph.tasks) {
    std::string& entry = entries[signature(task, samples)];
    if (entry.empty()) entry = task_json(task, samples, reuse.at(signature(task, samples)));
  }
  return entries;
}

std::string tasks_json(const std::vector<std::string>& tasks, int64_t threads, const Arithmetic& arithmetic,
                       const std::string& spill_directory) {
  std::string text = "{\"schema\":1,\"threads\":" + std::to_string(threads);
  if (arithmetic.tf32) text += ",\"math\":\"tf32\"";
  if (arithmetic.nondeterministic) text += ",\"nondeterministic\":true";
  if (!spill_directory.empty()) text += ",\"links\":" + json{{"spill_directory", spill_directory}}.dump();
  text += ",\"tasks\":[";
  for (size_t i = 0; i < tasks.size(); ++i) text += (i ? ",\n" : "\n") + tasks[i];
  return text + "\n]}\n";
}

Result<ProfileFile> parse_profile(std::string_view text) {
  ProfileFile profile;
  try {
    const json given = json::parse(text);
    if (given.at("schema") != 1) throw std::runtime_error("its schema is not 1");
    profile.device = given.at("device").get<std::string>();
    profile.libraries = given.at("libraries").get<std::map<std::string, std::string>>();
    profile.threads = given.at("threads").get<int64_t>();
    profile.tf32 = given.value("math", "fp32") == "tf32";
    if (given.contains("links")) profile.links = links_from(given.at("links"));
    for (const json& entry : given.at("tasks")) profile.tasks.push_back(task_from(entry));
  } catch (const std::exception& error) {
    return unreadable(error);
  }
  return profile;
}

std::string profile_json(const ProfileFile& profile) {
  json head = {{"device", profile.device}, {"libraries", profile.libraries}, {"threads", profile.threads}};
  if (profile.tf32) head["math"] = "tf32";
  std::string text = "{\"schema\":1,\n" + head.dump().substr(1);
  text.pop_back();
  if (profile.links) text += ",\n\"links\":" + as_json(*profile.links).dump();
  text += ",\n\"tasks\":[";
  for (size_t i = 0; i < profile.tasks.size(); ++i) text += (i ? ",\n" : "\n") + profiled_task_json(profile.tasks[i]);
  return text + "\n]}\n";
}

std::string links_json(const MeasuredLinks& links) { return json{{"links", as_json(links)}}.dump(); }

Result<MeasuredLinks> parse_links(std::string_view text) {
  try {
    return links_from(json::parse(text).at("links"));
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

std::string profiled_task_json(const ProfiledTask& task) {
  json entry = {{"signature", task.signature}};
  if (!task.error.empty()) entry["error"] = task.error;
  entry["algorithms"] = json::array();
  for (const AlgorithmCost& cost : task.algorithms) {
    json algorithm = {{"name", cost.name},
                      {"workspace_bytes", cost.workspace_bytes},
                      {"deterministic", cost.deterministic}};
    if (cost.tf32) algorithm["math"] = "tf32";
    if (cost.order > 0) algorithm["order"] = cost.order;
    if (cost.time_measured) algorithm["seconds"] = cost.seconds;
    if (cost.spread_seconds > 0) algorithm["spread_seconds"] = cost.spread_seconds;
    entry["algorithms"].push_back(std::move(algorithm));
  }
  return entry.dump();
}

Result<ProfiledTask> parse_profiled_task(std::string_view text) {
  try {
    return task_from(json::parse(text));
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

Result<ProfilerDescription> parse_description(std::string_view text) {
  try {
    const json description = json::parse(text);
    return ProfilerDescription{description.at("device").get<std::string>(), description.value("described", false),
                               description.at("libraries").get<std::map<std::string, std::string>>()};
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

}  // namespace plimsoll
