#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "compiler/driver/planning.h"
#include "compiler/report/figures.h"
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

class CompareCommand final : public Command {
 public:
  CompareCommand()
      : Command("compare",
                "compare all policies within given budgets: plimsoll compare net.onnx --batch 64 --budget 50% --budget "
                "1GiB"),
        options_(sub),
        budgets_("budget", cl::OneOrMore, cl::value_desc("SIZE"),
                 cl::desc("limit of the arena, as for `plan`, except that a percentage is of the unlimited arena of "
                          "auto, so that all policies get the same budget; may be repeated"),
                 cl::sub(sub)),
        csv_("csv", cl::desc("print CSV: a line per budget and policy, in bytes and seconds"), cl::sub(sub)),
        json_("json", cl::desc("print the same as JSON"), cl::sub(sub)),
        html_("html", cl::value_desc("FILE.html"), cl::desc("write a self-contained page with plots instead of tables"),
              cl::sub(sub)) {}

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    std::vector<SizeSpec> sizes;
    for (const std::string& text : budgets_) {
      PLIMSOLL_ASSIGN(const SizeSpec size, parse_size("--budget", text));
      if (size.kind == SizeSpec::Kind::bytes && size.bytes < 1)
        return Error{ExitCode::usage, "--budget is 0; expected at least 1 byte"};
      sizes.push_back(size);
    }
    PLIMSOLL_ASSIGN(const PlanningRequest asked, request_of(options_));
    PLIMSOLL_ASSIGN(const Plannable plannable, prepare_plans(asked, console.messages(), PlanFor::report));
    PLIMSOLL_ASSIGN(const Plan ideal, unconstrained_plan(plannable));
    const int64_t unconstrained = ideal.summary.unconstrained_bytes;
    std::vector<BudgetEntries> budgets;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const double share = sizes[i].kind == SizeSpec::Kind::percent ? sizes[i].percent / 100 : 1;
      budgets.push_back({budgets_[i], sizes[i].kind == SizeSpec::Kind::bytes
                                          ? sizes[i].bytes
                                          : static_cast<int64_t>(static_cast<double>(unconstrained) * share)});
    }
    PLIMSOLL_TRY(plan_all(plannable, ideal.summary.iteration_seconds, budgets));
    for (BudgetEntries& budget : budgets) mark_fastest(budget);
    if (!html_.empty()) {
      PLIMSOLL_TRY(write_file(html_, compare_page({.model = plannable.any_graph().name,
                                                   .batch = plannable.request.batch,
                                                   .costs = plannable.request.costs,
                                                   .device = plannable.request.device,
                                                   .unconstrained_bytes = unconstrained,
                                                   .unconstrained_seconds = ideal.summary.iteration_seconds},
                                                  budgets)));
      console.say(fmt::format("wrote {}; open it in a browser", html_.getValue()));
    }
    if (json_) fmt::print("{}\n", json_of_csv(print_csv(budgets)));
    else if (csv_) fmt::print("{}", print_csv(budgets));
    else if (html_.empty()) fmt::print("{}", print_tables(plannable, budgets, unconstrained));
    return {};
  }

 private:
  Status plan_all(const Plannable& plannable, double ideal_seconds, std::vector<BudgetEntries>& budgets) const {
    const Progress progress(options_.quiet);
    for (const Policy& policy : all_policies()) {
      PlanRequest request = plannable.request;
      request.policy = policy.name;
      int64_t least = 0;
      for (BudgetEntries& budget : budgets) {
        progress.say(fmt::format("planning {} within {}", policy.name, format_bytes(budget.bytes)));
        request.budget_bytes = budget.bytes;
        const Result<Plan> plan = checked_plan(plannable, request);
        if (!plan.ok() && plan.error().code != ExitCode::budget_infeasible) return plan.error();
        PolicyEntry entry{.policy = std::string(policy.name), .summary = std::string(policy.summary)};
        if (plan.ok()) {
          least = plan->summary.minimum_bytes;
          entry.figures = figures_of(*plan, ideal_seconds);
          entry.splits_statistics = plannable.splits_statistics(*plan);
        } else if (least == 0) {
          PlanRequest any = request;
          any.budget_bytes = 0;
          const Result<Plan> whole = checked_plan(plannable, any);
          if (!whole.ok() && whole.error().code != ExitCode::budget_infeasible) return whole.error();
          if (whole.ok()) least = whole->summary.minimum_bytes;
        }
        entry.least_bytes = least;
        budget.entries.push_back(std::move(entry));
      }
    }
    return {};
  }

  // The first of equal ones.
  static void mark_fastest(BudgetEntries& budget) {
    PolicyEntry* best = nullptr;
    for (PolicyEntry& entry : budget.entries)
      if (entry.figures && (best == nullptr || entry.figures->iteration_seconds < best->figures->iteration_seconds))
        best = &entry;
    if (best != nullptr) best->fastest = true;
  }

  static std::string print_tables(const Plannable& plannable, const std::vector<BudgetEntries>& budgets,
                                  int64_t unconstrained) {
    const bool color = Console::color(STDOUT_FILENO);
    std::string text =
        fmt::format("{}: batch {}, {} unlimited; times are {}{}\n", shortened(plannable.any_graph().name, 40),
                    plannable.request.batch, format_bytes(unconstrained), plannable.request.costs,
                    plannable.request.device.empty() ? "" : ", " + shortened(plannable.request.device, 24));
    bool splits = false;
    for (const BudgetEntries& budget : budgets) {
      const std::string bytes = format_bytes(budget.bytes);
      text +=
          "\n" +
          heading(budget.text == bytes ? "budget " + bytes : fmt::format("budget {}: {}", budget.text, bytes), color);
      Table table({{"policy", false, 20},
                   {"fits"},
                   {"arena", true},
                   {"sub-batch", true},
                   {"time", true},
                   {"overhead", true},
                   {"transferred", true},
                   {"recomputed", true}});
      for (const PolicyEntry& entry : budget.entries) {
        if (!entry.figures) {
          table.row({entry.policy, "no", entry.least_bytes > 0 ? "≥ " + format_bytes(entry.least_bytes) : "none", "",
                     "", "", "", ""});
          continue;
        }
        const PlanFigures& figures = *entry.figures;
        splits = splits || entry.splits_statistics;
        table.row({entry.policy, entry.fastest ? "fastest" : "yes", format_bytes(figures.arena_bytes),
                   fmt::format("{}{}", figures.sub_batch, entry.splits_statistics ? "†" : " "),
                   format_seconds(figures.iteration_seconds), format_overhead(figures.overhead),
                   format_bytes_or_dash(figures.moved_bytes()), format_bytes_or_dash(figures.recomputed_bytes)});
      }
      text += table.print(color);
    }
    text += "\n≥: the minimum of the policy; overhead: relative to unlimited auto;\n"
            "transferred: offloaded and prefetched per iteration\n";
    text += note_on_statistics(plannable, splits);
    return text;
  }

  static std::string print_csv(const std::vector<BudgetEntries>& budgets) {
    const std::string header = csv_figures_header();
    const std::string nothing(static_cast<size_t>(std::count(header.begin(), header.end(), ',')), ',');
    std::string text = "budget_bytes,policy,fits,fastest,splits_statistics,least_bytes," + header + "\n";
    for (const BudgetEntries& budget : budgets)
      for (const PolicyEntry& entry : budget.entries)
        text += fmt::format("{},{},{},{},{},{},{}\n", budget.bytes, entry.policy, entry.figures ? 1 : 0,
                            entry.fastest ? 1 : 0, entry.splits_statistics ? 1 : 0, entry.least_bytes,
                            entry.figures ? csv_figures(*entry.figures) : nothing);
    return text;
  }

  PlanningOptions options_;
  cl::list<std::string> budgets_;
  cl::opt<bool> csv_, json_;
  cl::opt<std::string> html_;
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace plimsoll
