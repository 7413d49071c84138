#include "compiler/costs/exchange.h"

#include <cmath>
#include <nlohmann/json.hpp>

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

json operand_json(const Operand& operand, int64_t samples) {
  json entry = {{"access", name_of(operand.access)}};
  if (operand.access == Access::absent) return entry;
  const TensorDesc desc = operand.type.at(samples);
  entry["type"] = plimsoll::name_of(desc.type);
  entry["layout"] = plimsoll::name_of(desc.layout);
  entry["dims"] = std::vector<int64_t>(desc.dims.begin(), desc.dims.end());
  return entry;
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
      if (algorithm.contains("seconds")) {
        cost.seconds = algorithm.at("seconds").get<double>();
        cost.time_measured = true;
      }
      if (cost.workspace_bytes < 0 || !std::isfinite(cost.seconds) || cost.seconds < 0)
        throw std::runtime_error("a figure of '" + task.signature + "' is negative");
      task.algorithms.push_back(std::move(cost));
    }
  if (task.algorithms.empty() && task.error.empty())
    throw std::runtime_error("'" + task.signature + "' has no algorithm");
  return task;
}

Error unreadable(const std::exception& error) {
  return {ExitCode::unreadable_input, std::string("the profile cannot be read: ") + error.what()};
}

}  // namespace

std::string task_json(const Task& task, int64_t samples) {
  json attributes = json::object(), operands = json::array();
  for (const Attribute& attribute : task.attributes)
    std::visit([&](const auto& value) { attributes[attribute.name] = value; }, attribute.value);
  for (const Operand& operand : task.operands) operands.push_back(operand_json(operand, samples));
  return json{{"signature", signature(task, samples)},
              {"kernel", task.kernel},
              {"attributes", std::move(attributes)},
              {"operands", std::move(operands)}}
      .dump();
}

std::string tasks_json(const std::vector<std::string>& tasks, int64_t threads) {
  std::string text = "{\"schema\":1,\"threads\":" + std::to_string(threads) + ",\"tasks\":[";
  for (size_t i = 0; i < tasks.size(); ++i) text += (i ? ",\n" : "\n") + tasks[i];
  return text + "\n]}\n";
}

Result<std::vector<ProfiledTask>> parse_profile(std::string_view text) {
  std::vector<ProfiledTask> tasks;
  try {
    const json profile = json::parse(text);
    if (profile.at("schema") != 1) throw std::runtime_error("its schema is not 1");
    for (const json& entry : profile.at("tasks")) tasks.push_back(task_from(entry));
  } catch (const std::exception& error) {
    return unreadable(error);
  }
  return tasks;
}

std::string profiled_task_json(const ProfiledTask& task) {
  json entry = {{"signature", task.signature}};
  if (!task.error.empty()) entry["error"] = task.error;
  entry["algorithms"] = json::array();
  for (const AlgorithmCost& cost : task.algorithms) {
    json algorithm = {{"name", cost.name},
                      {"workspace_bytes", cost.workspace_bytes},
                      {"deterministic", cost.deterministic}};
    if (cost.time_measured) algorithm["seconds"] = cost.seconds;
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
    return ProfilerDescription{description.at("device").get<std::string>(),
                               description.at("libraries").get<std::map<std::string, std::string>>()};
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

}  // namespace plimsoll
