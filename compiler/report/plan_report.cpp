#include "compiler/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/names.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr size_t kBarWidth = 40;

double ratio(int64_t part, int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

std::string title(const Plan& plan) {
  std::string rounds = plan.rounds == 1 ? "in one round"
                       : plan.last_sub_batch == plan.sub_batch
                           ? fmt::format("in {} rounds of {}", plan.rounds, plan.sub_batch)
                           : fmt::format("in {} rounds of {}, the last of {}", plan.rounds, plan.sub_batch, plan.last_sub_batch);
  return fmt::format("{}: batch {} {}", shortened(plan.model_name, 40), plan.batch, rounds);
}

// "1 step", "7 steps"
std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", format_grouped(count), what, count == 1 ? "" : "s");
}

std::string memory(const Plan& plan, bool color) {
  const PlanSummary& summary = plan.summary;
  // Bars are shares of the larger of budget and arena; what is larger still runs off the end and says so by its percent.
  const int64_t whole = std::max(plan.budget_bytes, summary.arena_bytes);
  Table table({{}, {.right = true}, {.right = true}, {}});
  const auto row = [&](const char* what, int64_t bytes, bool barred = true) {
    table.row({what, format_bytes(bytes), barred || bytes > whole ? format_share(ratio(bytes, plan.budget_bytes)) : "",
               barred ? bar(ratio(bytes, whole), kBarWidth) : ""});
  };
  row("budget", plan.budget_bytes);
  row("arena", summary.arena_bytes);
  row("live at the peak", summary.live_bytes);
  row("persistent", summary.persistent_bytes);
  if (summary.minimum_bytes > 0) row("least budget with a plan", summary.minimum_bytes);
  if (summary.unconstrained_bytes > 0) row("without a budget", summary.unconstrained_bytes, summary.unconstrained_bytes <= whole);
  if (summary.network_wide_bytes > 0) row("each tensor on its own", summary.network_wide_bytes, summary.network_wide_bytes <= whole);
  if (summary.host_pool_bytes > 0) row("host pool", summary.host_pool_bytes, false);
  return heading("memory", color) + table.print(color);
}

std::string times(const Plan& plan, bool color) {
  const PlanSummary& summary = plan.summary;
  const int64_t offloads = std::count_if(plan.steps.begin(), plan.steps.end(),
                                         [](const Step& step) { return step.kind == StepKind::offload; });
  Table table({{}, {.right = true}, {.most = 60}});
  table.row({"iteration", format_seconds(summary.iteration_seconds), "predicted"});
  if (summary.ideal_seconds > 0)
    table.row({"without a memory limit", format_seconds(summary.ideal_seconds),
               fmt::format("{} of the prediction", format_share(summary.iteration_seconds > 0 ? summary.ideal_seconds / summary.iteration_seconds : 0))});
  if (summary.stall_seconds > 0) table.row({"waiting for copies", format_seconds(summary.stall_seconds), ""});
  if (summary.recomputed_tasks > 0)
    table.row({"recomputing", format_seconds(summary.recompute_seconds),
               fmt::format("{} a round", counted(summary.recomputed_tasks, "task"))});
  if (summary.offloaded_bytes > 0 || summary.prefetched_bytes > 0)
    table.row({"moved to the host", format_bytes(summary.offloaded_bytes),
               fmt::format("{} back, {} a round", format_bytes(summary.prefetched_bytes), counted(offloads, "tensor"))});
  if (summary.planning_seconds > 0) table.row({"planning took", format_seconds(summary.planning_seconds), ""});
  const std::string source = plan.costs.empty() ? "time" : fmt::format("time, {}", plan.costs);
  return heading(source, color) + table.print(color);
}

// Why a tensor is where it is at a step.
class Reasons {
 public:
  explicit Reasons(const Plan& plan) : plan_(plan), names_(step_names(plan)) {}

  const std::string& name(StepId step) const { return names_[step]; }

  std::string why(const Residency& residency, StepId at) const {
    const Step& step = plan_.steps[at];
    if (step.kind != StepKind::compute) {
      if (step.tensor == residency.tensor) return "copied here";
    } else {
      const PlanTask& task = plan_.tasks[step.task];
      if (holds(task.writes, residency.tensor)) return "written here";
      if (holds(task.reads, residency.tensor)) return "read here";
      if (!step.recompute && holds(task.updates, residency.tensor)) return "updated here";
    }
    if (residency.first_step < 0) return "lives through the run";
    const StepId later = next_touch(residency, at);
    return later.valid() ? "for " + names_[later] : "kept until the round ends";
  }

 private:
  static bool holds(const std::vector<TensorId>& list, TensorId tensor) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  }

  // Who touches it next in this residency.
  StepId next_touch(const Residency& residency, StepId at) const {
    const int64_t count = static_cast<int64_t>(plan_.steps.size());
    for (int64_t i = at.value + 1; i <= std::min<int64_t>(residency.last_step, count - 1); ++i) {
      const Step& step = plan_.steps[StepId(i)];
      const PlanTask* const task = step.kind == StepKind::compute ? &plan_.tasks[step.task] : nullptr;
      if (task ? holds(task->reads, residency.tensor) || holds(task->writes, residency.tensor) || holds(task->updates, residency.tensor)
               : step.tensor == residency.tensor)
        return StepId(i);
    }
    return {};
  }

  const Plan& plan_;
  const IdVector<StepId, std::string> names_;
};

// The step that summary.peak_step means: under a paper's rules it counts the tasks, from 1.
StepId peak_of(const Plan& plan) {
  if (plan.rules == "true") return StepId(plan.summary.peak_step);
  for (const StepId id : ids_of(plan.steps))
    if (!plan.steps[id].recompute && plan.steps[id].task.value + 1 == plan.summary.peak_step) return id;
  return {};
}

}  // namespace

std::string report_summary(const Plan& plan, bool color) {
  const auto part = [](const std::string& text) { return text.empty() ? "" : " " + shortened(text, 20); };
  std::string libraries;
  for (const auto& [name, version] : plan.libraries) libraries += fmt::format(", {} {}", name, version);
  std::string text = heading(title(plan), color);
  text += fmt::format("  policy {}; for {}{}{}\n", plan.policy, plan.target_kind, part(plan.device), shortened(libraries, 40));
  if (plan.rules != "true") text += fmt::format("  graph and figures as {} has them: a plan for reports, not for a trainer\n", plan.rules);
  text += fmt::format("  {}, {} of {}\n\n", counted(static_cast<int64_t>(plan.tensors.size()), "tensor"),
                      counted(static_cast<int64_t>(plan.steps.size()), "step"),
                      counted(static_cast<int64_t>(plan.tasks.size()), "task"));
  return text + memory(plan, color) + "\n" + times(plan, color);
}

std::string report_peak(const Plan& plan, bool color, size_t most) {
  const StepId peak = peak_of(plan);
  if (!plan.steps.contains(peak)) return "";
  const Reasons reasons(plan);
  struct Item {
    int64_t bytes;
    std::string name, kind, why;
  };
  std::vector<Item> items;
  for (const Residency& residency : plan.residencies)
    if (residency.first_step <= peak.value && peak.value <= residency.last_step)
      items.push_back({residency.bytes, spelled_tensor(plan.tensors[residency.tensor].name),
                       std::string(to_string(plan.tensors[residency.tensor].kind)), reasons.why(residency, peak)});
  const Step& step = plan.steps[peak];
  if (step.workspace.bytes > 0) items.push_back({step.workspace.bytes, "(workspace)", "workspace", step.algorithm});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.bytes > b.bytes; });

  Table table({{"bytes", true}, {"share", true}, {"what", false, 30}, {"kind"}, {"why", false, 26}});
  int64_t others = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i >= most) others += items[i].bytes;
    else table.row({format_bytes(items[i].bytes), format_share(ratio(items[i].bytes, plan.summary.live_bytes)), items[i].name, items[i].kind, items[i].why});
  }
  std::string text = heading(fmt::format("the peak: {} at {}, step {} of {}", format_bytes(plan.summary.live_bytes),
                                         shortened(reasons.name(peak), 40), plan.summary.peak_step, plan.steps.size()), color);
  text += table.print(color);
  if (items.size() > most) text += fmt::format("  and {} more, {}\n", items.size() - most, format_bytes(others));
  return text;
}

std::string report_layers(const Plan& plan, bool color) {
  struct Layer {
    std::string name = {}, op = {}, algorithm = {};
    double forward = 0, backward = 0, again = 0;
    int64_t outputs = 0, workspace = 0;
  };
  std::vector<Layer> layers;
  std::unordered_map<std::string, size_t> known;
  IdVector<TaskId, size_t> layer_of;
  for (const PlanTask& task : plan.tasks) {
    const std::string& name = task.layer.empty() ? task.name : task.layer;
    const auto [at, fresh] = known.emplace(name, layers.size());
    if (fresh) layers.push_back({.name = name, .op = task.op});
    layer_of.push_back(at->second);
    if (task.kind == TaskKind::forward || task.kind == TaskKind::loss)
      for (TensorId tensor : task.writes) layers[at->second].outputs += plan.tensors[tensor].bytes;
  }
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    Layer& layer = layers[layer_of[step.task]];
    const bool forward = plan.tasks[step.task].kind == TaskKind::forward || plan.tasks[step.task].kind == TaskKind::loss;
    (step.recompute ? layer.again : forward ? layer.forward : layer.backward) += step.end - step.start;
    layer.workspace = std::max(layer.workspace, step.workspace.bytes);
    if (layer.algorithm.empty() && forward) layer.algorithm = step.algorithm;
  }
  const bool again = plan.summary.recomputed_tasks > 0;
  std::vector<Column> columns = {{"layer", false, again ? size_t{18} : size_t{26}}, {"op", false, 12}, {"forward", true}, {"backward", true}};
  if (again) columns.push_back({"again", true});
  for (const Column& column : {Column{"outputs", true}, Column{"algorithm", false, 12}, Column{"workspace", true}}) columns.push_back(column);
  Table table(columns);
  const auto seconds = [](double value) { return value == 0 ? std::string("-") : format_seconds(value); };
  const auto bytes = [](int64_t value) { return value == 0 ? std::string("-") : format_bytes(value); };
  for (const Layer& layer : layers) {
    std::vector<std::string> cells = {layer.name, layer.op, seconds(layer.forward), seconds(layer.backward)};
    if (again) cells.push_back(seconds(layer.again));
    for (const std::string& cell : {bytes(layer.outputs), layer.algorithm.empty() ? "-" : layer.algorithm, bytes(layer.workspace)})
      cells.push_back(cell);
    table.row(std::move(cells));
  }
  return heading("layers, times and bytes of one round", color) + table.print(color);
}

std::string report_plan(const Plan& plan, bool color) {
  std::string text = report_summary(plan, color);
  if (!plan.steps.empty()) text += "\n" + report_peak(plan, color);
  if (!plan.tasks.empty()) text += "\n" + report_layers(plan, color);
  return text;
}

}  // namespace plimsoll
