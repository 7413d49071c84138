#include "passes/analysis/timeline.h"

#include "passes/analysis/access.h"
#include "passes/analysis/buckets.h"

namespace plimsoll {
namespace {

double seconds_of(const Plan& plan, const Context& context, const Step& step, Round round) {
  if (step.kind == StepKind::reduce) {
    // Gradients are reduced when they are complete, the loss in every round.
    if (!has_updates(round) && plan.tensors[step.tensor].kind == TensorKind::weight_gradient) return 0;
    return reduction_seconds(context.links.ranks, plan.ranks, bytes_of(plan, step.bucket));
  }
  if (step.kind != StepKind::compute) {
    const bool host_resident = plan.tensors[step.tensor].at_home_on_host();
    if (!has_copy(round, step.rounds)) return 0;
    const double samples =
        static_cast<double>(round == Round::last && !host_resident ? plan.last_sub_batch : plan.sub_batch);
    const double share = samples / static_cast<double>(plan.sub_batch);
    const double rate =
        step.stream == StreamKind::d2h ? context.links.d2h_bytes_per_second : context.links.h2d_bytes_per_second;
    return context.links.latency_seconds + static_cast<double>(plan.tensors[step.tensor].bytes) * share / rate;
  }
  if (!has_updates(round) && plan.tasks[step.task].kind == TaskKind::update) return 0;
  const Choice* const chosen = context.choices.find(step.task, step.recompute, step.algorithm);
  PLIMSOLL_CHECK(chosen, plan.tasks[step.task].name + ": unknown algorithm " + step.algorithm);
  return round == Round::last ? chosen->last_seconds : chosen->seconds;
}

}  // namespace

Timeline simulate_round(const Plan& plan, const Context& context, Round round) {
  Timeline line{.spans = IdVector<StepId, TimeSpan>(plan.steps.size())};
  Streams streams;
  IdVector<TensorId, double> made(plan.tensors.size(), 0);    // of each tensor on the device: when it was written
  IdVector<TensorId, double> parked(plan.tensors.size(), 0);  // of each tensor in the host pool: when it was offloaded
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    double ready = step.kind == StepKind::prefetch ? parked[step.tensor] : 0;
    for_each_access(plan, step, [&](TensorId tensor, bool reads, bool) {
      if (reads) ready = std::max(ready, made[tensor]);
    });
    for (const StepId wait : step.waits) ready = std::max(ready, line.spans[wait].end);
    const double seconds = seconds_of(plan, context, step, round);
    const CopySeconds copy = {
        .transfer = seconds,
        .slowdown = context.links.slowdown * std::max(0.0, seconds - context.links.latency_seconds)};
    TimeSpan& span = line.spans[id];
    switch (step.kind) {
      case StepKind::compute:
        line.stall_seconds += std::max(0.0, ready - streams.end(StreamKind::compute));
        span = streams.compute(ready, seconds);
        break;
      case StepKind::reduce:
        line.reduce_seconds += seconds;
        span = streams.reduce(ready, seconds);
        break;
      case StepKind::offload: span = streams.offload(ready, copy); break;
      case StepKind::prefetch: span = streams.prefetch(ready, copy); break;
      case StepKind::load: span = streams.load(ready, copy); break;
    }
    for_each_access(plan, step, [&](TensorId tensor, bool, bool writes) {
      if (writes) made[tensor] = span.end;
    });
    if (step.kind == StepKind::offload) parked[step.tensor] = span.end;
  }
  line.seconds = streams.end();
  return line;
}

double least_iteration_seconds(const Plan& plan, const Context& context) {
  double seconds = 0;
  for_each_round(plan, [&](Round round, int64_t times) {
    seconds += static_cast<double>(times) * simulate_round(plan, context, round).seconds;
  });
  return seconds;
}

}  // namespace plimsoll
