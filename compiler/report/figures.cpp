#include "compiler/report/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

// Of what recomputed tasks write. The plan states the bytes in a full round only.
int64_t bytes_of_last_round(const Plan& plan, int64_t bytes) {
  if (plan.last_sub_batch == plan.sub_batch) return bytes;
  const double share = static_cast<double>(plan.last_sub_batch) / static_cast<double>(plan.sub_batch);
  return std::llround(static_cast<double>(bytes) * share);
}

}  // namespace

PlanFigures figures_of(const Plan& plan, double ideal_seconds) {
  const PlanSummary& summary = plan.summary;
  PlanFigures figures{.arena_bytes = summary.arena_bytes,
                      .sub_batch = plan.sub_batch,
                      .rounds = plan.rounds,
                      .iteration_seconds = summary.iteration_seconds,
                      .offloaded_bytes = summary.offloaded_bytes,
                      .prefetched_bytes = summary.prefetched_bytes};
  if (ideal_seconds > 0) figures.overhead = summary.iteration_seconds / ideal_seconds - 1;
  for (const Step& step : plan.steps) {
    if (!step.recompute) continue;
    figures.recomputed_tasks += plan.rounds;
    for (const TensorId tensor : plan.tasks[step.task].written(true))
      figures.recomputed_bytes += (plan.rounds - 1) * plan.tensors[tensor].bytes +
                                  bytes_of_last_round(plan, plan.tensors[tensor].bytes);
  }
  return figures;
}

std::string format_overhead(double overhead) {
  // Values that round to zero are printed as 0%: no "+0.0%" or "-0.0%".
  if (overhead > -5e-4 && overhead < 5e-4) return "0%";
  return (overhead > 0 ? "+" : "") + format_share(overhead);
}

std::string format_bytes_or_dash(int64_t bytes) { return bytes == 0 ? "-" : format_bytes(bytes); }

std::string csv_figures_header() {
  return "arena_bytes,sub_batch,rounds,iteration_seconds,overhead,offloaded_bytes,prefetched_bytes,recomputed_bytes,"
         "recomputed_tasks";
}

std::string csv_figures(const PlanFigures& figures) {
  return fmt::format("{},{},{},{},{},{},{},{},{}", figures.arena_bytes, figures.sub_batch, figures.rounds,
                     figures.iteration_seconds, figures.overhead, figures.offloaded_bytes, figures.prefetched_bytes,
                     figures.recomputed_bytes, figures.recomputed_tasks);
}

}  // namespace plimsoll
