#include "runtime/profile/profiler.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "runtime/profile/links.h"
#include "runtime/profile/measure.h"

namespace plimsoll::profile {
namespace {

using nlohmann::json;

template <class Enum, size_t n>
Enum named(const std::array<std::string_view, n>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::runtime_error("'" + name + "' is unknown");
  return static_cast<Enum>(found - names.begin());
}

OperandDesc read_operand(const json& operand) {
  constexpr std::array<std::string_view, 4> kAccess = {"absent", "read", "write", "update"};
  OperandDesc desc{.tensor = {}, .access = named<Access>(kAccess, operand.at("access").get<std::string>())};
  if (desc.access == Access::absent) return desc;
  desc.tensor.type = named<DataType>(kDataTypeNames, operand.at("type").get<std::string>());
  desc.tensor.layout = named<Layout>(kLayoutNames, operand.at("layout").get<std::string>());
  const std::vector<int64_t> dims = operand.at("dims").get<std::vector<int64_t>>();
  if (dims.size() > static_cast<size_t>(kMaxRank)) throw std::runtime_error("an operand has too many dimensions");
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > int64_t{1} << 40) throw std::runtime_error("an operand has a dimension out of range");
    desc.tensor.dims.push_back(dim);
  }
  return desc;
}

KernelAttribute read_attribute(const std::string& name, const json& value) {
  if (value.is_boolean()) return {name, value.get<bool>()};
  if (value.is_number_integer()) return {name, value.get<int64_t>()};
  if (value.is_number()) return {name, value.get<double>()};
  return {name, value.get<std::vector<int64_t>>()};
}

// Grows to the largest task; measured kernels all run in it.
class Workbench {
 public:
  Interlude* interlude() {
    if (!interlude_) interlude_.emplace();
    return &*interlude_;
  }
  const backend::Arena& of(int64_t bytes) {
    if (!arena_ || arena_->bytes() < bytes) {
      arena_.reset();
      arena_.emplace(bytes);
    }
    return *arena_;
  }

 private:
  std::optional<backend::Arena> arena_;
  std::optional<Interlude> interlude_;
};

json profile_task(const KernelCall& call, bool measure, Workbench& workbench) {
  json algorithms = json::array();
  for (const Algorithm& algorithm : algorithms_of(call)) {
    json entry = {{"name", algorithm.name},
                  {"workspace_bytes", algorithm.workspace_bytes},
                  {"deterministic", algorithm.deterministic}};
    if (measure) {
      const std::unique_ptr<Kernel> kernel = make_kernel(call, algorithm.name);
      const backend::Arena& arena = workbench.of(bytes_to_measure(call.operands, algorithm.workspace_bytes));
      entry["seconds"] = median_seconds(*kernel, call.operands, algorithm.workspace_bytes, arena,
                                        workbench.interlude());
    }
    algorithms.push_back(std::move(entry));
  }
  return algorithms;
}

}  // namespace

KernelCall read_call(const json& task) {
  KernelCall call{.name = task.at("kernel").get<std::string>()};
  for (const auto& [name, value] : task.at("attributes").items()) call.attributes.push_back(read_attribute(name, value));
  for (const json& operand : task.at("operands")) call.operands.push_back(read_operand(operand));
  return call;
}

json describe() {
  const std::string library = backend::library_version();
  const size_t blank = library.find(' ');
  return {{"schema", 1},
          {"device", backend::device_name()},
          {"libraries", {{library.substr(0, blank), library.substr(blank + 1)}}}};
}

json profile(const json& tasks, bool measure, void (*progress)(size_t done, size_t all)) {
  if (tasks.at("schema") != 1) throw std::runtime_error("this profiler reads schema 1 only");
  const int64_t threads = tasks.at("threads").get<int64_t>();
  backend::start(threads);
  json result = describe();
  result["threads"] = threads;
  if (measure && tasks.contains("links"))
    result["links"] = measure_links(tasks.at("links").at("spill_directory").get<std::string>());
  result["tasks"] = json::array();
  Workbench workbench;
  for (const json& task : tasks.at("tasks")) {
    json entry = {{"signature", task.at("signature").get<std::string>()}};
    try {
      entry["algorithms"] = profile_task(read_call(task), measure, workbench);
    } catch (const KernelError& error) {
      entry["error"] = error.what();
    } catch (const std::bad_alloc&) {
      entry["error"] = "this machine does not have the memory to run it";
    }
    result["tasks"].push_back(std::move(entry));
    progress(result["tasks"].size(), tasks.at("tasks").size());
  }
  return result;
}

}  // namespace plimsoll::profile
