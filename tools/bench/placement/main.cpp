// Compares placements with their lower bound, and measures the time of placement:
//
//   bench_placement                          traces of 200, 1000 and 10000 layers
//   bench_placement FILE.csv … PLAN.json …   problems from files, and the buffers of plans
//   bench_placement --capacity BYTES FILE …  a sufficient height
//   bench_placement --quick …                without the thorough effort, which takes up to a minute per problem
//
// Heights are relative to the lower bound. Seconds are processor time.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include "compiler/ir/plan_json.h"
#include "compiler/support/bytes.h"
#include "passes/analysis/liveness.h"
#include "passes/place/csv.h"
#include "passes/place/solve.h"
#include "tools/bench/placement/greedy.h"
#include "tools/bench/placement/traces.h"

namespace plimsoll {
namespace {

using namespace placement;

// The problem that the pass `place` solves for a plan with in-place pairs: chains of in-place residencies are one
// buffer.
Problem problem_of(const Plan& plan) {
  std::vector<size_t> chain(plan.residencies.size());
  std::iota(chain.begin(), chain.end(), size_t{0});
  for (const SharedPair& pair : find_shared_pairs(plan, Policy{})) chain[pair.written] = chain[pair.read];
  Problem problem;
  std::vector<size_t> buffer_of(plan.residencies.size());
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (residency.first_step < 0) continue;
    const int64_t upper = residency.last_step + 1, size = align_up(residency.bytes);
    if (chain[i] == i) {
      buffer_of[i] = problem.buffers.size();
      problem.buffers.push_back({"", residency.first_step, upper, size});
    } else {
      Buffer& buffer = problem.buffers[buffer_of[i] = buffer_of[chain[i]]];
      buffer.upper = std::max(buffer.upper, upper);
      buffer.size = std::max(buffer.size, size);
    }
  }
  for (const StepId id : ids_of(plan.steps))
    if (const int64_t bytes = plan.steps[id].workspace.bytes; bytes > 0)
      problem.buffers.push_back({"", id.value, id.value + 1, align_up(bytes)});
  return problem;
}

void measure(const std::string& name, const Problem& problem, int64_t capacity, bool thorough) {
  const auto bound = static_cast<double>(lower_bound(problem));
  fmt::print("| {} | {} |", name, problem.buffers.size());
  const auto run = [&](auto place) {
    const std::clock_t start = std::clock();
    const Solution solution = place();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (const Status status = validate(problem, solution); !status.ok()) {
      fmt::print(stderr, "{}: {}\n", name, status.error().message);
      std::exit(1);
    }
    fmt::print(" {:.4f} | {:.3f} |", static_cast<double>(solution.height) / bound, seconds);
    std::fflush(stdout);
  };
  run([&] { return place_greedily(problem, Greedy::by_size); });
  for (Effort effort : {kProbe, kQuick, kThorough}) {
    if (effort.nodes == kThorough.nodes && !thorough) continue;
    effort.capacity = capacity;
    run([&] { return solve(problem, effort); });
  }
  fmt::print("\n");
}

int run(int argc, char** argv) {
  const bool thorough = argc < 2 || std::string_view(argv[1]) != "--quick";
  fmt::print("| | buffers | by size | s | probe | s | quick | s |{}\n|---|---|---|---|---|---|---|---|{}\n",
             thorough ? " thorough | s |" : "", thorough ? "---|---|" : "");
  int64_t capacity = 0;
  if (!thorough) --argc, ++argv;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--capacity" && i + 1 < argc) {
      capacity = std::atoll(argv[++i]);
      continue;
    }
    std::ifstream file(name);
    std::stringstream text;
    text << file.rdbuf();
    const std::string label = name.substr(name.rfind('/') + 1);
    if (name.ends_with(".json")) {
      const Result<Plan> plan = plan_from_json(text.str());
      if (!plan.ok()) return fmt::print(stderr, "{}: {}\n", name, plan.error().message), 1;
      measure(label, problem_of(*plan), capacity, thorough);
    } else {
      const Result<Problem> problem = parse_csv(text.str());
      if (!problem.ok()) return fmt::print(stderr, "{}: {}\n", name, problem.error().message), 1;
      measure(label, *problem, capacity, thorough);
    }
  }
  if (argc > 1) return 0;
  for (const int layers : {200, 1000, 10000}) {
    for (const Trace trace : {Trace::plain, Trace::recompute, Trace::offload, Trace::mixed})
      measure(fmt::format("{} {}", to_string(trace), layers), make_trace(trace, layers, 1), 0, thorough);
    for (const int share : {50, 25, 10}) {
      const std::vector<Traced> tensors = trace_tensors(layers, 1);
      measure(fmt::format("planned {} at {} %", layers, share), make_planned(tensors, share / 100.0, 1), 0, thorough);
      measure(fmt::format("tight {} at {} %", layers, share), make_tight(tensors, share / 100.0), 0, thorough);
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) { return plimsoll::run(argc, argv); }
