#include "passes/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/support/digest.h"
#include "passes/policies.h"
#include "passes/seed_plan.h"

namespace plimsoll {
namespace {

template <class Kind>
using Word = std::pair<Kind, std::string_view>;

constexpr Word<OrderKind> kOrderWords[] = {{OrderKind::depth_first, "depth_first"},
                                           {OrderKind::low_peak, "low_peak"},
                                           {OrderKind::best_of, "best_of"},
                                           {OrderKind::arrivals, "arrivals"}};
constexpr Word<AlgorithmKind> kAlgorithmWords[] = {
    {AlgorithmKind::fitting, "fitting"}, {AlgorithmKind::smallest, "smallest"}, {AlgorithmKind::fastest, "fastest"}};

template <class Kind, size_t size>
std::string word_of(const Word<Kind> (&words)[size], Kind kind) {
  const auto found = std::ranges::find(words, kind, &Word<Kind>::first);
  PLIMSOLL_CHECK(found != std::end(words), "a kind without a word");
  return std::string(found->second);
}

template <class Kind, size_t size>
Result<Kind> kind_of(const Word<Kind> (&words)[size], const std::string& word, const char* what) {
  const auto found = std::ranges::find(words, word, &Word<Kind>::second);
  if (found != std::end(words)) return found->first;
  std::vector<std::string_view> known;
  for (const Word<Kind>& each : words) known.push_back(each.second);
  return Error{ExitCode::invalid_model,
               fmt::format("{} is '{}'; expected one of {}", what, word, fmt::join(known, ", "))};
}

std::string digest_of_costs(const Candidate& candidate) {
  const LinkRates& links = candidate.links;
  std::string text = fmt::format("{} {} {} {} {} {} {}\n", links.d2h_bytes_per_second, links.h2d_bytes_per_second,
                                 links.latency_seconds, links.slowdown, links.ranks.bytes_per_second,
                                 links.ranks.latency_seconds, links.ranks.staging_bytes);
  for (const auto* tasks : {&candidate.choices.first, &candidate.choices.again})
    for (const std::vector<Choice>& choices : *tasks) {
      for (const Choice& choice : choices)
        text +=
            fmt::format("{} {} {} {}\n", choice.algorithm, choice.workspace_bytes, choice.seconds, choice.last_seconds);
      text += "\n";
    }
  return digest_of(text);
}

// The candidate that the plan is of: its graph, in slices or not, at its sub-batch.
Result<const Candidate*> candidate_for(Variants& variants, const Plan& plan) {
  const Error other{ExitCode::verification_failed,
                    fmt::format("the plan has a batch of {} in {} rounds, sub-batches of {} and slices of {} bytes, "
                                "which a plan of this task graph cannot have",
                                plan.batch, plan.rounds, plan.sub_batch, plan.slice_bytes)};
  Variants* const graph = plan.slice_bytes > 0 ? variants.in_slices(plan.whole_weights) : &variants;
  if (!graph || plan.ranks != graph->graph().ranks || plan.sub_batch % plan.ranks != 0) return other;
  const int64_t sub_batch = plan.rank_samples();
  if (sub_batch < 1 || sub_batch > graph->batch()) return other;
  if (graph->of_whole_batch() && sub_batch < graph->batch()) return other;
  return graph->candidate(sub_batch);
}

// The part of a plan that no pass after seed_plan changes, as text.
std::string seed_in(Plan plan, const Plan& seed) {
  plan.summary = {};
  plan.steps = {};
  plan.residencies = {};
  for (const TensorId id : ids_of(plan.tensors)) {
    if (!seed.tensors.contains(id)) continue;
    plan.tensors.edit(id).persistent = seed.tensors[id].persistent;
    plan.tensors.edit(id).home_offset = seed.tensors[id].home_offset;
  }
  plan.needs = {};
  plan.fastest = {};
  return to_text(plan);
}

Status check_seed(const UnfinishedPlan& unfinished, const Candidate& candidate, const Context& context) {
  Plan seed = empty_plan(candidate);
  PLIMSOLL_TRY(seed_plan(seed, context));
  if (seed_in(unfinished.plan, seed) == seed_in(seed, seed)) return {};
  return Error{ExitCode::verification_failed,
               "its tensors and tasks are not those of its task graph: it was changed after it was written"};
}

Result<Policy> policy_in(const UnfinishedPlan& unfinished) {
  Result<Policy> found = find_policy(unfinished.policy);
  if (!found.ok()) return Error{ExitCode::invalid_model, found.error().message};
  Policy policy = std::move(*found);
  PLIMSOLL_ASSIGN(policy.order, kind_of(kOrderWords, unfinished.order, "order"));
  PLIMSOLL_ASSIGN(policy.algorithms, kind_of(kAlgorithmWords, unfinished.algorithms, "algorithms"));
  if (unfinished.source == ScheduleSource::none) policy.schedule = nullptr;
  if (unfinished.source != ScheduleSource::searched) return policy;
  schedule::Trace trace;
  for (const Step& step : unfinished.schedule) trace.push_back(schedule::as_op(step));
  return with_schedule(policy, std::move(trace));
}

}  // namespace

UnfinishedPlan unfinished_of(const Found& found, const SearchFigures& figures) {
  UnfinishedPlan made{.graph = digest_of(to_text(*found.candidate->graph)),
                      .costs = digest_of_costs(*found.candidate),
                      .policy = std::string(found.policy.name),
                      .order = word_of(kOrderWords, found.policy.order),
                      .algorithms = word_of(kAlgorithmWords, found.policy.algorithms),
                      .live_limit = found.live_limit == kNoLimit ? -1 : found.live_limit,
                      .figures = figures};
  made.source = found.policy.decided    ? ScheduleSource::searched
                : found.policy.schedule ? ScheduleSource::policy
                                        : ScheduleSource::none;
  if (!found.policy.decided) return made;
  for (const schedule::Op& op : found.policy.decided->trace) made.schedule.push_back(schedule::as_step(op));
  return made;
}

Result<Plan> resume(Variants& variants, const UnfinishedPlan& unfinished, const PassObserver& observe) {
  const Pass* const last = find_pass(unfinished.after);
  if (!last) {
    std::vector<std::string_view> names;
    for (const Pass& pass : all_passes()) names.push_back(pass.name);
    return Error{ExitCode::invalid_model,
                 fmt::format("unknown pass '{}'; passes: {}", unfinished.after, fmt::join(names, ", "))};
  }
  PLIMSOLL_ASSIGN(const Policy policy, policy_in(unfinished));
  PLIMSOLL_ASSIGN(const Candidate* const candidate, candidate_for(variants, unfinished.plan));
  if (unfinished.graph != digest_of(to_text(*candidate->graph)))
    return Error{
        ExitCode::verification_failed,
        "the task graph differs from the one that it was written for",
        {"the model and the flags that decide the tasks must be those that it was written with: loss, "
         "optimizer, trained weights, --attention, --loss-form, --recurrence, --layout, --costs (which may decide the "
         "layout), --precision, --target"}};
  if (unfinished.costs != digest_of_costs(*candidate))
    return Error{ExitCode::verification_failed,
                 "the costs differ from those that it was written with",
                 {"--costs, --rank-costs, --algorithms-of and --threads must be those that it was written with; costs "
                  "that were measured again are others: keep them in a file (plimsoll profile)"}};
  const Context context = context_of(*candidate, policy, unfinished.live_limit < 0 ? kNoLimit : unfinished.live_limit);
  PLIMSOLL_TRY(check_seed(unfinished, *candidate, context));
  Plan plan = unfinished.plan;
  const Result<bool> finished = run_passes(plan, context, observe, last);
  // If a promise is broken here, the text was changed after it was written.
  if (!finished.ok()) return Error{ExitCode::verification_failed, finished.error().message};
  return plan;
}

}  // namespace plimsoll
