// An ordered plan as flat arrays: what weaving and evaluating schedules thousands of times needs, and nothing else.
// Persistent tensors are left out of all lists but a few; they take `persistent_bytes` at every step, less what a trace
// fetches of them: that has its home in the host pool, and is on the device only where tasks touch it.
//
//   order      x  conv  bn  relu …  loss … relu'  bn'  conv'
//   conv.Y        W     r                         r
//                       |<------- its gap ------->|          gap_begin: bn, gap_end: bn'
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "passes/context.h"

namespace plimsoll::schedule {

inline constexpr int32_t kNear = 4;  // positions of the order: what is needed again so soon stays
inline constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// Ids and positions are counted in 32 bits here, and index vectors.
inline size_t at(int32_t i) { return static_cast<size_t>(i); }

// A step without its decisions: a task, or a copy of a tensor.
struct Op {
  int32_t id = 0;  // of the task, or of the tensor
  StepKind kind = StepKind::compute;
  bool again = false;  // a recomputation
};
using Trace = std::vector<Op>;

// Lists of small lists, in one piece of memory.
class Lists {
 public:
  void add(std::span<const int32_t> items) {
    items_.insert(items_.end(), items.begin(), items.end());
    bounds_.push_back(static_cast<int32_t>(items_.size()));
  }
  [[gnu::always_inline]] std::span<const int32_t> operator[](int32_t i) const {
    const int32_t begin = bounds_[static_cast<size_t>(i)], end = bounds_[static_cast<size_t>(i) + 1];
    return {items_.data() + begin, static_cast<size_t>(end - begin)};
  }
  size_t size() const { return bounds_.size() - 1; }

 private:
  std::vector<int32_t> items_ = {}, bounds_ = {0};
};

// What a step of a task touches, in the order in which the evaluator looks at it: all in one piece of memory, for that is where an
// evaluation spends its time.
class Touched {
 public:
  struct Bounds {
    int32_t reads = 0, updates = 0, homes = 0, in_place = 0, writes = 0, end = 0;  // where each begins
  };
  void add(std::span<const int32_t> reads, std::span<const int32_t> updates, std::span<const int32_t> homes, std::span<const int32_t> in_place,
           std::span<const int32_t> writes);
  const Bounds& bounds(int32_t task) const { return bounds_[at(task)]; }
  const int32_t* items() const { return items_.data(); }

 private:
  std::vector<int32_t> items_ = {};
  std::vector<Bounds> bounds_ = {};
};

struct ModelTensor {
  int64_t bytes = 0;       // as the arena has them: a multiple of 256
  int64_t copy_bytes = 0;  // as copies move them
  int32_t producer = -1;   // task
  bool persistent = false;
  bool input = false;      // loaded: may be loaded again
  bool movable = false;    // may leave in its gap
  bool rerunnable = false; // its producer may run again
  bool remembered = false; // by the task that made it: it stays, for that task reads it when it is run again
  bool changed = false;    // updated in place: its copies would have to tell which value they hold
  bool kept = false;       // the trainer reads it when the round is over
  bool home = false;       // a weight, optimizer state or gradient that may have its home in the host pool
  bool adds_up = false;    // of such: a gradient, which every round changes
  bool always_home = false;  // of such: it has, whatever its fate; a slice, or the whole of slices
  bool for_update = false; // of such: nobody but its update touches it, once in an iteration
  int32_t update = -1;     // of such: the task that updates it; -1: it is frozen, or a gradient
  // Positions in `order`. Of what the forward makes: the last touch before the first touch of the backward, and that
  // touch; kNever: the backward does not touch it (then gap_begin is its last touch). Of what the backward makes: the
  // two touches that are farthest apart, if more than kNear.
  int32_t gap_begin = -1, gap_end = kNever;
};

struct ModelTask {
  TaskKind kind = TaskKind::forward;
  bool rerunnable = false;
  int32_t position = 0;  // in `order`
};

// Of several ranks: a bucket of gradients, or the loss, on its way over the link. No trace has it; it stands behind the task
// that completes it, and which task that is no search changes.
struct Reduction {
  double seconds = 0;
  int64_t bytes = 0;
  bool of_every_round = false;  // the loss; gradients are reduced in the last round
};

struct Algorithm {
  int64_t workspace_bytes = 0;  // aligned
  double seconds = 0, last_seconds = 0;
};

struct Model {
  Trace order;  // what the order pass made: loads and tasks
  std::vector<ModelTensor> tensors;
  std::vector<ModelTask> tasks;
  Lists reads, updates, writes;      // of each task, transient tensors
  Lists weights;                     // of each task: persistent tensors that it reads
  Lists updated;                     // of each task: weights that an update task changes for good
  Lists homes;                       // of each task: what it touches of what may have its home in the host pool
  Lists in_place;                    // of each task: read, written, read, written …
  Touched touched;                   // of each task: all of these but weights and updated
  std::vector<Reduction> reductions;     // in the order of the comm stream; none: one rank
  Lists reduced_behind;                  // of each task: reductions
  std::vector<int32_t> waits_for;        // of each task: the last reduction whose sums it touches, or -1
  int64_t ranks = 1;
  std::vector<Algorithm> algorithms;     // all tasks', one after the other, each task's fastest first
  std::vector<int32_t> first_algorithm;  // of each task twice, the first time and run again (none: as the first time); one more at the end
  std::vector<int32_t> all_homes;        // of all tasks: what one task updates side by side, what is frozen and gradients last
  // Of each task that updates such a tensor, with several rounds: the tasks that it has to come behind. The order has it last, but it
  // may come earlier. Of other tasks: nothing.
  Lists update_behind;
  std::vector<int32_t> early_updates;  // tasks that update_behind says something of
  Lists gaps_at;                     // of each position in `order`: tensors whose gap begins there
  Lists read_at;                     // of each tensor: positions in `order` of the tasks that read it
  int64_t persistent_bytes = 0;
  int64_t rounds = 1;
  double last_share = 1;             // samples of the last round over those of the others
  LinkRates links;
  bool in_place_allowed = true;

  // Indices of `algorithms`, half-open.
  std::pair<int32_t, int32_t> algorithm_range(int32_t task, bool again) const {
    const size_t at = 2 * static_cast<size_t>(task) + 1;
    if (again && first_algorithm[at] < first_algorithm[at + 1]) return {first_algorithm[at], first_algorithm[at + 1]};
    return {first_algorithm[at - 1], first_algorithm[at]};
  }
  std::span<const Algorithm> algorithms_of(int32_t task, bool again = false) const {
    const auto [begin, end] = algorithm_range(task, again);
    return std::span(algorithms).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
  double seconds_again(int32_t task) const { return algorithms_of(task, true).front().seconds; }  // at its fastest
};

// Before: the plan is ordered (passes/order.h).
Model make_model(const Plan& plan, const Context& context);

// The one that the context knows, or else `made`, which becomes the plan's.
const Model& model_of(const Plan& plan, const Context& context, std::optional<Model>& made);

// Writes a trace as the plan's steps. What lives through the run and is copied has its home in the host pool from here on.
void put_steps(Plan& plan, const Trace& trace);

// What put_steps has written.
Trace trace_of(const Plan& plan);

}  // namespace plimsoll::schedule
