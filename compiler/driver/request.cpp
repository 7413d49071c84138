#include "compiler/driver/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "compiler/driver/pass_names.h"
#include "compiler/papers/rules.h"
#include "runtime/machine/processors.h"

namespace plimsoll {
namespace {

constexpr int kMostJobs = 256;

// The flags that are given and that a paper's rules have no meaning for.
std::vector<std::string_view> beyond_papers(const PlanningRequest& request) {
  const ModelRequest& model = request.of_model;
  const TrainedRequest& trained = model.network.trained;
  std::vector<std::string_view> flags;
  for (const auto& [flag, given] : {std::pair{"--sub-batch", request.sub_batch.has_value()},
                                    {"--freeze", !trained.weights.freeze.empty()},
                                    {"--trainable", !trained.weights.trainable.empty()},
                                    {"--frozen-statistics", !trained.frozen_statistics.empty()},
                                    {"--assume", trained.assume != Assume::nothing},
                                    {"--modes", trained.modes != Modes::asked},
                                    {"--assume-shared", trained.assume_shared},
                                    {"--clip-norm", model.clip_norm.has_value()},
                                    {"--optimizer-state", model.optimizer_state != "fp32"}})
    if (given) flags.push_back(flag);
  return flags;
}

Status check_ranks(const PlanningRequest& request) {
  const int64_t ranks = request.ranks;
  if (ranks < 1 || ranks > 1024) return usage(fmt::format("--ranks is {}; expected 1 to 1024", ranks));
  if (ranks > 1 && request.rules != "true")
    return usage(fmt::format("--rules {} supports one rank only", request.rules));
  if (ranks == 1 && !request.rank_costs.empty()) return usage("--rank-costs requires several ranks: --ranks N");
  const int64_t sub_batch = request.sub_batch.value_or(0);
  for (const auto& [flag, samples] : {std::pair{"--batch", request.of_model.batch}, {"--sub-batch", sub_batch}}) {
    if (samples % ranks == 0) continue;
    const int64_t less = samples / ranks * ranks;
    return usage(fmt::format("{} {} is not divisible by {} ranks; {}{} would be", flag, samples, ranks,
                             less > 0 ? fmt::format("{} and ", less) : "", less + ranks));
  }
  return {};
}

}  // namespace

// The default must not depend on whether a plan copies: a smaller budget would then change the bits.
int64_t threads_of(const ModelRequest& request) {
  if (request.target != "host") return 1;
  return request.threads ? *request.threads : computing_processors(processors());
}

int64_t threads_of(const PlanningRequest& request) {
  if (request.of_model.threads || request.of_model.target != "host") return threads_of(request.of_model);
  return computing_processors(std::max(1, processors() / static_cast<int>(request.ranks)));
}

int jobs_of(const PlanningRequest& request) { return request.jobs ? *request.jobs : processors(); }

Arithmetic arithmetic_of(const ModelRequest& request) {
  return {.tf32 = request.precision == "tf32", .nondeterministic = request.nondeterministic};
}

TrainingOptions training_options_of(const ModelRequest& request) {
  return {.batch = request.batch,
          .optimizer = {.kind = request.optimizer,
                        .momentum = request.momentum,
                        .nesterov = request.nesterov,
                        .weight_decay = request.weight_decay,
                        .clip_norm = request.clip_norm.value_or(0),
                        .state = request.optimizer_state == "bf16"   ? StateType::bf16
                                 : request.optimizer_state == "int8" ? StateType::int8
                                                                     : StateType::fp32},
          .join_gradients = request.target == "cuda"};
}

Status check_usage(const ModelRequest& request) {
  if (request.batch < 1) return usage(fmt::format("--batch is {}; expected at least 1", request.batch));
  if (request.batch > (int64_t{1} << 31)) return usage(fmt::format("--batch {} is too large", request.batch));
  if (request.target != "host" && request.target != "cuda")
    return usage(fmt::format("unknown target '{}'; targets: host, cuda", request.target));
  if (request.target == "cuda" && request.layout.starts_with("nChw"))
    return usage(fmt::format("--layout {} is for the host; cuda supports nchw and nhwc",
                             request.layout));
  if (request.target == "host" && (request.layout == "nchw" || request.layout == "nhwc"))
    return usage(fmt::format("--layout {} is for GPUs; the host supports plain, nChw8c and nChw16c",
                             request.layout));
  constexpr std::array kPrecisions = {"fp32", "tf32", "bf16", "fp16"};
  if (std::find(kPrecisions.begin(), kPrecisions.end(), request.precision) == kPrecisions.end())
    return usage(fmt::format("--precision is '{}'; expected fp32, tf32, bf16 or fp16", request.precision));
  if (request.precision == "tf32" && request.target != "cuda")
    return usage("--precision tf32 is for GPUs; the host computes in fp32 or bf16");
  if (request.precision == "fp16" && request.target != "cuda")
    return usage(
        "--precision fp16 is for GPUs; on the host, --precision bf16 takes the same memory and needs no loss scaling");
  constexpr std::array kStates = {"fp32", "bf16", "int8"};
  const std::string& state = request.optimizer_state;
  if (std::find(kStates.begin(), kStates.end(), state) == kStates.end())
    return usage(fmt::format("--optimizer-state is '{}'; expected fp32, bf16 or int8", state));
  if (state != "fp32" && request.optimizer == OptimizerKind::sgd)
    return usage(fmt::format("--optimizer-state {} has no effect: --optimizer sgd keeps no state", state));
  if (state == "int8" && request.optimizer == OptimizerKind::lamb)
    return usage("--optimizer-state int8 is not for --optimizer lamb, which reads its state twice; lamb supports bf16");
  if (request.precision != "bf16" && request.precision != "fp16" && !request.network.precision.keep_fp32.empty())
    return usage("--keep-fp32 requires --precision bf16 or fp16");
  if (request.threads && (*request.threads < 1 || *request.threads > 1024))
    return usage(fmt::format("--threads is {}; expected 1 to 1024", *request.threads));
  constexpr double kMost = std::numeric_limits<float>::max();  // kernels compute with it in f32
  if (request.clip_norm && (!(*request.clip_norm > 0) || *request.clip_norm > kMost))
    return usage(fmt::format("--clip-norm is {}; expected above 0 and at most {:g}", *request.clip_norm,
                             kMost));
  const std::pair<const char*, double> numbers[] = {{"--momentum", request.momentum},
                                                    {"--weight-decay", request.weight_decay}};
  for (const auto& [flag, value] : numbers)
    if (!(value >= 0) || value > kMost)
      return usage(fmt::format("{} is {}; expected 0 to {:g}", flag, value, kMost));
  if (request.nesterov && (request.optimizer != OptimizerKind::momentum || !(request.momentum > 0)))
    return usage("--nesterov requires --optimizer momentum and --momentum above 0");
  for (const char* layout : {"auto", "plain", "nChw8c", "nChw16c", "nchw", "nhwc"})
    if (request.layout == layout) return {};
  return usage(fmt::format("unknown layout '{}'; layouts: auto, plain, nChw8c, nChw16c, and on cuda nchw, nhwc",
                           request.layout));
}

Status check_usage(const PlanningRequest& request) {
  const ModelRequest& model = request.of_model;
  PLIMSOLL_TRY(check_usage(model));
  if (request.sub_batch && (*request.sub_batch < 1 || *request.sub_batch > model.batch))
    return usage(fmt::format("--sub-batch is {}; expected 1 to the batch, {}", *request.sub_batch,
                             model.batch));
  PLIMSOLL_TRY(check_ranks(request));
  const bool as_paper = request.rules != "true";
  if (as_paper && find_rules(request.rules) == nullptr)
    return usage(fmt::format("unknown rules '{}'; rules: {}", request.rules, names_of_rules()));
  if (const std::vector<std::string_view> flags = beyond_papers(request); as_paper && !flags.empty())
    return usage(fmt::format("--rules {} does not support {}", request.rules, fmt::join(flags, ", ")));
  if (request.jobs && (*request.jobs < 1 || *request.jobs > kMostJobs))
    return usage(fmt::format("--jobs is {}; expected 1 to {}", *request.jobs, kMostJobs));
  if (!(request.time_limit_seconds >= 0) || !std::isfinite(request.time_limit_seconds))
    return usage(fmt::format("--time-limit is {}; expected a number of seconds", request.time_limit_seconds));
  if (request.effort < 0 || request.effort > 3)
    return usage(fmt::format("--effort is {}; expected 0 to 3", request.effort));
  return {};
}

Status check_usage(const OnePlanRequest& request) {
  if (request.budget && request.budget->kind == SizeSpec::Kind::bytes && request.budget->bytes < 1)
    return usage("--budget is 0; expected at least 1 byte");
  if (request.what_if && *request.what_if < 1)
    return usage(fmt::format("--what-if is {}; expected at least 1 byte", *request.what_if));
  const auto is_known = [](const std::string& pass) { return pass.empty() || is_pass(pass); };
  if (!is_known(request.stop_after) || (request.print_after != "all" && !is_known(request.print_after)))
    return usage(fmt::format("unknown pass '{}'; passes: {}",
                             is_known(request.stop_after) ? request.print_after : request.stop_after,
                             names_of_passes()));
  if (request.process_budget && request.budget) return usage("--budget and --process-budget are mutually exclusive");
  return {};
}

}  // namespace plimsoll
