#include "compiler/costs/device.h"

#include <nlohmann/json.hpp>

#include "compiler/costs/embedded_devices.h"

namespace plimsoll {

Result<Device> parse_device(const std::string& text) {
  Device device;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    device.name = json.at("name").get<std::string>();
    device.kind = json.at("kind").get<std::string>();
    device.title = json.value("title", device.name);
    device.memory_bytes = json.at("memory_bytes").get<int64_t>();
    device.flops_per_second = json.at("flops_per_second").get<double>();
    device.memory_bytes_per_second = json.at("memory_bytes_per_second").get<double>();
    device.copy_bytes_per_second = json.at("copy_bytes_per_second").get<double>();
    device.launch_seconds = json.value("launch_seconds", 0.0);
    device.compute_efficiency = json.value("compute_efficiency", 1.0);
    device.workspace_share = json.value("workspace_share", 0.0);
  } catch (const nlohmann::json::exception& error) {
    return Error{ExitCode::unreadable_input, std::string("not a device descriptor: ") + error.what()};
  }
  const bool positive = device.memory_bytes > 0 && device.flops_per_second > 0 && device.memory_bytes_per_second > 0 &&
                        device.copy_bytes_per_second > 0 && device.compute_efficiency > 0 &&
                        device.launch_seconds >= 0 && device.workspace_share >= 0;
  if (!positive) return Error{ExitCode::unreadable_input, "device '" + device.name + "': its figures must be positive"};
  return device;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : device_files()) {
    const size_t slash = file.path.rfind('/') + 1;
    names.emplace_back(file.path.substr(slash, file.path.rfind('.') - slash));
  }
  return names;
}

Result<Device> find_device(const std::string& name) {
  std::string known;
  for (const EmbeddedFile& file : device_files()) {
    if (file.path.ends_with("/" + name + ".json")) return parse_device(std::string(file.contents));
  }
  for (const std::string& other : device_names()) known += (known.empty() ? "" : ", ") + other;
  return Error{ExitCode::usage, "unknown device '" + name + "'; known are " + known};
}

}  // namespace plimsoll
