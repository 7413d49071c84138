// Plans a task graph, given as text, with recomputation alone. exact.py compares the results with exact answers.
//
//   recompute_only FILE EFFORT PERCENT… > answer.json
//
//   tensor y1 4096                  bytes, a multiple of 256
//   task f1 forward 3 y0 -> y1      forward, loss or backward; seconds; the tensors that it reads and writes
//   task data once 0 -> y0          a forward task that must not be recomputed
//
// Tasks run in the order of the file. Percentages refer to the memory that keeping every tensor takes. The answer lists
// the order, and for each budget the seconds, the bytes, every recomputation, and the bound of passes/search/bound.h.
// No exact answer may be below this bound. The checker has accepted each plan.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "compiler/check/check.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"

namespace plimsoll {
namespace {

class FileCosts : public Costs {
 public:
  std::map<std::string, std::vector<AlgorithmCost>> seconds = {};  // by task
  // So slow that a bound on all schedules is also a bound on the schedules without copies.
  LinkRates links() const override { return {.d2h_bytes_per_second = 1, .h2d_bytes_per_second = 1}; }
  Status prepare(const TaskGraph&, int64_t) override { return {}; }
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t) const override { return seconds.at(task.name); }
};

struct Instance {
  TaskGraph graph = {};
  FileCosts costs = {};
};

Error malformed(int line, const std::string& what) {
  return Error{ExitCode::usage, fmt::format("line {}: {}", line, what)};
}

Result<Instance> read_instance(std::istream& in) {
  Instance instance;
  instance.graph.name = "bench";
  instance.graph.batch = 1;
  std::map<std::string, TensorId> tensors;
  std::string line;
  for (int at = 1; std::getline(in, line); ++at) {
    std::istringstream words(line);
    std::string what, name;
    if (!(words >> what)) continue;
    words >> name;
    if (what == "tensor") {
      int64_t bytes = 0;
      if (!(words >> bytes) || bytes <= 0 || bytes % 256 != 0)
        return malformed(at, "bytes are not a positive multiple of 256");
      tensors[name] = instance.graph.tensors.push_back({.name = name, .type = {DataType::f32, {{bytes / 4}}}});
      continue;
    }
    if (what != "task") return malformed(at, fmt::format("'{}' is neither tensor nor task", what));
    std::string kind, word;
    double seconds = 0;
    if (!(words >> kind >> seconds)) return malformed(at, "a task has a kind and seconds");
    Task task{.name = name, .op = "Bench", .layer = name, .kernel = "Bench"};
    if (kind == "loss") task.kind = TaskKind::loss;
    else if (kind == "backward") task.kind = TaskKind::backward;
    else if (kind != "forward" && kind != "once") return malformed(at, fmt::format("there is no kind '{}'", kind));
    task.may_run_again = kind == "forward";
    for (Access access = Access::read; words >> word;) {
      if (word == "->") {
        access = Access::write;
        continue;
      }
      if (!tensors.contains(word)) return malformed(at, fmt::format("there is no tensor '{}'", word));
      task.operands.push_back({tensors[word], access, instance.graph.tensors[tensors[word]].type});
    }
    instance.costs.seconds[name] = {{.name = "default", .seconds = seconds}};
    instance.graph.tasks.push_back(std::move(task));
  }
  return instance;
}

// "y1=K y2=R1 y3=R2+ y4=T": kept, recomputed on a level (+: also dropped between its backward uses), transient.
std::string shape_of(const search::Decisions& decisions, const schedule::Model& model, const TaskGraph& graph) {
  std::string text;
  for (const TensorId id : ids_of(graph.tensors)) {
    const schedule::ModelTensor& tensor = model.tensors[static_cast<size_t>(id.value)];
    if (!tensor.movable) continue;
    const auto& [kind, level, again] = decisions.activations[static_cast<size_t>(id.value)];
    const bool transient = level == schedule::kTransient;
    const std::string what = kind == schedule::DecisionKind::keep      ? "K"
                             : kind == schedule::DecisionKind::offload ? "O"
                             : transient                               ? "T"
                                         : fmt::format("R{}{}", level.depth, again ? "+" : "");
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", graph.tensors[id].name, what);
  }
  return text;
}

Status answer(Instance& instance, int effort, std::span<const double> percents) {
  TaskGraph& graph = instance.graph;
  PLIMSOLL_ASSIGN(const Candidate candidate, make_candidate(graph, instance.costs, 1, 1));
  PLIMSOLL_ASSIGN(Policy policy, find_policy("auto"));
  policy.order = OrderKind::depth_first;
  const schedule::Model model = ordered_model(candidate, policy);
  search::Workbench bench(model);
  const search::State whole = bench.evaluate(schedule::keep_everything(model), kNoLimit);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<search::State> frontier =
      search::find_frontier(model, {.effort = effort, .means = {.recompute = true, .offload = false}});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;

  fmt::print("{{\"bytes\": {}, \"seconds\": {}, \"planning_seconds\": {:.4f}, \"order\": [", whole.outcome.peak_bytes,
             whole.outcome.seconds, spent.count());
  for (size_t at = 0; at < model.order.size(); ++at)
    fmt::print("{}\"{}\"", at == 0 ? "" : ", ", graph.tasks[TaskId(model.order[at].id)].name);
  fmt::print("],\n \"least_bytes\": {}, \"budgets\": [", frontier.front().outcome.peak_bytes);
  for (size_t i = 0; i < percents.size(); ++i) {
    const int64_t budget = static_cast<int64_t>(static_cast<double>(whole.outcome.peak_bytes) * percents[i] / 100);
    const search::State* chosen = nullptr;
    for (const search::State& state : frontier)
      if (state.outcome.fits(budget)) chosen = &state;
    const double bound = search::Bound(model).seconds(budget);
    fmt::print("{}\n  {{\"percent\": {}, \"budget\": {}, \"bound\": {}, ", i == 0 ? "" : ",", percents[i], budget,
               std::isfinite(bound) ? fmt::format("{}", bound) : "null");
    if (!chosen) {
      fmt::print("\"seconds\": null}}");
      continue;
    }
    bench.evaluate(chosen->decisions, chosen->limit);
    const schedule::Trace trace = bench.trace;
    PLIMSOLL_ASSIGN(Plan plan, plan_within(candidate, with_schedule(policy, trace), chosen->limit));
    plan.budget_bytes = plan.summary.arena_bytes;  // compares live bytes, because the exact answers have no addresses
    const std::string flaws = to_string(check_plan(plan)) + to_string(check_against_graph(plan, graph));
    if (!flaws.empty()) return Error{ExitCode::internal, flaws};
    fmt::print("\"seconds\": {}, \"peak\": {}, \"arena\": {}, \"again\": [", plan.summary.iteration_seconds,
               chosen->outcome.peak_bytes, plan.summary.arena_bytes);
    bool first = true;
    for (const schedule::Op& op : trace) {
      if (!op.again) continue;
      fmt::print("{}\"{}\"", first ? "" : ", ", graph.tasks[TaskId(op.id)].name);
      first = false;
    }
    fmt::print("], \"shape\": \"{}\"}}", shape_of(chosen->decisions, model, graph));
  }
  fmt::print("\n]}}\n");
  return {};
}

Status run(int count, char** words) {
  if (count < 4) return Error{ExitCode::usage, "usage: recompute_only FILE EFFORT PERCENT…"};
  std::ifstream file(words[1]);
  if (!file) return Error{ExitCode::usage, fmt::format("{}: cannot be read", words[1])};
  std::vector<double> percents;
  for (int i = 3; i < count; ++i) percents.push_back(std::strtod(words[i], nullptr));
  PLIMSOLL_ASSIGN(Instance instance, read_instance(file));
  return answer(instance, static_cast<int>(std::strtol(words[2], nullptr, 10)), percents);
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const plimsoll::Status status = plimsoll::run(count, words);
  if (status.ok()) return 0;
  fmt::print(stderr, "recompute_only: {}\n", status.error().message);
  return static_cast<int>(status.error().code);
}
