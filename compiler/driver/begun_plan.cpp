#include "compiler/driver/begun_plan.h"

#include <fmt/format.h>

#include <variant>

#include "compiler/driver/dump_file.h"
#include "compiler/support/output.h"

namespace plimsoll {
namespace {

std::string value_of(const SizeSpec& size) {
  switch (size.kind) {
    case SizeSpec::Kind::bytes: return std::to_string(size.bytes);
    case SizeSpec::Kind::percent: return fmt::format("{}%", size.percent);
    case SizeSpec::Kind::automatic: return "auto";
  }
  return "";
}

Status check_flags(const std::string& from, const std::map<std::string, std::string>& now,
                   const std::map<std::string, std::string>& then) {
  for (const auto& [flag, value] : now) {
    const auto written = then.find(flag);
    if (written == then.end())
      return usage(fmt::format("--{} is {}, but {} was written without it", flag, value, from));
    if (written->second != value)
      return usage(fmt::format("--{0} is {1}, but {2} was written with --{0} {3}", flag, value, from, written->second));
  }
  for (const auto& [flag, value] : then)
    if (!now.contains(flag)) return usage(fmt::format("{} was written with --{} {}: give it again", from, flag, value));
  return {};
}

}  // namespace

std::map<std::string, std::string> planning_flags(const PlanningRequest& asked, const OnePlanRequest& one) {
  std::map<std::string, std::string> flags = {{"policy", one.policy},
                                              {"effort", std::to_string(asked.effort)},
                                              {"batch-norm", asked.batch_norm == BatchNorm::split ? "split" : "whole"},
                                              {"rules", asked.rules},
                                              {"target", asked.of_model.target},
                                              {"precision", asked.of_model.precision}};
  if (asked.of_model.optimizer_state != "fp32") flags["optimizer-state"] = asked.of_model.optimizer_state;
  if (one.process_budget) flags["process-budget"] = std::to_string(*one.process_budget);
  else flags["budget"] = one.budget ? value_of(*one.budget) : "100%";
  if (asked.sub_batch) flags["sub-batch"] = std::to_string(*asked.sub_batch);
  if (asked.host_budget) flags["host-budget"] = value_of(*asked.host_budget);
  if (asked.time_limit_seconds > 0) flags["time-limit"] = fmt::format("{}", asked.time_limit_seconds);
  if (one.what_if) flags["what-if"] = std::to_string(*one.what_if);
  return flags;
}

bool is_begun_plan(const std::string& path) {
  const Result<std::string> text = read_file(path);
  return text.ok() && first_word(*text) == "unfinished";
}

Result<BegunPlan> begin_in_plan(const PlanningRequest& asked, const OnePlanRequest& one) {
  const std::string& from = asked.from;
  PLIMSOLL_ASSIGN(Dump dump, read_dump(from));
  BegunPlan begun{from, std::move(std::get<UnfinishedPlan>(dump)), asked};
  const Plan& plan = begun.plan.plan;
  if (asked.of_model.model.empty())
    return usage(
        fmt::format("a dump of a plan has no task graph, which is made from the model: give MODEL.onnx and "
                    "--from={}",
                    from));
  if (asked.of_model.batch != 0 && asked.of_model.batch != plan.batch)
    return usage(fmt::format("--batch is {}, but the plan of {} has {}", asked.of_model.batch, from, plan.batch));
  if (asked.ranks != 1 && asked.ranks != plan.ranks)
    return usage(fmt::format("--ranks is {}, but the plan of {} has {}", asked.ranks, from, plan.ranks));
  PLIMSOLL_TRY(check_flags(from, planning_flags(asked, one), begun.plan.asked));
  begun.asked.of_model.batch = plan.batch;
  begun.asked.ranks = plan.ranks;
  begun.asked.from = {};
  PLIMSOLL_TRY(check_usage(begun.asked));
  return begun;
}

}  // namespace plimsoll
