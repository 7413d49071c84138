// A plan as a trace in the JSON form of Chrome and Perfetto (docs/trace-format.md): streams as tracks, tensors as async
// events, the way from an offload to its prefetch as a flow, memory as a counter.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"
#include "compiler/support/status.h"

namespace plimsoll {

// One event per line; times in microseconds to the nanosecond. No two slices of one track overlap, whatever is rounded.
std::string report_trace(const Plan& plan, const PlanFacts& facts);

// When steps ran, by their numbers in the plan; what was not seen has a negative start.
struct MeasuredSteps {
  IdVector<StepId, double> start = {}, end = {};
  double seconds = 0;  // from the first to the last
};

// Of a trace as a trainer writes it: slices with args.step, of which the last round's count.
// Error: invalid_model, where the text is no such trace or is of another plan.
Result<MeasuredSteps> measured_from_trace(std::string_view text, const Plan& plan);

}  // namespace plimsoll
