#include "compiler/driver/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>

#include "compiler/check/check.h"
#include "compiler/costs/device.h"
#include "compiler/costs/needs.h"
#include "compiler/costs/pinned.h"
#include "compiler/driver/begun_plan.h"
#include "compiler/driver/dump.h"
#include "compiler/driver/given_plan.h"
#include "compiler/driver/plan_file.h"
#include "compiler/papers/rules.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "passes/policies.h"
#include "runtime/machine/processors.h"

namespace plimsoll {
namespace {

// Completes a plan of the planner and checks it.
Result<Plan> checked(const Plannable& plannable, Plan plan) {
  const TaskGraph& whole = plannable.graph_of(plan.forms);
  if (plannable.as_paper) plannable.as_paper->count(plan, whole);
  const std::optional<TaskGraph> planned =
      plan.rounds > 1 || plan.slice_bytes > 0
          ? std::optional(planned_graph(whole, plan.rounds, plan.slice_bytes, plan.whole_weights))
          : std::nullopt;
  const TaskGraph& graph = planned ? *planned : whole;
  // Against the graph as it was before the planner made another one of it, with accumulation or slices. This check
  // reads nothing of what is filled in meanwhile.
  const auto policy = plannable.request.threads > 1 ? std::launch::async : std::launch::deferred;
  auto against_graph = std::async(policy, [&] { return check_against_graph(plan, whole); });
  note_needs(plan, graph, *plannable.costs);
  std::vector<Violation> violations = check_plan(plan, plannable.request.threads);
  for (Violation& violation : against_graph.get()) violations.push_back(std::move(violation));
  if (!violations.empty()) return refusal(plan, violations);
  // A default follows from the memory that is free at this moment. It was checked, but equal requests give equal plans.
  if (!plannable.host_budget_requested) plan.host_budget_bytes = -1;
  return plan;
}

}  // namespace

Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request) {
  PLIMSOLL_ASSIGN(Plan plan, plannable.planner->plan(request));
  return checked(plannable, std::move(plan));
}

Result<Plan> unconstrained_plan(const Plannable& plannable) {
  PlanRequest request = plannable.request;
  request.policy = all_policies().front().name;
  for (const Policy& policy : all_policies())
    if (policy.searches) request.policy = policy.name;
  return checked_plan(plannable, request);
}

namespace {

// The what-if figures: repeats the request with more_bytes added to the budget.
Status ask_for_more(const Plannable& plannable, PlanRequest request, int64_t more_bytes, Plan& plan) {
  plan.summary.more_bytes = more_bytes;
  plan.summary.more_seconds = plan.summary.iteration_seconds;
  PLIMSOLL_ASSIGN(const Policy policy, find_policy(request.policy));
  // Already unlimited.
  if (policy.searches && plan.rounds == 1 && plan.budget_bytes >= plan.summary.unconstrained_bytes) return {};
  request.observe = {};
  request.chosen = {};
  request.host_budget_binds = {};
  request.budget_percent = 0;
  request.budget_bytes = plan.budget_bytes + more_bytes;
  PLIMSOLL_ASSIGN(const Plan larger, checked_plan(plannable, request));
  plan.summary.more_seconds = larger.summary.iteration_seconds;
  return {};
}

// Notes the gain of a larger budget even if it was not requested, as long as that takes little of the planning time.
// The search reuses its cached results. But every sub-batch needs a search of its own, which may take twice as long as
// the plan did. So these use the least effort, and the noted gain is a lower bound. What is noted must not depend on
// the machine's speed, so the kind of plan decides.
Status note_what_more_would_buy(const Plannable& plannable, PlanRequest request, Plan& plan) {
  constexpr int64_t kMore = int64_t{256} << 20;
  constexpr size_t kFewTasks = 2000;
  if (plannable.as_paper || request.time_limit_seconds > 0) return {};
  PLIMSOLL_ASSIGN(const Policy policy, find_policy(request.policy));
  const bool stays_whole =
      request.batch == 1 || request.sub_batch > 0 || (plannable.mixes_samples() && !request.may_split_statistics);
  const bool gets_all = plan.budget_bytes + kMore >= plan.summary.unconstrained_bytes;
  if (!gets_all && plannable.any_graph().tasks.size() > kFewTasks) return {};
  if (policy.searches && !stays_whole && !gets_all) request.effort = 0;
  const Status asked = ask_for_more(plannable, request, kMore, plan);
  if (asked.ok()) {
    if (policy.searches)
      plan.summary.more_seconds = std::min(plan.summary.more_seconds, plan.summary.iteration_seconds);
    return {};
  }
  plan.summary.more_bytes = 0;
  plan.summary.more_seconds = 0;
  // Some policies find no plan with more memory although they find one with less.
  return asked.error().code == ExitCode::budget_infeasible ? Status() : asked;
}

// --algorithms-of promises the bits of another plan. Warns if this plan cannot keep the promise.
void warn_of_other_bits(const Plan& plan, const Plan& other, const Messages& messages) {
  if (plan.sub_batch != other.sub_batch)
    messages.warning(fmt::format(
        "the weights will differ in bits from the plan of --algorithms-of: its rounds have {}, those of this plan {}; "
        "use --sub-batch {} to make them equal",
        counted(other.sub_batch, "sample"), counted(plan.sub_batch, "sample"), other.sub_batch));
  const std::vector<std::string> tasks = pins_not_kept(plan, algorithms_of(other));
  if (!tasks.empty())
    messages.warning(fmt::format(
        "the weights may differ in bits from the plan of --algorithms-of: {} {} an algorithm that is not available "
        "here, the first is '{}'",
        counted(static_cast<int64_t>(tasks.size()), "task"), tasks.size() == 1 ? "has" : "have", tasks.front()));
}

// Only a warning: the plan is still valid for a larger device of this kind, or for a report.
void warn_of_small_device(const CostSource& source, const Plan& plan, const Messages& messages) {
  if (!source.names_a_device()) return;
  const Result<Device> device = find_device(source.name);
  if (!device.ok() || device->kind == "host" || plan.summary.arena_bytes <= device->memory_bytes) return;
  messages.warning(
      fmt::format("the arena of {} exceeds the memory of {}, {}: a trainer would not start there; set --budget",
                  format_bytes(plan.summary.arena_bytes), device->name, format_bytes(device->memory_bytes)));
}

// The plan of the request, from its beginning or from a dump of it. `dump` hears of the passes on it.
Result<Plan> plan_heard(const Plannable& plannable, PlanRequest& request, const BegunPlan* begun,
                        const std::map<std::string, std::string>& flags, PassDump& dump) {
  if (dump.wanted())
    request.observe = [&dump, flags](UnfinishedPlan plan) {
      plan.asked = flags;
      return dump.after(plan);
    };
  // From here on, only the passes on the chosen form are dumped.
  if (!begun && !plannable.dumps.empty())
    request.chosen = [&](const FormsOfParts& forms) { dump = plannable.dumps.at(forms); };
  if (!begun) return plannable.planner->plan(request);
  Result<Plan> plan = plannable.planner->plan_from(begun->plan, request);
  if (plan.ok() || plan.error().code == ExitCode::usage) return plan;
  Error error = plan.error();
  error.message = fmt::format("cannot continue from {}: {}", begun->from, error.message);
  return error;
}

// nullopt: `dump` has stopped.
Result<std::optional<Planned>> plan_until(const PlanningRequest& given, const OnePlanRequest& one,
                                          const Messages& messages, PlanFor purpose, PassDump& dump) {
  const auto started = std::chrono::steady_clock::now();
  PLIMSOLL_TRY(check_usage(one));
  PLIMSOLL_TRY(find_policy(one.policy));
  if (!given.from.empty() && is_plan(given.from)) {
    if (purpose == PlanFor::trainer) {
      PLIMSOLL_ASSIGN(Planned planned, given_plan(given, one, messages));
      return std::optional(std::move(planned));
    }
    return usage(fmt::format(
        "{0} is a finished plan: use `plimsoll verify` or `plimsoll inspect` on it, or generate its trainer: plimsoll "
        "compile MODEL.onnx --from={0}",
        given.from));
  }
  std::optional<BegunPlan> begun;
  if (!given.from.empty() && is_begun_plan(given.from)) {
    PLIMSOLL_ASSIGN(begun, begin_in_plan(given, one));
  }
  const PlanningRequest& asked = begun ? begun->asked : given;
  // The passes before the dump have been heard of when it was written.
  PLIMSOLL_ASSIGN(std::optional<Plannable> prepared, prepare_until(asked, messages, purpose, begun ? nullptr : &dump));
  if (!prepared) return std::optional<Planned>();
  PLIMSOLL_TRY((prepared->dumps.empty() ? dump : prepared->dumps.begin()->second).check_before_planning());
  Plannable& plannable = *prepared;
  PlanRequest request = plannable.request;
  request.policy = one.policy;
  if (one.process_budget) {
    PLIMSOLL_ASSIGN(request.budget_bytes, arena_within(*one.process_budget, plannable.process, messages));
  } else if (!one.budget) {
    // A paper's figures refer to its full method, not to a device that they fit on, so its rules default to an
    // unlimited budget.
    request.budget_percent = plannable.as_paper ? 0 : 100;
  } else if (one.budget->kind == SizeSpec::Kind::bytes) {
    request.budget_bytes = one.budget->bytes;
  } else if (one.budget->kind == SizeSpec::Kind::percent) {
    request.budget_percent = one.budget->percent;
  }
  bool cut_short = false, host_budget_binds = false;
  request.cut_short = [&] { cut_short = true; };
  request.host_budget_binds = [&] { host_budget_binds = true; };
  PLIMSOLL_ASSIGN(Plan made,
                  plan_heard(plannable, request, begun ? &*begun : nullptr, planning_flags(asked, one), dump));
  if (dump.stopped()) return std::optional<Planned>();
  PLIMSOLL_ASSIGN(Plan plan, checked(plannable, std::move(made)));
  messages.detail(fmt::format("planned by {} and checked: {}, arena of {}", plan.policy,
                              counted(static_cast<int64_t>(plan.steps.size()), "step"),
                              format_bytes(plan.summary.arena_bytes)));
  // Without the time of the what-if plan.
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  plan.summary.planning_seconds = elapsed.count();
  PLIMSOLL_TRY(one.what_if ? ask_for_more(plannable, request, *one.what_if, plan)
                           : note_what_more_would_buy(plannable, request, plan));
  if (!dump.after_check(plan)) return std::optional<Planned>();

  // From here on, the plan is known to be safe.

  if (plannable.algorithms_of) warn_of_other_bits(plan, *plannable.algorithms_of, messages);
  if (!plannable.as_paper) warn_of_small_device(costs_of(asked, purpose), plan, messages);
  if (host_budget_binds)
    messages.note(fmt::format("the host pool takes {} of a host budget of {}{}; a larger host budget may be faster",
                              format_bytes(plan.summary.host_pool_bytes), format_bytes(request.host_budget_bytes),
                              request.host_budget_source.empty() ? "" : ", " + request.host_budget_source));
  if (const std::string why = why_batch_is_whole(plannable.any_graph()); plan.batch > 1 && !why.empty())
    messages.note("the batch stays whole: " + why);
  if (plannable.splits_statistics(plan))
    messages.warning(
        fmt::format("batch normalization computes over {} at a time, not {}: statistics are per sub-batch, which "
                    "changes the result of "
                    "training ({})",
                    counted(plan.rank_samples(), "sample"), plan.batch,
                    asked.sub_batch ? "requested by --sub-batch" : "--batch-norm whole prevents this"));
  if (plan.ranks > 1 && plannable.mixes_samples())
    messages.note(
        fmt::format("batch normalization computes over {} at a time, on each rank separately, of the batch of {}",
                    counted(plan.rank_samples(), "sample"), plan.batch));
  const bool modelled_here = plan.target_kind == "host" && plan.costs == "modelled" && !plannable.as_paper &&
                             costs_of(asked, purpose).kind == CostSource::Kind::modelled;
  const bool multiplies_no_faster =
      modelled_here && plan.precision == "bf16" && !processor_multiplies_bf16_faster();
  TaskGraph graph = planned_graph(plannable.planner->take_graph(plan.forms), plan.rounds, plan.slice_bytes,
                                  plan.whole_weights);
  return std::optional(
      Planned{std::move(plannable.model), std::move(graph), std::move(plan), plannable.threads, cut_short,
              multiplies_no_faster});
}

}  // namespace

Result<Planned> plan_model(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                           PlanFor purpose) {
  PassDump dump({.print_after = one.print_after, .directory = one.dump}, messages.on_text);
  PLIMSOLL_ASSIGN(std::optional<Planned> planned, plan_until(asked, one, messages, purpose, dump));
  PLIMSOLL_TRY(dump.finish());
  return std::move(*planned);
}

Result<std::string> text_after(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                               PlanFor purpose) {
  PassDump dump({.print_after = one.print_after, .directory = one.dump, .stop_after = one.stop_after},
                messages.on_text);
  PLIMSOLL_TRY(plan_until(asked, one, messages, purpose, dump));
  PLIMSOLL_TRY(dump.finish());
  return dump.last_text();
}

Status last_word(const Planned& planned) {
  if (!planned.cut_short) return {};
  return Error{ExitCode::time_limit,
               fmt::format("--time-limit ended the search after {:.1f} s: the plan is valid, but a longer "
                           "search may find a faster one",
                           planned.plan.summary.planning_seconds)};
}

std::string note_on_statistics(const Plannable& plannable, bool splits) {
  const std::string whole = why_batch_is_whole(plannable.any_graph());
  if (!whole.empty() && plannable.request.batch > 1) return "no rounds: the batch stays whole: " + whole + "\n";
  if (splits) return "† batch normalization computes over a sub-batch, which changes the result of training\n";
  if (!plannable.mixes_samples() || plannable.request.may_split_statistics || plannable.request.batch == 1) return "";
  return "no rounds: batch normalization computes over the whole batch (--batch-norm split: over a sub-batch)\n";
}

// "precision bf16; 3 of 94 tasks run on f32 copies", which need workspace, because there is no kernel for bf16 or it is
// slower. If these are most of the arithmetic, bf16 does not save time. Modelled times do not show whether it does, but
// the processor's features do.
std::string described_precision(const Plan& plan, bool multiplies_no_faster) {
  if (plan.precision.empty()) return "";
  int64_t tasks = 0, widened = 0;
  double flops = 0, flops_widened = 0;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    const auto of_task = static_cast<double>(plan.tasks[step.task].flops);
    ++tasks;
    flops += of_task;
    if (!step.algorithm.starts_with("widened")) continue;
    ++widened;
    flops_widened += of_task;
  }
  std::string text = fmt::format("precision {}", plan.precision);
  if (widened > 0) text += fmt::format("; {} of {} run on f32 copies", widened, counted(tasks, "task"));
  if (multiplies_no_faster || flops_widened > 0.5 * flops)
    text += fmt::format("; {} saves memory here, not time: products are no faster than in fp32", plan.precision);
  return text + "\n";
}

std::string describe(const Planned& planned) {
  const Plan& plan = planned.plan;
  const PlanSummary& sum = plan.summary;
  const std::string rounds = plan.rounds == 1 ? counted(plan.batch, "sample") + " at once"
                                              : fmt::format("{} in {} rounds of {}", counted(plan.batch, "sample"),
                                                            plan.rounds, plan.sub_batch);
  const std::string bound =
      sum.bound_seconds > 0 ? fmt::format("\nlower bound {:.1f} ms  (optimality gap {:.1f} %)", 1e3 * sum.bound_seconds,
                                          100 * (sum.iteration_seconds / sum.bound_seconds - 1))
                            : "";
  const std::string ranks =
      plan.ranks == 1 ? "" : fmt::format(" on {} ranks, {} on each", plan.ranks, plan.batch / plan.ranks);
  const std::string reductions = plan.ranks == 1
                                     ? ""
                                     : fmt::format("\nranks    {} reduced per rank, {:.1f} ms on the comm stream",
                                                   format_bytes(sum.reduced_bytes), 1e3 * sum.reduce_seconds);
  std::string forms;
  for (const auto& [part, form] : plan.forms) forms += fmt::format("{} {}\n", part, form);
  return fmt::format(
      "arena    {:>10}  ({} bytes; peak at step {}; fragmentation {:.2f} %)\n"
      "budget   {:>10}  (unlimited {}, minimum {})\n"
      "batch    {}{}\n{}{}"
      "steps    {} per round, planned in {:.2f} s, predicted {:.1f} ms per iteration ({}){}{}",
      format_bytes(sum.arena_bytes), format_grouped(sum.arena_bytes), sum.peak_step,
      sum.live_bytes > 0 ? 100.0 * static_cast<double>(sum.arena_bytes - plan.inputs_ahead.bytes - sum.live_bytes) /
                               static_cast<double>(sum.live_bytes)
                         : 0.0,
      plan.budget_bytes > 0 ? format_bytes(plan.budget_bytes) : "none", format_bytes(sum.unconstrained_bytes),
      format_bytes(sum.minimum_bytes), rounds, ranks, described_precision(plan, planned.multiplies_no_faster),
      forms +
          (plan.layout.empty() ? "" : fmt::format("layout   {}\n", plan.layout)),
      plan.steps.size(), sum.planning_seconds, sum.iteration_seconds * 1e3, plan.costs, reductions, bound);
}

}  // namespace plimsoll
