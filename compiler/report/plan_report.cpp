#include "compiler/report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compiler/ir/names.h"
#include "compiler/report/figures.h"
#include "compiler/report/robustness.h"
#include "compiler/report/table.h"
#include "compiler/report/verdict.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kPlanBarWidth = 40;
constexpr size_t kWhyWidth = 31;

double ratio(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string title(const Plan& plan) {
  std::string rounds =
      plan.rounds == 1 ? "in one round"
      : plan.last_sub_batch == plan.sub_batch
          ? fmt::format("in {} rounds of {}", plan.rounds, plan.sub_batch)
          : fmt::format("in {} rounds of {}, the last of {}", plan.rounds, plan.sub_batch, plan.last_sub_batch);
  if (plan.ranks > 1) rounds += fmt::format(", on {} ranks", plan.ranks);
  return fmt::format("{}: batch {} {}", shortened(plan.model_name, 40), plan.batch, rounds);
}

std::string memory(const Plan& plan, bool color) {
  const PlanSummary& summary = plan.summary;
  // Bars are relative to the larger of budget and arena; a larger value fills its bar, and its percentage shows by how
  // much.
  const int64_t whole = std::max(plan.budget_bytes, summary.arena_bytes);
  Table table({{}, {.right = true}, {.right = true}, {}});
  const auto row = [&](const char* what, int64_t bytes, bool barred = true) {
    table.row({what, format_bytes(bytes), barred || bytes > whole ? format_share(ratio(bytes, plan.budget_bytes)) : "",
               barred ? bar(ratio(bytes, whole), kPlanBarWidth) : ""});
  };
  row("budget", plan.budget_bytes);
  row("arena", summary.arena_bytes);
  row("live at the peak", summary.live_bytes);
  row("persistent", summary.persistent_bytes);
  if (plan.inputs_ahead.bytes > 0) row("next round's inputs", plan.inputs_ahead.bytes);
  if (summary.minimum_bytes > 0) row("minimum", summary.minimum_bytes);
  if (summary.unconstrained_bytes > 0)
    row("unlimited", summary.unconstrained_bytes, summary.unconstrained_bytes <= whole);
  if (summary.network_wide_bytes > 0)
    row("without sharing memory", summary.network_wide_bytes, summary.network_wide_bytes <= whole);
  if (summary.host_pool_bytes > 0) row("host pool", summary.host_pool_bytes, false);
  int64_t weights = 0, states = 0, gradients = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.at_home_on_host() && !tensor.slice_of.valid())
      (tensor.kind == TensorKind::weight            ? weights
       : tensor.kind == TensorKind::weight_gradient ? gradients
                                                    : states) += tensor.bytes;
  if (weights > 0) row("weights kept on the host", weights, false);
  if (states > 0) row("state kept on the host", states, false);
  if (gradients > 0) row("gradients kept on the host", gradients, false);
  return heading("memory", color) + table.print(color);
}

// Lines of at most `most` characters, broken between words.
std::string wrapped(const std::string& text, size_t most) {
  std::string lines, line;
  for (size_t from = 0; from < text.size();) {
    const size_t to = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, to - from);
    if (!line.empty() && width_of(line) + 1 + width_of(word) > most) lines += "  " + std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : " ") + word;
    from = to + 1;
  }
  return lines + "  " + line + "\n";
}

// "this plan takes 5.8% longer": with the precision of the verdict.
std::string against_unlimited(double longer) {
  if (std::abs(longer) < 5e-4) return "as long as this plan";
  return fmt::format("this plan takes {:.1f}% {}", 100 * std::abs(longer), longer > 0 ? "longer" : "less");
}

// "saves 3.20 ms (4%)": what more memory would save.
std::string bought(const PlanSummary& summary) {
  const double saved = summary.iteration_seconds - summary.more_seconds;
  if (saved <= 5e-4 * summary.iteration_seconds) return "would save nothing";
  return fmt::format("would save {}, {} of an iteration", format_seconds(saved),
                     format_share(saved / summary.iteration_seconds));
}

std::string times(const Plan& plan, bool color) {
  const PlanSummary& summary = plan.summary;
  const int64_t offloads = std::count_if(plan.steps.begin(), plan.steps.end(),
                                         [](const Step& step) { return step.kind == StepKind::offload; });
  Table table({{}, {.right = true}, {.most = 60}});
  table.row({"iteration", format_seconds(summary.iteration_seconds), "predicted"});
  if (summary.unconstrained_seconds > 0)
    table.row({"unlimited", format_seconds(summary.unconstrained_seconds),
               against_unlimited(summary.iteration_seconds / summary.unconstrained_seconds - 1)});
  if (summary.bound_seconds > 0)
    table.row({"lower bound", format_seconds(summary.bound_seconds),
               fmt::format("within the budget; optimality gap {:.1f} %",
                           100 * (summary.iteration_seconds / summary.bound_seconds - 1))});
  if (summary.stall_seconds > 0)
    table.row(
        {plan.ranks > 1 ? "waiting for streams" : "waiting for copies", format_seconds(summary.stall_seconds), ""});
  if (summary.recomputed_tasks > 0)
    table.row({"recomputing", format_seconds(summary.recompute_seconds),
               fmt::format("{} in each round", counted(summary.recomputed_tasks, "task"))});
  if (summary.reduced_bytes > 0)
    table.row({"reducing over ranks", format_seconds(summary.reduce_seconds),
               fmt::format("{} per rank, concurrent with compute", format_bytes(summary.reduced_bytes))});
  if (summary.offloaded_bytes > 0 || summary.prefetched_bytes > 0)
    table.row({"offloaded", format_bytes(summary.offloaded_bytes),
               fmt::format("and {} prefetched; {} in each round", format_bytes(summary.prefetched_bytes),
                           counted(offloads, "tensor"))});
  if (!plan.steps.empty() && summary.iteration_seconds > 0) {
    const Robustness robust = robustness_of(plan);
    table.row({"robust to ±20 %", format_overhead(worst_of(robust)),
               fmt::format("random times {}, slower links {}, slower tasks {}", format_overhead(robust.by_chance),
                           format_overhead(robust.slower_links), format_overhead(robust.slower_tasks))});
  }
  if (summary.more_bytes > 0)
    table.row({format_bytes(summary.more_bytes) + " more", format_seconds(summary.more_seconds), bought(summary)});
  else if (plan.rules == "true")
    table.row({"256.0 MiB more", "?", "`plimsoll plan … --what-if 256MiB` plans again to answer"});
  if (summary.planning_seconds > 0) table.row({"planning took", format_seconds(summary.planning_seconds), ""});
  const std::string source = plan.costs.empty() ? "one iteration" : fmt::format("one iteration, times {}", plan.costs);
  return heading(source, color) + table.print(color);
}

StepId next_touch(const Residency& residency, const TensorFacts& tensor, StepId at) {
  const auto next = std::upper_bound(tensor.touches.begin(), tensor.touches.end(), at);
  return next != tensor.touches.end() && next->value <= residency.last_step ? *next : StepId();
}

// Why a tensor is on the device at a step.
std::string why(const Plan& plan, const PlanFacts& facts, const Residency& residency, StepId at) {
  const TensorId tensor = residency.tensor;
  const Step& step = plan.steps[at];
  if (step.kind == StepKind::reduce && reads(plan, step, tensor)) return "reduced here";
  if (step.kind != StepKind::compute && step.tensor == tensor) return "copied here";
  if (step.kind == StepKind::compute) {
    const bool read = reads(plan, step, tensor), written = writes(plan, step, tensor);
    if (read || written) return read && written ? "updated here" : written ? "written here" : "read here";
  }
  if (residency.first_step < 0) return "persistent";
  const StepId next = next_touch(residency, facts.tensors[tensor], at);
  if (!next.valid()) return "kept until the end of the round";
  if (plan.steps[next].kind == StepKind::offload) return fmt::format("until its offload, step {}", next.value);
  const double waits = plan.steps[next].start - step.end;
  const std::string wait = waits > 0 ? "in " + format_seconds(waits) : "at once";
  const bool begun_early = residency.first_step >= 0 && facts.tensors[tensor].gap_to.valid() &&
                           residency.first_step > facts.tensors[tensor].gap_from.value;
  const char* const what = begun_early ? "back for" : "for";
  const std::string named = fmt::format("{} {}, {}", what, facts.step_names[next], wait);
  // A step number says more than the rest of a long name, unless the number itself is cut.
  const std::string step_only = fmt::format("{} step {}", what, next.value),
                    numbered = fmt::format("{}, {}", step_only, wait);
  return width_of(named) <= kWhyWidth ? named : width_of(numbered) <= kWhyWidth ? numbered : step_only;
}

// What was evicted or will be recomputed, and would otherwise be live, too.
std::string absent(const Plan& plan, const PlanFacts& facts, StepId peak) {
  int64_t tensors = 0, bytes = 0, homes = 0;
  std::map<TensorKind, int64_t> home_bytes;
  IdVector<TensorId, int64_t> slices_here(plan.tensors.size());
  for (const TensorId id : ids_of(plan.tensors))
    if (const TensorId whole = plan.tensors[id].slice_of; whole.valid() && residency_at(plan, facts.tensors[id], peak))
      slices_here[whole] += plan.tensors[id].bytes;
  for (const TensorId id : ids_of(plan.tensors)) {
    const TensorFacts& tensor = facts.tensors[id];
    if (tensor.fate == Fate::home && !plan.tensors[id].slice_of.valid() && !residency_at(plan, tensor, peak)) {
      ++homes;
      home_bytes[plan.tensors[id].kind] += plan.tensors[id].bytes - slices_here[id];
    }
    if (tensor.fate != Fate::offload && tensor.fate != Fate::recompute) continue;
    if (peak <= tensor.gap_from || peak >= tensor.gap_to || residency_at(plan, tensor, peak)) continue;
    ++tensors;
    bytes += plan.tensors[id].bytes;
  }
  std::string text;
  if (tensors > 0)
    text += fmt::format("  absent: {}, {}, offloaded or to be recomputed\n", counted(tensors, "tensor"),
                        format_bytes(bytes));
  if (homes == 0) return text;
  std::string of;
  for (const auto& [kind, what] :
       {std::pair(TensorKind::weight, "weights"), std::pair(TensorKind::optimizer_state, "optimizer state"),
        std::pair(TensorKind::weight_gradient, "gradients")})
    if (home_bytes[kind] > 0) of += fmt::format(", {} of {}", format_bytes(home_bytes[kind]), what);
  text += fmt::format("  kept on the host: {}{}\n", counted(homes, "tensor"), of);
  return text;
}

}  // namespace

std::string report_summary(const Plan& plan, const PlanFacts& facts, bool color) {
  // The target is the machine on which the trainer runs. Times may be those of another machine: `--costs p100` plans
  // for the host with a P100's times.
  const std::string device = plan.device.empty() ? "" : ", times of " + shortened(plan.device, 20);
  std::string libraries;
  for (const auto& [name, version] : plan.libraries) libraries += fmt::format(", {} {}", name, version);
  // The default of a GPU is not the strict one, so the first line says so.
  const std::string coarse = plan.precision == "tf32" ? ", products in TF32 (--precision fp32: none)" : "";
  std::string text = heading(title(plan) + coarse, color);
  text += wrapped(verdict_of(plan, facts), 96);
  text += fmt::format("  policy {}, target {}{}{}\n", plan.policy, plan.target_kind, device, shortened(libraries, 40));
  if (!plan.precision.empty() && coarse.empty()) text += fmt::format("  precision {}\n", plan.precision);
  if (!plan.optimizer_state.empty()) text += fmt::format("  optimizer state in {}\n", plan.optimizer_state);
  for (const auto& [part, form] : plan.forms) text += wrapped(part + " " + form, 96);
  if (!plan.layout.empty()) text += fmt::format("  layout {}\n", plan.layout);
  if (plan.rules != "true")
    text += fmt::format("  graph and figures by the rules of {}: a plan for reports, not for a trainer\n", plan.rules);
  text += fmt::format("  {}, {} of {}\n\n", counted(static_cast<int64_t>(plan.tensors.size()), "tensor"),
                      counted(static_cast<int64_t>(plan.steps.size()), "step"),
                      counted(static_cast<int64_t>(plan.tasks.size()), "task"));
  return text + memory(plan, color) + "\n" + times(plan, color);
}

std::string report_peak(const Plan& plan, const PlanFacts& facts, bool color, size_t most) {
  const StepId peak = peak_of(plan);
  if (!peak.valid()) return "";
  struct Item {
    int64_t bytes;
    std::string name, kind, why;
  };
  std::vector<Item> items;
  for (const Residency& residency : plan.residencies)
    if (residency.first_step <= peak.value && peak.value <= residency.last_step)
      items.push_back({residency.bytes, spelled_tensor(plan.tensors[residency.tensor].name),
                       std::string(to_string(plan.tensors[residency.tensor].kind)), why(plan, facts, residency, peak)});
  const Step& step = plan.steps[peak];
  if (step.workspace.bytes > 0) items.push_back({step.workspace.bytes, "(workspace)", "workspace", step.algorithm});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.bytes > b.bytes; });

  Table table({{"bytes", true}, {"what", false, 32}, {"kind"}, {"why", false, kWhyWidth}});
  int64_t others = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i >= most) others += items[i].bytes;
    else table.row({format_bytes(items[i].bytes), items[i].name, items[i].kind, items[i].why});
  }
  std::string text =
      heading(fmt::format("the peak: {} at {}, step {} of {}", format_bytes(plan.summary.live_bytes),
                          shortened(facts.step_names[peak], 50), plan.summary.peak_step, plan.steps.size()),
              color);
  text += table.print(color);
  if (items.size() > most) text += fmt::format("  and {} more, {}\n", items.size() - most, format_bytes(others));
  return text + absent(plan, facts, peak);
}

std::string report_plan(const Plan& plan, const PlanFacts& facts, bool color) {
  std::string text = report_summary(plan, facts, color);
  for (const std::string& part : {report_peak(plan, facts, color), report_transfers(plan, facts, color),
                                  report_reductions(plan, facts, color), report_layers(plan, facts, color)})
    if (!part.empty()) text += "\n" + part;
  return text;
}

}  // namespace plimsoll
