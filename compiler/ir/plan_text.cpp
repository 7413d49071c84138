#include "compiler/ir/plan_text.h"

#include <fmt/format.h>

#include "compiler/ir/plan_spans.h"
#include "compiler/ir/text_fields.h"

namespace plimsoll {
namespace {

std::string slice_of_plan(const Plan& plan, const PlanTensor& tensor) {
  if (!tensor.slice_of.valid()) return "";
  return " slice " + spelled_tensor(plan.tensors[tensor.slice_of].name) +
         (tensor.slice_begin > 0 ? fmt::format(" from {}", tensor.slice_begin) : "");
}

enum class Shown { hold, on_step, kept_on_step, apart };

std::vector<Shown> how_shown(const Plan& plan) {
  const IdVector<TensorId, std::vector<Span>> spans = spans_of(plan);
  const int32_t count = static_cast<int32_t>(plan.steps.size());
  std::vector<Shown> shown;
  // A step line shows one residency per tensor; others are listed separately.
  IdVector<TensorId, int32_t> latest(plan.tensors.size(), -1);
  for (const Residency& residency : plan.residencies) {
    const PlanTensor& tensor = plan.tensors[residency.tensor];
    Shown how = Shown::apart;
    if (residency.bytes == tensor.bytes) {
      if (residency.first_step == -1 && residency.last_step == count && tensor.persistent) how = Shown::hold;
      const Span* const span = span_from(spans[residency.tensor], residency.first_step);
      if (span && latest[residency.tensor] != residency.first_step) {
        if (residency.last_step == span->last) how = Shown::on_step;
        else if (residency.last_step == count) how = Shown::kept_on_step;
        if (how != Shown::apart) latest[residency.tensor] = residency.first_step;
      }
    }
    shown.push_back(how);
  }
  return shown;
}

std::string list(const Plan& plan, const char* word, const std::vector<TensorId>& tensors) {
  if (tensors.empty()) return "";
  std::string text = fmt::format(" {}", word);
  for (TensorId tensor : tensors) text += " " + spelled_tensor(plan.tensors[tensor].name);
  return text;
}

std::string at(const Plan& plan, const Residency& residency) {
  return fmt::format("{}@{:#x}", spelled_tensor(plan.tensors[residency.tensor].name), residency.offset);
}

std::string header_of(const Plan& plan) {
  std::string text = fmt::format(
      "plan {} v1 batch={} sub_batch={} rounds={} last={}{}{}{}\n", spelled(plan.model_name), plan.batch,
      plan.sub_batch, plan.rounds, plan.last_sub_batch, plan.ranks > 1 ? fmt::format(" ranks={}", plan.ranks) : "",
      plan.reduction_needs_bytes > 0 ? fmt::format(" reductions_need={}", plan.reduction_needs_bytes) : "",
      plan.slice_bytes > 0 ? fmt::format(" slices={}{}", plan.slice_bytes, plan.whole_weights ? " of=state" : "") : "");
  if (!plan.generator.empty()) text += fmt::format("generator {}\n", spelled(plan.generator));
  if (!plan.model_sha256.empty()) text += fmt::format("sha256 {}\n", spelled(plan.model_sha256));
  text += fmt::format("target {}{}{}\n", spelled(plan.target_kind), option("device", plan.device),
                      option("costs", plan.costs));
  for (const auto& [name, version] : plan.libraries)
    text += fmt::format("library {} {}\n", spelled(name), spelled(version));
  if (!plan.precision.empty()) text += fmt::format("precision {}\n", spelled(plan.precision));
  if (!plan.optimizer_state.empty()) text += fmt::format("state_in {}\n", spelled(plan.optimizer_state));
  for (const auto& [part, form] : plan.forms) text += fmt::format("{} {}\n", part, spelled(form));
  if (!plan.layout.empty()) text += fmt::format("layout {}\n", spelled(plan.layout));
  if (plan.inputs_ahead.bytes > 0)
    text += fmt::format("inputs_ahead {} @{:#x}\n", plan.inputs_ahead.bytes, plan.inputs_ahead.offset);
  text += fmt::format("policy {} rules={}\nbudget {}{}\n", spelled(plan.policy), spelled(plan.rules), plan.budget_bytes,
                      plan.host_budget_bytes >= 0 ? fmt::format(" host={}", plan.host_budget_bytes) : "");
  std::string summary;
  const auto figure = [&](const char* key, const auto& field) {
    if (field != 0) summary += fmt::format(" {}={}", key, field);
  };
  visit_summary(plan.summary, figure);
  visit_summary_of_ranks(plan.summary, figure);
  return summary.empty() ? text : text + "summary" + summary + "\n";
}

std::string line_of(const Plan& plan, TaskId id) {
  const PlanTask& task = plan.tasks[id];
  std::string line = fmt::format("task {} {} {}{}", spelled(task.name), spelled(task.op), to_string(task.kind),
                                 option("layer", task.layer));
  line += list(plan, "read", task.reads) + list(plan, "write", task.writes) + list(plan, "update", task.updates) +
          list(plan, "remember", task.remembers);
  for (const Task::InPlace& pair : task.in_place) line += list(plan, "in_place", {pair.read, pair.written});
  if (task.flops != 0) line += fmt::format(" flops={}", task.flops);
  if (task.bytes_moved != 0) line += fmt::format(" bytes_moved={}", task.bytes_moved);
  const FastestAlgorithm& fastest = plan.fastest_of(id);
  if (!fastest.algorithm.empty())
    line += fmt::format(" fastest={} workspace={} seconds={}", spelled(fastest.algorithm), fastest.workspace_bytes,
                        fastest.seconds);
  for (const WorkspaceNeed& need : plan.needs_of(id))
    line += fmt::format(" {}={} workspace={}", need.recompute ? "recompute_needs" : "needs", spelled(need.algorithm),
                        need.workspace_bytes);
  return line + "\n";
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text = header_of(plan);
  for (const PlanTensor& tensor : plan.tensors)
    text += fmt::format("tensor {} {} {}{}{}{}{}\n", spelled_tensor(tensor.name), to_string(tensor.kind), tensor.bytes,
                        is_stated_type(tensor.reduced) ? fmt::format(" in_{}", name_of(tensor.reduced)) : "",
                        tensor.persistent ? " persistent" : "",
                        tensor.at_home_on_host() ? fmt::format(" home@{:#x}", tensor.home_offset) : "",
                        slice_of_plan(plan, tensor));
  for (const TaskId task : ids_of(plan.tasks)) text += line_of(plan, task);

  const std::vector<Shown> shown = how_shown(plan);
  IdVector<StepId, std::string> placed(plan.steps.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (shown[i] == Shown::hold) text += fmt::format("hold     {}\n", at(plan, residency));
    if (shown[i] == Shown::on_step || shown[i] == Shown::kept_on_step)
      placed[StepId(residency.first_step)] +=
          " " + at(plan, residency) + (shown[i] == Shown::kept_on_step ? " kept" : "");
  }
  const IdVector<StepId, std::string> names = step_names(plan);
  for (StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    text += fmt::format("{:<8} {}", to_string(step.stream), names[id]);
    if (step.bucket.size() > 1) text += list(plan, "with", {step.bucket.begin() + 1, step.bucket.end()});
    if (step.host_offset >= 0) text += fmt::format(" host@{:#x}", step.host_offset);
    if (step.rounds != CopyRounds::all) text += fmt::format(" rounds={}", to_string(step.rounds));
    if (!placed[id].empty()) text += " ->" + placed[id];
    text += option("algorithm", step.algorithm);
    if (step.workspace != Block{})
      text += fmt::format(" workspace={}@{:#x}", step.workspace.bytes, step.workspace.offset);
    if (step.start != 0 || step.end != 0) text += fmt::format(" time={}:{}", step.start, step.end);
    for (size_t i = 0; i < step.waits.size(); ++i) text += (i ? " " : " after ") + names[step.waits[i]];
    text += "\n";
  }
  for (size_t i = 0; i < shown.size(); ++i)
    if (shown[i] == Shown::apart)
      text += fmt::format("residency {} bytes={} steps={}:{}\n", at(plan, plan.residencies[i]),
                          plan.residencies[i].bytes, plan.residencies[i].first_step, plan.residencies[i].last_step);
  return text;
}

}  // namespace plimsoll
