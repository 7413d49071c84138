// A plan: the answer to a task graph and a budget. These structs are plan.json, field by field (docs/plan-format.md);
// a plan read back from its file can be inspected and verified with nothing else at hand. Bytes are for one
// sub-batch; times are seconds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/task_graph.h"
#include "compiler/support/ids.h"

namespace plimsoll {

inline constexpr int kPlanSchema = 1;

struct PlanTensor {
  std::string name = {};
  int64_t bytes = 0;
  TensorKind kind = TensorKind::activation;
  bool persistent = false;  // in the arena through the whole run
  // Of a weight, optimizer state or, with several rounds, a weight gradient that has its home in the host pool, and is in the arena
  // only where tasks touch it: where. -1: of all else.
  int64_t home_offset = -1;
  bool at_home_on_host() const { return home_offset >= 0; }
  // Of a slice: the whole, whose home its own is a part of, and its first byte there.
  TensorId slice_of = {};
  int64_t slice_begin = 0;
};

// An algorithm that a plan could not afford.
struct FastestAlgorithm {
  std::string algorithm = {};  // empty: the plan's own is the fastest, or nobody knows
  int64_t workspace_bytes = 0;
  double seconds = 0;
};

// What an algorithm that steps of a task run needs, whatever the steps give it.
struct WorkspaceNeed {
  std::string algorithm = {};
  int64_t workspace_bytes = 0;  // the larger of both rounds'
  bool recompute = false;       // of a task that remembers something: run again, it is other work
  friend bool operator==(const WorkspaceNeed&, const WorkspaceNeed&) = default;
};

struct PlanTask {
  std::string name = {};
  std::string op = {};
  TaskKind kind = TaskKind::forward;
  std::string layer = {};
  std::vector<TensorId> reads = {};
  std::vector<TensorId> writes = {};
  std::vector<TensorId> updates = {};
  std::vector<TensorId> remembers = {};  // of what it writes: run again, it reads these instead
  std::vector<Task::InPlace> in_place = {};
  int64_t flops = 0;
  int64_t bytes_moved = 0;
  FastestAlgorithm fastest = {};  // where the plan's steps run another
  std::vector<WorkspaceNeed> needs = {};  // of each algorithm that its steps run; empty: nobody has said

  // What it leaves behind when it has run, or run again.
  std::vector<TensorId> written(bool again) const;
};

enum class StreamKind { compute, d2h, h2d, comm };
enum class StepKind { compute, offload, prefetch, load, reduce };

// Of a copy from or to a tensor's home: the rounds of an iteration that have it. All other steps are `all`.
enum class CopyRounds : uint8_t {
  all,
  last,           // the tensor is on the device for updates only
  all_but_first,  // fetches what the rounds before have added up; the first begins with zeros instead
  all_but_last,   // keeps for the next round what has been added up so far
};
inline bool has_copy(CopyRounds rounds, bool first, bool last) {
  return !(rounds == CopyRounds::last && !last) && !(rounds == CopyRounds::all_but_first && first) && !(rounds == CopyRounds::all_but_last && last);
}
inline int64_t times_of(CopyRounds copy, int64_t rounds) {
  return copy == CopyRounds::all ? rounds : copy == CopyRounds::last ? 1 : rounds - 1;
}

// Half-open: [offset, offset + bytes) of the arena.
struct Block {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t end() const { return offset + bytes; }
  bool overlaps(const Block& other) const {
    return bytes > 0 && other.bytes > 0 && offset < other.end() && other.offset < end();
  }
  friend bool operator==(const Block&, const Block&) = default;
};

struct Step {
  StreamKind stream = StreamKind::compute;
  StepKind kind = StepKind::compute;
  TaskId task = {};          // of compute steps
  TensorId tensor = {};      // of copies; of a reduction: the first of its bucket, which it is called by
  std::vector<TensorId> bucket = {};  // of a reduction: what is added up over the ranks, in one message
  bool recompute = false;
  std::string algorithm = {};
  Block workspace = {};      // of compute steps and reductions
  int64_t host_offset = -1;  // of offload and prefetch
  std::vector<StepId> waits = {};  // earlier steps of other streams that must have finished
  double start = 0;          // predicted
  double end = 0;
};

// The first and the last step, in issue order, that touch the tensor there. Persistent: first -1, last = steps.size().
struct Residency {
  TensorId tensor = {};
  int64_t offset = 0;
  int64_t bytes = 0;
  int32_t first_step = 0;
  int32_t last_step = 0;
  Block block() const { return {offset, bytes}; }
};

struct PlanSummary {
  int64_t arena_bytes = 0;
  int64_t persistent_bytes = 0;
  int64_t live_bytes = 0;
  int64_t peak_step = 0;
  int64_t peak_live_tensors = 0;
  int64_t minimum_bytes = 0;
  int64_t unconstrained_bytes = 0;
  int64_t network_wide_bytes = 0;
  int64_t host_pool_bytes = 0;
  int64_t offloaded_bytes = 0;
  int64_t prefetched_bytes = 0;
  int64_t recomputed_tasks = 0;
  double recompute_seconds = 0;
  double iteration_seconds = 0;
  double unconstrained_seconds = 0;  // the iteration of the same policy's plan without a budget; 0: not known
  double ideal_seconds = 0;
  double bound_seconds = 0;  // no schedule in this order takes less; 0: not known
  double stall_seconds = 0;
  int64_t reduced_bytes = 0;  // of several ranks: by each of them, in one iteration
  double reduce_seconds = 0;  // in which its comm stream is busy
  int64_t more_bytes = 0;    // what a larger budget would buy: asked with so many more bytes (0: not asked) …
  double more_seconds = 0;   // … an iteration would take this long
  double planning_seconds = 0;
};

struct Plan {
  std::string generator = {};
  std::string model_name = {};
  std::string model_sha256 = {};
  int64_t batch = 0;  // of all ranks, like sub_batch and last_sub_batch
  int64_t ranks = 1;  // processes that share an iteration, each with as many samples of every round
  std::string target_kind = {};  // host | cuda
  std::string device = {};
  std::string costs = {};        // profiled | modelled
  std::map<std::string, std::string> libraries = {};
  std::string layout = {};       // of images, where there was something to choose: which, and why
  std::string policy = {};
  std::string rules = "true";
  int64_t budget_bytes = 0;
  int64_t sub_batch = 0;
  int64_t rounds = 0;
  int64_t last_sub_batch = 0;
  int64_t reduction_needs_bytes = 0;  // of workspace, by every reduction; 0: nothing, or nobody has said
  int64_t slice_bytes = 0;  // larger weights are updated slice by slice (sliced() in task_graph.h); 0: none is
  bool whole_weights = false;  // of such: their state alone is cut
  PlanSummary summary = {};
  IdVector<TensorId, PlanTensor> tensors = {};
  IdVector<TaskId, PlanTask> tasks = {};
  IdVector<StepId, Step> steps = {};
  std::vector<Residency> residencies = {};

  // Of one rank, in a full round: what the bytes of tensors are of.
  int64_t rank_samples() const { return sub_batch / ranks; }

  // Of a compute step; none: its task lists no such algorithm.
  const WorkspaceNeed* need_of(const Step& step) const;

  // Of each step: which rounds have it, if it is a copy from or to a tensor's home. Follows from who touches what it brings.
  IdVector<StepId, CopyRounds> copy_rounds() const;
};

std::string_view to_string(StreamKind kind);
std::string_view to_string(StepKind kind);

}  // namespace plimsoll
