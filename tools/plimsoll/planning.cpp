#include "tools/plimsoll/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "compiler/check/check.h"
#include "compiler/costs/device.h"
#include "compiler/costs/needs.h"
#include "compiler/report/fastest.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "compiler/training/composites.h"
#include "compiler/training/evaluated_dropout.h"
#include "compiler/training/frozen_statistics.h"
#include "compiler/training/fuse.h"
#include "compiler/training/fuse_additions.h"
#include "compiler/training/rules/rules.h"
#include "passes/policies.h"
#include "tools/plimsoll/dump.h"
#include "tools/plimsoll/plan_file.h"
#include "tools/plimsoll/planning_layouts.h"

namespace plimsoll {
namespace {

// A plan for a device that oneDNN does not run on has no use for blocks, unless they are asked for.
bool wants_plain_layout(const PlanningOptions& options, PlanFor purpose) {
  const CostSource source = costs_of(options, purpose);
  if (options.target != "host" || purpose != PlanFor::report || options.layout != "auto" || !source.names_a_device()) return false;
  const Result<Device> device = find_device(source.name);
  return device.ok() && device->kind != "host";
}

Result<ImportedModel> import_model(const ModelOptions& options, bool to_write) {
  PLIMSOLL_ASSIGN(const auto dims, sizes_by_name(options.dims));
  return import_onnx(options.model, {.batch = options.batch, .dims = dims, .may_fix_batch = options.loss == LossKind::output, .strict = options.strict, .holds_weights = to_write, .require_normalization = options.require_bn});
}

Status freeze_as_asked(const ModelOptions& options, Network& network, std::vector<std::string>& notes) {
  leave_out_evaluated_dropouts(network, notes);
  const auto& frozen = options.weights.frozen_statistics;
  PLIMSOLL_TRY(freeze_statistics(network, {frozen.begin(), frozen.end()}, notes));
  return freeze_weights(network, options.weights.patterns(), notes);
}

void fuse(Network& network) {
  fuse_composites(network);
  fuse_additions(network);
  fuse_activations(network);
}

void tell(const ImportedModel& model, const std::vector<std::string>& notes, const Console& console) {
  for (const std::string& note : notes) console.note(note);
  for (const std::string& warning : model.warnings) console.warning(warning);
}

}  // namespace

Result<std::vector<TaskGraph>> load_graphs(const ModelOptions& options, const Console& console) {
  PLIMSOLL_TRY(check_usage(options));
  PLIMSOLL_ASSIGN(ImportedModel model, import_model(options, false));
  std::vector<std::string> notes = model.notes;
  PLIMSOLL_TRY(attach_loss(model.network, loss_of(options), notes));
  PLIMSOLL_TRY(freeze_as_asked(options, model.network, notes));
  tell(model, notes, console);
  fuse(model.network);
  return graphs_to_measure(options, model.network);
}

bool Plannable::splits_statistics(const Plan& plan) const { return plan.rounds > 1 && mixes_samples(); }

bool Plannable::mixes_samples() const {
  return std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) { return task.mixes_samples; });
}

Result<Plannable> prepare_plans(const PlanningOptions& options, const Console& console, PlanFor purpose) {
  PLIMSOLL_TRY(check_usage(options));
  PLIMSOLL_ASSIGN(HostBudget host_budget, host_budget_of(options, purpose));
  PLIMSOLL_ASSIGN(ImportedModel model, import_model(options, purpose != PlanFor::report));
  const PaperRules* const as_paper = find_rules(options.rules);
  std::vector<std::string> notes = model.notes;
  if (!as_paper) {
    PLIMSOLL_TRY(attach_loss(model.network, loss_of(options), notes));
    PLIMSOLL_TRY(freeze_as_asked(options, model.network, notes));
  } else {
    PLIMSOLL_TRY(choose_output(model.network, options.weights.output, notes));
  }
  tell(model, notes, console);
  if (purpose == PlanFor::report) model.file.reset();
  PLIMSOLL_ASSIGN(OpenedCosts opened, open_costs(options, purpose, console));
  const int64_t batch = options.batch / options.ranks, sub_batch = options.sub_batch / options.ranks;  // of one rank
  const auto as_trained = [&]() -> Result<LaidOut> {
    fuse(model.network);
    return lay_out(options, model.network, wants_plain_layout(options, purpose), opened.of_layouts(), opened.source, console);
  };
  const auto as_counted = [&]() -> Result<LaidOut> {
    PLIMSOLL_ASSIGN(TaskGraph counted, as_paper->build(model.network, options.batch));
    return LaidOut{.graph = std::move(counted)};
  };
  PLIMSOLL_ASSIGN(LaidOut laid_out, as_paper ? as_counted() : as_trained());
  TaskGraph graph = std::move(laid_out.graph);
  graph.ranks = options.ranks;

  // Beyond this point the task graph stays as it is: plans answer it.

  PlanRequest request{.batch = batch,
                      .sub_batch = as_paper && !as_paper->splits ? batch : sub_batch,
                      .host_budget_bytes = host_budget.bytes,
                      .host_budget_source = std::move(host_budget.source),
                      .may_split_statistics = options.batch_norm == BatchNorm::split,
                      .effort = options.effort,
                      .hands = jobs_of(options),
                      .time_limit_seconds = options.time_limit,
                      .keep_order = as_paper != nullptr,
                      .model_name = graph.name,
                      .model_sha256 = model.sha256,
                      .target_kind = options.target,
                      .device = opened.device,
                      .costs = opened.source + (options.rank_costs.empty() ? "" : ", ranks measured"),
                      .libraries = opened.libraries,
                      .layout = laid_out.layout};
  auto planner = std::make_unique<Planner>(graph, *opened.costs, batch);
  return Plannable{.model = std::move(model),
                   .graph = std::move(graph),
                   .costs = std::move(opened.costs),
                   .planner = std::move(planner),
                   .request = std::move(request),
                   .threads = opened.threads,
                   .process = opened.process,
                   .as_paper = as_paper};
}

Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Plan plan, plannable.planner->plan(request));
  if (plannable.as_paper) plannable.as_paper->count(plan, plannable.graph);
  const TaskGraph& whole = plannable.planner->graph_of(plan);
  const std::optional<TaskGraph> slices = plan.slice_bytes > 0 ? std::optional(sliced(whole, plan.slice_bytes, plan.whole_weights)) : std::nullopt;
  const TaskGraph& graph = slices ? *slices : whole;
  note_fastest(plan, graph, *plannable.costs);
  note_needs(plan, graph, *plannable.costs);
  std::vector<Violation> violations = check_plan(plan);
  for (Violation& violation : check_against_graph(plan, graph))
    violations.push_back(std::move(violation));
  if (!violations.empty()) return refusal(plan, violations);
  return plan;
}

Result<Plan> unconstrained_plan(const Plannable& plannable) {
  PlanRequest request = plannable.request;
  request.policy = all_policies().front().name;
  for (const Policy& policy : all_policies())
    if (policy.searches) request.policy = policy.name;
  return checked_plan(plannable, request);
}

namespace {

Result<int64_t> bytes_of_what_if(const std::string& text) {
  if (text.empty()) return int64_t{0};
  PLIMSOLL_ASSIGN(const SizeSpec size, parse_size("--what-if", text));
  if (size.kind != SizeSpec::Kind::bytes || size.bytes < 1)
    return usage(fmt::format("--what-if is '{}' when it should be so many bytes more, for example 256MiB", text));
  return size.bytes;
}

// What a larger budget would buy: the same request again, with more_bytes on top.
Status ask_for_more(const Plannable& plannable, PlanRequest request, int64_t more_bytes, Plan& plan) {
  plan.summary.more_bytes = more_bytes;
  plan.summary.more_seconds = plan.summary.iteration_seconds;
  PLIMSOLL_ASSIGN(const Policy policy, find_policy(request.policy));
  if (policy.searches && plan.rounds == 1 && plan.budget_bytes >= plan.summary.unconstrained_bytes) return {};  // it has all that it can use
  request.observe = {};
  request.host_budget_binds = {};
  request.budget_percent = 0;
  request.budget_bytes = plan.budget_bytes + more_bytes;
  PLIMSOLL_ASSIGN(const Plan larger, checked_plan(plannable, request));
  plan.summary.more_seconds = larger.summary.iteration_seconds;
  return {};
}

// Nobody asked what more would buy, but a reader of the plan will: it is noted where planning again takes little of the time that planning
// took. What a search has found serves it again. But each way to split the batch is held in a contest of its own, which may take twice as long as the
// plan did: they are asked with the least effort, so that it is at least what more would buy.
// What is noted must not depend on the machine's speed, so it is the kind of plan that decides.
Status note_what_more_would_buy(const Plannable& plannable, PlanRequest request, Plan& plan) {
  constexpr int64_t kMore = int64_t{256} << 20;
  constexpr size_t kFewTasks = 2000;
  if (plannable.as_paper || request.time_limit_seconds > 0) return {};
  PLIMSOLL_ASSIGN(const Policy policy, find_policy(request.policy));
  const bool stays_whole = request.batch == 1 || request.sub_batch > 0 || (plannable.mixes_samples() && !request.may_split_statistics);
  const bool gets_all = plan.budget_bytes + kMore >= plan.summary.unconstrained_bytes;
  if (!gets_all && plannable.graph.tasks.size() > kFewTasks) return {};
  if (policy.searches && !stays_whole && !gets_all) request.effort = 0;
  const Status asked = ask_for_more(plannable, request, kMore, plan);
  if (asked.ok()) {
    if (policy.searches) plan.summary.more_seconds = std::min(plan.summary.more_seconds, plan.summary.iteration_seconds);
    return {};
  }
  plan.summary.more_bytes = 0;
  plan.summary.more_seconds = 0;
  // Some recipes have more luck with less memory.
  return asked.error().code == ExitCode::budget_infeasible ? Status() : asked;
}

// Why the batch does not go through in rounds, where that would be wrong.
std::string note_on_whole_batch(const TaskGraph& graph) {
  for (const Task& task : graph.tasks)
    if (task.whole_batch)
      return fmt::format("the batch stays whole: layer '{}' ({}) makes no sum over samples of what it reads, so the loss of rounds would not add up to that of "
                         "the batch", task.layer, task.op);
  return "";
}

// It is a plan all the same: of a larger device of the kind, or for a report.
void warn_of_small_device(const CostSource& source, const Plan& plan, const Console& console) {
  if (!source.names_a_device()) return;
  const Result<Device> device = find_device(source.name);
  if (!device.ok() || device->kind == "host" || plan.summary.arena_bytes <= device->memory_bytes) return;
  console.warning(fmt::format("the arena of {} is more than {} has, {}: a trainer would not start there; --budget says how much it may take",
                              format_bytes(plan.summary.arena_bytes), device->name, format_bytes(device->memory_bytes)));
}

}  // namespace

Result<Planned> plan_model(const PlanningOptions& options, const OnePlanOptions& one, const Console& console,
                           PlanFor purpose) {
  const auto started = std::chrono::steady_clock::now();
  PLIMSOLL_ASSIGN(const SizeSpec budget, parse_size("--budget", one.budget.getValue()));
  if (budget.kind == SizeSpec::Kind::bytes && budget.bytes < 1) return usage("--budget is 0 when it should be at least a byte");
  PLIMSOLL_ASSIGN(const int64_t more_bytes, bytes_of_what_if(one.what_if));
  const bool of_process = !one.process_budget.empty();
  if (of_process && one.budget.getNumOccurrences() > 0) return usage("--budget and --process-budget exclude each other");
  PLIMSOLL_ASSIGN(const SizeSpec process_budget, parse_size("--process-budget", of_process ? one.process_budget.getValue() : "1"));
  if (process_budget.kind != SizeSpec::Kind::bytes) return usage("--process-budget takes bytes: 12GiB");
  PLIMSOLL_TRY(find_policy(one.policy));
  PLIMSOLL_ASSIGN(Plannable plannable, prepare_plans(options, console, purpose));
  PlanRequest request = plannable.request;
  request.policy = one.policy;
  if (budget.kind == SizeSpec::Kind::bytes) request.budget_bytes = budget.bytes;
  // A paper's figures are of its means in full, not of a device that they fit on: its rules have no budget by default.
  if (budget.kind == SizeSpec::Kind::percent && !(plannable.as_paper && one.budget.getNumOccurrences() == 0))
    request.budget_percent = budget.percent;
  if (of_process) {
    request.budget_percent = 0;
    PLIMSOLL_ASSIGN(request.budget_bytes, arena_within(process_budget.bytes, plannable.process, console));
  }
  bool cut_short = false, host_budget_binds = false;
  request.cut_short = [&] { cut_short = true; };
  request.host_budget_binds = [&] { host_budget_binds = true; };
  PassDump dump(one.print_after, one.dump);
  if (!one.print_after.empty() || !one.dump.empty())
    request.observe = [&](const std::string& pass, const Plan& plan) { dump.after(pass, plan); };
  PLIMSOLL_ASSIGN(Plan plan, checked_plan(plannable, request));
  PLIMSOLL_TRY(dump.finish(plannable.model.network, plannable.graph));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;  // of this plan, not of another to compare it with
  plan.summary.planning_seconds = elapsed.count();
  PLIMSOLL_TRY(more_bytes > 0 ? ask_for_more(plannable, request, more_bytes, plan) : note_what_more_would_buy(plannable, request, plan));

  // Beyond this point the plan is known to be safe.

  if (!plannable.as_paper) warn_of_small_device(costs_of(options, purpose), plan, console);
  if (host_budget_binds)
    console.note(fmt::format("the host pool takes {} of a host budget of {}{}, which binds: a larger one may be faster", format_bytes(plan.summary.host_pool_bytes),
                             format_bytes(request.host_budget_bytes), request.host_budget_source.empty() ? "" : ", " + request.host_budget_source));
  if (plan.batch > 1 && !note_on_whole_batch(plannable.graph).empty()) console.note(note_on_whole_batch(plannable.graph));
  if (plannable.splits_statistics(plan))
    console.warning(fmt::format("batch normalization sees {} at a time, not {}: statistics are per sub-batch, and something else is "
                                "trained; {}",
                                counted(plan.rank_samples(), "sample"), plan.batch,
                                options.sub_batch != 0 ? "--sub-batch asked for it" : "--batch-norm whole forbids it"));
  if (plan.ranks > 1 && plannable.mixes_samples())
    console.note(fmt::format("batch normalization sees {} at a time, each rank its own, of the batch of {}", counted(plan.rank_samples(), "sample"), plan.batch));
  TaskGraph whole = plan.rounds > 1 ? plannable.planner->graph_of(plan) : std::move(plannable.graph);
  TaskGraph graph = planned_graph(std::move(whole), plan.rounds, plan.slice_bytes, plan.whole_weights);
  return Planned{std::move(plannable.model), std::move(graph), std::move(plan), plannable.threads, cut_short};
}

Status last_word(const Planned& planned) {
  if (!planned.cut_short) return {};
  return Error{ExitCode::time_limit, fmt::format("--time-limit ended the search after {:.1f} s: the plan is valid, and a longer "
                                                 "search may find a faster one", planned.plan.summary.planning_seconds)};
}

std::string note_on_statistics(const Plannable& plannable, bool splits) {
  if (const std::string whole = note_on_whole_batch(plannable.graph); !whole.empty() && plannable.request.batch > 1) return "no rounds: " + whole + "\n";
  if (splits) return "† batch normalization sees a sub-batch at a time, which trains something else\n";
  if (!plannable.mixes_samples() || plannable.request.may_split_statistics || plannable.request.batch == 1) return "";
  return "no rounds: batch normalization sees the whole batch (--batch-norm split: a part at a time)\n";
}

std::string describe(const Plan& plan) {
  const PlanSummary& sum = plan.summary;
  const std::string rounds =
      plan.rounds == 1 ? counted(plan.batch, "sample") + " at once"
                       : fmt::format("{} in {} rounds of {}", counted(plan.batch, "sample"), plan.rounds, plan.sub_batch);
  const std::string bound =
      sum.bound_seconds > 0 ? fmt::format("\nbound    {:.1f} ms at least, whatever the schedule: a gap of {:.1f} %",
                                          1e3 * sum.bound_seconds, 100 * (sum.iteration_seconds / sum.bound_seconds - 1))
                            : "";
  const std::string ranks = plan.ranks == 1 ? "" : fmt::format(" on {} ranks, {} on each", plan.ranks, plan.batch / plan.ranks);
  const std::string reductions =
      plan.ranks == 1 ? "" : fmt::format("\nranks    {} reduced by each, {:.1f} ms on the comm stream", format_bytes(sum.reduced_bytes), 1e3 * sum.reduce_seconds);
  return fmt::format(
      "arena    {:>10}  ({} bytes) of budget {}\n"
      "         {:>10}  live at the peak, step {}: placement loses {:.2f} %\n"
      "         {:>10}  unconstrained, {} minimum\n"
      "batch    {}{}\n{}"
      "steps    {} per round, planned in {:.2f} s, predicted {:.1f} ms per iteration ({}){}{}",
      format_bytes(sum.arena_bytes), format_grouped(sum.arena_bytes),
      plan.budget_bytes > 0 ? format_bytes(plan.budget_bytes) : "unlimited", format_bytes(sum.live_bytes), sum.peak_step,
      sum.live_bytes > 0 ? 100.0 * static_cast<double>(sum.arena_bytes - sum.live_bytes) / static_cast<double>(sum.live_bytes)
                         : 0.0,
      format_bytes(sum.unconstrained_bytes), format_bytes(sum.minimum_bytes), rounds, ranks,
      plan.layout.empty() ? "" : fmt::format("layout   {}\n", plan.layout),
      plan.steps.size(), sum.planning_seconds, sum.iteration_seconds * 1e3, plan.costs, reductions, bound);
}

}  // namespace plimsoll
