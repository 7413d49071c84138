// Bytes as a random task graph and two requests for plans of it, one after the other to the same planner, which reuses
// what it has searched. The checker is the oracle. A refusal is a good answer, except an internal error; a violation,
// an exception or a signal is a finding.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "compiler/check/check.h"
#include "passes/planner.h"
#include "passes/policies.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

[[noreturn]] void report(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::abort();
}

// Numbers from bytes; zeros when they have ended.
class Numbers {
 public:
  explicit Numbers(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  int64_t below(int64_t count) {
    if (bytes_.empty()) return 0;
    const int64_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte % count;
  }
  bool flag() { return below(2) == 1; }

 private:
  std::span<const uint8_t> bytes_;
};

class LinkedCosts : public RandomCosts {
 public:
  LinkedCosts(uint64_t seed, double bytes_per_second, double slowdown)
      : RandomCosts(seed), bytes_per_second_(bytes_per_second), slowdown_(slowdown) {}
  LinkRates links() const override {
    LinkRates rates = RandomCosts::links();
    rates.d2h_bytes_per_second = rates.h2d_bytes_per_second = bytes_per_second_;
    rates.slowdown = slowdown_;
    return rates;
  }

 private:
  double bytes_per_second_, slowdown_;
};

PlanRequest request_of(Numbers& numbers, int64_t batch, int layers) {
  const auto policies = all_policies();
  // Every other plan is of `auto`. One in 32 of small graphs has the usual effort, which takes ten times as long.
  const bool searches = numbers.flag();
  const auto other = static_cast<size_t>(numbers.below(static_cast<int64_t>(policies.size())));
  PlanRequest request{.policy = searches ? "auto" : std::string(policies[other].name), .batch = batch};
  request.sub_batch = numbers.below(batch + 1);
  request.effort = numbers.below(32) == 31 && layers <= 5 ? 1 : 0;
  request.threads = 1 + static_cast<int>(numbers.below(2));
  request.may_split_statistics = numbers.flag();
  request.inputs_ahead = numbers.flag();
  request.keep_order = numbers.below(4) == 1;
  switch (numbers.below(3)) {
    case 0: break;
    case 1: request.budget_percent = static_cast<double>(1 + numbers.below(128)); break;
    default: request.budget_bytes = 1 + 1024 * numbers.below(256);
  }
  if (numbers.flag()) request.host_budget_bytes = 1024 * numbers.below(128);
  return request;
}

void plan(std::span<const uint8_t> bytes) {
  Numbers numbers(bytes);
  const auto seed = static_cast<uint64_t>(numbers.below(256) * 256 + numbers.below(256));
  const int64_t batch = 1 + numbers.below(6);
  const int layers = 1 + static_cast<int>(numbers.below(10));
  const bool mixed = numbers.flag();
  // One rank in half of the cases: only then are there host residences and slices.
  const auto ranks = static_cast<uint64_t>(std::max<int64_t>(1, numbers.below(4)));
  const TaskGraph graph = shared(random_graph(seed, {.layers = layers, .batch = batch, .mixed = mixed}), ranks);
  constexpr double kRates[] = {1e10, 1e9, 1e8};
  const double rate = kRates[numbers.below(3)];
  LinkedCosts costs(seed, rate, 0.1 * static_cast<double>(numbers.below(3)));
  Planner planner(graph, costs, batch);
  for (int turn = 0; turn < 2; ++turn) {
    const PlanRequest request = request_of(numbers, batch, layers);
    const Result<Plan> made = planner.plan(request);
    if (!made.ok()) {
      if (made.error().code == ExitCode::internal) report("an internal error: " + made.error().message);
      continue;
    }
    if (const std::string flaws = to_string(check_plan(*made)); !flaws.empty()) report(flaws);
    if (const std::string flaws = to_string(check_against_graph(*made, graph)); !flaws.empty()) report(flaws);
    const PlanSummary& summary = made->summary;
    if (request.budget_bytes > 0 && summary.arena_bytes > request.budget_bytes) report("the arena exceeds the budget");
    if (summary.host_pool_bytes > request.host_budget_bytes) report("the host pool exceeds its budget");
  }
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::plan({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Several bytes at once.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  for (unsigned changes = 1 + seed % 4; changes > 0; --changes) size = LLVMFuzzerMutate(data, size, max_size);
  return size;
}
