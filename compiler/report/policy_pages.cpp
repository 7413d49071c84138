#include "compiler/report/policy_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/report/line_chart.h"
#include "compiler/report/page.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

std::string page_of(const std::string& title, const std::string& body) {
  return assemble_page({.title = title,
                        .body = body,
                        .styles = {"page.css", "chart.css"},
                        .scripts = {"page.js", "tip.js", "theme.js"}});
}

std::string hint_of(const std::string& what, int64_t budget, const PlanFigures& figures) {
  return fmt::format("{} within {}: {}, {}; transferred {}, recomputed {}, sub-batch {}", what, format_bytes(budget),
                     format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
                     format_bytes_or_dash(figures.moved_bytes()), format_bytes_or_dash(figures.recomputed_bytes),
                     figures.sub_batch);
}

std::string cells_of(const PlanFigures& figures, bool splits) {
  return fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td>",
                     format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
                     format_bytes(figures.arena_bytes), figures.sub_batch, splits ? "†" : "",
                     format_bytes_or_dash(figures.moved_bytes()), format_bytes_or_dash(figures.recomputed_bytes));
}

constexpr const char* kCellHeads =
    "<th>time</th><th>overhead</th><th>arena</th><th>sub-batch</th><th>transferred</th><th>recomputed</th>";
constexpr const char* kSplitNote =
    "<p class=\"muted\">† batch normalization computes over a sub-batch, which changes the result of training</p>\n";

// "5.8% slower than unlimited"
std::string against(double overhead) {
  if (std::abs(overhead) < 5e-4) return "as fast as unlimited";
  return fmt::format("{:.1f}% {} than unlimited", 100 * std::abs(overhead), overhead > 0 ? "slower" : "faster");
}

// Policies that fit, from fast to slow; then the others, by increasing minimum.
std::vector<const PolicyEntry*> sorted_by_time(const BudgetEntries& budget) {
  std::vector<const PolicyEntry*> entries;
  for (const PolicyEntry& entry : budget.entries) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const PolicyEntry* a, const PolicyEntry* b) {
    if (a->figures.has_value() != b->figures.has_value()) return a->figures.has_value();
    if (a->figures) return a->figures->iteration_seconds < b->figures->iteration_seconds;
    return (a->least_bytes > 0 ? a->least_bytes : INT64_MAX) < (b->least_bytes > 0 ? b->least_bytes : INT64_MAX);
  });
  return entries;
}

// "auto is the fastest: 159.96 ms, 5.8% slower than unlimited. Next is sublinear, 10% slower than auto."
std::string verdict_of_budget(const std::vector<const PolicyEntry*>& entries) {
  if (entries.empty() || !entries.front()->figures) return "No policy fits this budget.";
  const PolicyEntry& best = *entries.front();
  const double least = best.figures->iteration_seconds;
  std::string equals;
  const PolicyEntry* next = nullptr;
  int64_t more = 0;
  for (const PolicyEntry* entry : entries) {
    if (entry == &best || !entry->figures) continue;
    if (entry->figures->iteration_seconds < least * (1 + 5e-4)) ++more;
    else if (next == nullptr) next = entry;
  }
  std::string text =
      fmt::format("{} is the fastest: {}, {}.", best.policy, format_seconds(least), against(best.figures->overhead));
  if (more > 0)
    text = fmt::format("{} and {} more are equally fast: {}, {}.", best.policy, more, format_seconds(least),
                       against(best.figures->overhead));
  if (next != nullptr && least > 0)
    text +=
        fmt::format(" Next is {}, {:.0f}% slower.", next->policy, 100 * (next->figures->iteration_seconds / least - 1));
  return text;
}

// "auto is the fastest within each of 2 budgets." Of one budget, its own sentence says it.
std::string verdict_of_budgets(const std::vector<BudgetEntries>& budgets) {
  if (budgets.size() < 2) return "";
  std::vector<std::string> fastest;
  for (const BudgetEntries& budget : budgets) {
    const std::vector<const PolicyEntry*> entries = sorted_by_time(budget);
    fastest.push_back(entries.empty() || !entries.front()->figures ? "" : entries.front()->policy);
  }
  const std::string& first = fastest.front();
  if (!first.empty() && std::ranges::count(fastest, first) == std::ssize(fastest))
    return fmt::format("{} is the fastest within each of {} budgets.", first, budgets.size());
  std::string text;
  for (size_t i = 0; i < budgets.size(); ++i)
    text += fmt::format("{}{} within {}", i == 0 ? "Fastest: " : "; ", fastest[i].empty() ? "none" : fastest[i],
                        format_bytes(budgets[i].bytes));
  return text + ".";
}

std::string bars_of(const std::vector<const PolicyEntry*>& entries, int64_t budget, double unlimited) {
  double slowest = unlimited;
  for (const PolicyEntry* entry : entries)
    if (entry->figures) slowest = std::max(slowest, entry->figures->iteration_seconds);
  const auto percent = [&](double seconds) { return slowest > 0 ? seconds / slowest * 100 : 0; };
  std::string text = "<div class=\"bars\">\n", others;
  for (const PolicyEntry* entry : entries) {
    const std::string name = html_escaped(entry->policy);
    if (!entry->figures) {
      others +=
          fmt::format("{}<span data-tip=\"{}\">{} {}</span>", others.empty() ? "" : ", ", html_escaped(entry->summary),
                      name, entry->least_bytes > 0 ? "needs " + format_bytes(entry->least_bytes) : "has no plan");
      continue;
    }
    const PlanFigures& figures = *entry->figures;
    const std::string tip =
        hint_of(entry->policy, budget, figures) + (entry->summary.empty() ? "" : "\n" + entry->summary);
    text += fmt::format(
        "<div class=\"row{}\" tabindex=\"0\" data-tip=\"{}\"><span>{}</span><span class=\"track\"><i "
        "style=\"width:{:.1f}%\"></i><u style=\"left:{:.1f}%\"></u></span>"
        "<span>{}, {}{}</span></div>\n",
        entry->fastest ? " best" : "", html_escaped(tip), name, percent(figures.iteration_seconds), percent(unlimited),
        format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
        entry->splits_statistics ? " †" : "");
  }
  if (slowest > 0) {
    std::string ticks;
    for (double at = 0, step = round_tick(slowest / 5); at <= slowest; at += step)
      ticks += fmt::format("<b style=\"left:{:.1f}%\">{}</b>", percent(at), at == 0 ? "0" : tick_text(at));
    text +=
        fmt::format("<div class=\"row axis\"><span>time</span><span class=\"ticks\">{}</span><span>{}</span></div>\n",
                    ticks, unlimited > 0 ? fmt::format("<em>┆</em> unlimited: {}", format_seconds(unlimited)) : "");
  }
  text += "</div>\n";
  if (!others.empty()) text += "<p class=\"none\">Do not fit: " + others + ".</p>\n";
  return text;
}

std::vector<ChartLine> lines_of(const std::vector<BudgetEntries>& budgets) {
  std::vector<ChartLine> lines;
  for (size_t policy = 0; policy < budgets.front().entries.size(); ++policy) {
    const std::string& name = budgets.front().entries[policy].policy;
    ChartLine line{.name = name, .style = policy % kChartStyles, .strong = policy == 0};
    for (const BudgetEntries& budget : budgets) {
      const PolicyEntry& entry = budget.entries[policy];
      if (entry.figures)
        line.points.push_back({budget.bytes, entry.figures->iteration_seconds,
                               hint_of(name, budget.bytes, *entry.figures), entry.splits_statistics});
    }
    std::stable_sort(line.points.begin(), line.points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.bytes < b.bytes; });
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string table_of(const std::vector<const PolicyEntry*>& entries) {
  std::string text = fmt::format(
      "<details><summary>All figures</summary><div "
      "class=\"scroll\"><table><thead><tr><th>policy</th>{}</tr></thead><tbody>\n",
      kCellHeads);
  for (const PolicyEntry* entry : entries)
    text += entry->figures
                ? fmt::format("<tr><td>{}</td>{}</tr>\n", html_escaped(entry->policy),
                              cells_of(*entry->figures, entry->splits_statistics))
                : fmt::format("<tr><td>{}</td><td></td><td></td><td>{}</td><td></td><td></td><td></td></tr>\n",
                              html_escaped(entry->policy),
                              entry->least_bytes > 0 ? "≥ " + format_bytes(entry->least_bytes) : "none");
  return text + "</tbody></table></div></details>\n";
}

std::string times_of(const std::string& costs, const std::string& device) {
  return "times " + costs + (device.empty() ? "" : " for " + device);
}

// The knee: from there on, more memory saves little time, and less memory costs much. It is the point farthest from the
// line between the first and the last, with logarithmic times. 0: there is none.
size_t knee_of(const std::vector<FrontierPoint>& points) {
  const FrontierPoint &first = points.front(), &last = points.back();
  const double bytes = static_cast<double>(last.budget - first.budget);
  const auto height = [&](const FrontierPoint& point) {
    return std::log(point.figures.iteration_seconds / last.figures.iteration_seconds);
  };
  if (points.size() < 3 || bytes <= 0 || last.figures.iteration_seconds <= 0 || height(first) < 0.05) return 0;
  size_t best = 0;
  double farthest = 0;
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    const double far =
        1 - static_cast<double>(points[i].budget - first.budget) / bytes - height(points[i]) / height(first);
    if (far > farthest) farthest = far, best = i;
  }
  return best;
}

// A budget as written on the command line, at least `bytes`.
std::string option_of(int64_t bytes) {
  if (const int64_t mebibyte = 1 << 20; bytes >= 64 * mebibyte)
    return fmt::format("--budget {}MiB", (bytes + mebibyte - 1) / mebibyte);
  if (bytes >= 64 * 1024) return fmt::format("--budget {}KiB", (bytes + 1023) / 1024);
  return fmt::format("--budget {}", bytes);
}

std::string copy_button(int64_t bytes) {
  const std::string option = option_of(bytes);
  return fmt::format("<button class=\"copy\" data-copy=\"{}\" title=\"copy\">{}</button>", option, option);
}

std::string card_for(int64_t bytes) {
  for (const int64_t size : card_sizes(INT64_MAX))
    if (size >= bytes) return fmt::format("{} GB", size >> 30);
  return "";
}

}  // namespace

std::string page_header(const std::string& title, const std::string& verdict, const std::string& subtitle) {
  return fmt::format(
      "<header><svg class=\"mark\" viewBox=\"0 0 46 46\" aria-hidden=\"true\"><circle cx=\"23\" cy=\"23\" r=\"14\" "
      "fill=\"none\" stroke=\"currentColor\" "
      "stroke-width=\"3.4\"/><path d=\"M2 23h42\" stroke=\"var(--budget)\" stroke-width=\"3.4\"/></svg>"
      "<div class=\"grow\"><h1>{}</h1>{}<p>{}</p></div><button id=\"theme\" class=\"controls\" title=\"light or "
      "dark\">◐</button></header>\n",
      html_escaped(title), verdict.empty() ? "" : "<p class=\"verdict\">" + verdict + "</p>", html_escaped(subtitle));
}

std::string compare_page(const Comparison& about, const std::vector<BudgetEntries>& budgets) {
  std::string body =
      page_header(fmt::format("Policies compared on {}", about.model), html_escaped(verdict_of_budgets(budgets)),
                  fmt::format("Batch {}; {}. Unlimited, auto takes {} and {} an iteration.", about.batch,
                              times_of(about.costs, about.device), format_bytes(about.unconstrained_bytes),
                              format_seconds(about.unconstrained_seconds)));
  const std::vector<ChartLine> lines = lines_of(budgets);
  if (budgets.size() > 1 && !lines.empty())
    body += "<section><h2>Time of an iteration against the budget</h2>\n" +
            line_chart(lines, {about.unconstrained_seconds, "unlimited"}) + "</section>\n";
  bool splits = false;
  for (const BudgetEntries& budget : budgets) {
    const std::string bytes = format_bytes(budget.bytes);
    const std::vector<const PolicyEntry*> entries = sorted_by_time(budget);
    body += fmt::format("<section class=\"long\"><h2>Budget {}</h2>\n<p class=\"said\">{}</p>\n",
                        html_escaped(budget.text == bytes ? bytes : budget.text + ": " + bytes),
                        html_escaped(verdict_of_budget(entries)));
    body += bars_of(entries, budget.bytes, about.unconstrained_seconds) + table_of(entries) + "</section>\n";
    for (const PolicyEntry& entry : budget.entries) splits = splits || entry.splits_statistics;
  }
  std::string policies;
  for (const PolicyEntry& entry : budgets.front().entries)
    if (!entry.summary.empty())
      policies += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(entry.policy), html_escaped(entry.summary));
  if (!policies.empty()) body += "<section class=\"long\"><h2>The policies</h2>\n<dl>" + policies + "</dl></section>\n";
  if (splits) body += kSplitNote;
  body +=
      "<footer>Overhead is against auto, unlimited. Transferred: offloaded and prefetched in an iteration. ≥: the "
      "smallest budget that the policy "
      "fits. Made by plimsoll compare --html.</footer>\n";
  return page_of(fmt::format("Policies compared on {}", about.model), body);
}

std::string frontier_page(const Plan& least, const std::vector<FrontierPoint>& points) {
  const int64_t unconstrained = least.summary.unconstrained_bytes;
  const auto share = [&](int64_t bytes) {
    return format_share(unconstrained > 0 ? static_cast<double>(bytes) / static_cast<double>(unconstrained) : 0);
  };
  const size_t knee = knee_of(points);
  std::string verdict = fmt::format("Any budget from {} has a plan.", format_bytes(points.front().budget));
  if (knee > 0)
    verdict = fmt::format("{} of the memory, {}, costs {:.0f}% more time: the knee. {}", share(points[knee].budget),
                          format_bytes(points[knee].budget), 100 * points[knee].figures.overhead,
                          copy_button(points[knee].budget));
  std::string body = page_header(
      fmt::format("Time against memory of {}", least.model_name), verdict,
      fmt::format("Batch {}, policy {}; {}.", least.batch, least.policy, times_of(least.costs, least.device)));
  ChartLine line{.name = least.policy};
  bool splits = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const FrontierPoint& point = points[i];
    splits = splits || point.splits_statistics;
    line.points.push_back({point.budget, point.figures.iteration_seconds,
                           hint_of(least.policy, point.budget, point.figures), point.splits_statistics,
                           knee > 0 && i == knee ? fmt::format("knee: {}, {}", format_bytes(point.budget),
                                                               format_overhead(point.figures.overhead))
                                                 : ""});
  }
  const double unlimited = points.back().figures.iteration_seconds / (1 + points.back().figures.overhead);
  body += fmt::format("<section><h2>From the minimum, {}, to unlimited, {}</h2>\n", format_bytes(points.front().budget),
                      format_bytes(points.back().budget));
  body += line_chart({line}, {unlimited, fmt::format("unlimited: {}", format_seconds(unlimited))});
  if (const std::string small = card_for(points.front().budget), large = card_for(points.back().budget);
      !small.empty() && !large.empty())
    body += fmt::format(
        "<p class=\"none\">The minimum fits a {} card, unlimited a {} card. A driver and its libraries take some of a "
        "card's memory: <code>plimsoll doctor</code>.</p>\n",
        small, large);
  body += "</section>\n";
  body += fmt::format(
      "<section class=\"long\"><div class=\"scroll\"><table><thead><tr><th>budget</th><th "
      "class=\"left\">option</th><th>share</th>{}</tr></thead><tbody>\n",
      kCellHeads);
  for (size_t i = 0; i < points.size(); ++i)
    body += fmt::format("<tr{}><td>{}</td><td class=\"left\">{}</td><td>{}</td>{}</tr>\n",
                        knee > 0 && i == knee ? " class=\"knee\"" : "", format_bytes(points[i].budget),
                        copy_button(points[i].budget), share(points[i].budget),
                        cells_of(points[i].figures, points[i].splits_statistics));
  body += "</tbody></table></div></section>\n";
  if (splits) body += kSplitNote;
  body +=
      "<footer>Share: of what the policy takes unlimited. Overhead is against auto, unlimited. Made by plimsoll "
      "frontier --html.</footer>\n";
  return page_of(fmt::format("Time against memory of {}", least.model_name), body);
}

}  // namespace plimsoll
