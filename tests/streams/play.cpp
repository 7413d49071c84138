// play_address, play_thread SPEC name=value…: plays a plan of a zoo network in this process, under a sanitizer.
//   batch, sub-batch, iterations, spill (1: to a file), bf16 (1: instead of fp32)
//   policy=NAME, percent   a plan of this policy. Its budget is `percent` % of the way from the minimum to the
//                          unlimited arena. Without `policy`, a plan with random decisions, set by:
//   seed, offload, recompute, gap, homes
//   wait=N   removes the Nth necessary wait from the plan
//   life=N   ends the lifetime of the Nth tensor that is used twice before its last use. The plan stays as it is; only
//            the watched lifetimes change. Tensors whose bytes another one takes over in place do not count.
// Prints what was removed. Exit code 3: there is no Nth.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "compiler/check/check.h"
#include "player.h"
#include "scatter.h"

namespace plimsoll::test {
namespace {

using Arguments = std::map<std::string, int64_t>;

Result<Plan> make(Network& network, const std::string& policy, const Arguments& given) {
  const auto argument = [&](const char* name, int64_t otherwise) {
    return given.contains(name) ? given.at(name) : otherwise;
  };
  if (!policy.empty())
    return plan_of_policy(network, policy, argument("sub-batch", network.batch), argument("percent", 0));
  return scattered_plan(network.graph, *network.costs,
                        {.batch = network.batch,
                         .sub_batch = network.sub_batch,
                         .seed = static_cast<uint64_t>(argument("seed", 1)),
                         .offload = static_cast<int>(argument("offload", 50)),
                         .recompute = static_cast<int>(argument("recompute", 30)),
                         .shortest_gap = static_cast<int>(argument("gap", 3)),
                         .homes = static_cast<int>(argument("homes", 0))});
}

bool leave_out_wait(Plan& plan, int64_t number) {
  for (const StepId id : ids_of(plan.steps)) {
    const std::vector<StepId> waits = plan.steps[id].waits;
    for (const StepId wait : waits) {
      std::erase(plan.steps[id].waits, wait);
      if (!check_plan(plan).empty() && number-- == 0) {
        fmt::print("step {} does not wait for step {}\n", id.value, wait.value);
        return true;
      }
      plan.steps[id].waits = waits;
    }
  }
  return false;
}

bool shorten_life(Plan& plan, int64_t number) {
  for (Residency& residency : plan.residencies) {
    const bool ends = residency.first_step >= 0 && residency.last_step < static_cast<int32_t>(plan.steps.size());
    const bool followed = std::any_of(plan.residencies.begin(), plan.residencies.end(), [&](const Residency& other) {
      return other.first_step == residency.last_step && other.block().overlaps(residency.block());
    });
    if (!ends || followed || residency.last_step == residency.first_step || number-- > 0) continue;
    fmt::print("{} ends before step {}\n", plan.tensors[residency.tensor].name, residency.last_step);
    --residency.last_step;
    return true;
  }
  return false;
}

int run(const std::string& spec, const std::string& policy, Arguments given) {
  const auto argument = [&](const char* name, int64_t otherwise) {
    return given.contains(name) ? given.at(name) : otherwise;
  };
  const int64_t batch = argument("batch", 4);
  Result<Network> network = make_network(spec, batch, policy.empty() ? argument("sub-batch", batch) : batch,
                                         argument("bf16", 0) != 0);
  if (!network.ok()) return fmt::print(stderr, "error: {}\n", network.error().message), 1;
  Result<Plan> plan = make(*network, policy, given);
  if (!plan.ok()) return fmt::print(stderr, "error: {}\n", plan.error().message), 1;
  if (const auto flaws = check_plan(*plan); !flaws.empty())
    return fmt::print(stderr, "error: {}\n", to_string(flaws)), 1;
  if (given.contains("wait") && !leave_out_wait(*plan, given["wait"])) return 3;
  Plan watched = *plan;
  if (given.contains("life") && !shorten_life(watched, given["life"])) return 3;
  const std::string spill = argument("spill", 0) ? std::filesystem::temp_directory_path().string() : "";
  const Played played = play(*network, *plan, watched.residencies, static_cast<int>(argument("iterations", 2)), spill);
  fmt::print("{} steps, {} recomputed, {} bytes offloaded, loss {}\n", plan->steps.size(),
             plan->summary.recomputed_tasks, plan->summary.offloaded_bytes, played.losses.back());
  return 0;
}

}  // namespace
}  // namespace plimsoll::test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  plimsoll::test::Arguments given;
  std::string policy;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    if (text.starts_with("policy=")) {
      policy = text.substr(equals + 1);
      continue;
    }
    given[text.substr(0, equals)] = std::atoll(text.c_str() + equals + 1);
  }
  return plimsoll::test::run(argv[1], policy, given);
}
