#include "compiler/papers/vdnn.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

struct VdnnMeaning {
  std::string_view op, layer;
};

constexpr std::array<VdnnMeaning, 18> kVdnnMeanings = {{{"Conv", "CONV"},
                                                {"ConvTranspose", "CONV"},
                                                {"Gemm", "FC"},
                                                {"MatMul", "FC"},
                                                {"Relu", "ACTV"},
                                                {"Clip", "ACTV"},
                                                {"Sigmoid", "ACTV"},
                                                {"Tanh", "ACTV"},
                                                {"Dropout", "DROPOUT"},
                                                {"LRN", "LRN"},
                                                {"MaxPool", "POOL"},
                                                {"AveragePool", "POOL"},
                                                {"GlobalAveragePool", "POOL"},
                                                {"BatchNormalization", "BN"},
                                                {"Add", "JOIN"},
                                                {"Concat", "CONCAT"},
                                                {"Softmax", "SOFTMAX"},
                                                {"SoftmaxCrossEntropyLoss", "SOFTMAX"}}};

std::string_view layer_of(std::string_view op) {
  return std::find_if(kVdnnMeanings.begin(), kVdnnMeanings.end(),
                      [&](const VdnnMeaning& meaning) { return meaning.op == op; })
      ->layer;
}

class VdnnBuilder {
 public:
  VdnnBuilder(const Network& network, ReadNetwork read, int64_t batch)
      : network_(network), read_(std::move(read)), make_(network, batch), map_(network.values.size()),
        readers_(network.values.size(), 0) {}

  TaskGraph run() {
    for (const ReadLayer& layer : read_.layers)
      for (const ValueId x : layer.x) ++readers_[x];
    data();
    for (const ReadLayer& layer : read_.layers) forward(layer);
    gradient_ = IdVector<TensorId, TensorId>(make_.graph.tensors.size());
    for (size_t i = read_.layers.size(); i-- > 0;) backward(i);
    return std::move(make_.graph);
  }

 private:
  void data() {
    const Value& images = network_.values[read_.images];
    map_[read_.images] = make_.tensor(images.name, TensorKind::activation, images.type);
    Task task = make_.task({.name = "data"}, "forward", "DATA", TaskKind::forward);
    make_.use(task, map_[read_.images], Access::write);
    task.may_run_again = false;
    make_.put(std::move(task));
  }

  void forward(const ReadLayer& layer) {
    const std::string_view kind = layer_of(layer.op);
    Task task = make_.task(layer, "forward", kind, TaskKind::forward);
    for (size_t i = 0; i < layer.x.size(); ++i)
      task.operands.push_back({map_[layer.x[i]], Access::read, layer.x_types[i]});
    make_.use_parameters(task, layer, false);
    const bool in_place = (kind == "ACTV" || kind == "DROPOUT") && readers_[layer.x[0]] == 1;
    const TensorId y =
        in_place ? map_[layer.x[0]] : make_.tensor(layer.name + ".Y", TensorKind::activation, type_of(layer));
    if (!in_place) make_.use(task, y, Access::write);
    if (layer.y[0].valid()) map_[layer.y[0]] = y;
    outputs_.push_back(y);
    make_.put(std::move(task));
  }
  const TensorType& type_of(const ReadLayer& layer) const {
    return layer.y[0].valid() ? network_.values[layer.y[0]].type : layer.x_types[0];
  }

  void backward(size_t at) {
    const ReadLayer& layer = read_.layers[at];
    const std::string_view kind = layer_of(layer.op);
    const TensorId y = outputs_[at], x = map_[layer.x[0]];
    const TensorId dy = kind == "SOFTMAX" ? TensorId() : gradient_[y];
    Task task = make_.task(layer, "backward", kind, TaskKind::backward);
    if (kind == "CONV" || kind == "FC") task.flops = {2 * layer.flops.fixed, 2 * layer.flops.per_sample};
    if (kind == "CONV" || kind == "FC" || kind == "BN" || kind == "POOL" || kind == "LRN")
      for (const ValueId each : layer.x) make_.use(task, map_[each], Access::read);
    if (kind == "POOL" || kind == "LRN" || kind == "ACTV" || kind == "SOFTMAX") make_.use(task, y, Access::read);
    make_.use(task, dy, Access::read);
    make_.use_parameters(task, layer, true);
    std::vector<std::pair<TensorId, TensorId>> arrived;  // a feature map and its gradient
    if (kind == "ACTV" || kind == "DROPOUT") {
      if (x != y) arrived.push_back({x, dy});
    } else {
      for (size_t i = 0; i < layer.x.size(); ++i) {
        if (layer.x[i] == read_.images) continue;
        const bool same = kind == "JOIN" && i == 0;
        const TensorId dx = same ? dy : gradient(layer.name + ".dX", layer.x_types[i]);
        if (!same) make_.use(task, dx, Access::write);
        arrived.push_back({map_[layer.x[i]], dx});
      }
    }
    make_.put(std::move(task));
    for (const auto& [map, dx] : arrived) arrive(layer, map, dx);
  }

  TensorId gradient(const std::string& name, const TensorType& type) {
    const TensorId made = make_.tensor(name, TensorKind::activation_gradient, type);
    while (gradient_.size() < make_.graph.tensors.size()) gradient_.push_back({});
    return made;
  }

  void arrive(const ReadLayer& layer, TensorId map, TensorId dx) {
    if (!gradient_[map].valid()) {
      gradient_[map] = dx;
      return;
    }
    if (gradient_[map] == dx) return;
    Task task = make_.task(layer, "sum" + std::to_string(sums_++), "SUM", TaskKind::backward);
    make_.use(task, gradient_[map], Access::read);
    make_.use(task, dx, Access::read);
    task.flops = make_.graph.tensors[dx].type.elements();
    make_.put(std::move(task));
  }

  const Network& network_;
  const ReadNetwork read_;
  RuleGraph make_;
  IdVector<ValueId, TensorId> map_;
  IdVector<ValueId, int32_t> readers_;
  std::vector<TensorId> outputs_;  // of each layer
  IdVector<TensorId, TensorId> gradient_;
  int sums_ = 0;
};

bool is_used(const PlanTensor& tensor) { return !tensor.persistent; }

// Integral of bytes over time. A tensor lives from the start of its residency's first step to the end of its last
// access.
double byte_seconds(const Plan& plan) {
  double sum = 0;
  IdVector<TensorId, std::vector<StepId>> touches(plan.tensors.size());
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) {
      touches[step.tensor].push_back(id);
      continue;
    }
    for (const auto* list : {&plan.tasks[step.task].reads, &plan.tasks[step.task].writes})
      for (const TensorId tensor : *list) touches[tensor].push_back(id);
  }
  for (const Residency& residency : plan.residencies) {
    const PlanTensor& tensor = plan.tensors[residency.tensor];
    if (!is_used(tensor)) continue;
    double first = -1, last = 0;
    for (const StepId id : touches[residency.tensor]) {
      if (id.value < residency.first_step || id.value > residency.last_step) continue;
      if (first < 0) first = plan.steps[id].start;
      last = std::max(last, plan.steps[id].end);
    }
    sum += static_cast<double>(tensor.bytes) * (last - std::max(first, 0.0));
  }
  return sum;
}

}  // namespace

Result<TaskGraph> vdnn_graph(const Network& network, int64_t batch) {
  std::vector<std::string_view> known;
  for (const VdnnMeaning& meaning : kVdnnMeanings) known.push_back(meaning.op);
  PLIMSOLL_ASSIGN(ReadNetwork read, read_network(network, "vDNN", known));
  return VdnnBuilder(network, std::move(read), batch).run();
}

VdnnFigures vdnn_figures(const Plan& plan) {
  VdnnFigures figures{.feature_map_bytes = bytes_of(plan, TensorKind::activation),
                      .gradient_buffer_bytes = 2 * largest_of(plan, TensorKind::activation_gradient),
                      .weight_bytes = bytes_of(plan, TensorKind::weight),
                      .weight_gradient_bytes = bytes_of(plan, TensorKind::weight_gradient)};
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  for (const Residency& residency : plan.residencies) {
    const PlanTensor& tensor = plan.tensors[residency.tensor];
    if (!is_used(tensor)) continue;
    change[static_cast<size_t>(residency.first_step)] += tensor.bytes;
    change[std::min(static_cast<size_t>(residency.last_step) + 1, plan.steps.size())] -= tensor.bytes;
  }
  int64_t now = 0;
  double end = 0;
  for (const StepId id : ids_of(plan.steps)) {
    now += change[static_cast<size_t>(id.value)];
    figures.usage.push_back(now);
    if (now > figures.peak_bytes) {
      figures.peak_bytes = now;
      figures.peak_step = id.value;
    }
    end = std::max(end, plan.steps[id].end);
    if (plan.steps[id].kind == StepKind::offload) figures.offloaded_bytes += plan.tensors[plan.steps[id].tensor].bytes;
  }
  figures.average_bytes = end > 0 ? byte_seconds(plan) / end : 0;
  return figures;
}

void count_as_vdnn(Plan& plan) {
  const VdnnFigures figures = vdnn_figures(plan);
  plan.rules = "vdnn";
  plan.summary.network_wide_bytes = figures.baseline_bytes();
  plan.summary.live_bytes = figures.peak_bytes;
  plan.summary.peak_step = figures.peak_step;
}

}  // namespace plimsoll
