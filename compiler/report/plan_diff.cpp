#include "compiler/report/plan_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "compiler/ir/names.h"
#include "compiler/report/figures.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kNamed = 5;  // of each kind of change

std::string change_of(double before, double after) {
  if (before == after) return "";
  return before > 0 ? format_overhead(after / before - 1) : "new";
}

class Diff {
 public:
  Diff(const Plan& before, const Plan& after, bool color)
      : before_(before), after_(after), facts_before_(facts_of(before)), facts_after_(facts_of(after)), color_(color) {}

  std::string run() const {
    std::string text;
    for (const std::string& part : {figures(), fates(), algorithms(), one_sided()})
      if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
    return text.empty() ? "no figure, decision or algorithm differs\n" : text;
  }

 private:
  std::string figures() const {
    Table table({{}, {"before", true, 24}, {"after", true, 24}, {"change", true}});
    bool differs = false;
    const auto row = [&](const char* what, const std::string& before, const std::string& after, const std::string& change) {
      differs = differs || before != after;
      table.row({what, before, after, change});
    };
    const auto text = [&](const char* what, const std::string& before, const std::string& after) {
      if (before != after) row(what, before, after, "");
    };
    const auto bytes = [&](const char* what, int64_t before, int64_t after) {
      if (before != 0 || after != 0) row(what, format_bytes_or_dash(before), format_bytes_or_dash(after), change_of(static_cast<double>(before), static_cast<double>(after)));
    };
    const auto seconds = [&](const char* what, double before, double after) {
      if (before != 0 || after != 0) row(what, format_seconds(before), format_seconds(after), change_of(before, after));
    };
    const PlanSummary &a = before_.summary, &b = after_.summary;
    text("model", before_.model_name, after_.model_name);
    text("policy", before_.policy, after_.policy);
    text("target", before_.target_kind, after_.target_kind);
    text("times of", before_.device, after_.device);
    text("costs", before_.costs, after_.costs);
    text("batch", std::to_string(before_.batch), std::to_string(after_.batch));
    text("rounds", rounds_of(before_), rounds_of(after_));
    bytes("budget", before_.budget_bytes, after_.budget_bytes);
    bytes("arena", a.arena_bytes, b.arena_bytes);
    bytes("live at the peak", a.live_bytes, b.live_bytes);
    bytes("persistent", a.persistent_bytes, b.persistent_bytes);
    bytes("host pool", a.host_pool_bytes, b.host_pool_bytes);
    seconds("iteration", a.iteration_seconds, b.iteration_seconds);
    seconds("waiting for copies", a.stall_seconds, b.stall_seconds);
    seconds("recomputing", a.recompute_seconds, b.recompute_seconds);
    bytes("reduced over ranks", a.reduced_bytes, b.reduced_bytes);
    bytes("transferred, both ways", a.offloaded_bytes + a.prefetched_bytes, b.offloaded_bytes + b.prefetched_bytes);
    text("tasks recomputed", std::to_string(a.recomputed_tasks), std::to_string(b.recomputed_tasks));
    text("steps", std::to_string(before_.steps.size()), std::to_string(after_.steps.size()));
    return differs ? heading("figures of an iteration", color_) + table.print(color_) : "";
  }

  static std::string rounds_of(const Plan& plan) { return fmt::format("{} of {}", plan.rounds, plan.sub_batch); }

  // Changes of one kind, "keep → offload", with the largest of them by name.
  struct Group {
    int64_t count = 0;
    int64_t bytes = 0;
    double seconds = 0;  // longer by
    std::vector<std::pair<int64_t, std::string>> named = {};
  };

  std::string print(const char* what, std::map<std::string, Group>& groups, const char* noun, bool sized) const {
    if (groups.empty()) return "";
    Table table({{what, false, 34}, {noun, true}, {sized ? "bytes" : "time", true}, {"the largest", false, 42}});
    for (auto& [change, group] : groups) {
      std::stable_sort(group.named.begin(), group.named.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
      const std::string longer = group.seconds == 0 ? "0" : (group.seconds > 0 ? "+" : "") + format_seconds(group.seconds);
      for (size_t i = 0; i < std::min(kNamed, group.named.size()); ++i)
        table.row({i == 0 ? change : "", i == 0 ? format_grouped(group.count) : "", i > 0 ? "" : sized ? format_bytes(group.bytes) : longer,
                   group.named[i].second});
    }
    return table.print(color_);
  }

  static std::string_view told(Fate fate, const PlanTensor& tensor) {
    if (fate == Fate::home) return "on the host";
    if (fate != Fate::none) return to_string(fate);
    return tensor.persistent ? "in the arena" : "no gap";
  }

  std::string fates() const {
    std::unordered_map<std::string, TensorId> others;
    for (const TensorId id : ids_of(after_.tensors)) others.emplace(after_.tensors[id].name, id);
    std::map<std::string, Group> groups;
    for (const TensorId id : ids_of(before_.tensors)) {
      const PlanTensor& tensor = before_.tensors[id];
      const auto other = others.find(tensor.name);
      if (other == others.end()) continue;
      const Fate from = facts_before_.tensors[id].fate, to = facts_after_.tensors[other->second].fate;
      if (from == to) continue;
      const int64_t bytes = after_.tensors[other->second].bytes;
      Group& group = groups[fmt::format("{} → {}", told(from, tensor), told(to, after_.tensors[other->second]))];
      ++group.count;
      group.bytes += bytes;
      group.named.emplace_back(bytes, spelled_tensor(tensor.name));
    }
    return print("decision", groups, "tensors", true);
  }

  // What a task's first step runs, and for how long.
  struct Run {
    std::string algorithm;
    double seconds = 0;
  };
  static std::unordered_map<std::string, Run> runs_of(const Plan& plan) {
    std::unordered_map<std::string, Run> runs;
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::compute && !step.recompute) runs.emplace(plan.tasks[step.task].name, Run{step.algorithm, step.end - step.start});
    return runs;
  }

  std::string algorithms() const {
    const auto runs_before = runs_of(before_), runs_after = runs_of(after_);
    std::map<std::string, Group> groups;
    for (const PlanTask& task : before_.tasks) {
      const auto from = runs_before.find(task.name), to = runs_after.find(task.name);
      if (from == runs_before.end() || to == runs_after.end() || from->second.algorithm == to->second.algorithm) continue;
      const auto spelt = [](const std::string& algorithm) { return algorithm.empty() ? std::string("-") : shortened(algorithm, 15); };
      Group& group = groups[fmt::format("{} → {}", spelt(from->second.algorithm), spelt(to->second.algorithm))];
      const double longer = to->second.seconds - from->second.seconds;
      ++group.count;
      group.seconds += longer;
      group.named.emplace_back(static_cast<int64_t>(1e9 * std::max(from->second.seconds, to->second.seconds)), spelled(task.name));
    }
    return print("algorithm", groups, "tasks", false);
  }

  std::string one_sided() const {
    const auto names = [](const Plan& plan) {
      std::vector<std::string> all;
      for (const PlanTask& task : plan.tasks) all.push_back(task.name);
      std::sort(all.begin(), all.end());
      return all;
    };
    const std::vector<std::string> before = names(before_), after = names(after_);
    const auto only = [&](const std::vector<std::string>& a, const std::vector<std::string>& b, const char* where) -> std::string {
      std::vector<std::string> rest;
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
      if (rest.empty()) return "";
      std::string list;
      for (size_t i = 0; i < std::min<size_t>(2, rest.size()); ++i) list += (i ? ", " : "") + shortened(spelled(rest[i]), 28);
      return fmt::format("  only {}: {}, as {}\n", where, counted(static_cast<int64_t>(rest.size()), "task"), list);
    };
    const std::string text = only(before, after, "before") + only(after, before, "after");
    return text.empty() ? "" : heading("another task graph", color_) + text;
  }

  const Plan &before_, &after_;
  const PlanFacts facts_before_, facts_after_;
  const bool color_;
};

}  // namespace

std::string report_diff(const Plan& before, const Plan& after, bool color) { return Diff(before, after, color).run(); }

}  // namespace plimsoll
