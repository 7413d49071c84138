// moDNN: X. Chen, D. Z. Chen and X. S. Hu, "moDNN: memory optimal DNN training on GPUs", DATE 2018.
//
//   equation 1  bytes of all data blocks together: network_wide_bytes, counted as in the paper by
//               compiler/papers/modnn.h
//   equation 2  the minimum of any schedule, SW + max M(t, 1): the tensors that are resident through the run, and the
//               largest task with its operands at a sub-batch of one
//   equation 3  the sub-batch: modnn_sub_batch()
//   Algorithm 1 tasks in order over a linked list of memory blocks: modnn()
//
// Algorithm 1, for each task t of the order:
//   1  what t reads is fetched, what t writes gets its block: best fit (pool/list_pool.h)
//   2  if no free block is large enough, others are evicted, latest next use first, until one is
//        (a) never an operand of t
//        (b) not a block that no task has read since it was written, or since it was fetched early: the fetch would
//            have been useless
//   3  if no more blocks may be evicted, memory is defragmented: rule (b) is dropped, and the remaining blocks are
//      moved together
//   4  the fastest algorithm whose workspace fits in the largest free block
//   5  with the bytes still free, operands of later tasks are fetched early, in the order of those tasks, as long as
//      this is predicted to be useful (line 16)
//   6  t runs; afterwards blocks without later readers are freed (lines 29 to 31)
//
// How open or wrong points of the paper were read:
//   - Equation 3 compares bytes with a number of samples. The dimensions agree, and it does what the text promises, as
//     b ← ⌊b (M - SW) / max M(t, b)⌋, iterated from the whole batch until it no longer falls. Then rounds are made
//     even.
//   - SW is weights, their state and their gradients: the latter "always reside" too, and do not grow with b.
//   - The prediction of line 16 is omitted from the paper "due to space". Here an early fetch is useful if the block
//     fits together with everything that the tasks before its reader still need, so that nothing has to leave for it,
//     and if it would be late when issued one task later. The search ends at the first block that is not useful.
//   - Besides the inputs, workspaces and outputs without readers are freed.
//   - If a transfer is in flight when its block is taken, the new user waits (passes/sync.h). A block that was copied
//     out once is not copied out again.
//   - Ties: the larger block is evicted, then the one with the lower id. Model inputs are loaded again, not copied out.
//   - In the paper, defragmentation copies everything out and back. Here addresses are decided ahead of time, so moving
//     blocks together costs nothing. Only as many blocks as necessary are evicted. An early fetch may defragment, too.
//   - A task that does not fit even alone enlarges the pool; the planner sees that the budget is exceeded.
//   - Sub-batches change the statistics of batch normalization; the compiler says so. Dropout draws a mask for each.
//
// The replay decides which blocks are evicted, and when. The plan's addresses come from the pass `place`, which knows
// all lifetimes and is never worse than the list.
#include "passes/policies/schedules.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/ir/streams.h"
#include "compiler/support/bytes.h"
#include "passes/policies/replay.h"
#include "passes/pool/list_pool.h"

namespace plimsoll {
namespace {

using namespace schedule;

constexpr int32_t kFarthest = 64;  // positions that the search for early fetches looks ahead

struct ModnnBlock {
  int64_t offset = 0, bytes = 0;
  bool resident = false, pinned = false, on_host = false;
  bool read = false;     // since it was written or fetched: rule (b)
  int32_t use = kNever;  // the next use, as stored in victims_
};

class ModnnReplay final : public PoolReplay<ModnnBlock> {
 public:
  ModnnReplay(const Model& model, int64_t capacity)
      : PoolReplay(model), pool_(capacity), begins_(model.order.size() + 1, 0) {
    for (size_t i = 0; i < model.order.size(); ++i)
      begins_[i + 1] = begins_[i] + (is_task(i) ? model.algorithms_of(model.order[i].id).front().seconds : 0);
  }

 private:
  bool is_task(size_t position) const { return model_.order[position].is_task(); }
  int64_t smallest_workspace(int32_t task) const { return model_.algorithms_of(task).back().workspace_bytes; }

  void step(const Op& op) override {
    for (const int32_t id : model_.transient(op.id)) block(id).pinned = true;
    hold_operands(op.id);
    workspace_bytes_ = model_.algorithm_within(op.id, pool_.largest_free()).workspace_bytes;
    workspace_at_ = room_for(workspace_bytes_);
    prefetch(op.id);
    trace_.push_back(op);
    pool_.release(workspace_at_, workspace_bytes_);
    for (const int32_t id : model_.transient(op.id)) finish(id);
    for (const int32_t id : model_.reads(op.id)) block(id).read = true;
  }

  bool hold(int32_t id, Room room) override {
    const std::optional<int64_t> offset =
        room == Room::made ? room_for(tensor(id).bytes) : pool_.allocate(tensor(id).bytes);
    if (offset) put(id, *offset, tensor(id).bytes);
    return offset.has_value();
  }
  void take_over(int32_t read, int32_t written) override {
    put(written, block(read).offset, block(read).bytes);
    delist(read);
  }
  void put(int32_t id, int64_t offset, int64_t bytes) {
    block(id) = {
        .offset = offset, .bytes = bytes, .resident = true, .pinned = block(id).pinned, .on_host = block(id).on_host};
    residents_.push_back(id);
    enlist(id, position_ - 1);
  }

  // Between two accesses the next use of a tensor is constant, so the victim is the head of a list sorted by next use.
  void enlist(int32_t id, int32_t position) {
    ModnnBlock& mine = block(id);
    mine.use = model_.next_use(id, position);
    if (!tensor(id).changed && !tensor(id).is_result) victims_.emplace(-mine.use, -mine.bytes, id);
  }
  void delist(int32_t id) { victims_.erase({-block(id).use, -block(id).bytes, id}); }

  void release(int32_t id) {
    delist(id);
    pool_.release(block(id).offset, block(id).bytes);
    block(id).resident = false;
  }

  // Lines 29 to 31.
  void finish(int32_t id) {
    block(id).pinned = false;
    if (!block(id).resident) return;
    delist(id);
    enlist(id, position_);
    if (block(id).use == kNever && !tensor(id).is_result) release(id);
  }

  int64_t room_for(int64_t bytes) {
    for (bool forbid : {true, false}) {
      for (;;) {
        if (const auto offset = pool_.allocate(bytes)) return *offset;
        if (!forbid && pool_.free_bytes() >= bytes) break;
        const int32_t victim = choose_victim(forbid);
        if (victim < 0) break;
        leave(victim);
      }
    }
    slide_together();
    if (const auto offset = pool_.allocate(bytes)) return *offset;
    return pool_.grow(bytes);
  }

  // The tensor needed last; ties: the largest, then the lowest id.
  int32_t choose_victim(bool forbid_unread) const {
    for (const auto& [use, bytes, id] : victims_)
      if (!blocks_[at(id)].pinned && (!forbid_unread || blocks_[at(id)].read)) return id;
    return -1;
  }

  void leave(int32_t id) {
    if (!block(id).on_host && !tensor(id).input()) trace_.push_back({id, StepKind::offload});
    block(id).on_host = true;
    release(id);
  }

  void slide_together() {
    std::erase_if(residents_, [&](int32_t id) { return !block(id).resident; });
    std::sort(residents_.begin(), residents_.end(),
              [&](int32_t a, int32_t b) { return std::tie(block(a).offset, a) < std::tie(block(b).offset, b); });
    residents_.erase(std::unique(residents_.begin(), residents_.end()), residents_.end());
    pool_ = pool::ListPool(pool_.capacity());
    for (const int32_t id : residents_) block(id).offset = *pool_.allocate(block(id).bytes);
  }

  // Step 5. `free` tracks the predicted free bytes from task to task. `lowest` is their minimum so far, which is what a
  // block fetched now may take.
  //
  //   t ............ v1 ........... v2        d, which v2 reads, may be fetched during t if it fits together with
  //   free  700      free 500      free 900   everything that t, v1 and v2 need: within 500
  void prefetch(int32_t task) {
    int64_t lowest = pool_.free_bytes(), free = lowest + workspace_bytes_ + freed_by(task, position_);
    const int32_t end = static_cast<int32_t>(std::min(model_.order.size(), at(position_) + 1 + kFarthest));
    for (int32_t v = position_ + 1; v < end && lowest > 0; ++v) {
      if (!is_task(at(v))) continue;
      const int32_t reader = model_.order[at(v)].id;
      for (const int32_t id : model_.reads(reader)) {
        if (block(id).resident || !block(id).on_host) continue;
        const int64_t bytes = tensor(id).bytes;
        if (bytes > lowest || can_wait(id, v)) return;
        if (pool_.largest_free() < bytes) {
          slide_together();
          workspace_at_ = *pool_.allocate(workspace_bytes_);
        }
        PLIMSOLL_CHECK(fetch(id, Room::as_it_is), "a tensor does not fit into the bytes that were free for it");
        h2d_.issue(begins_[at(position_)], copy_seconds(id));
        lowest -= bytes;
        free -= bytes;
      }
      free -= written_by(reader, v);
      lowest = std::min(lowest, free - smallest_workspace(reader));
      free += freed_by(reader, v);
    }
  }

  double copy_seconds(int32_t id) const {
    return model_.copy_seconds(tensor(id), model_.links.h2d_bytes_per_second);
  }
  // True if a fetch issued one task later would still be in time. The factor of two allows for other copies that go
  // first.
  bool can_wait(int32_t id, int32_t reader) const {
    const double next = begins_[at(position_) + 1];
    return std::max(h2d_.end(), next) + 2 * copy_seconds(id) <= begins_[at(reader)];
  }
  int64_t written_by(int32_t task, int32_t position) const {
    int64_t bytes = 0;
    for (const int32_t id : model_.writes(task)) bytes += tensor(id).bytes;
    for_each_takeover(model_, position, [&](int32_t, int32_t written) { bytes -= tensor(written).bytes; });
    return bytes;
  }
  int64_t freed_by(int32_t task, int32_t position) const {
    int64_t bytes = 0;
    for (const int32_t id : model_.transient(task))
      if (model_.next_use(id, position) == kNever && !tensor(id).is_result) bytes += tensor(id).bytes;
    for_each_takeover(model_, position, [&](int32_t read, int32_t) { bytes -= tensor(read).bytes; });
    return bytes;
  }

  pool::ListPool pool_;
  std::vector<int32_t> residents_;   // including some that have left since
  // Eviction candidates: next use, bytes (both negated) and tensor.
  std::set<std::tuple<int32_t, int64_t, int32_t>> victims_;
  std::vector<double> begins_;       // start of each position without waits
  int64_t workspace_at_ = 0, workspace_bytes_ = 0;  // of the current task
  Stream h2d_;
};

// SW, and the largest task in addition to it.
struct Needs {
  int64_t resident = 0, largest_task = 0;
};

Needs needs_of(const SubBatchCosts& costs, int64_t sub_batch) {
  Needs needs;
  const TaskGraph& graph = costs.graph;
  const auto resides = [&](TensorId id) {
    return graph.tensors[id].persistent || graph.tensors[id].kind == TensorKind::weight_gradient;
  };
  for (const TensorId id : ids_of(graph.tensors))
    if (resides(id)) needs.resident += align_up(graph.tensors[id].bytes(sub_batch));
  for (const TaskId id : ids_of(graph.tasks)) {
    int64_t bytes = align_up(costs.choices[id].back().workspace_bytes);
    for (const Operand& operand : graph.tasks[id].operands)
      if (operand.access != Access::absent && !resides(operand.tensor))
        bytes += align_up(graph.tensors[operand.tensor].bytes(sub_batch));
    needs.largest_task = std::max(needs.largest_task, bytes);
  }
  return needs;
}

}  // namespace

Program modnn(const ScheduleRequest& request) {
  return {.trace = ModnnReplay(request.model, pool_capacity(request)).run()};
}

Result<int64_t> modnn_sub_batch(const CostsOf& costs, int64_t batch, int64_t budget) {
  int64_t sub_batch = batch;
  while (sub_batch > 1) {
    PLIMSOLL_ASSIGN(const SubBatchCosts split, costs(sub_batch));
    const Needs needs = needs_of(split, sub_batch);
    const double room = static_cast<double>(std::max<int64_t>(budget - needs.resident, 0));
    const int64_t next = static_cast<int64_t>(static_cast<double>(sub_batch) * room /
                                              static_cast<double>(std::max<int64_t>(needs.largest_task, 1)));
    if (next >= sub_batch) break;
    sub_batch = std::max<int64_t>(next, 1);
  }
  return sub_batch;
}

}  // namespace plimsoll
