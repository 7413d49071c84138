#include "compiler/driver/given_plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/driver/dump_file.h"
#include "compiler/driver/plan_file.h"
#include "compiler/support/counted.h"
#include "compiler/support/output.h"

namespace plimsoll {
namespace {

// Requests that only planning could serve.
Status check_nothing_is_planned(const PlanningRequest& asked, const OnePlanRequest& one) {
  const std::pair<const char*, bool> flags[] = {{"--budget", one.budget.has_value()},
                                                {"--process-budget", one.process_budget.has_value()},
                                                {"--policy", one.policy != kDefaultPolicy},
                                                {"--what-if", one.what_if.has_value()},
                                                {"--sub-batch", asked.sub_batch.has_value()},
                                                {"--host-budget", asked.host_budget.has_value()},
                                                {"--algorithms-of", !asked.algorithms_of.empty()},
                                                {"--rules", asked.rules != "true"},
                                                {"--print-after", !one.print_after.empty()},
                                                {"--dump", !one.dump.empty()},
                                                {"--stop-after", !one.stop_after.empty()}};
  for (const auto& [flag, given] : flags)
    if (given) return usage(fmt::format("{} has no effect: {} is a finished plan", flag, asked.from));
  return {};
}

// What the plan states. A flag may repeat it, but not change it.
Status take_facts(PlanningRequest& asked, const Plan& plan) {
  ModelRequest& model = asked.of_model;
  const auto other = [&](const char* flag, const std::string& given, const std::string& planned) {
    return usage(fmt::format("{} is {}, but the plan of {} has {}", flag, given, asked.from, planned));
  };
  if (plan.rules != "true")
    return usage(
        fmt::format("{} counts as a paper does (--rules {}): such plans are for reports only", asked.from, plan.rules));
  if (model.batch != 0 && model.batch != plan.batch)
    return other("--batch", std::to_string(model.batch), std::to_string(plan.batch));
  if (asked.ranks != 1 && asked.ranks != plan.ranks)
    return other("--ranks", std::to_string(asked.ranks), std::to_string(plan.ranks));
  if (model.target != "host" && model.target != plan.target_kind)
    return other("--target", model.target, plan.target_kind);
  const std::string precision = plan.precision.empty() ? "fp32" : plan.precision;
  const char* const usual = model.target == "cuda" ? "tf32" : "fp32";  // what the flag is if it is not given
  if (model.precision != usual && model.precision != precision) return other("--precision", model.precision, precision);
  const std::string state = plan.optimizer_state.empty() ? "fp32" : plan.optimizer_state;
  if (model.optimizer_state != "fp32" && model.optimizer_state != state)
    return other("--optimizer-state", model.optimizer_state, state);
  model.optimizer_state = state;
  model.batch = plan.batch;
  asked.ranks = plan.ranks;
  model.target = plan.target_kind;
  model.precision = precision;
  if (precision == "bf16") model.network.precision.precision = Precision::bf16;
  if (precision == "fp16") model.network.precision.precision = Precision::fp16;
  return {};
}

}  // namespace

bool is_plan(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return std::filesystem::exists(path + "/plan.json", ignored);
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return false;
  const std::string_view word = first_word(*text);
  return word == "plan" || word.starts_with('{');
}

Result<Planned> given_plan(PlanningRequest asked, const OnePlanRequest& one, const Messages& messages) {
  if (asked.of_model.model.empty())
    return usage(fmt::format(
        "a plan has neither the kernels of its tasks nor weights; both are from the model: plimsoll compile MODEL.onnx "
        "--from={}",
        asked.from));
  PLIMSOLL_TRY(check_nothing_is_planned(asked, one));
  PLIMSOLL_ASSIGN(Plan plan, read_plan(asked.from));
  if (const std::vector<Violation> violations = check_plan(plan); !violations.empty()) return refusal(plan, violations);
  PLIMSOLL_TRY(take_facts(asked, plan));
  const std::string from = std::exchange(asked.from, "");
  PLIMSOLL_ASSIGN(Plannable plannable, prepare_plans(asked, messages, PlanFor::trainer));
  if (const std::vector<Violation> violations = check_against_graph(plan, plannable.graph_of(plan.forms));
      !violations.empty()) {
    Error error = refusal(plan, violations);
    error.notes.push_back(
        fmt::format("the tasks of {} with these flags are not those of {}: compile it with the flags of the plan "
                    "(loss, optimizer, frozen weights, --attention, --loss-form, --recurrence, --layout, --costs), "
                    "except --budget and --policy",
                    asked.of_model.model, from));
    return error;
  }
  messages.detail(
      fmt::format("checked the plan of {}: {}", from, counted(static_cast<int64_t>(plan.steps.size()), "step")));
  if (!plan.model_sha256.empty() && plan.model_sha256 != plannable.model.sha256)
    messages.note(fmt::format("{} was made for another file with the same tasks; the weights are those of {}", from,
                              asked.of_model.model));
  plan.model_sha256 = plannable.model.sha256;
  TaskGraph graph = planned_graph(plannable.planner->take_graph(plan.forms), plan.rounds, plan.slice_bytes,
                                  plan.whole_weights);
  return Planned{std::move(plannable.model), std::move(graph), std::move(plan), plannable.threads, false};
}

}  // namespace plimsoll
