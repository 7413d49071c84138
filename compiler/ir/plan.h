// A plan: the solution for a task graph and a budget. These structs are plan.json, field by field
// (docs/plan-format.md). A plan read from its file can be inspected and verified by itself. Bytes are for one
// sub-batch; times are seconds.
#pragma once

#include <map>
#include <span>
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
  DataType reduced = DataType::f32;  // bf16, f16, i16, q8, uq8: what is stored instead of f32
  bool persistent = false;  // resident in the arena for the whole run
  // Offset in the host pool if the tensor resides there and is in the arena only while tasks access it: a weight,
  // optimizer state or, with several rounds, a weight gradient. -1: it does not.
  int64_t home_offset = -1;
  bool at_home_on_host() const { return home_offset >= 0; }
  // Of a slice: the whole, whose residence contains the slice's, and the slice's first byte in it.
  TensorId slice_of = {};
  int64_t slice_begin = 0;
};

// A faster algorithm that the plan has no memory for.
struct FastestAlgorithm {
  std::string algorithm = {};  // empty: the plan's own is the fastest, or unknown
  int64_t workspace_bytes = 0;
  double seconds = 0;
};

// The workspace that an algorithm of a task needs, independent of what the steps give it.
struct WorkspaceNeed {
  std::string algorithm = {};
  int64_t workspace_bytes = 0;  // the maximum of both rounds
  bool recompute = false;       // of a task that saves tensors: its recomputation is different work
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
  std::vector<TensorId> remembers = {};  // outputs that a recomputation reads instead of writing
  std::vector<Task::InPlace> in_place = {};
  int64_t flops = 0;
  int64_t bytes_moved = 0;

  // The tensors that it writes in a first run, or in a recomputation.
  std::vector<TensorId> written(bool again) const;
};

enum class StreamKind { compute, d2h, h2d, comm };
enum class StepKind { compute, offload, prefetch, load, reduce };

// For copies to or from a tensor's host residence: the rounds of an iteration that have them. All other steps are
// `all`.
enum class CopyRounds : uint8_t {
  all,
  last,           // only updates access the tensor
  all_but_first,  // fetches the sum of the earlier rounds; the first round starts from zeros instead
  all_but_last,   // stores the sum so far for the next round
};
inline bool has_copy(CopyRounds rounds, bool first, bool last) {
  return !(rounds == CopyRounds::last && !last) && !(rounds == CopyRounds::all_but_first && first) &&
         !(rounds == CopyRounds::all_but_last && last);
}
inline int64_t times_of(CopyRounds copy, int64_t rounds) {
  return copy == CopyRounds::all ? rounds : copy == CopyRounds::last ? 1 : rounds - 1;
}

// Half-open: bytes [offset, offset + bytes) of the arena.
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
  TensorId tensor = {};      // of copies; of a reduction: the first of its bucket, which names the step
  std::vector<TensorId> bucket = {};  // of a reduction: tensors summed over the ranks in one message
  bool recompute = false;
  std::string algorithm = {};
  Block workspace = {};      // of compute steps and reductions
  int64_t host_offset = -1;  // of offload and prefetch
  CopyRounds rounds = CopyRounds::all;  // of a copy to or from a host residence
  std::vector<StepId> waits = {};  // earlier steps of other streams that must have finished
  double start = 0;          // predicted
  double end = 0;
};

// From the first to the last step, in issue order, that access the tensor at this address. Persistent: first -1, last =
// steps.size().
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
  double unconstrained_seconds = 0;  // the same policy's unlimited plan; 0: unknown
  double ideal_seconds = 0;
  double bound_seconds = 0;  // lower bound for every schedule in this order; 0: unknown
  double stall_seconds = 0;
  int64_t reduced_bytes = 0;  // several ranks: by each rank, per iteration
  double reduce_seconds = 0;  // time during which the comm stream is busy
  int64_t more_bytes = 0;    // additional budget of the what-if query; 0: not computed
  double more_seconds = 0;   // seconds of an iteration with that additional budget
  double planning_seconds = 0;
};

struct Plan {
  std::string generator = {};
  std::string model_name = {};
  std::string model_sha256 = {};
  int64_t batch = 0;  // samples over all ranks; so are sub_batch and last_sub_batch
  int64_t ranks = 1;  // processes that share an iteration, with equal parts of every round
  std::string target_kind = {};  // host | cuda
  std::string device = {};
  std::string costs = {};        // profiled | modelled
  std::map<std::string, std::string> libraries = {};
  std::string precision = {};        // tf32, bf16 or fp16; empty: fp32
  std::string optimizer_state = {};  // bf16 or int8; empty: fp32
  FormsOfParts forms = {};       // as TaskGraph::forms; then, if the planner has chosen, a colon and why
  std::string layout = {};       // of images, if there was a choice: which one, and why
  std::string policy = {};
  std::string rules = "true";
  int64_t budget_bytes = 0;
  int64_t host_budget_bytes = -1;  // largest host pool; -1: none was requested
  int64_t sub_batch = 0;
  int64_t rounds = 0;
  int64_t last_sub_batch = 0;
  int64_t reduction_needs_bytes = 0;  // workspace that every reduction needs; 0: none, or unknown
  int64_t slice_bytes = 0;  // larger weights are updated in slices of this size (sliced() in task_graph.h); 0: none is
  bool whole_weights = false;  // with slices: only the optimizer state is cut
  // Where the next round's inputs wait, one after the other in the order of the tensors, each aligned: no step uses
  // these bytes, and the trainer fills them while a round runs. No bytes: it does not.
  Block inputs_ahead = {};
  PlanSummary summary = {};
  // Their names are most of a plan's bytes.
  SharedIdVector<TensorId, PlanTensor> tensors = {};
  SharedIdVector<TaskId, PlanTask> tasks = {};
  // Of the first tasks; the others have none.
  IdVector<TaskId, std::vector<WorkspaceNeed>> needs = {};  // of every algorithm that the task's steps run
  IdVector<TaskId, FastestAlgorithm> fastest = {};          // if the task's steps run another one
  IdVector<StepId, Step> steps = {};
  std::vector<Residency> residencies = {};

  // Samples of one rank in a full round. Tensor bytes refer to this number.
  int64_t rank_samples() const { return sub_batch / ranks; }

  std::span<const WorkspaceNeed> needs_of(TaskId task) const;
  const FastestAlgorithm& fastest_of(TaskId task) const;
  void add_need(TaskId task, WorkspaceNeed need);
  // The need of a compute step's algorithm; null: not listed by its task.
  const WorkspaceNeed* need_of(const Step& step) const;
};

std::string_view to_string(StreamKind kind);
std::string_view to_string(StepKind kind);
std::string_view to_string(CopyRounds rounds);

}  // namespace plimsoll
