#include "runtime/cuda/cudnn/engines.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/cudnn/device.h"

namespace plimsoll::cudnn {
namespace {

// Empty: no engine of this mode supports the graph; `why` is cuDNN's explanation, if it has one.
std::vector<Descriptor> configurations(const Graph& graph, cudnnBackendHeurMode_t mode, std::string& why) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (device_is_described()) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device_properties());
  if (why = heuristics.try_finalize("no engine is listed"); !why.empty()) return {};
  return heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

using Knobs = std::vector<std::pair<cudnnBackendKnobType_t, int64_t>>;

Knobs knobs_of(const Descriptor& configuration) {
  Knobs knobs;
  for (const Descriptor& knob :
       configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                     CUDNN_KNOB_TYPE_COUNTS))
    knobs.emplace_back(knob.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                       knob.get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  return knobs;
}

int64_t number_of(const Descriptor& engine) { return engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX); }

std::string name_of(int64_t engine, const Knobs& knobs) {
  std::string name = "eng" + std::to_string(engine);
  for (const auto& [type, value] : knobs) name += "_k" + std::to_string(type) + "=" + std::to_string(value);
  return name;
}

// Engines with clusters of blocks that choose their own splitting of a sum (knob WORKSPACE at 0) ask the device how
// many clusters fit, and keep a tile of sums for each. Without the device their workspace is another: on an H200 up to
// 16.0 MiB more, as much as a tile of 128 × 256 sums for each of its 132 multiprocessors.
constexpr int64_t kTilesOfDevice = int64_t{17} << 20;

int64_t reserved_for(const Knobs& knobs) {
  bool has_clusters = false, splits = false;
  for (const auto& [type, value] : knobs) {
    has_clusters |= type == CUDNN_KNOB_TYPE_TILE_CGA_M;
    splits |= type == CUDNN_KNOB_TYPE_WORKSPACE && value == 0;
  }
  return device_is_described() && has_clusters && splits ? kTilesOfDevice : 0;
}

// nullopt if the engine's behaviour is unknown.
std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  return engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
}

bool has(std::span<const cudnnBackendNumericalNote_t> notes, cudnnBackendNumericalNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

// On factors in bf16 or f16 tensor cores are exact.
bool is_tf32(const Graph& graph, std::span<const cudnnBackendNumericalNote_t> notes) {
  return !is_narrow(graph.factors) && has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

// Removes "eng34", "_k2", "=5" from the front of a name.
int64_t taken(std::string_view& rest, std::string_view prefix, const std::string& name) {
  int64_t number = 0;
  if (rest.starts_with(prefix)) {
    const char* const begin = rest.data() + prefix.size();
    const auto [end, failed] = std::from_chars(begin, rest.data() + rest.size(), number);
    if (failed == std::errc() && end != begin) {
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      return number;
    }
  }
  throw KernelError("'" + name + "' names no engine of cuDNN");
}

}  // namespace

bool is_coarse(std::span<const cudnnBackendNumericalNote_t> notes) {
  return has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
         has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ||
         has(notes, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
}

std::vector<Engine> engines_for(const Graph& graph) {
  std::vector<Engine> engines;
  std::string why;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (const Descriptor& configuration : configurations(graph, mode, why)) {
      const Descriptor engine =
          configuration.get_descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
      const auto notes = notes_of(engine);
      const int64_t number = number_of(engine);
      if (is_coarse(notes) || graph.is_wrong(number)) continue;
      const Knobs knobs = knobs_of(configuration);
      const int64_t reserved = reserved_for(knobs);
      Engine one{.name = name_of(number, knobs),
                 .workspace_bytes = configuration.get<int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE) + reserved,
                 .reserved_bytes = reserved,
                 .deterministic = !has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC),
                 .tf32 = is_tf32(graph, notes)};
      const bool known =
          std::any_of(engines.begin(), engines.end(), [&](const Engine& e) { return e.name == one.name; });
      if (!known) engines.push_back(std::move(one));
    }
  return engines;
}

std::string why_no_engine(const Graph& graph) {
  std::string first;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::string why;
    if (configurations(graph, mode, why).empty() && first.empty()) first = why;
  }
  // Without its heuristics or engines it lists nothing, and calls that a success.
  return first.empty() ? missing_library() : first;
}

Plan::Plan(const Graph& graph, const std::string& name)
    : engine_(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
      configuration_(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
      plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  std::string_view rest = name;
  const int64_t number = taken(rest, "eng", name);
  if (graph.is_wrong(number))
    throw KernelError("cuDNN's engine of '" + name + "' is wrong for these shapes");
  engine_.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.operations())
      .set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, number);
  if (device_is_described()) engine_.set(CUDNN_ATTR_ENGINE_DEVICEPROP, device_properties());
  engine_.finalize(("no engine for '" + name + "'").c_str());
  // In another version of cuDNN the number may belong to another engine.
  const auto notes = notes_of(engine_);
  if (is_coarse(notes)) throw KernelError("'" + name + "' is coarser than f32 and TF32 here");
  tf32_ = is_tf32(graph, notes);
  Knobs knobs;
  while (!rest.empty()) {
    const auto type = static_cast<cudnnBackendKnobType_t>(taken(rest, "_k", name));
    const int64_t value = taken(rest, "=", name);
    knobs.emplace_back(type, value);
    knobs_.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, type)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value)
        .finalize(("a knob of '" + name + "'").c_str());
  }
  configuration_.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine_);
  if (!knobs_.empty()) configuration_.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs_);
  configuration_.finalize(("the knobs of '" + name + "'").c_str());
  if (!device_is_described()) plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle());
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration_);
  const std::string why = plan_.try_finalize(("'" + name + "' cannot be built").c_str());
  const bool lacks_driver = device_is_described() && why.find("CUDA_DRIVER") != std::string::npos;
  if (!why.empty() && !lacks_driver) throw KernelError(why);
  workspace_bytes_ = reserved_for(knobs) +
                     (lacks_driver ? configuration_.get<int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)
                                   : plan_.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
}

}  // namespace plimsoll::cudnn
