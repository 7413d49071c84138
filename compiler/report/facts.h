// What every report tells of a plan, drawn from it once: what becomes of each tensor, what is live when, which copies
// the compute stream waits for, and what each layer pays for memory. Times and bytes are of one round.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

// What becomes of a tensor in its gap, from its last use in the forward to its first in the backward.
enum class Fate {
  none,       // it has no gap
  keep,
  offload,
  recompute,
  reload,     // an input, loaded again
  home,       // a weight or optimizer state: it lives in the host pool, and comes for the tasks that touch it. It has no gap
};
std::string_view to_string(Fate fate);

struct TensorFacts {
  std::vector<size_t> residencies = {};  // of Plan::residencies, by first step
  std::vector<StepId> touches = {};      // every step that reads, writes, updates or copies it, once, in issue order
  TaskId maker = {};                     // invalid: given
  Fate fate = Fate::none;
  StepId gap_from = {}, gap_to = {};     // the two uses; valid where there is a gap
};

struct LayerFacts {
  std::string name = {}, op = {}, algorithm = {};  // of its first forward task
  std::vector<TaskId> tasks = {};
  double forward = 0, backward = 0;  // seconds; the loss is forward, updates are backward
  double again = 0;                  // tasks run again
  double slower = 0;                 // longer than with the fastest algorithms
  double waiting = 0;                // the compute stream idle for copies of what the layer made
  int64_t outputs = 0;               // bytes that its forward tasks write
  int64_t kept = 0, offloaded = 0, recomputed = 0;  // those of them that have a gap, by fate
  int64_t workspace = 0;             // the largest
  double lost() const { return again + slower + waiting; }  // what memory cost it
};

struct PlanFacts {
  IdVector<StepId, std::string> step_names = {};
  IdVector<TensorId, TensorFacts> tensors = {};
  std::vector<LayerFacts> layers = {};        // in the order of their first tasks
  IdVector<TaskId, size_t> layer_of = {};     // place in `layers`
  IdVector<StepId, double> exposed = {};      // of a copy: seconds in which the compute stream idles for it
  IdVector<StepId, int64_t> live = {};        // bytes live during the step; tensors that share bytes in place count once
  IdVector<StepId, int64_t> floor = {};       // what the step itself needs: no schedule has less live there
  IdVector<StepId, int64_t> keep_all = {};    // live there if nothing left and nothing were run again
  double round_seconds = 0;                   // when the last step ends
  double offload_rate = 0, prefetch_rate = 0; // bytes per second, over this plan's copies; 0: there are none
};

// Before: ids are in range, as plan_from_json() gives them.
PlanFacts facts_of(const Plan& plan);

// Every tensor that the step touches: reads, then updates, then writes. A task that runs again leaves updates alone.
std::vector<TensorId> touched_by(const Plan& plan, const Step& step);

bool reads(const Plan& plan, const Step& step, TensorId tensor);
bool writes(const Plan& plan, const Step& step, TensorId tensor);

// A tensor's residency that covers the step; nullptr: it is not on the device then.
const Residency* residency_at(const Plan& plan, const TensorFacts& tensor, StepId step);

// When a residency begins and ends, by the predicted times of its steps.
struct Lifetime {
  double from = 0, to = 0;
};
Lifetime lifetime_of(const Plan& plan, const PlanFacts& facts, const Residency& residency);

// Bytes live from this time to the next point's; by time, one point per time. Unlike `live`, which follows the order of
// issue, this follows the clock: steps of several streams run at once.
struct MemoryPoint {
  double seconds = 0;
  int64_t bytes = 0;
};
std::vector<MemoryPoint> memory_over_time(const Plan& plan, const PlanFacts& facts);

// The step that summary.peak_step means: under a paper's rules it counts the tasks, from 1. Invalid: there is none.
StepId peak_of(const Plan& plan);

}  // namespace plimsoll
