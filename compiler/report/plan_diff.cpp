#include "compiler/report/plan_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <unordered_map>

#include "compiler/ir/names.h"
#include "compiler/report/figures.h"
#include "compiler/report/line_chart.h"
#include "compiler/report/page.h"
#include "compiler/report/policy_pages.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kNamed = 5;  // names shown for each kind of change

std::string change_of(double before, double after) {
  if (before == after) return "";
  return before > 0 ? format_overhead(after / before - 1) : "new";
}

class Diff {
 public:
  Diff(const Plan& before, const PlanFacts& facts_before, const Plan& after, const PlanFacts& facts_after)
      : before_(before), after_(after), facts_before_(facts_before), facts_after_(facts_after) {}

  PlanDifference run() {
    find_figures();
    found_.decisions = decisions();
    found_.algorithms = algorithms();
    const std::vector<std::string> before = names(before_), after = names(after_);
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(found_.only_before));
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(found_.only_after));
    return std::move(found_);
  }

 private:
  void find_figures() {
    const auto row =
        [&](const char* what, const std::string& before, const std::string& after, const std::string& change) {
      found_.figures_differ = found_.figures_differ || before != after;
      found_.figures.push_back({what, before, after, change});
    };
    const auto text = [&](const char* what, const std::string& before, const std::string& after) {
      if (before != after) row(what, before, after, "");
    };
    const auto bytes = [&](const char* what, int64_t before, int64_t after) {
      if (before != 0 || after != 0)
        row(what, format_bytes_or_dash(before), format_bytes_or_dash(after),
            change_of(static_cast<double>(before), static_cast<double>(after)));
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
    text("tasks recomputed", std::to_string(figures_of(before_, 0).recomputed_tasks),
         std::to_string(figures_of(after_, 0).recomputed_tasks));
    text("steps", std::to_string(before_.steps.size()), std::to_string(after_.steps.size()));
  }

  static std::string rounds_of(const Plan& plan) { return fmt::format("{} of {}", plan.rounds, plan.sub_batch); }

  static std::vector<DiffGroup> listed(std::map<std::string, DiffGroup>& groups) {
    std::vector<DiffGroup> list;
    for (auto& [change, group] : groups) {
      std::stable_sort(group.named.begin(), group.named.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
      group.change = change;
      list.push_back(std::move(group));
    }
    return list;
  }

  static std::string_view told(Fate fate, const PlanTensor& tensor) {
    if (fate == Fate::home) return "on the host";
    if (fate != Fate::none) return to_string(fate);
    return tensor.persistent ? "in the arena" : "short-lived";
  }

  std::vector<DiffGroup> decisions() const {
    std::unordered_map<std::string, TensorId> others;
    for (const TensorId id : ids_of(after_.tensors)) others.emplace(after_.tensors[id].name, id);
    std::map<std::string, DiffGroup> groups;
    for (const TensorId id : ids_of(before_.tensors)) {
      const PlanTensor& tensor = before_.tensors[id];
      const auto other = others.find(tensor.name);
      if (other == others.end()) continue;
      const Fate from = facts_before_.tensors[id].fate, to = facts_after_.tensors[other->second].fate;
      if (from == to) continue;
      const int64_t bytes = after_.tensors[other->second].bytes;
      DiffGroup& group = groups[fmt::format("{} → {}", told(from, tensor), told(to, after_.tensors[other->second]))];
      ++group.count;
      group.bytes += bytes;
      group.named.emplace_back(bytes, spelled_tensor(tensor.name));
    }
    return listed(groups);
  }

  // What a task's first step runs, and its time.
  struct Run {
    std::string algorithm;
    double seconds = 0;
  };
  static std::unordered_map<std::string, Run> runs_of(const Plan& plan) {
    std::unordered_map<std::string, Run> runs;
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::compute && !step.recompute)
        runs.emplace(plan.tasks[step.task].name, Run{step.algorithm, step.end - step.start});
    return runs;
  }

  std::vector<DiffGroup> algorithms() const {
    const auto runs_before = runs_of(before_), runs_after = runs_of(after_);
    std::map<std::string, DiffGroup> groups;
    for (const PlanTask& task : before_.tasks) {
      const auto from = runs_before.find(task.name), to = runs_after.find(task.name);
      if (from == runs_before.end() || to == runs_after.end() || from->second.algorithm == to->second.algorithm)
        continue;
      const auto spelt = [](const std::string& algorithm) {
        return algorithm.empty() ? std::string("-") : shortened(algorithm, 15);
      };
      DiffGroup& group = groups[fmt::format("{} → {}", spelt(from->second.algorithm), spelt(to->second.algorithm))];
      const double longer = to->second.seconds - from->second.seconds;
      ++group.count;
      group.seconds += longer;
      group.named.emplace_back(static_cast<int64_t>(1e9 * std::max(from->second.seconds, to->second.seconds)),
                               spelled(task.name));
    }
    return listed(groups);
  }

  static std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> all;
    for (const PlanTask& task : plan.tasks) all.push_back(task.name);
    std::sort(all.begin(), all.end());
    return all;
  }

  const Plan &before_, &after_;
  const PlanFacts &facts_before_, &facts_after_;
  PlanDifference found_;
};

std::string longer_by(double seconds) {
  return seconds == 0 ? "0" : (seconds > 0 ? "+" : "") + format_seconds(seconds);
}

std::string print_groups(const char* what, const std::vector<DiffGroup>& groups, const char* noun, bool sized,
                         bool color) {
  if (groups.empty()) return "";
  Table table({{what, false, 34}, {noun, true}, {sized ? "bytes" : "time", true}, {"the largest", false, 42}});
  for (const DiffGroup& group : groups)
    for (size_t i = 0; i < std::min(kNamed, group.named.size()); ++i)
      table.row({i == 0 ? group.change : "", i == 0 ? format_grouped(group.count) : "",
                 i > 0   ? ""
                 : sized ? format_bytes(group.bytes)
                         : longer_by(group.seconds),
                 group.named[i].second});
  return table.print(color);
}

std::string one_sided(const std::vector<std::string>& tasks, const char* where) {
  if (tasks.empty()) return "";
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(2, tasks.size()); ++i)
    list += (i ? ", " : "") + shortened(spelled(tasks[i]), 28);
  return fmt::format("only {}: {}, such as {}\n", where, counted(static_cast<int64_t>(tasks.size()), "task"), list);
}

// "After takes 1.66 GiB, 580.0 MiB more than before, and is 2.8% faster; the decision on 36 tensors changed."
std::string verdict_of_diff(const Plan& before, const Plan& after, const PlanDifference& found) {
  const int64_t more = after.summary.arena_bytes - before.summary.arena_bytes;
  std::string text = fmt::format("After takes {}, ", format_bytes(after.summary.arena_bytes));
  text += more == 0 ? "as much as before"
                    : fmt::format("{} {} than before", format_bytes(std::abs(more)), more > 0 ? "more" : "less");
  if (before.summary.iteration_seconds > 0 && after.summary.iteration_seconds > 0) {
    const double longer = after.summary.iteration_seconds / before.summary.iteration_seconds - 1;
    text += std::abs(longer) < 5e-4
                ? ", and is as fast"
                : fmt::format(", and is {:.1f}% {}", 100 * std::abs(longer), longer > 0 ? "slower" : "faster");
  }
  int64_t tensors = 0;
  for (const DiffGroup& group : found.decisions) tensors += group.count;
  return text + (tensors > 0 ? fmt::format("; the decision on {} changed.", counted(tensors, "tensor"))
                             : "; no decision changed.");
}

// Memory over time and the budgets of both plans, on one scale.
std::string memory_chart(const Plan& before, const PlanFacts& facts_before, const Plan& after,
                         const PlanFacts& facts_after, double width, double height, const char* kind) {
  constexpr double kLeft = 70, kRight = 12, kTop = 12, kBottom = 26;
  const double seconds = std::max({facts_before.round_seconds, facts_after.round_seconds, 1e-9});
  const int64_t largest = std::max(
      {before.budget_bytes, after.budget_bytes, before.summary.arena_bytes, after.summary.arena_bytes, int64_t{1}});
  const double bytes =
      1.04 * static_cast<double>(
                 std::min(largest, 2 * std::max({before.summary.arena_bytes, after.summary.arena_bytes, int64_t{1}})));
  const auto x = [&](double at) { return kLeft + at / seconds * (width - kLeft - kRight); };
  const auto y = [&](double of) { return height - kBottom - of / bytes * (height - kTop - kBottom); };
  std::string svg = fmt::format(
      "<svg class=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"memory over time, before and after\">\n", kind,
      width, height);
  double tick = 1;
  while (tick < bytes / 5) tick *= 2;
  for (double at = 0; at <= bytes; at += tick)
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"muted\" x=\"{}\" "
        "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, width - kRight, y(at), y(at), kLeft - 8, y(at) + 4, format_bytes(static_cast<int64_t>(at)));
  for (double at = 0, step = round_tick(seconds / (width / 130)); at < 0.97 * seconds; at += step)
    svg += fmt::format("<text class=\"muted\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(at),
                       height - 8, at == 0 ? "0" : tick_text(at));
  const auto curve = [&](const Plan& plan, const PlanFacts& facts, const char* colour, const char* name) {
    std::string path;
    // Points within one pixel are merged; the largest counts.
    double pixel = -1;
    int64_t most = 0;
    for (const MemoryPoint& point : memory_over_time(plan, facts)) {
      const double at = std::floor(2 * x(point.seconds)) / 2;
      if (at == pixel && point.bytes <= most) continue;
      path += path.empty() ? fmt::format("M{:.1f} {:.1f}", at, y(static_cast<double>(point.bytes)))
                           : fmt::format("H{:.1f}V{:.1f}", at, y(static_cast<double>(point.bytes)));
      most = point.bytes;
      pixel = at;
    }
    svg += fmt::format("<path class=\"line\" d=\"{}\" style=\"stroke:var({})\"/>\n", path, colour);
    if (static_cast<double>(plan.budget_bytes) <= bytes)
      svg += fmt::format(
          "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" style=\"stroke:var({});stroke-dasharray:6 "
          "4\"><title>budget {}</title></line>\n",
          kLeft, width - kRight, y(static_cast<double>(plan.budget_bytes)), y(static_cast<double>(plan.budget_bytes)),
          colour, name);
  };
  curve(before, facts_before, "--gradient", "before");
  curve(after, facts_after, "--accent", "after");
  return svg + "</svg>\n";
}

std::string page_groups(const char* title, const std::vector<DiffGroup>& groups, const char* noun, bool sized) {
  if (groups.empty()) return "";
  std::string text = fmt::format(
      "<section class=\"long\"><h2>{}</h2><div "
      "class=\"scroll\"><table><thead><tr><th>change</th><th>{}</th><th>{}</th><th class=\"left\">the "
      "largest</th></tr></thead><tbody>\n",
      title, noun, sized ? "bytes" : "time");
  for (const DiffGroup& group : groups) {
    std::string named;
    for (size_t i = 0; i < std::min(kNamed, group.named.size()); ++i)
      named += (i ? "<br>" : "") + html_escaped(group.named[i].second);
    if (group.named.size() > kNamed)
      named += fmt::format("<br><span class=\"muted\">and {} more</span>", group.named.size() - kNamed);
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"left\">{}</td></tr>\n",
                        html_escaped(group.change), format_grouped(group.count),
                        sized ? format_bytes(group.bytes) : longer_by(group.seconds), named);
  }
  return text + "</tbody></table></div></section>\n";
}

}  // namespace

PlanDifference difference_of(const Plan& before, const PlanFacts& facts_before, const Plan& after,
                             const PlanFacts& facts_after) {
  return Diff(before, facts_before, after, facts_after).run();
}

std::string report_diff(const Plan& before, const Plan& after, bool color) {
  const PlanDifference found = difference_of(before, facts_of(before), after, facts_of(after));
  std::string figures;
  if (found.figures_differ) {
    Table table({{}, {"before", true, 24}, {"after", true, 24}, {"change", true}});
    for (const DiffFigure& figure : found.figures) table.row({figure.what, figure.before, figure.after, figure.change});
    figures = heading("figures of an iteration", color) + table.print(color);
  }
  std::string others;
  for (const std::string& line : {one_sided(found.only_before, "before"), one_sided(found.only_after, "after")})
    if (!line.empty()) others += "  " + line;
  if (!others.empty()) others = heading("task graphs differ", color) + others;
  std::string text;
  for (const std::string& part : {figures, print_groups("decision", found.decisions, "tensors", true, color),
                                  print_groups("algorithm", found.algorithms, "tasks", false, color), others})
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  return text.empty() ? "no figure, decision or algorithm differs\n" : text;
}

std::string diff_page(const Plan& before, const Plan& after) {
  const PlanFacts facts_before = facts_of(before), facts_after = facts_of(after);
  const PlanDifference found = difference_of(before, facts_before, after, facts_after);
  const std::string model =
      before.model_name == after.model_name ? before.model_name : before.model_name + " and " + after.model_name;
  std::string body =
      page_header(fmt::format("Two plans of {}", model), html_escaped(verdict_of_diff(before, after, found)),
                  fmt::format("Before: {} in {}, batch {}. After: {} in {}, batch {}.", before.policy,
                              format_bytes(before.budget_bytes), before.batch, after.policy,
                              format_bytes(after.budget_bytes), after.batch));
  body += "<section><h2>Memory over one round</h2><div class=\"chart\">" +
          memory_chart(before, facts_before, after, facts_after, 1200, 260, "wide") +
          memory_chart(before, facts_before, after, facts_after, 400, 260, "narrow") + "</div>\n";
  body +=
      "<div class=\"legend\"><span><svg viewBox=\"0 -8 30 16\" width=\"30\" height=\"16\"><path class=\"line\" d=\"M0 "
      "0H30\" style=\"stroke:var(--gradient)\"/></svg>before</span>"
      "<span><svg viewBox=\"0 -8 30 16\" width=\"30\" height=\"16\"><path class=\"line\" d=\"M0 0H30\" "
      "style=\"stroke:var(--accent)\"/></svg>after</span><span>dashed: budgets</span></div></section>\n";
  body +=
      "<section class=\"long\"><h2>Figures of an iteration</h2><div "
      "class=\"scroll\"><table><thead><tr><th></th><th>before</th><th>after</th><th>change</th></tr></thead><tbody>\n";
  for (const DiffFigure& figure : found.figures)
    body += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        figure.before == figure.after ? " class=\"same\"" : "", figure.what,
                        html_escaped(figure.before), html_escaped(figure.after), figure.change);
  body += "</tbody></table></div></section>\n";
  body += page_groups("Decisions that changed", found.decisions, "tensors", true) +
          page_groups("Algorithms that changed", found.algorithms, "tasks", false);
  std::string others;
  for (const std::string& line : {one_sided(found.only_before, "before"), one_sided(found.only_after, "after")})
    if (!line.empty()) others += "<p>" + html_escaped(line) + "</p>";
  if (!others.empty()) body += "<section><h2>Another task graph</h2>" + others + "</section>\n";
  body += "<footer>Tensors and tasks are matched by name. Made by plimsoll diff --html.</footer>\n";
  return assemble_page({.title = fmt::format("Two plans of {}", model),
                        .body = body,
                        .styles = {"page.css", "chart.css"},
                        .scripts = {"page.js", "tip.js", "theme.js"}});
}

}  // namespace plimsoll
