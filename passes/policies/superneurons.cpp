// SuperNeurons (Wang et al., PPoPP 2018): liveness; outputs that are expensive to recompute are offloaded, through a
// cache that keeps what fits; cheap outputs are evicted and recomputed; workspaces take the free bytes.
//
//   CONV ─ ACT ─ LRN ─ POOL ─ CONV ─ ACT ─┬─ …        x  a checkpoint: offloaded
//    x   ╰──── segment ────╯    x   ╰seg╯ FORK        segment  recomputed from the checkpoint before it
//
// Layers   A checkpoint is the output of a task that computes much (CONV, FC), reads several activations (JOIN, CONCAT)
//          or writes several, a tensor that several forward tasks read (FORK), a model input (DATA), and every output
//          that may not be recomputed. Section 3.3.2 says "only CONV", but table 1 needs the others (ResNet-50: 455 MiB
//          with them, 1592 without).
// Order    depth-first, as Algorithm 1; the branches of a fan are visited in graph order. `b -> get_next()` is read as
//          the layer's, and the counter of a join as reset once, by the visit that passes it.
// Copies   section 3.3.1: an output is offloaded during the forward of the next CONV, and prefetched during the
//          backward of the following CONV. If that does not fit the limit, copies go where there is room
//          (schedule/copies.h). For the recomputing strategies without a limit, the limit is the peak with every copy
//          right at its need: in figure 10b CONV2 is back two steps ahead (1132 MiB), in table 1 nothing is back ahead
//          (ResNet-50: 455 MiB, 514 otherwise).
// Cache    section 3.3.2, Algorithm 2, decided ahead of time. Over the known order, LRU.out always takes the tensor
//          that was touched longest ago and is still needed, which is the one whose last forward use came first. So the
//          shortest prefix of that list is evicted with which the rest fits. Lines 13 and 20 (an eviction may not free
//          enough contiguous bytes) have no counterpart: addresses are assigned when all is known. Operands of the
//          running and the next task are locked. A miss is prefetched. Cheap tensors share the cache: they are evicted
//          without a copy. Without a limit there is no cache: everything that may be evicted is, as in figure 10 and
//          table 1.
// Again    section 3.4: a segment is recomputed when a backward task needs one of its tensors.
//            speed   the whole segment once; its tensors stay until they have been used
//            memory  up to the needed tensor, each time; nothing stays except the operands of the requesting task
//            cost    speed for segments with Σ l_f + l_b(last) <= max(l_i), else memory. l_f: outputs, without the
//                    checkpoint's; l_b: all tensors of the last layer's backward, each once; max(l_i): the largest sum
//                    over the slots of one task, where a tensor in two slots counts twice (an LRN's dx lies in dy: 17,
//                    not 20, in table 1)
//          An output that no backward task reads is recomputed only on the way to another. Batch statistics are not
//          updated twice, and a dropout draws the same mask: the trainer's kernels ensure both (the authors' release
//          does neither). A checkpoint stays while its segment's tensors are used: the backward of the previous layer
//          needs it anyway.
// Workspace section 3.5: the fastest algorithm whose workspace fits in the bytes that are free at that step.
#include "passes/policies/schedules.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "passes/schedule/evaluate.h"
#include "passes/schedule/lower.h"

namespace plimsoll {
namespace {

using namespace schedule;

enum class Strategy { offload, speed, memory, cost };

bool is_backward(TaskKind kind) { return !is_forward(kind) && kind != TaskKind::update; }
// The paper's terms, applied to this graph.
class SuperNeuronsLayers {
 public:
  SuperNeuronsLayers(const Model& model, const TaskGraph& graph, int64_t samples)
      : model_(model), graph_(graph), checkpoint_(model.tensors.size(), false),
        segment_(model.tasks.size(), kNone) {
    for (const TaskId id : ids_of(graph.tasks))
      if (computes_much(id, samples)) heavy_layers_.insert(graph.tasks[id].layer);
    find_checkpoints();
    find_segments();
  }

  bool is_checkpoint(int32_t tensor) const { return checkpoint_[at(tensor)]; }
  const std::string& layer(int32_t task) const { return graph_.tasks[TaskId(task)].layer; }
  // Forward or backward task of a CONV or FC.
  bool is_heavy(int32_t task) const { return heavy_layers_.count(layer(task)) > 0; }

  // "Cost-aware": a property of the segment that the tensor belongs to.
  bool is_costly(int32_t tensor) const {
    const int32_t segment = segment_[at(model_.tensor(tensor).producer)];
    return segment != kNone && costly_[at(segment)];
  }

 private:
  static constexpr int32_t kNone = -1;

  // CONV and FC: at least two operations per byte of activations. A 3x3 window without products over channels (a
  // depthwise CONV) has 2.25; an LRN or a POOL has 1.1 to 1.9.
  bool computes_much(TaskId id, int64_t samples) const {
    const Task& task = graph_.tasks[id];
    if (task.kind != TaskKind::forward) return false;
    return task.flops.at(samples) >= 2 * (bytes_of(model_.reads(id.value)) + bytes_of(model_.writes(id.value)));
  }

  void find_checkpoints() {
    std::vector<int32_t> readers(model_.tensors.size(), 0);
    for (const TaskId id : ids_of(graph_.tasks)) {
      if (!is_forward(model_.task(id.value).kind)) continue;
      for (const int32_t read : model_.reads(id.value)) ++readers[at(read)];
    }
    for (int32_t id = 0; id < static_cast<int32_t>(model_.tensors.size()); ++id) {
      const ModelTensor& tensor = model_.tensor(id);
      if (tensor.persistent()) continue;
      checkpoint_[at(id)] =
          tensor.producer < 0 || !tensor.recomputable || readers[at(id)] > 1 || makes_checkpoints(tensor.producer);
    }
  }
  bool makes_checkpoints(int32_t task) const {
    const auto kind = [&](int32_t id) { return graph_.tensors[TensorId(id)].kind; };
    return is_heavy(task) || model_.reads(task).size() > 1 ||
           std::ranges::count(model_.writes(task), TensorKind::activation, kind) > 1;
  }

  // The consecutive cheap tasks after a checkpoint, up to the last one whose output a backward task reads.
  struct Segment {
    int64_t outputs = 0, pending = 0;  // bytes; pending: of tasks after `last`
    int32_t last = kNone;              // the last task whose output is read
  };
  void find_segments() {
    std::vector<Segment> segments;
    for (const Op& op : model_.order) {
      if (!op.is_task() || model_.task(op.id).kind != TaskKind::forward) continue;
      const auto writes = model_.writes(op.id);
      if (writes.empty() || std::ranges::any_of(writes, [&](int32_t id) { return is_checkpoint(id); })) continue;
      for (const int32_t read : model_.reads(op.id))
        if (!is_checkpoint(read)) segment_[at(op.id)] = segment_[at(model_.tensor(read).producer)];
      if (segment_[at(op.id)] == kNone) {
        segment_[at(op.id)] = static_cast<int32_t>(segments.size());
        segments.push_back({});
      }
      Segment& segment = segments[at(segment_[at(op.id)])];
      bool wanted = false;
      for (const int32_t id : writes) {
        segment.pending += model_.tensor(id).copy_bytes;
        wanted |= model_.tensor(id).gap_end != kNever;
      }
      if (!wanted) continue;
      segment.outputs += segment.pending;
      segment.pending = 0;
      segment.last = op.id;
    }

    std::map<std::string_view, std::set<int32_t>> touched;  // by the backward tasks of each layer
    int64_t most = 0;
    for (const TaskId id : ids_of(graph_.tasks)) {
      int64_t bytes = model_.algorithms_of(id.value).back().workspace_bytes;
      for (const Operand& operand : graph_.tasks[id].operands) {
        if (operand.access == Access::absent || graph_.tensors[operand.tensor].persistent) continue;
        bytes += model_.tensor(operand.tensor.value).copy_bytes;
        if (is_backward(graph_.tasks[id].kind)) touched[layer(id.value)].insert(operand.tensor.value);
      }
      most = std::max(most, bytes);
    }
    for (const Segment& segment : segments) {
      costly_.push_back(segment.last != kNone && segment.outputs + bytes_of(touched[layer(segment.last)]) > most);
    }
  }
  template <class Tensors>
  int64_t bytes_of(const Tensors& tensors) const {
    int64_t bytes = 0;
    for (const int32_t id : tensors) bytes += model_.tensor(id).copy_bytes;
    return bytes;
  }

  const Model& model_;
  const TaskGraph& graph_;
  std::set<std::string_view> heavy_layers_;
  std::vector<bool> checkpoint_;
  std::vector<int32_t> segment_;  // of each task
  std::vector<bool> costly_;      // of each segment
};

// Tensors that the backward reads, in the order in which the cache evicts them: least recently used first.
std::vector<int32_t> least_recently_used(const Model& model, const SuperNeuronsLayers& layers, Strategy strategy) {
  std::vector<int32_t> list;
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    const ModelTensor& tensor = model.tensor(id);
    if (!tensor.movable || tensor.gap_end == kNever) continue;
    if (tensor.gap_end == tensor.gap_begin + 1) continue;  // locked: the next task reads it
    if (strategy == Strategy::offload && !layers.is_checkpoint(id)) continue;
    list.push_back(id);
  }
  std::ranges::stable_sort(list, {}, [&](int32_t id) { return model.tensor(id).gap_begin; });
  return list;
}

ActivationDecision decision_of(int32_t tensor, const SuperNeuronsLayers& layers, Strategy strategy) {
  if (layers.is_checkpoint(tensor)) return {.kind = DecisionKind::offload};
  const bool nothing_stays = strategy == Strategy::memory || (strategy == Strategy::cost && layers.is_costly(tensor));
  return {.kind = DecisionKind::recompute, .level = nothing_stays ? kTransient : Level{}};
}

// Copies as in section 3.3.1: offload after the forward of the next CONV, prefetch after the backward of the CONV
// before the reader. Before: copies are where lower_decisions() puts them.
class PaperCopies {
 public:
  PaperCopies(const Model& model, const SuperNeuronsLayers& layers, const Trace& trace)
      : model_(model), layers_(layers), trace_(trace) {}

  Trace run() {
    const auto first = static_cast<int32_t>(first_task(trace_) - trace_.begin());
    std::vector<Insertion> offloads, fetches;
    std::vector<int32_t> left(model_.tensors.size(), 0);
    const auto stays = [&](int32_t step) { return trace_[at(step)].is_task() || step < first; };
    for (int32_t step = first; step < static_cast<int32_t>(trace_.size()); ++step) {
      if (stays(step)) continue;
      const Op& op = trace_[at(step)];
      if (op.kind == StepKind::offload) offloads.push_back({op, left[at(op.id)] = after_next_forward(step)});
      else fetches.push_back({op, std::max(after_last_backward(step), left[at(op.id)])});
    }
    Trace result;
    insert(offloads, fetches, trace_, stays, result);
    return result;
  }

 private:
  bool is_first_run(int32_t step) const { return trace_[at(step)].is_task() && !trace_[at(step)].again; }
  int32_t task(int32_t step) const { return trace_[at(step)].id; }
  TaskKind kind(int32_t step) const { return model_.task(task(step)).kind; }

  int32_t after_next_forward(int32_t step) const {
    for (int32_t next = step + 1; next < static_cast<int32_t>(trace_.size()); ++next) {
      if (!is_first_run(next)) continue;
      if (!is_forward(kind(next))) break;
      if (layers_.is_heavy(task(next))) return next + 1;
    }
    return step;
  }
  int32_t after_last_backward(int32_t step) const {
    int32_t user = step;
    while (!is_first_run(user)) ++user;
    for (int32_t last = step; last-- > 0;) {
      if (!is_first_run(last)) continue;
      if (!is_backward(kind(last))) break;
      if (layers_.is_heavy(task(last)) && layers_.layer(task(last)) != layers_.layer(task(user))) return last + 1;
    }
    return step;
  }

  const Model& model_;
  const SuperNeuronsLayers& layers_;
  const Trace& trace_;
};

Program run(const ScheduleRequest& request, Strategy strategy) {
  const Model& model = request.model;
  const SuperNeuronsLayers layers(model, request.graph, request.samples);
  const std::vector<int32_t> list = least_recently_used(model, layers, strategy);
  Evaluator evaluator(model);
  Trace trace;
  const auto evict = [&](size_t count) {
    Decisions decisions = keep_everything(model);
    for (size_t i = 0; i < count; ++i) decisions.activations[at(list[i])] = decision_of(list[i], layers, strategy);
    lower_decisions(model, decisions, trace);
  };
  const auto fits = [&](size_t count) {
    evict(count);
    return evaluator.measure(trace, request.live_limit).fits(request.live_limit);
  };

  size_t least = 0, most = list.size();
  if (request.live_limit == kNoLimit || request.live_limit == 0 || !fits(most)) least = most;
  while (least < most) {
    const size_t middle = (least + most) / 2;
    if (fits(middle)) most = middle;
    else least = middle + 1;
  }
  evict(least);
  // Recomputation serves to lower the peak. So without a limit, copies ahead of their need must not raise it.
  int64_t limit = request.live_limit;
  if (limit == kNoLimit && strategy != Strategy::offload) limit = evaluator.measure(trace, limit).peak_bytes;
  Trace as_paper = PaperCopies(model, layers, trace).run();
  if (evaluator.measure(as_paper, limit).fits(limit)) trace = std::move(as_paper);
  else evaluator.time_copies(trace, limit);
  return {.trace = std::move(trace)};
}

}  // namespace

Program superneurons_offload(const ScheduleRequest& request) { return run(request, Strategy::offload); }
Program superneurons_speed(const ScheduleRequest& request) { return run(request, Strategy::speed); }
Program superneurons_memory(const ScheduleRequest& request) { return run(request, Strategy::memory); }
Program superneurons_cost(const ScheduleRequest& request) { return run(request, Strategy::cost); }

}  // namespace plimsoll
