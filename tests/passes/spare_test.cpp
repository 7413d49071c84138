// Schedules near the minimum: spare bytes, and recomputation in place of copies that do not overlap with tasks.
#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/non_overlapped.h"
#include "passes/search/starts.h"

namespace plimsoll {
namespace {

// A copy takes several times as long as a task.
struct SlowLinks : test::FakeCosts {
  LinkRates links() const override { return {.d2h_bytes_per_second = 2e6, .h2d_bytes_per_second = 2e6}; }
};

// Of a random graph, with everything evicted.
struct Evicted {
  explicit Evicted(unsigned seed)
      : graph(test::random_graph(seed, 16)),
        candidate(make_candidate(graph, costs, 4, 4).value()),
        model(ordered_model(candidate, find_policy("auto").value())),
        bench(model),
        minimum(search::minimum_schedule(bench)) {}

  SlowLinks costs;
  TaskGraph graph;
  Candidate candidate;
  schedule::Model model;
  search::Workbench bench;
  search::State minimum;
};

int64_t live_most(const schedule::Evaluator& evaluator) { return std::ranges::max(evaluator.live()); }

TEST_CASE("spare bytes count as live at each task, but for tasks whose own tensors need them") {
  int less = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Evicted evicted(seed);
    const int64_t all = evicted.minimum.outcome.peak_bytes;
    schedule::Evaluator plain(evicted.model), with(evicted.model, {.most = all / 4, .all = all});
    const schedule::Trace& trace = evicted.bench.trace;
    const schedule::Outcome without_spare = plain.evaluate(trace, 0), with_spare = with.evaluate(trace, 0);
    CAPTURE(seed);
    CHECK(with_spare.peak_bytes == live_most(with));
    CHECK(without_spare.peak_bytes <= with_spare.peak_bytes);
    int full = 0;
    for (size_t step = 0; step < trace.size(); ++step) {
      const int64_t spare = with.live()[step] - plain.live()[step];
      CHECK((spare >= 0 && spare <= all / 4));
      if (!trace[step].is_task()) {
        CHECK(spare == 0);
        continue;
      }
      int64_t own = 0;
      const int32_t task = trace[step].id;
      for (const auto& accessed : {evicted.model.reads_and_updates(task), evicted.model.writes(task)})
        for (const int32_t id : accessed) own += evicted.model.tensors[static_cast<size_t>(id)].bytes;
      CHECK((spare == 0 || spare + own <= all));
      full += spare == all / 4;
      less += spare < all / 4;
    }
    CHECK(full > 0);
    CHECK(schedule::Evaluator(evicted.model, {.most = 0, .all = all}).evaluate(trace, 0).peak_bytes ==
          without_spare.peak_bytes);
  }
  CHECK(less > 0);
}

TEST_CASE("beside what the minimum-memory schedule takes, spare bytes never exceed its peak") {
  int more = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Evicted evicted(seed);
    const int64_t all = evicted.minimum.outcome.peak_bytes;
    const schedule::Trace& trace = evicted.bench.trace;
    std::vector<int64_t> taken(evicted.model.tasks.size(), 0);
    for (size_t step = 0; step < trace.size(); ++step)
      if (trace[step].is_task()) {
        int64_t& most = taken[static_cast<size_t>(trace[step].id)];
        most = std::max(most, evicted.bench.evaluator.live()[step]);
      }
    const schedule::Spare beside_own{.most = all / 4, .all = all};
    schedule::Spare beside_minimum = beside_own;
    beside_minimum.taken = std::make_shared<const std::vector<int64_t>>(std::move(taken));
    schedule::Evaluator own(evicted.model, beside_own), minimum(evicted.model, beside_minimum);
    const int64_t peak = own.evaluate(trace, 0).peak_bytes;
    CAPTURE(seed);
    CHECK(minimum.evaluate(trace, 0).peak_bytes == all);
    CHECK(peak >= all);
    more += peak > all;
  }
  CHECK(more > 0);  // so the other definition may leave no schedule at the lowest limit
}

TEST_CASE("what tasks would wait for is recomputed, within the same limit, and only if that is faster") {
  int faster = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Evicted evicted(seed);
    const int64_t limit = evicted.minimum.outcome.peak_bytes;
    const auto copies = [&] {
      return std::ranges::count(evicted.bench.trace, StepKind::offload, &schedule::Op::kind);
    };
    const search::State before = evicted.bench.evaluate(evicted.minimum.decisions, limit);
    const auto copies_before = copies();
    const search::State after = search::recompute_non_overlapped(evicted.bench, before, limit, 1'000'000, {});
    CAPTURE(seed);
    CHECK(after.outcome.fits(limit));
    CHECK(after.outcome.seconds <= before.outcome.seconds);
    CHECK(evicted.bench.evaluate(after.decisions, limit).outcome.seconds == after.outcome.seconds);
    if (after.outcome.seconds == before.outcome.seconds) continue;
    ++faster;
    CHECK(copies() < copies_before);
  }
  CHECK(faster > 10);
}

TEST_CASE("nothing is recomputed where the search may not, or has no work left") {
  Evicted evicted(3);
  const int64_t limit = evicted.minimum.outcome.peak_bytes;
  const search::State before = evicted.bench.evaluate(evicted.minimum.decisions, limit);
  const auto same = [&](int64_t work, const search::Means& means) {
    return search::recompute_non_overlapped(evicted.bench, before, limit, work, means).decisions == before.decisions;
  };
  CHECK(same(1'000'000, {.recompute = false, .offload = true}));
  CHECK(same(0, {}));
}

}  // namespace
}  // namespace plimsoll
