#include "passes/check_request.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {

Status check_request(const PlanRequest& request, Variants& variants) {
  if (request.batch < 1)
    return Error{ExitCode::usage, fmt::format("batch is {}; expected at least 1", request.batch)};
  if (request.sub_batch < 0 || request.sub_batch > request.batch)
    return Error{ExitCode::usage, fmt::format("sub-batch is {}; expected 1 to the batch of {}",
                                              request.sub_batch, request.batch)};
  const Task* const whole = variants.of_whole_batch();
  if (whole && (variants.graph().ranks > 1 || (request.sub_batch != 0 && request.sub_batch < request.batch)))
    return Error{ExitCode::usage,
                 fmt::format("the batch of {} must stay whole, but {} splits it: layer '{}' ({}) does not sum over "
                             "samples, so the loss of the batch is not the sum of the losses of its parts",
                             request.batch * variants.graph().ranks,
                             variants.graph().ranks > 1 ? "--ranks" : "--sub-batch", whole->layer, whole->op)};
  if (request.budget_bytes < 0 || request.budget_percent < 0 || !std::isfinite(request.budget_percent))
    return Error{ExitCode::usage, "the budget is negative"};
  if (request.host_budget_bytes < 0) return Error{ExitCode::usage, "the host budget is negative"};
  return {};
}

}  // namespace plimsoll
