#include "runtime/profile/profiler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "runtime/profile/device.h"
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
  if (value == "inf" || value == "-inf") return {name, value == "inf" ? kInfinity : -kInfinity};
  return {name, value.get<std::vector<int64_t>>()};
}

// For each operand; a large value if tasks.json does not give it.
std::vector<int64_t> read_reuse(const json& task) {
  std::vector<int64_t> bytes;
  for (const json& operand : task.at("operands")) bytes.push_back(operand.value("reuse_bytes", INT64_MAX));
  return bytes;
}

// The arena in which all kernels are measured; grows to the largest task. If it cannot grow because memory is
// insufficient, it is empty.
class Workbench {
 public:
  Interlude* interlude() {
    if (!interlude_) interlude_.emplace();
    return &*interlude_;
  }
  Retakes& retakes() { return retakes_; }
  // From here on the arena belongs to another task.
  void clear() { workpiece_.reset(); }
  // The task's operands, with room for the workspace; filled only if they are not there yet. Throws std::bad_alloc.
  const Workpiece& workpiece(const KernelCall& call, int64_t workspace_bytes) {
    const int64_t bytes = bytes_to_measure(call.operands, workspace_bytes);
    if (!arena_ || arena_->bytes() < bytes) {
      clear();
      arena_.reset();
      arena_.emplace(bytes);
    }
    if (!workpiece_) workpiece_.emplace(call.operands, *arena_, indexed_rows(call));
    return *workpiece_;
  }

 private:
  std::optional<backend::Arena> arena_;
  std::optional<Workpiece> workpiece_;
  std::optional<Interlude> interlude_;
  Retakes retakes_;
};

struct Candidate {
  Algorithm algorithm;
  size_t order = 0;    // index among all candidates, in the backend's order of preference
  Timing timing = {};  // if it was measured
};

// The user's arithmetic options.
struct Wanted {
  bool tf32 = false, nondeterministic = false;
  bool uncompared = false;  // gpu_check.sh measures algorithms in the same run that compares them with the host
  bool admits(const Algorithm& algorithm) const {
    return (tf32 || !algorithm.tf32) && (nondeterministic || algorithm.deterministic) &&
           (uncompared || algorithm.compared);
  }
};

Wanted read_wanted(const json& tasks) {
  const std::string math = tasks.value("math", "fp32");
  if (math != "fp32" && math != "tf32") throw std::runtime_error("math '" + math + "' is unknown");
  return {.tf32 = math == "tf32",
          .nondeterministic = tasks.value("nondeterministic", false),
          .uncompared = tasks.value("uncompared", false)};
}

bool is_grouped_convolution(const KernelCall& call) {
  return call.name.starts_with("Conv") &&
         std::any_of(call.attributes.begin(), call.attributes.end(), [](const KernelAttribute& attribute) {
           return attribute.name == "group" && attribute.value != decltype(attribute.value)(int64_t{1});
         });
}

// In the backend's order of preference, the default first; but TF32, if allowed, comes first because of its speed.
// Without a measurement the order decides between equal modelled times. A grouped or depthwise convolution keeps the
// backend's order: its groups are small, and tensor cores may be slower there and need much workspace
// (runtime/cuda/ops/conv.cpp). Throws KernelError if there is none.
std::vector<Candidate> candidates_of(const KernelCall& call, const Wanted& wanted) {
  std::vector<Algorithm> offered = algorithms_of(call);
  if (wanted.tf32 && !is_grouped_convolution(call))
    std::stable_partition(offered.begin(), offered.end(), [](const Algorithm& a) { return a.tf32; });
  std::vector<Candidate> candidates;
  for (const Algorithm& algorithm : offered)
    if (wanted.admits(algorithm)) candidates.push_back({.algorithm = algorithm, .order = candidates.size()});
  if (candidates.empty())
    throw KernelError("every algorithm there is rounds to TF32 or gives other bits at each run; --precision tf32 or "
                      "--allow-nondeterministic admits them");
  return candidates;
}

// All candidates that can be built and measured; throws the reason if there is none.
std::vector<Candidate> measured(const KernelCall& call, const std::vector<int64_t>& reuse_bytes,
                                const std::vector<Candidate>& candidates, Workbench& workbench) {
  std::vector<Candidate> done;
  std::string reason;
  workbench.clear();
  for (Candidate candidate : candidates) {
    try {
      const std::unique_ptr<Kernel> kernel = make_kernel(call, candidate.algorithm.name);
      const Workpiece& workpiece = workbench.workpiece(call, candidate.algorithm.workspace_bytes);
      candidate.timing = undisturbed_time_of(*kernel, call.operands, reuse_bytes, workpiece, workbench.interlude(),
                                             workbench.retakes());
      done.push_back(std::move(candidate));
    } catch (const KernelError& error) {
      reason = error.what();
    } catch (const std::bad_alloc&) {
      reason = "this machine does not have the memory to run it";
    }
  }
  if (done.empty()) throw KernelError(reason);
  return done;
}

// The list may contain algorithms that cannot be built.
std::vector<Candidate> buildable(const KernelCall& call, const std::vector<Candidate>& candidates) {
  if (candidates.size() == 1) return candidates;
  std::vector<Candidate> done;
  std::string reason;
  for (const Candidate& candidate : candidates) {
    try {
      make_kernel(call, candidate.algorithm.name);
      done.push_back(candidate);
    } catch (const KernelError& error) {
      reason = error.what();
    }
  }
  if (done.empty()) throw KernelError(reason);
  return done;
}

json profile_task(const json& task, bool measure, const Wanted& wanted, Workbench& workbench) {
  const KernelCall call = read_call(task);
  const std::vector<Candidate> candidates = candidates_of(call, wanted);
  json algorithms = json::array();
  for (const Candidate& one :
       measure ? measured(call, read_reuse(task), candidates, workbench) : buildable(call, candidates)) {
    json entry = {{"name", one.algorithm.name},
                  {"workspace_bytes", one.algorithm.workspace_bytes},
                  {"deterministic", one.algorithm.deterministic}};
    if (one.order > 0) entry["order"] = one.order;
    if (one.algorithm.tf32) entry["math"] = "tf32";
    if (measure) {
      entry["seconds"] = one.timing.median;
      entry["spread_seconds"] = one.timing.spread;
      if (one.timing.disturbed) entry["disturbed"] = true;
    }
    algorithms.push_back(std::move(entry));
  }
  return algorithms;
}

}  // namespace

KernelCall read_call(const json& task) {
  KernelCall call{.name = task.at("kernel").get<std::string>()};
  for (const auto& [name, value] : task.at("attributes").items())
    call.attributes.push_back(read_attribute(name, value));
  for (const json& operand : task.at("operands")) call.operands.push_back(read_operand(operand));
  return call;
}

json describe() {
  json description = {{"schema", 1}, {"device", device_name()}, {"libraries", json::object()}};
  std::string name, version;
  for (std::istringstream libraries(backend::library_version()); libraries >> name >> version;)
    description["libraries"][name] = version.substr(0, version.find(','));  // "cuda 13.0, cudnn 9.19.0"
  if (device_is_described()) description["described"] = true;
  return description;
}

json profile(const json& tasks, bool measure, void (*progress)(size_t done, size_t all)) {
  if (tasks.at("schema") != 1) throw std::runtime_error("this profiler reads schema 1 only");
  const int64_t threads = tasks.at("threads").get<int64_t>();
  const Wanted wanted = read_wanted(tasks);
  start(threads);
  json result = describe();
  result["threads"] = threads;
  if (wanted.tf32) result["math"] = "tf32";
  Workbench workbench;
  if (measure && tasks.contains("links")) {
    const bool before = workbench.interlude()->is_disturbed();
    result["links"] = measure_links(tasks.at("links").at("spill_directory").get<std::string>());
    result["links"].update(measure_overheads());
    // Copies are measured concurrently with kernels, whose times vary by themselves.
    if (before || workbench.interlude()->is_disturbed()) result["links"]["disturbed"] = true;
  }
  result["tasks"] = json::array();
  const double limit = tasks.value("seconds", HUGE_VAL);
  const size_t done_before = tasks.value("done", size_t{0}), all = done_before + tasks.at("tasks").size();
  const auto began = std::chrono::steady_clock::now();
  for (const json& task : tasks.at("tasks")) {
    json entry = {{"signature", task.at("signature").get<std::string>()}};
    try {
      entry["algorithms"] = profile_task(task, measure, wanted, workbench);
    } catch (const KernelError& error) {
      entry["error"] = error.what();
    }
    result["tasks"].push_back(std::move(entry));
    progress(done_before + result["tasks"].size(), all);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > limit) break;
  }
  return result;
}

}  // namespace plimsoll::profile
