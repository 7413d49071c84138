#include "compiler/costs/device.h"

#include "compiler/costs/convolution.h"
#include "compiler/costs/embedded_devices.h"
#include "compiler/support/json.h"

namespace plimsoll {
namespace {

Device device_from(const Json& text) {
  const Json &link = text.at("link"), &shares = text.at("efficiency");
  Device device{.name = text.at("name").get<std::string>(),
                .kind = text.at("kind").get<std::string>(),
                .title = text.at("title").get<std::string>(),
                .memory_bytes = text.at("memory_bytes").get<int64_t>(),
                .process_bytes = text.value("process_bytes", int64_t{0}),
                .flops_per_second = text.at("flops_per_second").get<double>(),
                .tf32_flops_per_second = text.value("tf32_flops_per_second", 0.0),
                .bf16_flops_per_second = text.value("bf16_flops_per_second", 0.0),
                .memory_bytes_per_second = text.at("memory_bytes_per_second").get<double>(),
                .d2h_bytes_per_second = link.at("d2h_bytes_per_second").get<double>(),
                .h2d_bytes_per_second = link.at("h2d_bytes_per_second").get<double>(),
                .link_latency_seconds = link.at("latency_seconds").get<double>(),
                .launch_seconds = text.at("launch_seconds").get<double>(),
                .units = text.at("units").get<int64_t>(),
                .efficiency = {.memory = shares.at("memory").get<double>(),
                               .tf32 = shares.value("tf32", 1.0),
                               .matrix_product = shares.at("matrix_product").get<double>(),
                               .grouped = shares.at("grouped").get<double>(),
                               .depthwise = shares.at("depthwise").get<double>(),
                               .backward_data = shares.at("backward_data").get<double>(),
                               .backward_weights = shares.at("backward_weights").get<double>()},
                .algorithms = text.at("algorithms").get<std::map<std::string, double>>()};
  // An engine on a GPU has its own buffers.
  if (device.kind == "cuda") device.ranks.staging_bytes = 0;
  if (const auto ranks = text.find("ranks"); ranks != text.end()) {
    device.ranks.bytes_per_second = ranks->at("bytes_per_second").get<double>();
    device.ranks.latency_seconds = ranks->at("latency_seconds").get<double>();
  }
  return device;
}

// The first invalid figure; "" if all are valid.
std::string fault_of(const Device& device) {
  for (const double figure :
       {static_cast<double>(device.memory_bytes), device.flops_per_second, device.memory_bytes_per_second,
        device.ranks.bytes_per_second, device.d2h_bytes_per_second, device.h2d_bytes_per_second,
        static_cast<double>(device.units)})
    if (!(figure > 0)) return "its values must be positive";
  if (device.process_bytes < 0 || device.tf32_flops_per_second < 0 || device.bf16_flops_per_second < 0 ||
      device.launch_seconds < 0 || device.link_latency_seconds < 0 || device.ranks.latency_seconds < 0)
    return "its values must be positive";
  const Efficiency& e = device.efficiency;
  std::vector<double> shares = {e.memory,    e.tf32,          e.matrix_product,  e.grouped,
                                e.depthwise, e.backward_data, e.backward_weights};
  for (const auto& [name, share] : device.algorithms) {
    if (!is_convolution_algorithm(name)) return "there is no cost model for algorithm '" + name + "'";
    shares.push_back(share);
  }
  for (const double share : shares)
    if (!(share > 0 && share <= 1)) return "an efficiency must be in (0, 1]";
  // At least one algorithm must support every shape.
  if (!device.algorithms.contains("implicit_gemm") && !device.algorithms.contains("direct"))
    return "it needs the algorithm 'implicit_gemm' or 'direct'";
  return "";
}

}  // namespace

Result<Device> parse_device(const std::string& text) {
  Device device;
  try {
    device = device_from(parse_json(text));
  } catch (const Json::exception& error) {
    return Error{ExitCode::unreadable_input, std::string("not a device description: ") + error.what()};
  }
  if (const std::string fault = fault_of(device); !fault.empty())
    return Error{ExitCode::unreadable_input, "device '" + device.name + "': " + fault};
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
  return Error{ExitCode::usage, "unknown device '" + name + "'; known devices: " + known};
}

}  // namespace plimsoll
