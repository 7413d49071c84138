#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "compiler/driver/planning.h"
#include "compiler/report/figures.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/policy_pages.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/output.h"
#include "passes/policies.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/planning_options.h"
#include "tools/plimsoll/progress.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

constexpr int kSteps = 8;  // geometric steps, from the minimum to unlimited
constexpr int kPercents[] = {100, 66, 50, 33, 25, 10};
constexpr size_t kBarWidth = 20;

// The budgets, ascending. Percentages below the minimum have no plan and are left out. So are steps that almost equal a
// percentage.
std::vector<int64_t> budgets_between(int64_t minimum, int64_t unconstrained) {
  std::vector<int64_t> budgets = {minimum};
  for (const int percent : kPercents)
    if (const int64_t bytes = static_cast<int64_t>(static_cast<double>(unconstrained) * percent / 100); bytes > minimum)
      budgets.push_back(bytes);
  const double ratio = static_cast<double>(unconstrained) / static_cast<double>(minimum);
  for (int step = 1; step < kSteps; ++step) {
    const int64_t bytes =
        static_cast<int64_t>(static_cast<double>(minimum) * std::pow(ratio, static_cast<double>(step) / kSteps));
    const bool near = std::any_of(budgets.begin(), budgets.end(), [&](int64_t other) {
      return std::abs(static_cast<double>(bytes - other)) < 0.03 * static_cast<double>(other);
    });
    if (!near && bytes > minimum) budgets.push_back(bytes);
  }
  std::sort(budgets.begin(), budgets.end());
  return budgets;
}

class FrontierCommand final : public Command {
 public:
  FrontierCommand()
      : Command("frontier", "show iteration time against budget: plimsoll frontier net.onnx --batch 64"),
        options_(sub),
        policy_("policy", cl::init(kDefaultPolicy), cl::value_desc("NAME"), cl::desc(policy_help(kDefaultPolicy)),
                cl::sub(sub)),
        csv_("csv", cl::desc("print CSV: a line per budget, in bytes and seconds"), cl::sub(sub)),
        json_("json", cl::desc("print the same as JSON"), cl::sub(sub)),
        html_("html", cl::value_desc("FILE.html"),
              cl::desc("write a self-contained page with a plot instead of the table"), cl::sub(sub)) {}

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    PLIMSOLL_TRY(find_policy(policy_));
    PLIMSOLL_ASSIGN(const PlanningRequest asked, request_of(options_));
    PLIMSOLL_ASSIGN(const Plannable plannable, prepare_plans(asked, console.messages(), PlanFor::report));
    PlanRequest request = plannable.request;
    request.policy = policy_;
    std::vector<FrontierPoint> points;
    PLIMSOLL_ASSIGN(const Plan least, plan_all(plannable, request, points));
    if (!html_.empty()) {
      PLIMSOLL_TRY(write_file(html_, frontier_page(least, points)));
      console.say(fmt::format("wrote {}; open it in a browser", html_.getValue()));
    }
    if (json_) fmt::print("{}\n", json_of_csv(print_csv(points)));
    else if (csv_) fmt::print("{}", print_csv(points));
    else if (html_.empty()) fmt::print("{}", print_table(plannable, least, points));
    return {};
  }

 private:
  // Fills `points` and returns the plan at the minimum.
  Result<Plan> plan_all(const Plannable& plannable, PlanRequest request, std::vector<FrontierPoint>& points) const {
    const Progress progress(options_.quiet);
    progress.say("planning unlimited");
    PLIMSOLL_ASSIGN(const Plan ideal, unconstrained_plan(plannable));
    PLIMSOLL_ASSIGN(Plan least, checked_plan(plannable, request));
    const std::vector<int64_t> budgets =
        budgets_between(least.summary.minimum_bytes, least.summary.unconstrained_bytes);
    for (const int64_t budget : budgets) {
      progress.say(
          fmt::format("planning within {}, {} of {}", format_bytes(budget), points.size() + 1, budgets.size()));
      request.budget_bytes = budget;
      PLIMSOLL_ASSIGN(Plan plan, checked_plan(plannable, request));
      points.push_back({budget, figures_of(plan, ideal.summary.iteration_seconds), plannable.splits_statistics(plan)});
      if (budget == budgets.front()) least = std::move(plan);
    }
    return least;
  }

  static std::string print_table(const Plannable& plannable, const Plan& least,
                                 const std::vector<FrontierPoint>& points) {
    const bool color = Console::color(STDOUT_FILENO);
    const int64_t unconstrained = least.summary.unconstrained_bytes;
    double slowest = 0;
    for (const FrontierPoint& point : points) slowest = std::max(slowest, point.figures.iteration_seconds);
    std::string text =
        fmt::format("{}: batch {}, policy {}; times are {}{}\n\n", shortened(least.model_name, 40), least.batch,
                    least.policy, least.costs, least.device.empty() ? "" : ", " + shortened(least.device, 24));
    Table table({{"budget", true},
                 {"share", true},
                 {"sub-batch", true},
                 {"time", true},
                 {"overhead", true},
                 {"transferred", true},
                 {"recomputed", true},
                 {}});
    bool splits = false;
    for (const FrontierPoint& point : points) {
      const PlanFigures& figures = point.figures;
      splits = splits || point.splits_statistics;
      table.row({format_bytes(point.budget),
                 format_share(static_cast<double>(point.budget) / static_cast<double>(unconstrained)),
                 fmt::format("{}{}", figures.sub_batch, point.splits_statistics ? "†" : " "),
                 format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
                 format_bytes_or_dash(figures.moved_bytes()), format_bytes_or_dash(figures.recomputed_bytes),
                 bar(figures.iteration_seconds / slowest, kBarWidth)});
    }
    text += table.print(color);
    text += "\nshare: of the unlimited arena; overhead: relative to unlimited auto;\n"
            "transferred: offloaded and prefetched per iteration\n";
    text += note_on_statistics(plannable, splits);
    text += fmt::format("\nThe peak at the minimum of {}, in rounds of {}\n", format_bytes(points.front().budget),
                        least.sub_batch);
    return text + report_peak(least, facts_of(least), color);
  }

  static std::string print_csv(const std::vector<FrontierPoint>& points) {
    std::string text = "budget_bytes,splits_statistics," + csv_figures_header() + "\n";
    for (const FrontierPoint& point : points)
      text += fmt::format("{},{},{}\n", point.budget, point.splits_statistics ? 1 : 0, csv_figures(point.figures));
    return text;
  }

  PlanningOptions options_;
  cl::opt<std::string> policy_;
  cl::opt<bool> csv_, json_;
  cl::opt<std::string> html_;
};

}  // namespace

std::unique_ptr<Command> frontier_command() { return std::make_unique<FrontierCommand>(); }

}  // namespace plimsoll
