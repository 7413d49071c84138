// Dymem (HPDC 2020): dynamic memory management for training, with graph order, transfers without barriers, early
// prefetch, and grouping of tensors by mobility.
//
//   Algorithm 1  the order: OrderKind::arrivals. Depth first from the model's inputs; a layer runs when the last of its
//                predecessors arrives at it. The backward visits the layers in reverse.
//   transfers    feature maps that the backward reads are offloaded after their last use in the forward. No layer waits
//                for a copy: the bytes are free once it has finished, and only a task that needs them earlier waits.
//   Algorithm 2  when the backward reaches a layer, everything that its successors read is fetched, up to and including
//                the next expensive layer, where there is room.
//   Algorithm 3  PlaceKind::by_mobility: tensors that the next task reads for the last time lie at the low end of the
//                pool, the others at the high end (pool/two_ended_pool.h). The plan uses the addresses of that pool.
//   equation 1   the fraction of free bytes that a request cannot get: in bytes, not nodes.
//
// How open or wrong points of the paper were read:
//   - Algorithm 1 counts arrivals in one bare variable and compares it with another layer's. Here each layer has its
//     own counter, compared with the number of its predecessors and reset in each iteration.
//   - Algorithm 2 tests one layer and fetches another. Here it fetches the layer that it tests. Its branch for CONV
//     does not check whether there is anything to fetch, or whether it was fetched: here it fetches what is off the
//     device. It names no end of the window: here that is the first CONV found, included. "CONV" is a task with many
//     operations per byte.
//   - Algorithm 3, line 4, is true for all layers but the last, so nothing would ever be movable. Here a tensor is
//     movable if the next task reads it and no later task does.
//   - A copy still in flight when its tensor is needed again: a plan made ahead of time omits such a copy.
//   - A tensor that fits at neither end goes to the paper's incremental region. Here the copies in flight are waited
//     for first, the earliest first. Then the pool grows, and the planner finds that the plan exceeds the budget.
//   - Model inputs are loaded again, not copied out. Nothing is copied out twice.
#include "passes/policies/schedules.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "compiler/ir/streams.h"
#include "passes/policies/replay.h"
#include "passes/pool/two_ended_pool.h"

namespace plimsoll {
namespace {

using pool::End;
using namespace schedule;

// Operations per byte moved: true for convolutions and matrix products, not for elementwise tasks.
constexpr int64_t kExpensive = 4;
constexpr int32_t kWindow = 256;    // maximum length of a window, in tasks

struct DymemBlock {
  int64_t offset = 0, bytes = 0;
  End end = End::low;
  bool resident = false, on_host = false, leaving = false;
};

class DymemReplay final : public PoolReplay<DymemBlock> {
 public:
  DymemReplay(const TaskGraph& graph, int64_t samples, const Model& model, int64_t capacity, bool early)
      : PoolReplay(model), graph_(graph), early_(early), pool_(capacity) {
    for (const Task& task : graph.tasks)
      expensive_.push_back(task.flops.at(samples) > kExpensive * task.bytes_moved(samples));
  }

 private:
  struct Copy {
    int32_t tensor = 0;
    double done = 0;
  };

  // Tasks after the loss, updates included.
  bool is_backward(int32_t task) const { return !is_forward(model_.task(task).kind); }

  void step(const Op& op) override {
    collect_finished();
    for (const int32_t id : model_.reads(op.id)) keep(id);
    hold_operands(op.id);
    const Algorithm& algorithm = fastest_that_fits(
        model_.algorithms_of(op.id), [&](const auto& each) { return has_room_now(each.workspace_bytes); });
    const int64_t workspace_at = room_for(algorithm.workspace_bytes, End::low);
    if (early_ && is_backward(op.id)) prefetch();
    trace_.push_back(op);
    pool_.release(workspace_at, algorithm.workspace_bytes, End::low);
    now_ += algorithm.seconds;
    for (const int32_t id : model_.transient(op.id)) finish(id);
  }

  bool hold(int32_t id, Room room) override {
    const End end = end_of(id);
    const std::optional<int64_t> offset =
        room == Room::made ? room_for(tensor(id).bytes, end) : pool_.allocate(tensor(id).bytes, end);
    if (offset) put(id, *offset, tensor(id).bytes, end);
    return offset.has_value();
  }
  void take_over(int32_t read, int32_t written) override {
    put(written, block(read).offset, block(read).bytes, block(read).end);
  }
  void put(int32_t id, int64_t offset, int64_t bytes, End end) {
    block(id) = {.offset = offset, .bytes = bytes, .end = end, .resident = true, .on_host = block(id).on_host};
  }

  // Algorithm 3 for a block allocated at this position: low if its first access is also the last before it leaves.
  End end_of(int32_t id) const {
    if (tensor(id).is_result) return End::high;
    int32_t last = position_;
    for (int32_t next = model_.next_use(id, position_); next != kNever; next = model_.next_use(id, next)) {
      const bool leaves = tensor(id).movable && next >= tensor(id).gap_end && position_ <= tensor(id).gap_begin;
      if (leaves) break;  // before that
      last = next;
    }
    int32_t tasks = 0;
    for (int32_t p = position_ + 1; p <= last && tasks < 2; ++p) tasks += model_.order[at(p)].is_task();
    return tasks < 2 ? End::low : End::high;
  }

  // Called after an access: releases the tensor or starts its offload.
  void finish(int32_t id) {
    if (!block(id).resident || tensor(id).is_result) return;
    if (model_.next_use(id, position_) == kNever) return release(id);
    if (!tensor(id).movable || position_ != tensor(id).gap_begin || block(id).leaving) return;
    if (block(id).on_host) return release(id);
    block(id).leaving = true;
    const double transfer = static_cast<double>(tensor(id).copy_bytes) / model_.links.d2h_bytes_per_second;
    leaving_.push_back({id, d2h_.issue(now_, model_.links.latency_seconds, transfer).end});
  }

  void release(int32_t id) {
    pool_.release(block(id).offset, block(id).bytes, block(id).end);
    block(id).resident = block(id).leaving = false;
  }

  // Needed again while its offload is in flight.
  void keep(int32_t id) {
    if (!block(id).leaving) return;
    block(id).leaving = false;
    std::erase_if(leaving_, [&](const Copy& copy) { return copy.tensor == id; });
  }

  void collect_finished() {
    while (!leaving_.empty() && leaving_.front().done <= now_) let_go();
  }
  void let_go() {
    const Copy copy = leaving_.front();
    leaving_.erase(leaving_.begin());
    now_ = std::max(now_, copy.done);
    trace_.push_back({copy.tensor, StepKind::offload});
    block(copy.tensor).on_host = true;
    release(copy.tensor);
  }

  // Waits for copies until the bytes are free, the earliest copy first. Operands of this task are not among them,
  // because keep() has run for them.
  int64_t room_for(int64_t bytes, End end) {
    for (;;) {
      if (const auto offset = pool_.allocate(bytes, end)) return *offset;
      if (leaving_.empty()) return pool_.grow(bytes, end);
      let_go();
    }
  }

  bool has_room_now(int64_t bytes) {
    const auto offset = pool_.allocate(bytes, End::low);
    if (offset) pool_.release(*offset, bytes, End::low);
    return offset.has_value();
  }

  // Algorithm 2.
  void prefetch() {
    const int32_t end = static_cast<int32_t>(std::min(model_.order.size(), at(position_) + 1 + kWindow));
    std::optional<std::string_view> last_layer;  // of the window
    for (int32_t p = position_ + 1; p < end; ++p) {
      const Op& op = model_.order[at(p)];
      if (!op.is_task() || !is_backward(op.id)) continue;
      const Task& task = graph_.tasks[TaskId(op.id)];
      if (last_layer && task.layer != *last_layer) return;
      for (const int32_t id : model_.reads(op.id)) {
        if (block(id).resident) keep(id);
        else if (block(id).on_host && !fetch(id, Room::as_it_is)) return;  // otherwise it is not written yet
      }
      if (expensive_[at(op.id)] && task.layer != graph_.tasks[TaskId(model_.order[at(position_)].id)].layer)
        last_layer = task.layer;
    }
  }

  const TaskGraph& graph_;
  std::vector<bool> expensive_;  // of each task
  const bool early_;  // false: minimum memory, without early fetches
  pool::TwoEndedPool pool_;
  std::vector<Copy> leaving_;  // by end time
  Stream d2h_;
  double now_ = 0;
};

}  // namespace

Program dymem(const ScheduleRequest& request) {
  const auto& [graph, model, samples, live_limit] = request;
  return {.trace = DymemReplay(graph, samples, model, pool_capacity(request), live_limit > 0).run()};
}

}  // namespace plimsoll
