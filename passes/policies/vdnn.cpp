// vDNN (Rhu et al., MICRO 2016): the inputs X of layers are offloaded while the layer runs forward, and prefetched one
// layer ahead of the backward, with a barrier at the end of every layer.
//
//   compute   | conv1 |  relu  | pool  | …  | pool' |  relu' | conv1' |       each bar is also the end of a layer:
//   offload    xxxxx x1|       |xxx x2 |    |       |        |        |       the next one waits for the copies
//   prefetch                                |xxx x1 |        |        |
//
// What the paper says, and how open points were read:
//   offload    Section III-B. X is read only while layer n runs forward, so its copy starts as layer n starts. The
//              compute stream waits for a copy at the end of layer n, and then X is released. An X that several layers
//              read is offloaded by the last of them (Refcnt) if any of them is of a kind that offloads. An X that no
//              backward task reads is released and not copied. The model's inputs are never copied off: they are loaded
//              again.
//   all, conv  vDNN_all: X of every layer that extracts features; vDNN_conv: X of the CONV layers. The classifier, from
//              the first FC after the last CONV, is left alone. CONV and FC are tasks with at least two operations per
//              sample and element of a matrix or of filters. CONV works on more dimensions than samples and features.
//              If a network has no CONV, its FC layers take that role, and it has no classifier.
//   prefetch   Section III-B, figure 10: when the backward of layer n starts, layers n-1, n-2 … are searched for one
//              whose X is off the device. A CONV whose X is resident ends the window, even if X never left. Layer ids
//              are the order of the forward tasks, in graphs with branches too. A layer with several X fetches all of
//              them. At the end of layer n's backward, compute waits for the prefetch. Figure 10 has no rule for an X
//              that it did not find in time: here it is fetched right before its first reader. The prefetch at the last
//              POOL or FC of a group takes memory a layer early: the paper's 4.8 GB for VGG-16(128) omit it
//              (docs/papers.md), ours do not.
//   :m, :p     the algorithm with the smallest workspace, or the fastest, for every task (Policy::algorithms).
//   dyn        Section III-C, with the fast evaluator instead of its profiling passes. First no offload, vDNN_conv and
//              vDNN_all, in this order, with the fastest algorithms. Then vDNN_conv and vDNN_all with algorithms
//              downgraded layer by layer where they do not fit. The first that fits is taken. If none fits, the one
//              with the lowest peak is taken; the paper tests for this case first, by vDNN_all(m).
//
// All of these work with any sub-batch; the paper runs whole batches.
#include "passes/policies/schedules.h"

#include <algorithm>
#include <map>
#include <string>

#include "passes/schedule/evaluate.h"

namespace plimsoll {
namespace {

using namespace schedule;

enum class Offload { all, conv };

constexpr int32_t kNone = -1;
struct Layer {
  bool heavy = false;
  bool over_maps = false;  // its data has more dimensions than samples and features
  bool conv = false;
  bool offloads = false;
  std::vector<int32_t> x = {};  // offloaded while it runs forward
  bool away = false;            // x was offloaded, and figure 10 has not prefetched it yet
};

struct VdnnLayers {
  std::vector<Layer> list;        // in the order of their forward tasks
  std::vector<int32_t> of_task;   // kNone: updates, and tasks of layers without a forward task
};

// The paper's CONV and FC: at least two operations per sample and element of a matrix or of filters.
bool is_heavy(const Task& task, const TaskGraph& graph) {
  return std::any_of(task.operands.begin(), task.operands.end(), [&](const Operand& operand) {
    if (operand.access != Access::read) return false;
    const Tensor& tensor = graph.tensors[operand.tensor];
    return tensor.kind == TensorKind::weight && tensor.type.rank() >= 2 &&
           task.flops.at(1) >= 2 * tensor.type.elements().fixed;
  });
}

VdnnLayers find_layers(const Model& model, const TaskGraph& graph) {
  VdnnLayers layers{.list = {}, .of_task = std::vector<int32_t>(model.tasks.size(), kNone)};
  std::map<std::string, int32_t> by_name;
  for (const Op& op : model.order) {
    if (!op.is_task()) continue;
    const Task& task = graph.tasks[TaskId(op.id)];
    if (task.kind == TaskKind::update) continue;
    if (is_forward(task.kind)) {
      const auto [found, added] = by_name.emplace(task.layer, static_cast<int32_t>(layers.list.size()));
      if (added) layers.list.emplace_back();
      layers.of_task[at(op.id)] = found->second;
      Layer& layer = layers.list[at(found->second)];
      if (!is_heavy(task, graph)) continue;
      layer.heavy = true;
      for (const Operand& operand : task.operands)
        if (operand.access == Access::read && !graph.tensors[operand.tensor].persistent)
          layer.over_maps = layer.over_maps || operand.type.rank() > 2;
    } else if (const auto found = by_name.find(task.layer); found != by_name.end()) {
      layers.of_task[at(op.id)] = found->second;
    }
  }
  return layers;
}

void choose_kinds(std::vector<Layer>& layers, Offload offload) {
  const bool maps = std::ranges::any_of(layers, [](const Layer& layer) { return layer.heavy && layer.over_maps; });
  size_t last_conv = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i].conv = layers[i].heavy && (layers[i].over_maps || !maps);
    if (layers[i].conv) last_conv = i;
  }
  bool classifier = false;
  for (size_t i = 0; i < layers.size(); ++i) {
    classifier = classifier || (i > last_conv && layers[i].heavy);
    layers[i].offloads = offload == Offload::conv ? layers[i].conv : !classifier;
  }
}

// The last layer that reads X offloads it.
void choose_tensors(VdnnLayers& layers, const Model& model) {
  std::vector<int32_t> last_reader(model.tensors.size(), kNone);
  std::vector<bool> wanted(model.tensors.size(), false);
  for (const Op& op : model.order) {
    if (!op.is_task() || !is_forward(model.task(op.id).kind)) continue;
    const int32_t layer = layers.of_task[at(op.id)];
    const bool loss = model.task(op.id).kind == TaskKind::loss;  // its backward follows at once
    for (const int32_t id : model.reads(op.id)) {
      last_reader[at(id)] = loss ? kNone : layer;
      if (layers.list[at(layer)].offloads) wanted[at(id)] = true;
    }
  }
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    const ModelTensor& tensor = model.tensor(id);
    if (!wanted[at(id)] || last_reader[at(id)] == kNone || !tensor.movable || tensor.gap_end == kNever) continue;
    layers.list[at(last_reader[at(id)])].x.push_back(id);
    layers.list[at(last_reader[at(id)])].away = true;
  }
}

class Writer {
 public:
  Writer(const Model& model, VdnnLayers layers)
      : model_(model), layers_(std::move(layers)), leaves_(model.tensors.size(), false),
        left_(model.tensors.size(), false) {
    for (const Layer& layer : layers_.list)
      for (const int32_t id : layer.x) leaves_[at(id)] = true;
  }

  Program run() {
    for (const Op& op : model_.order) {
      if (op.is_task()) step(op);
      else emit(op);
      ++position_;
    }
    return std::move(program_);
  }

 private:
  void step(const Op& op) {
    const int32_t layer = layers_.of_task[at(op.id)];
    const bool forward = is_forward(model_.task(op.id).kind);
    if (layer != kNone && (layer != layer_ || forward != forward_)) {
      // "vDNN synchronizes stream_compute and stream_memory at the end of each layer".
      barrier_ = copies_;
      copies_.clear();
      layer_ = layer;
      forward_ = forward;
      if (!forward) enter_backward(op);
    }
    if (forward && layer != kNone) offload(layer, op.id);
    for (const int32_t id : model_.reads_and_updates(op.id)) fetch(id);
    emit(op, std::move(barrier_));
    barrier_.clear();
    last_task_ = last_step();
  }

  void emit(const Op& op, std::vector<int32_t> after = {}) {
    program_.trace.push_back(op);
    program_.waits.push_back(std::move(after));
  }
  int32_t last_step() const { return static_cast<int32_t>(program_.trace.size()) - 1; }

  void copy(int32_t id, StepKind kind) {
    emit({id, kind}, last_task_ == kNone ? std::vector<int32_t>{} : std::vector<int32_t>{last_task_});
    copies_.push_back(last_step());
  }

  // Called before the task that reads X; most layers have only one task.
  void offload(int32_t layer, int32_t task) {
    const auto reads = model_.reads(task);
    for (const int32_t id : layers_.list[at(layer)].x) {
      if (left_[at(id)] || model_.tensor(id).input() || std::ranges::count(reads, id) == 0) continue;
      left_[at(id)] = true;
      copy(id, StepKind::offload);
    }
  }

  void fetch(int32_t id) {
    if (!leaves_[at(id)] || position_ <= model_.tensor(id).gap_begin) return;
    leaves_[at(id)] = false;
    copy(id, model_.tensor(id).fetch());
  }

  // Figure 10, findPrefetchLayer(), after the fetches that this layer's first task needs.
  void enter_backward(const Op& op) {
    for (const int32_t id : model_.reads(op.id)) fetch(id);
    if (layers_.list[at(layer_)].away) bring(layer_);
    for (int32_t id = layer_ - 1; id >= 0; --id) {
      if (layers_.list[at(id)].away) return bring(id);
      if (layers_.list[at(id)].conv) return;
    }
  }
  void bring(int32_t layer) {
    layers_.list[at(layer)].away = false;
    for (const int32_t id : layers_.list[at(layer)].x) fetch(id);
  }

  const Model& model_;
  VdnnLayers layers_;
  Program program_;
  std::vector<bool> leaves_;  // of each tensor: it is off the device in its gap, and has not been fetched yet
  std::vector<bool> left_;    // of each tensor: it has been offloaded
  int32_t position_ = 0;      // in the order
  std::vector<int32_t> copies_;   // of the current layer
  std::vector<int32_t> barrier_;  // of the previous layer: the first task of this one waits for them
  int32_t layer_ = kNone, last_task_ = kNone;
  bool forward_ = true;
};

Program program_of(const Model& model, const TaskGraph& graph, Offload offload) {
  VdnnLayers layers = find_layers(model, graph);
  choose_kinds(layers.list, offload);
  choose_tensors(layers, model);
  return Writer(model, std::move(layers)).run();
}

}  // namespace

Program vdnn_all(const ScheduleRequest& request) { return program_of(request.model, request.graph, Offload::all); }

Program vdnn_conv(const ScheduleRequest& request) { return program_of(request.model, request.graph, Offload::conv); }

Program vdnn_dyn(const ScheduleRequest& request) {
  const auto& [graph, model, samples, live_limit] = request;
  Evaluator evaluator(model);
  const auto peak = [&](const Program& program, int64_t limit) {
    return evaluator.measure(program.trace, limit).peak_bytes;
  };
  const Program none{.trace = model.order}, conv = program_of(model, graph, Offload::conv),
                all = program_of(model, graph, Offload::all);
  // First the fastest algorithms, then algorithms under the limit.
  for (const int64_t algorithms : {kNoLimit, live_limit})
    for (const Program* program : {&none, &conv, &all}) {
      if (program == &none && algorithms != kNoLimit) continue;
      if (peak(*program, algorithms) > live_limit) continue;
      return *program;
    }
  const Program* least = &all;
  for (const Program* program : {&conv, &none})
    if (peak(*program, 0) < peak(*least, 0)) least = program;
  return *least;
}

}  // namespace plimsoll
