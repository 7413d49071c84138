// One way of splitting the batch, ready to be planned: the graph for its number of rounds and what tasks cost then.
#pragma once

#include <optional>

#include "passes/context.h"
#include "passes/pipeline.h"
#include "passes/policies.h"
#include "passes/schedule/model.h"

namespace plimsoll {

struct Candidate {
  const TaskGraph* graph = nullptr;  // accumulating, with more than one round
  Choices choices = {};
  LinkRates links = {};
  int64_t batch = 0;      // of one rank, like sub_batch
  int64_t sub_batch = 0;
  int64_t rounds() const { return (batch + sub_batch - 1) / sub_batch; }
  int64_t last_sub_batch() const { return batch - (rounds() - 1) * sub_batch; }
};

// Asks `costs` for what is needed; `graph` must outlive the candidate. 1 <= sub_batch <= batch.
Result<Candidate> make_candidate(const TaskGraph& graph, Costs& costs, int64_t batch, int64_t sub_batch);

// Runs all passes with the given limit on live bytes, and with the steps that a search has decided on, if any (Context).
Result<Plan> plan_within(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                         const PassObserver& observe = {}, const schedule::Trace* decided = nullptr);

// The same; nullopt as soon as it is clear that the plan would reach the ceiling. What comes back may still.
Result<std::optional<Plan>> plan_below(const Candidate& candidate, const Policy& policy, int64_t live_limit,
                                       const Ceiling& ceiling, const schedule::Trace* decided = nullptr);

// What such a plan needs and takes at least, of a policy that does not search: by its steps alone, which is a fraction of the work.
// `ordered`: ordered_model of both.
Ceiling least_of(const Candidate& candidate, const Policy& policy, int64_t live_limit, const schedule::Model& ordered);

// What searches for schedules work on: the candidate, ordered as the policy says.
schedule::Model ordered_model(const Candidate& candidate, const Policy& policy);

// Live bytes at the peak with no workspace at all: no plan of this split needs less. Costs nothing but arithmetic.
int64_t bytes_without_workspace(const TaskGraph& graph, const Policy& policy, int64_t batch, int64_t sub_batch);

}  // namespace plimsoll
