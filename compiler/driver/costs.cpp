#include "compiler/driver/costs.h"

#include <fmt/format.h>

#include "compiler/costs/exchange.h"
#include "compiler/costs/modelled.h"
#include "compiler/costs/profiled.h"
#include "compiler/papers/rules.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "compiler/support/output.h"
#include "runtime/machine/host_memory.h"

namespace plimsoll {
namespace {

// Rates apply only to the measured number of ranks: how ranks share a network does not follow from the rate of one.
Result<RankLink> measured_ranks(const PlanningRequest& request, const RankLink& assumed) {
  PLIMSOLL_ASSIGN(const std::string text, read_file(request.rank_costs));
  Result<MeasuredRanks> measured = parse_rank_rates(text);
  if (!measured.ok())
    return Error{measured.error().code, request.rank_costs + ": " + measured.error().message, measured.error().notes};
  if (measured->ranks != request.ranks)
    return usage(fmt::format("'{}' was measured with {} ranks, but --ranks is {}: measure with that number",
                             request.rank_costs, measured->ranks, request.ranks));
  RankLink link = measured->beside;
  link.staging_bytes = assumed.staging_bytes;
  return link;
}

// Measuring takes seconds to minutes, once. The message says why, and how to avoid it.
std::function<void(size_t)> announcement(const PlanningRequest& request, int64_t threads, const Messages& messages) {
  return [messages, threads, cuda = request.of_model.target == "cuda", told = false](size_t tasks) mutable {
    if (told) return;
    told = true;
    messages.note(fmt::format("profiling {} {} (cached for next time; --costs modelled skips this)",
                              counted(static_cast<int64_t>(tasks), "task"),
                              cuda ? "on the GPU" : "with " + counted(threads, "thread")));
  };
}

// Announced once, for the whole batch, which is requested first and has the most tasks.
std::function<void(size_t, size_t)> disturbance(const std::string& profile_file, const Messages& messages) {
  return [messages, profile_file, told = false](size_t disturbed, size_t tasks) mutable {
    if (told) return;
    told = true;
    const std::string which = fmt::format(
        "of {}, {} {} measured while other processes used the CPU: these times, and the predicted time, may be too "
        "long",
        counted(static_cast<int64_t>(tasks), "task"), disturbed, disturbed == 1 ? "was" : "were");
    messages.warning(
        profile_file.empty()
            ? which +
                  "; they are not cached, so the next command measures them again (--costs modelled skips measuring)"
            : which + fmt::format("; write '{}' again on an idle machine, with `plimsoll profile --remeasure`",
                                  profile_file));
  };
}

}  // namespace

CostSource costs_of(const PlanningRequest& request, PlanFor purpose) {
  using Kind = CostSource::Kind;
  if (!request.costs) {
    if (purpose == PlanFor::report) return {Kind::modelled};
    return {request.of_model.target == "cuda" ? Kind::profiled_if_here : Kind::profiled};
  }
  const std::string& costs = *request.costs;
  if (costs == "profiled") return {Kind::profiled};
  if (costs == "modelled") return {Kind::modelled};
  const bool file = costs.ends_with(".json") || costs.find('/') != std::string::npos;
  return {file ? Kind::file : Kind::device, costs};
}

Result<OpenedCosts> open_costs(const PlanningRequest& request, PlanFor purpose, const Messages& messages) {
  const ModelRequest& model = request.of_model;
  const int64_t threads = threads_of(request);
  if (const PaperRules* const rules = find_rules(request.rules)) {
    return OpenedCosts{
        .costs = rules->costs(), .source = "modelled", .device = std::string(rules->device), .threads = threads};
  }
  const bool cuda = model.target == "cuda";
  const CostSource source = costs_of(request, purpose);
  const bool filed = source.names_a_file(), named = source.names_a_device(),
             if_here = source.kind == CostSource::Kind::profiled_if_here;
  const bool measure = filed || if_here || source.kind == CostSource::Kind::profiled;
  // For modelled times without a named device, cuda means an H200.
  PLIMSOLL_ASSIGN(Device device, find_device(named ? source.name : cuda ? "h200" : "host"));
  if (cuda && device.kind != "cuda") return usage(fmt::format("--costs {} is not a GPU", device.name));
  if (!request.rank_costs.empty()) {
    PLIMSOLL_ASSIGN(device.ranks, measured_ranks(request, device.ranks));
  }
  const auto modelled = [&] {
    return OpenedCosts{.costs = std::make_unique<ModelledCosts>(device, arithmetic_of(model).tf32),
                       .source = "modelled",
                       .device = device.name,
                       .threads = threads,
                       .process = {.bytes = device.process_bytes}};
  };
  if (named && !cuda && purpose == PlanFor::report) return modelled();
  Result<std::unique_ptr<ProfiledCosts>> opened =
      ProfiledCosts::open({.target = model.target,
                           .threads = threads,
                           .measure = measure,
                           .arithmetic = arithmetic_of(model),
                           .device = device,
                           .elsewhere = cuda && (if_here || !measure) ? device.name : "",
                           .only_if_none = !named,
                           .cache_directory = default_cache_directory(),
                           .remeasure = model.remeasure,
                           .profile_file = filed ? source.name : "",
                           .show_progress = messages.show_progress,
                           .before_measuring = announcement(request, threads, messages),
                           .after_disturbed = disturbance(filed ? source.name : "", messages)});
  // A report about a device that no profiler knows, or without a GPU profiler, uses modelled workspaces.
  if (!opened.ok() && named && purpose == PlanFor::report) return modelled();
  PLIMSOLL_ASSIGN(std::unique_ptr<ProfiledCosts> costs, std::move(opened));
  const Profile& profile = costs->profile();
  if (filed && model.threads && profile.threads != threads)
    return usage(fmt::format("--threads is {}, but '{}' was measured with {}", threads, source.name, profile.threads));
  if (if_here && !costs->measures())
    messages.note(fmt::format(
        "no GPU found: workspaces are cuDNN's for an {0}, and times are modelled, as with --costs {0}", device.name));
  const int64_t of_process = costs->process_bytes();
  OpenedCosts result{.source = costs->measures() ? "profiled" : "modelled",
                     .device = named ? device.name : profile.device,
                     .libraries = profile.libraries,
                     .threads = profile.threads,
                     .process = {.bytes = of_process > 0 ? of_process
                                          : cuda         ? device.process_bytes
                                                         : 0,
                                 .measured = of_process > 0}};
  result.costs = std::move(costs);
  if (!result.costs->measures()) result.model = std::make_unique<ModelledCosts>(device, arithmetic_of(model).tf32);
  return result;
}

Result<HostBudget> host_budget_of(const PlanningRequest& request, PlanFor purpose) {
  constexpr double kDefaultPercent = 50;
  const bool given = request.host_budget.has_value();
  if (given && request.rules != "true")
    return usage(fmt::format("--rules {} does not support --host-budget", request.rules));
  if (const CostSource source = costs_of(request, purpose);
      !given && (source.names_a_device() || source.names_a_file() || request.rules != "true"))
    return HostBudget{};
  const SizeSpec size =
      request.host_budget.value_or(SizeSpec{.kind = SizeSpec::Kind::percent, .percent = kDefaultPercent});
  if (size.kind == SizeSpec::Kind::automatic) return HostBudget{};
  if (size.kind == SizeSpec::Kind::bytes) return HostBudget{.bytes = size.bytes};
  const std::optional<HostMemory> memory = host_memory();
  if (!memory && !given) return HostBudget{};
  if (!memory)
    return Error{
        ExitCode::environment,
        fmt::format("--host-budget {:g}%: the available memory is unknown; specify a number of bytes, for example 8GiB",
                    size.percent)};
  const int64_t bytes = static_cast<int64_t>(static_cast<double>(memory->available) * size.percent / 100);
  const char* const whose = memory->limited_by_group ? "the memory that the control group of this process has left"
                                                     : "the memory available on this machine";
  return HostBudget{.bytes = bytes,
                    .source = fmt::format("{:g} % of {}{}", size.percent, whose, given ? "" : " (--host-budget)")};
}

Result<int64_t> arena_within(int64_t process_budget, const ProcessBytes& process, const Messages& messages) {
  if (process.bytes == 0) return usage("--process-budget includes a GPU's context; on the host, use --budget");
  const std::string overhead =
      fmt::format("{} for the context and the libraries ({})", format_bytes(process.bytes),
                  process.measured ? "measured" : "assumed; `plimsoll profile` measures it on the device");
  if (process_budget <= process.bytes)
    return Error{ExitCode::budget_infeasible, fmt::format("--process-budget {} leaves nothing for the arena: {}",
                                                          format_bytes(process_budget), overhead)};
  messages.note(fmt::format("--process-budget {}: {}, {} for the arena", format_bytes(process_budget), overhead,
                           format_bytes(process_budget - process.bytes)));
  return process_budget - process.bytes;
}

}  // namespace plimsoll
