#include "compiler/report/policy_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/report/line_chart.h"
#include "compiler/report/page.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

std::string head_of(const std::string& title, const std::string& subtitle) {
  return fmt::format(
      "<header><svg class=\"mark\" viewBox=\"0 0 46 46\" aria-hidden=\"true\"><circle cx=\"23\" cy=\"23\" r=\"14\" fill=\"none\" stroke=\"currentColor\" "
      "stroke-width=\"3.4\"/><path d=\"M2 23h42\" stroke=\"var(--budget)\" stroke-width=\"3.4\"/></svg>"
      "<div class=\"grow\"><h1>{}</h1><p>{}</p></div><button id=\"theme\" class=\"controls\" title=\"light or dark\">◐</button></header>\n",
      html_escaped(title), html_escaped(subtitle));
}

std::string page_of(const std::string& title, const std::string& body) {
  return assemble_page({.title = title, .body = body, .styles = {"page.css", "chart.css"}, .scripts = {"page.js", "theme.js"}});
}

std::string hint_of(const std::string& what, int64_t budget, const PlanFigures& figures) {
  return fmt::format("{} within {}: {}, {}; moved {}, recomputed {}, sub-batch {}", what, format_bytes(budget), format_seconds(figures.iteration_seconds),
                     format_overhead(figures.overhead), format_bytes_or_dash(figures.moved_bytes()),
                     format_bytes_or_dash(figures.recomputed_bytes), figures.sub_batch);
}

std::string cells_of(const PlanFigures& figures, bool splits) {
  return fmt::format("<td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", format_bytes(figures.arena_bytes), figures.sub_batch,
                     splits ? "†" : "", format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
                     format_bytes_or_dash(figures.moved_bytes()), format_bytes_or_dash(figures.recomputed_bytes));
}

constexpr const char* kCellHeads = "<th>arena</th><th>sub-batch</th><th>time</th><th>overhead</th><th>moved</th><th>recomputed</th>";
constexpr const char* kSplitNote =
    "<p class=\"muted\">† batch normalization sees a sub-batch at a time, which trains something else</p>\n";

std::string bars_of(const BudgetEntries& budget, double ideal_seconds) {
  double slowest = ideal_seconds;
  for (const PolicyEntry& entry : budget.entries)
    if (entry.figures) slowest = std::max(slowest, entry.figures->iteration_seconds);
  const auto percent = [&](double seconds) { return slowest > 0 ? seconds / slowest * 100 : 0; };
  std::string text = "<div class=\"bars\">\n";
  for (const PolicyEntry& entry : budget.entries) {
    const std::string name = html_escaped(entry.policy);
    if (!entry.figures) {
      text += fmt::format("<div class=\"row none\"><span>{}</span><span>{}</span><span></span></div>\n", name,
                          entry.least_bytes > 0 ? "does not fit: needs " + format_bytes(entry.least_bytes) : "has no plan");
      continue;
    }
    const PlanFigures& figures = *entry.figures;
    text += fmt::format("<div class=\"row{}\" title=\"{}\"><span>{}</span><span class=\"track\"><i style=\"width:{:.1f}%\"></i><u style=\"left:{:.1f}%\"></u></span>"
                        "<span>{}, {}{}</span></div>\n",
                        entry.fastest ? " best" : "", html_escaped(hint_of(entry.policy, budget.bytes, figures)), name,
                        percent(figures.iteration_seconds), percent(ideal_seconds), format_seconds(figures.iteration_seconds),
                        format_overhead(figures.overhead), entry.splits_statistics ? " †" : "");
  }
  return text + "</div>\n";
}

std::vector<ChartLine> lines_of(const std::vector<BudgetEntries>& budgets) {
  std::vector<ChartLine> lines;
  for (size_t policy = 0; policy < budgets.front().entries.size(); ++policy) {
    const std::string& name = budgets.front().entries[policy].policy;
    ChartLine line{.name = name, .style = policy % kChartStyles};
    for (const BudgetEntries& budget : budgets) {
      const PolicyEntry& entry = budget.entries[policy];
      if (entry.figures)
        line.points.push_back({budget.bytes, entry.figures->iteration_seconds, hint_of(name, budget.bytes, *entry.figures), entry.splits_statistics});
    }
    std::stable_sort(line.points.begin(), line.points.end(), [](const ChartPoint& a, const ChartPoint& b) { return a.bytes < b.bytes; });
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::string compare_page(const Comparison& about, const std::vector<BudgetEntries>& budgets) {
  std::string body = head_of(about.model, fmt::format("every policy, batch {}; {} and {} without a budget; times {}{}", about.batch,
                                                      format_bytes(about.unconstrained_bytes), format_seconds(about.unconstrained_seconds), about.costs,
                                                      about.device.empty() ? "" : ", " + about.device));
  const std::vector<ChartLine> lines = lines_of(budgets);
  if (budgets.size() > 1 && !lines.empty())
    body += "<section><h2>Time of an iteration against the budget</h2>\n" + line_chart(lines, about.unconstrained_seconds, "without a budget") + "</section>\n";
  bool splits = false;
  for (const BudgetEntries& budget : budgets) {
    const std::string bytes = format_bytes(budget.bytes);
    body += fmt::format("<section class=\"long\"><h2>Budget {}</h2>\n", html_escaped(budget.text == bytes ? bytes : budget.text + ": " + bytes));
    body += bars_of(budget, about.unconstrained_seconds);
    body += fmt::format("<div class=\"scroll\" style=\"margin-top:12px\"><table><thead><tr><th>policy</th>{}</tr></thead><tbody>\n", kCellHeads);
    for (const PolicyEntry& entry : budget.entries) {
      splits = splits || entry.splits_statistics;
      if (entry.figures)
        body += fmt::format("<tr><td>{}</td>{}</tr>\n", html_escaped(entry.policy), cells_of(*entry.figures, entry.splits_statistics));
      else
        body += fmt::format("<tr><td>{}</td><td>{}</td><td></td><td></td><td></td><td></td><td></td></tr>\n", html_escaped(entry.policy),
                            entry.least_bytes > 0 ? "≥ " + format_bytes(entry.least_bytes) : "none");
    }
    body += "</tbody></table></div></section>\n";
  }
  body += "<footer>The dashed mark is the time without a budget; ≥ is the least budget that a policy can meet; moved: to the host and back in one "
          "iteration. Made by plimsoll compare --html.</footer>\n";
  if (splits) body += kSplitNote;
  return page_of(fmt::format("{}: policies", about.model), body);
}

std::string frontier_page(const Plan& least, const std::vector<FrontierPoint>& points) {
  const int64_t unconstrained = least.summary.unconstrained_bytes;
  std::string body = head_of(least.model_name, fmt::format("time against budget, batch {}, policy {}; times {}{}", least.batch, least.policy, least.costs,
                                                           least.device.empty() ? "" : ", " + least.device));
  ChartLine line{.name = least.policy};
  bool splits = false;
  for (const FrontierPoint& point : points) {
    splits = splits || point.splits_statistics;
    line.points.push_back({point.budget, point.figures.iteration_seconds, hint_of(least.policy, point.budget, point.figures), point.splits_statistics});
  }
  body += fmt::format("<section><h2>From {}, the least with a plan, to {}</h2>\n", format_bytes(points.front().budget), format_bytes(points.back().budget));
  const double ideal = points.back().figures.iteration_seconds / (1 + points.back().figures.overhead);
  body += line_chart({line}, ideal, "without a budget") + "</section>\n";
  body += fmt::format("<section class=\"long\"><div class=\"scroll\"><table><thead><tr><th>budget</th><th>share</th>{}</tr></thead><tbody>\n", kCellHeads);
  for (const FrontierPoint& point : points)
    body += fmt::format("<tr><td>{}</td><td>{}</td>{}</tr>\n", format_bytes(point.budget),
                        format_share(unconstrained > 0 ? static_cast<double>(point.budget) / static_cast<double>(unconstrained) : 0),
                        cells_of(point.figures, point.splits_statistics));
  body += "</tbody></table></div></section>\n";
  if (splits) body += kSplitNote;
  body += "<footer>Made by plimsoll frontier --html.</footer>\n";
  return page_of(fmt::format("{}: time against budget", least.model_name), body);
}

}  // namespace plimsoll
