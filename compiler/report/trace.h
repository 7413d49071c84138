// A plan as a trace in the JSON format of Chrome and Perfetto (docs/trace-format.md): streams as tracks, tensors as
// async events, offload and prefetch connected by flows, memory as a counter.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"
#include "compiler/support/status.h"

namespace plimsoll {

// One event per line; times in microseconds with nanosecond precision. Slices of one track never overlap, regardless of
// rounding.
std::string report_trace(const Plan& plan, const PlanFacts& facts);

// Measured start and end of steps, by their numbers in the plan; steps that were not observed have a negative start.
struct MeasuredSteps {
  IdVector<StepId, double> start = {}, end = {};
  double seconds = 0;  // from the first to the last
};

// Reads a trace written by a trainer: slices with args.step, of which those of the last round count. Error:
// invalid_model, if the text is not such a trace or belongs to another plan.
Result<MeasuredSteps> measured_from_trace(std::string_view text, const Plan& plan);

}  // namespace plimsoll
