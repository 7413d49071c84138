// program.h and program.cpp: the trainer's constants.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/carried.h"
#include "codegen/source.h"
#include "codegen/text.h"
#include "compiler/ir/plan_json.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// One row of an address table: "conv1_Y = 1052416,  // f32[3,4,8,8], 3072 bytes, steps 0 to 7, conv1.Y". If it is too
// long, the model's name loses its beginning.
std::string place_row(const std::string& identifier, int64_t offset, std::string facts, const std::string& name) {
  constexpr size_t kColumns = 120;
  const std::string code = fmt::format("  {} = {},", identifier, offset);
  std::string row = fmt::format("{:<46}  // {}", code, facts);
  if (std::string safe = comment_safe(name); safe != identifier) {
    const size_t room = kColumns - std::min(kColumns, row.size() + 2);
    if (safe.size() > room && room > 24) safe = "..." + safe.substr(safe.size() - room + 3);
    if (safe.size() <= room) row += ", " + safe;
  }
  return row + "\n";
}

std::string addresses(const Source& source) {
  std::string text;
  for (const TensorId id : ids_of(source.graph.tensors)) {
    const Tensor& tensor = source.graph.tensors[id];
    for (const Address& address : source.addresses.all()[id]) {
      const Residency& at = *address.residency;
      text += place_row(
          address.name, at.offset,
          fmt::format("{}, {} bytes, {}", to_string(tensor.type.at(source.plan.rank_samples())), at.bytes,
                      at.first_step < 0 ? "always" : fmt::format("steps {} to {}", at.first_step, at.last_step)),
          tensor.name);
    }
  }
  return text;
}

std::string host_slots(const Source& source) {
  std::string text;
  for (const TensorId id : ids_of(source.graph.tensors))
    for (const int64_t offset : source.host_slots.all()[id])
      text += place_row(source.host_slots.name(id, offset), offset,
                        fmt::format("{} bytes", source.plan.tensors[id].bytes), source.graph.tensors[id].name);
  return text;
}

// Which labels of a sample a loss reads, and their class weights.
std::string label_fields(const Source& source, const Tensor& labels) {
  const TensorId weights = labels.class_weights;
  return fmt::format("{}, {}{}{}", labels.first_label, labels.end_label,
                     weights.valid()       ? ", " + string_literal(source.graph.tensors[weights].onnx_name)
                     : labels.mixed_labels ? ", nullptr"
                                           : "",
                     labels.mixed_labels ? ", true" : "");
}

std::string inputs(const Source& source) {
  std::string text;
  for (const TensorId id : source.graph.inputs) {
    const Tensor& tensor = source.graph.tensors[id];
    PLIMSOLL_CHECK(tensor.type.layout == Layout::plain, "inputs are plain");
    const std::string ignored = tensor.ignored ? fmt::format("{}", *tensor.ignored) : "kNoLabel";
    text += fmt::format(
        "    {{{}, {}{}}},\n", string_literal(tensor.onnx_name),
        desc_literal(tensor.type, fmt::format("{}", source.plan.rank_samples())),
        tensor.end_label > 0 || tensor.class_weights.valid() || tensor.mixed_labels
            ? fmt::format(", {}, {}, true, {}", tensor.bound, ignored, label_fields(source, tensor))
        : !tensor.type.depends_on_batch() ? fmt::format(", {}, {}, false", tensor.bound, ignored)
        : tensor.ignored                  ? fmt::format(", {}, {}", tensor.bound, ignored)
        : tensor.bound > 0                ? fmt::format(", {}", tensor.bound)
                                          : "");
  }
  return text;
}

constexpr InitializerInFile kNotInFile = {.offset = -1};

// Weights and statistics with their offsets in model.onnx; optimizer state starts at zero.
Result<std::string> parameters(const Source& source, size_t& count) {
  std::set<TensorId> trained;
  const auto role = [&](TensorId id) {
    switch (source.graph.tensors[id].kind) {
      case TensorKind::optimizer_state: return "state";
      case TensorKind::statistic: return "statistic";
      default: return trained.contains(id) ? "trained" : "frozen";
    }
  };
  for (const Task& task : source.graph.tasks) {
    if (task.kind != TaskKind::update) continue;
    for (const TensorId id : task.updates()) {
      trained.insert(id);
      if (source.graph.tensors[id].slice_of.valid()) trained.insert(source.graph.tensors[id].slice_of);
    }
  }
  std::string text;
  std::set<TensorId> lows;
  const auto where_is = [&](TensorId id) {
    const PlanTensor& planned = source.plan.tensors[id];
    return planned.at_home_on_host() ? source.host_slots.name(id, planned.home_offset)
                                     : source.addresses.all()[id].front().name;
  };
  const auto add = [&](TensorId id, const std::string& name, const InitializerInFile& in_file, TensorId low = {}) {
    const Tensor& tensor = source.graph.tensors[id];
    if (tensor.slice_of.valid()) return;  // listed with its whole
    if (source.addresses.all()[id].empty() && !trained.contains(id)) return;  // not read by any step
    const PlanTensor& planned = source.plan.tensors[id];
    std::string rest = planned.at_home_on_host() ? ", true" : "";
    if (in_file.type != FileType::same || low.valid())
      rest = fmt::format(", {}, FileType::{}", planned.at_home_on_host(),
                         in_file.type == FileType::same ? "same" : in_file.type == FileType::f16 ? "f16" : "bf16");
    if (low.valid())
      rest += fmt::format(", {}{}", where_is(low), source.plan.tensors[low].at_home_on_host() ? ", true" : "");
    text += fmt::format("    {{{}, {}, {}, {}, ParameterRole::{}{}}},\n", string_literal(name),
                        desc_literal(tensor.type, "0"), where_is(id), in_file.offset, role(id), rest);
    ++count;
  };
  for (const Parameter& parameter : source.graph.parameters) {
    const auto found = source.options.initializers.find(parameter.initializer);
    const bool given = found != source.options.initializers.end();
    if (!given && source.options.model_bytes > 0)
      return Error{ExitCode::internal, fmt::format("initializer '{}' is not in model.onnx", parameter.initializer)};
    add(parameter.tensor, parameter.initializer, given ? found->second : kNotInFile, parameter.low);
    if (parameter.low.valid()) lows.insert(parameter.low);
  }
  for (const TensorId id : ids_of(source.graph.tensors))
    if (const Tensor& tensor = source.graph.tensors[id];
        tensor.kind == TensorKind::optimizer_state && !lows.contains(id))
      add(id, tensor.name, kNotInFile);
  return text;
}

// A loss may read the labels of all samples as rows. A prediction is an array of samples.
TensorType of_samples(const TensorType& seen, const TensorType& stored) {
  const auto leads = [](const TensorType& type) { return type.rank() > 0 && type.dims[0] == kBatch; };
  if (leads(seen) || seen.rank() == 0 || !seen.dims[0].batch) return seen;
  if (leads(stored)) return stored;
  TensorType apart = seen;
  apart.dims[0] = kBatch;
  apart.dims.insert(apart.dims.begin() + 1, Dim{seen.dims[0].value});
  return apart;
}

// The output as the loss reads it, and the step that writes it.
std::string output(const Source& source) {
  const TensorId id = source.graph.output;
  if (!id.valid()) return "";
  const Operand* seen = nullptr;
  for (const Task& task : source.graph.tasks)
    for (const Operand& operand : task.operands)
      if (task.kind == TaskKind::loss && operand.access == Access::read && operand.tensor == id) seen = &operand;
  StepId made;
  for (const StepId step : ids_of(source.plan.steps)) {
    if (source.plan.steps[step].kind != StepKind::compute || source.plan.steps[step].recompute) continue;
    const std::vector<TensorId> written = source.graph.tasks[source.plan.steps[step].task].writes();
    if (std::find(written.begin(), written.end(), id) != written.end()) made = step;
  }
  if (!seen || !made.valid()) return "";
  const Tensor& tensor = source.graph.tensors[id];
  return fmt::format("      .output = {{{}, {}, trainer::{}, {}}},\n",
                     string_literal(tensor.onnx_name.empty() ? tensor.name : tensor.onnx_name),
                     desc_literal(of_samples(seen->type, tensor.type), fmt::format("{}", source.plan.rank_samples())),
                     source.addresses.at(id, made).name, made.value);
}

// The update kernel, which all trained weights share.
std::string update_kernel(const TaskGraph& graph) {
  for (const Task& task : graph.tasks)
    if (task.kind == TaskKind::update && !task.operands.empty() && task.operands.front().access == Access::update)
      return task.kernel;
  return "";
}

// True if a task sees the batch as rows of a tensor with a fixed size.
bool sees_fixed_batch(const TaskGraph& graph) {
  for (const Task& task : graph.tasks)
    for (const Operand& operand : task.operands)
      if (operand.tensor.valid() && !operand.type.depends_on_batch() &&
          graph.tensors[operand.tensor].type.depends_on_batch())
        return true;
  return false;
}

// The number of classes, if the labels are integers and the trainer knows which of its last input count; else 0. Where
// no tensor holds scores, the labels are bounded by it.
int64_t classes(const TaskGraph& graph) {
  if (graph.inputs.empty() || !graph.tensors[graph.inputs.back()].ignored) return 0;
  const auto is_label = [](const Operand& operand) {
    return operand.access == Access::read && operand.type.type != DataType::f32 && !is_narrow(operand.type.type);
  };
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::loss || std::none_of(task.operands.begin(), task.operands.end(), is_label)) continue;
    return graph.output.valid() ? task.operands[0].type.dims[1].value : graph.tensors[graph.inputs.back()].bound;
  }
  return 0;
}

// FNV-1a (Fowler, Noll, Vo) of the plan without its planning time. All ranks of a job must have the same plan.
uint64_t hash_of(Plan plan) {
  plan.summary.planning_seconds = 0;
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : to_json(plan)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The layer of the task that writes the tensor; "" if it is given or copied.
std::string layer_of(const Source& source, const Residency& residency) {
  const StepId first(residency.first_step);
  if (residency.first_step < 0 || source.plan.steps[first].kind != StepKind::compute) return "";
  return source.graph.tasks[source.plan.steps[first].task].layer;
}

}  // namespace

GeneratedFile lives_source(const Source& source) {
  std::string text =
      "// Generated by Plimsoll. Each tensor's place, its bytes, the first and last step that touches it there,\n"
      "// its name and the layer of the first.\n"
      "#include \"program.h\"\n#include \"runtime/program.h\"\n\nnamespace plimsoll::trainer {\n\n"
      "extern const ProgramLife lives[];\nextern const size_t life_count;\n\nconst ProgramLife lives[] = {\n";
  size_t count = 0;
  for (const TensorId id : ids_of(source.graph.tensors))
    for (const Address& address : source.addresses.all()[id]) {
      text += fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", address.name, address.residency->bytes,
                          address.residency->first_step, address.residency->last_step,
                          string_literal(source.graph.tensors[id].name),
                          string_literal(layer_of(source, *address.residency)));
      ++count;
    }
  return {"lives.cpp",
          text + fmt::format("}};\nconst size_t life_count = {};\n\n}}  // namespace plimsoll::trainer\n", count)};
}

// "conv1.forward", "offload conv1.Y"
GeneratedFile names_source(const Source& source) {
  std::string text = "// Generated by Plimsoll. What each step is called, for tools that show what runs when.\n"
                     "#include <cstddef>\n\nnamespace plimsoll::trainer {\n\n"
                     "extern const char* const step_names[];\nextern const size_t step_count;\n\n"
                     "const char* const step_names[] = {\n";
  for (const Step& step : source.plan.steps) {
    const std::string name = step.kind == StepKind::compute
                                 ? (step.recompute ? "again " : "") + source.graph.tasks[step.task].name
                                 : fmt::format("{} {}", to_string(step.kind), source.graph.tensors[step.tensor].name);
    text += fmt::format("    {},\n", string_literal(comment_safe(name)));
  }
  return {"names.cpp", text + fmt::format("}};\nconst size_t step_count = {};\n\n}}  // namespace plimsoll::trainer\n",
                                          source.plan.steps.size())};
}

std::string smaller_last_round(const Plan& plan) {
  return plan.last_sub_batch == plan.sub_batch ? "" : fmt::format(", the last of {}", plan.last_sub_batch);
}

GeneratedFile program_header(const Source& source) {
  const Plan& plan = source.plan;
  std::string text = fmt::format(
      "// Generated by {} from the model {}.\n"
      "// Batch {}: {} of {}{}{}. Policy {}.\n"
      "#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\nnamespace plimsoll::trainer {{\n\n",
      comment_safe(plan.generator), comment_safe(plan.model_name), plan.batch, counted(plan.rounds, "round"),
      counted(plan.sub_batch, "sample"), smaller_last_round(plan),
      plan.ranks > 1 ? fmt::format(", shared by {} ranks", plan.ranks) : "", comment_safe(plan.policy));
  text += fmt::format(
      "inline constexpr int64_t arena_bytes = {};\ninline constexpr int64_t budget_bytes = {};  // {}\n",
      plan.summary.arena_bytes, plan.budget_bytes, plan.budget_bytes ? "of device memory" : "none was given");
  if (plan.budget_bytes) text += "static_assert(arena_bytes <= budget_bytes);\n";
  text +=
      "\n// The address of each tensor in the arena. The comment has its shape and size, the first and the last step "
      "that\n"
      "// accesses it there, and its name in the model. If a tensor returns to another address, that is NAME_at2.\n";
  text += fmt::format("enum Place : int64_t {{\n{}}};\n", addresses(source));
  if (plan.summary.host_pool_bytes > 0) {
    text += fmt::format("\ninline constexpr int64_t host_pool_bytes = {};\n", plan.summary.host_pool_bytes);
    text +=
        fmt::format("\n// Where each offloaded tensor waits in the host pool.\nenum HostPlace : int64_t {{\n{}}};\n",
                    host_slots(source));
  }
  text += "\n// The distinct kernels.\nenum KernelIndex : size_t {\n";
  for (const KernelUse& use : source.kernels.uses) text += fmt::format("  {},\n", use.name);
  text += "  kernel_count\n};\n\n}  // namespace plimsoll::trainer\n";
  return {"program.h", text};
}

Result<GeneratedFile> program_source(const Source& source, const std::vector<std::string>& kernel_functions,
                                     const std::vector<StepFunction>& step_functions) {
  const Plan& plan = source.plan;
  std::string declared, built, forward, backward;
  for (const std::string& name : kernel_functions) {
    declared += fmt::format("void {}(KernelSet& k, int64_t n);\n", name);
    built += fmt::format("  {}(k, n);\n", name);
  }
  for (const StepFunction& function : step_functions) {
    declared += fmt::format("void {}(Round& r);\n", function.name);
    (function.forward ? forward : backward) += fmt::format("  {}(r);\n", function.name);
  }
  declared += "extern const ProgramLife lives[];\nextern const size_t life_count;\n"
              "extern const char* const step_names[];\nextern const size_t step_count;\n";
  std::string libraries;
  for (const auto& [name, version] : plan.libraries)
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  size_t parameter_count = 0;
  PLIMSOLL_ASSIGN(const std::string parameter_rows, parameters(source, parameter_count));

  std::string text =
      "// Generated by Plimsoll. What the training loop needs to know, and the program's functions in order.\n"
      "#include \"program.h\"\n#include \"runtime/program.h\"\n" +
      std::string(plan.ranks > 1 ? "#include \"runtime/dist/ranks.h\"\n" : "") +
      "\nnamespace plimsoll {\nnamespace trainer {\n\n" + declared;
  text += "\nvoid build([[maybe_unused]] KernelSet& k, [[maybe_unused]] int64_t n) {\n" + built + "}\n";
  text += "\nvoid forward([[maybe_unused]] Round& r) {\n" + forward + "}\n";
  text += "\nvoid backward([[maybe_unused]] Round& r) {\n" + backward + "}\n";
  text += "\nconst ProgramInput inputs[] = {\n" + inputs(source) + "};\n";
  if (parameter_count)
    text += "\n// Name, as it lies in the arena, where, its first byte in the file of the weights, what it is.\n"
            "const ProgramParameter parameters[] = {\n" + parameter_rows + "};\n";
  const std::string stamp = fmt::format("plimsoll_runtime_{}", runtime_stamp());
  text += fmt::format(
      "\n}}  // namespace trainer\n\n"
      "// Only a runtime library of the sources in runtime/ defines this. Another does not link: build runtime/, as is "
      "done\n"
      "// without PLIMSOLL_RUNTIME, or generate the program anew with the compiler that the library came with.\n"
      "extern \"C\" const char {};\n\n",
      stamp);
  text += fmt::format(
      "const Program& program() {{\n"
      "  static const Program the_program{{\n"
      "      .model = {},\n      .generator = {},\n"
      "      .batch = {}, .sub_batch = {}, .rounds = {}, .last_sub_batch = {},\n"
      "      .arena_bytes = trainer::arena_bytes, .budget_bytes = trainer::budget_bytes, .persistent_bytes = {},\n{}"
      "      .threads = {},\n      .model_bytes = {},{}\n      .classes = {},\n      .counts_correct = {},\n"
      "      .predicted_seconds = {},\n      .predicted_by = {},\n{}      .libraries = {},\n"
      "      .runtime = &{},\n      .kernels = trainer::kernel_count,\n{}"
      "      .inputs = trainer::inputs,\n{}{}"
      "      .lives = {{trainer::lives, trainer::life_count}},\n"
      "      .step_names = {{trainer::step_names, trainer::step_count}},\n"
      "      .build = trainer::build, .forward = trainer::forward, .backward = trainer::backward}};\n"
      "  return the_program;\n}}\n\n}}  // namespace plimsoll\n",
      string_literal(plan.model_name), string_literal(plan.generator), plan.batch, plan.rank_samples(), plan.rounds,
      plan.last_sub_batch / plan.ranks, plan.summary.persistent_bytes,
      (plan.summary.host_pool_bytes > 0 ? std::string("      .host_pool_bytes = trainer::host_pool_bytes,\n") : "") +
          (plan.inputs_ahead.bytes > 0
               ? fmt::format("      .inputs_ahead = {},  // the next round's inputs wait there\n",
                             plan.inputs_ahead.offset)
               : ""),
      source.options.threads, source.options.model_bytes,
      (source.options.weights_bytes > 0 ? fmt::format(" .weights_bytes = {},", source.options.weights_bytes) : "") +
          (source.options.model_identity.empty()
               ? ""
               : fmt::format("\n      .model_identity = {},", string_literal(source.options.model_identity))),
      classes(source.graph),
      (source.graph.correct.valid() ? std::string("true") : "false") +
          (source.graph.factor.valid() ? ", .scales_loss = true" : "") +
          (sees_fixed_batch(source.graph) ? ", .whole_batches_only = true" : ""),
      plan.summary.iteration_seconds, string_literal(plan.costs),
      update_kernel(source.graph).empty()
          ? ""
          : fmt::format("      .update_kernel = {},\n", string_literal(update_kernel(source.graph))),
      string_literal(libraries), stamp,
      plan.ranks > 1
          ? fmt::format("      .ranks = {}, .plan_hash = {:#x}, .predicted_reduce_seconds = {}, .join = dist::join,\n",
                        plan.ranks, hash_of(plan), plan.summary.reduce_seconds)
          : "",
      output(source), parameter_count ? "      .parameters = trainer::parameters,\n" : "");
  return GeneratedFile{"program.cpp", text};
}

}  // namespace plimsoll
