// Measures one event simulation of a chain of layers, of which a fifth is offloaded and a fifth recomputed.
//
//   simulation [LAYERS] > table
//
// "search": evaluates a schedule, which the search does tens of thousands of times (schedule/evaluate.h): bytes,
// algorithms, three streams. "plan": the pass that predicts the times of a finished plan's steps, with its waits
// (simulate.h). Seconds are the minimum of many runs. Instructions, in user space, are printed if the machine counts
// them.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/schedule/evaluate.h"
#include "passes/schedule/lower.h"
#include "passes/simulate.h"

namespace plimsoll {
namespace {

constexpr int64_t kElements = 1 << 20;
constexpr int kRuns = 200;

class SameCosts final : public Costs {
 public:
  LinkRates links() const override {
    return {.d2h_bytes_per_second = 1e10, .h2d_bytes_per_second = 1e10, .latency_seconds = 1e-5, .slowdown = 0.1};
  }
  Status prepare(const TaskGraph&, int64_t) override { return {}; }
  std::span<const AlgorithmCost> algorithms(const Task&, int64_t) const override { return costs_; }

 private:
  const std::vector<AlgorithmCost> costs_ = {{.name = "fast", .workspace_bytes = kElements, .seconds = 1e-3},
                                             {.name = "small", .seconds = 2e-3}};
};

TaskGraph chain(int layers) {
  TaskGraph graph{.name = "chain"};
  graph.batch = 1;
  const auto tensor = [&](const std::string& name) {
    return graph.tensors.push_back({.name = name, .type = {DataType::f32, {{kElements}}}});
  };
  const auto add = [&](const std::string& name, TaskKind kind, std::vector<TensorId> reads, TensorId write) {
    Task task{.name = name, .op = "Bench", .layer = name, .kernel = "Bench"};
    task.kind = kind;
    task.may_run_again = kind == TaskKind::forward;
    for (const TensorId read : reads) task.operands.push_back({read, Access::read, graph.tensors[read].type});
    task.operands.push_back({write, Access::write, graph.tensors[write].type});
    graph.tasks.push_back(std::move(task));
  };
  std::vector<TensorId> y = {tensor("y0")};
  add("f0", TaskKind::forward, {}, y[0]);
  for (int layer = 1; layer <= layers; ++layer) {
    y.push_back(tensor(fmt::format("y{}", layer)));
    add(fmt::format("f{}", layer), TaskKind::forward, {y[static_cast<size_t>(layer) - 1]}, y.back());
  }
  TensorId gradient = tensor("dy");
  add("loss", TaskKind::loss, {y.back()}, gradient);
  for (int layer = layers; layer > 0; --layer) {
    const TensorId next = tensor(fmt::format("dy{}", layer));
    add(fmt::format("b{}", layer), TaskKind::backward,
        {gradient, y[static_cast<size_t>(layer)], y[static_cast<size_t>(layer) - 1]}, next);
    gradient = next;
  }
  return graph;
}

// The instructions of this process if the kernel permits counting them; else 0.
class Instructions {
 public:
  Instructions() {
    perf_event_attr what = {};
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = what.exclude_hv = 1;
    counter_ = static_cast<int>(::syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~Instructions() {
    if (counter_ >= 0) ::close(counter_);
  }
  int64_t so_far() const {
    int64_t count = 0;
    return counter_ >= 0 && ::read(counter_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int counter_ = -1;
};

template <class Body>
std::string row(const char* what, size_t steps, Body body) {
  const Instructions counted;
  double least = std::numeric_limits<double>::infinity();
  int64_t instructions = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t before = counted.so_far();
    const auto start = std::chrono::steady_clock::now();
    body();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    instructions = counted.so_far() - before;
  }
  const std::string each = instructions > 0
                               ? fmt::format("{:.1f}", static_cast<double>(instructions) / static_cast<double>(steps))
                               : "not counted";
  return fmt::format("| {} | {} | {:.2f} ms | {} |\n", what, steps, 1e3 * least, each);
}

Status run(int layers) {
  const TaskGraph graph = chain(layers);
  SameCosts costs;
  PLIMSOLL_ASSIGN(const Candidate candidate, make_candidate(graph, costs, 1, 1));
  PLIMSOLL_ASSIGN(Policy policy, find_policy("auto"));
  policy.order = OrderKind::depth_first;
  const schedule::Model model = ordered_model(candidate, policy);
  schedule::Decisions decisions = schedule::keep_everything(model);
  for (size_t id = 0; id < model.tensors.size(); ++id) {
    if (!model.tensors[id].movable || model.tensors[id].gap_end == schedule::kNever) continue;
    if (id % 5 == 1) decisions.activations[id] = {.kind = schedule::DecisionKind::offload};
    if (id % 5 == 3) decisions.activations[id] = {.kind = schedule::DecisionKind::recompute};
  }
  schedule::Trace trace;
  schedule::lower_decisions(model, decisions, trace);
  schedule::Evaluator evaluator(model);
  const schedule::Outcome outcome = evaluator.time_copies(trace, kNoLimit);
  PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, with_schedule(policy, trace), outcome.peak_bytes));
  const Context context{.graph = graph, .choices = candidate.choices, .policy = policy, .links = candidate.links};
  double seconds = 0;
  const std::string search =
      row("search", trace.size(), [&] { seconds += evaluator.evaluate(trace, outcome.peak_bytes).seconds; });
  const std::string pass = row("plan", plan.steps.size(), [&] { static_cast<void>(simulate(plan, context)); });
  if (seconds <= 0) return Error{ExitCode::internal, "the evaluator says that nothing takes any time"};
  fmt::print("| simulation of | steps | one takes | instructions a step |\n|---|---|---|---|\n{}{}", search, pass);
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const int layers = count > 1 ? static_cast<int>(std::strtol(words[1], nullptr, 10)) : 4000;
  if (layers < 1) {
    fmt::print(stderr, "usage: simulation [LAYERS]\n");
    return 2;
  }
  const plimsoll::Status status = plimsoll::run(layers);
  if (status.ok()) return 0;
  fmt::print(stderr, "simulation: {}\n", status.error().message);
  return static_cast<int>(status.error().code);
}
