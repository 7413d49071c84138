// The facts about a plan that all reports use, computed once: the decision on each tensor, what is live when, the
// copies that the compute stream waits for, and what memory costs each layer. Times and bytes are per round.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// The decision on a tensor in its gap, from its last use in the forward pass to its first use in the backward pass.
enum class Fate {
  none,       // it has no gap
  keep,
  offload,
  recompute,
  reload,     // an input that is loaded again
  // a weight or optimizer state that resides in the host pool and is copied for the tasks that use it; it has no gap
  home,
};
std::string_view to_string(Fate fate);

struct TensorFacts {
  std::vector<size_t> residencies = {};  // indices into Plan::residencies, by first step
  std::vector<StepId> touches = {};      // every step that reads, writes, updates or copies it, once, in issue order
  TaskId maker = {};                     // invalid: an input
  Fate fate = Fate::none;
  StepId gap_from = {}, gap_to = {};     // the two uses; valid if there is a gap
};

struct LayerFacts {
  std::string name = {}, op = {}, algorithm = {};  // of the layer's first forward task
  std::vector<TaskId> tasks = {};
  double forward = 0, backward = 0;  // seconds; the loss counts as forward, updates as backward
  double again = 0;                  // recomputed tasks
  double slower = 0;                 // excess over the fastest algorithms
  double waiting = 0;                // the compute stream waiting for copies of the layer's tensors
  int64_t outputs = 0;               // bytes that its forward tasks write
  int64_t kept = 0, offloaded = 0, recomputed = 0;  // of these, the bytes that have a gap, by decision
  int64_t workspace = 0;             // the largest
  double lost() const { return again + slower + waiting; }  // the time that limited memory costs the layer
};

struct PlanFacts {
  IdVector<StepId, std::string> step_names = {};
  IdVector<TensorId, TensorFacts> tensors = {};
  std::vector<LayerFacts> layers = {};        // in the order of their first tasks
  IdVector<TaskId, size_t> layer_of = {};     // index into `layers`
  IdVector<StepId, double> exposed = {};      // of a copy: seconds in which the compute stream waits for it
  IdVector<StepId, int64_t> live = {};  // bytes live during the step; tensors that share bytes in place count once
  IdVector<StepId, int64_t> floor = {};       // bytes that the step itself needs: a lower bound for any schedule
  IdVector<StepId, int64_t> keep_all = {};    // live bytes if everything were kept and nothing recomputed
  double round_seconds = 0;                   // the end of the last step
  double offload_rate = 0, prefetch_rate = 0; // bytes per second, averaged over this plan's copies; 0: there are none
};

// Before: ids are in range, as plan_from_json() guarantees.
PlanFacts facts_of(const Plan& plan);

// Every tensor that the step uses: reads, then updates, then writes. A recomputed task performs no updates.
std::vector<TensorId> touched_by(const Plan& plan, const Step& step);

bool reads(const Plan& plan, const Step& step, TensorId tensor);
bool writes(const Plan& plan, const Step& step, TensorId tensor);

// The tensor's residency that covers the step; nullptr: it is not on the device then.
const Residency* residency_at(const Plan& plan, const TensorFacts& tensor, StepId step);

// Begin and end of a residency, by the predicted times of its steps.
struct Lifetime {
  double from = 0, to = 0;
};
Lifetime lifetime_of(const Plan& plan, const PlanFacts& facts, const Residency& residency);

// Live bytes from this time to the next point's time; sorted, one point per time. `live` follows the order of issue;
// this follows the clock, where steps of several streams overlap.
struct MemoryPoint {
  double seconds = 0;
  int64_t bytes = 0;
};
std::vector<MemoryPoint> memory_over_time(const Plan& plan, const PlanFacts& facts);

// The step of summary.peak_step; under a paper's rules that number counts tasks from 1. Invalid: none.
StepId peak_of(const Plan& plan);

}  // namespace plimsoll
