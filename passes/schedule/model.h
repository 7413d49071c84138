// An ordered plan as flat arrays, with only the data that lowering and evaluation need. They run thousands of times per
// second on it.
//
// Persistent tensors are left out of most lists. They take `persistent_bytes` at every step, except those that the
// trace fetches: these reside in the host pool and are on the device only while tasks access them.
//
// The gap of a tensor is the interval between its uses in which it may be off the device (gap_begin, gap_end):
//
//   order      x  conv  bn  relu …  loss … relu'  bn'  conv'
//   conv.Y        W     r                         r
//                       |<------- its gap ------->|          gap_begin: bn, gap_end: bn'
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "passes/analysis/grouped.h"
#include "passes/context.h"

namespace plimsoll::schedule {

inline constexpr int32_t kNear = 4;  // positions in the order; a tensor needed again within this distance stays
inline constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// Ids and positions have 32 bits here; this converts them to vector indices.
inline size_t at(int32_t i) { return static_cast<size_t>(i); }

// A step without its decisions: a task, or a copy of a tensor.
struct Op {
  int32_t id = 0;  // of the task, or of the tensor
  StepKind kind = StepKind::compute;
  bool again = false;  // a recomputation
  bool is_task() const { return kind == StepKind::compute; }
};
using Trace = std::vector<Op>;

Op as_op(const Step& step);
Step as_step(const Op& op);

inline Trace::const_iterator first_task(const Trace& trace) { return std::ranges::find_if(trace, &Op::is_task); }

// A step, and the step of a trace before which it is inserted.
struct Insertion {
  Op op;
  int32_t position = 0;
};

// Writes the steps of `trace` that stay to `result`, with these insertions between them. At one position, those of the
// first list come first.
template <class Stays>
void insert(std::vector<Insertion>& first, std::vector<Insertion>& second, const Trace& trace, Stays stays,
            Trace& result) {
  for (auto* list : {&first, &second})
    if (!std::ranges::is_sorted(*list, {}, &Insertion::position))
      std::ranges::stable_sort(*list, {}, &Insertion::position);
  result.clear();
  result.reserve(trace.size() + first.size() + second.size());
  auto one = first.begin(), other = second.begin();
  for (int32_t step = 0; step <= static_cast<int32_t>(trace.size()); ++step) {
    for (; one != first.end() && one->position <= step; ++one) result.push_back(one->op);
    for (; other != second.end() && other->position <= step; ++other) result.push_back(other->op);
    if (at(step) < trace.size() && stays(step)) result.push_back(trace[at(step)]);
  }
}

// A schedule: the steps, and waits that a policy prescribes.
struct Program {
  Trace trace = {};
  std::vector<std::vector<int32_t>> waits = {};  // of each step: earlier steps. Empty: none
};

using Lists = Grouped<int32_t, int32_t>;

// The role of a tensor, which determines where it may reside.
enum class Role : uint8_t {
  activation,    // or a gradient: written and read within a round
  input,         // loaded; may be loaded again
  on_device,     // this and all below are persistent; this one stays on the device
  weight,        // this and those down to `sliced` are host-resident: they may reside in the host pool
  state,         // of the optimizer: accessed only by its update, once per iteration
  gradient_sum,  // every round adds to it
  slice,         // this and all below always reside in the host pool: a part of a tensor, accessed only by its update
  sliced,        // a tensor that is updated in slices
  never_here,    // the same, accessed by no task: never on the device
};

struct ModelTensor {
  int64_t bytes = 0;       // size in the arena: a multiple of 256
  int64_t copy_bytes = 0;  // size that a copy transfers
  int32_t producer = -1;   // task
  Role role = Role::activation;
  bool movable = false;    // may leave the device during its gap
  bool recomputable = false;  // it has a producer, which may be recomputed
  bool saved = false;         // its producer reads it when recomputed, so it stays on the device
  bool changed = false;    // updated in place, so a host copy could be stale
  bool is_result = false;  // the trainer reads it at the end of the round
  int32_t update = -1;     // host-resident: the task that updates it; -1: frozen, or a gradient
  int32_t residence = -1;  // host-resident: its position in Model::all_host_residents
  int32_t made = -1;       // position in `order` of the load or of the task that writes it
  // Positions in `order`. For a tensor made in the forward: its last access before the backward, and its first access
  // in the backward. kNever: the backward does not access it; gap_begin is then its last access. For a tensor made in
  // the backward: the two consecutive accesses that are farthest apart, if more than kNear.
  int32_t gap_begin = -1, gap_end = kNever;

  bool in_gap(int32_t position) const { return gap_end != kNever && gap_begin < position && position < gap_end; }
  bool input() const { return role == Role::input; }
  StepKind fetch() const { return input() ? StepKind::load : StepKind::prefetch; }  // the step that brings it back
  bool persistent() const { return role >= Role::on_device; }
  bool host_resident() const { return role >= Role::weight && role <= Role::sliced; }
  bool adds_up() const { return role == Role::gradient_sum; }
  bool always_on_host() const { return role >= Role::slice; }  // whatever its decision
  bool for_update() const { return role == Role::state || role == Role::slice; }
};

struct ModelTask {
  TaskKind kind = TaskKind::forward;
  bool recomputable = false;
  int32_t position = 0;  // in `order`
};

// With several ranks: the reduction of a bucket of gradients, or of the loss. A trace does not contain it: it follows
// the task that completes the bucket, and no search changes which task that is.
struct Reduction {
  double seconds = 0;
  int64_t bytes = 0;
  bool of_every_round = false;  // the loss; gradients are reduced in the last round only
};

struct Algorithm {
  int64_t workspace_bytes = 0;  // aligned
  double seconds = 0, last_seconds = 0;
};

struct Model {
  Trace order;  // result of the order pass: loads and tasks
  std::vector<ModelTensor> tensors;
  std::vector<ModelTask> tasks;
  // Five per task: the transient tensors that it reads, updates and writes; the tensors it accesses that may reside in
  // the host pool; and, unless the policy forbids it, in-place pairs: read, written, read, written …
  Lists accesses;
  Lists weights;                     // of each task: persistent tensors that it reads
  Lists updated;                     // of each task: weights that an update task changes permanently
  std::vector<Reduction> reductions;     // in comm stream order; empty: one rank
  // With several ranks, of each task: the reductions that follow it, and the last one whose sums it accesses, or -1.
  Lists reduced_after;
  std::vector<int32_t> waits_for;
  int64_t ranks = 1;
  // Two lists per task, fastest first: of its first run, and of its recomputation (empty: as of the first run).
  Grouped<int32_t, Algorithm> algorithms;
  // Of all tasks: tensors of one update adjacent; frozen weights and gradients last.
  std::vector<int32_t> all_host_residents;
  // With several rounds, per update task of such a tensor: the tasks that must precede it. The order puts the update
  // last, but it may come earlier. Empty for all other tasks.
  Lists update_after;
  std::vector<int32_t> early_updates;  // tasks with an entry in update_after
  Lists gaps_at;                     // of each position in `order`: tensors whose gap begins there
  Lists used_at;                     // of each tensor: positions in `order` of the tasks that read or update it
  int64_t persistent_bytes = 0;
  int64_t rounds = 1;
  double last_share = 1;             // samples of the last round divided by those of the others
  LinkRates links;

  const ModelTensor& tensor(int32_t id) const { return tensors[at(id)]; }
  const ModelTask& task(int32_t id) const { return tasks[at(id)]; }
  std::span<const int32_t> reads(int32_t task) const { return accesses.joined(5 * task, 1); }
  std::span<const int32_t> reads_and_updates(int32_t task) const { return accesses.joined(5 * task, 2); }
  std::span<const int32_t> transient(int32_t task) const { return accesses.joined(5 * task, 3); }  // and writes
  std::span<const int32_t> writes(int32_t task) const { return accesses.joined(5 * task + 2, 1); }
  std::span<const int32_t> host_residents(int32_t task) const { return accesses.joined(5 * task + 3, 1); }
  std::span<const int32_t> in_place(int32_t task) const { return accesses.joined(5 * task + 4, 1); }

  std::span<const Algorithm> algorithms_of(int32_t task, bool again = false) const {
    const std::span<const Algorithm> own = again ? algorithms[2 * task + 1] : std::span<const Algorithm>();
    return own.empty() ? algorithms[2 * task] : own;
  }
  // The fastest with a workspace of at most `room` bytes, or the one with the smallest workspace.
  const Algorithm& algorithm_within(int32_t task, int64_t room) const {
    return fastest_that_fits(algorithms_of(task), [&](const Algorithm& each) { return each.workspace_bytes <= room; });
  }
  // Of a copy on the slower of both links.
  double copy_seconds(int64_t bytes) const {
    return static_cast<double>(bytes) / std::min(links.d2h_bytes_per_second, links.h2d_bytes_per_second);
  }
  double copy_seconds(const ModelTensor& tensor, double bytes_per_second) const {
    return links.latency_seconds + static_cast<double>(tensor.copy_bytes) / bytes_per_second;
  }
  // Position in `order` of the first task after `position` that reads or updates the tensor; kNever: none does.
  int32_t next_use(int32_t tensor, int32_t position) const {
    const auto next = std::ranges::upper_bound(used_at[tensor], position);
    return next == used_at[tensor].end() ? kNever : *next;
  }
  double seconds_again(int32_t task) const { return algorithms_of(task, true).front().seconds; }  // fastest algorithm
};

// Before: the plan is ordered (passes/order.h).
Model make_model(const Plan& plan, const Context& context);

}  // namespace plimsoll::schedule
