#include "fixture.h"

#include <algorithm>
#include <random>

#include "compiler/check/check.h"

namespace plimsoll::test {

TensorId GraphMaker::tensor(const std::string& name, TensorKind kind, int64_t per_sample, bool persistent) {
  return graph_.tensors.push_back(
      {.name = name, .kind = kind, .type = {DataType::f32, {{per_sample, true}}}, .persistent = persistent});
}

TensorId GraphMaker::weight(const std::string& name, int64_t elements) {
  return graph_.tensors.push_back(
      {.name = name, .kind = TensorKind::weight, .type = {DataType::f32, {{elements}}}, .persistent = true});
}

TensorId GraphMaker::gradient(const std::string& name, int64_t elements) {
  return graph_.tensors.push_back(
      {.name = name, .kind = TensorKind::weight_gradient, .type = {DataType::f32, {{elements}}}});
}

TaskId GraphMaker::task(const std::string& name, TaskKind kind, std::vector<TensorId> reads,
                        std::vector<TensorId> writes, std::vector<TensorId> updates,
                        std::vector<Task::InPlace> in_place) {
  Task task{.name = name, .op = "Test", .kind = kind, .layer = name, .kernel = "Test"};
  for (const TensorId tensor : reads) task.operands.push_back(operand(tensor, Access::read));
  for (const TensorId tensor : updates) task.operands.push_back(operand(tensor, Access::update));
  for (const TensorId tensor : writes) task.operands.push_back(operand(tensor, Access::write));
  task.in_place = std::move(in_place);
  return graph_.tasks.push_back(std::move(task));
}

TaskGraph chain(int layers, int64_t per_sample, int64_t weight) {
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, per_sample),
                 labels = make.tensor("labels", TensorKind::input, 1);
  make.graph_.inputs = {x, labels};
  std::vector<TensorId> inputs, outputs, weights;
  TensorId last = x;
  for (int i = 1; i <= layers; ++i) {
    const std::string n = std::to_string(i);
    weights.push_back(make.weight("w" + n, weight));
    inputs.push_back(last);
    const TensorId y = make.activation("conv" + n, per_sample);
    make.task("conv" + n + ".forward", TaskKind::forward, {last, weights.back()}, {y});
    last = make.activation("relu" + n, per_sample);
    make.task("relu" + n + ".forward", TaskKind::forward, {y}, {last}, {}, {{y, last}});
    outputs.push_back(last);
  }
  make.graph_.output = last;
  make.graph_.loss = make.graph_.tensors.push_back({.name = "loss", .type = {DataType::f32, {{1}}}});
  TensorId gradient = make.tensor("dlast", TensorKind::activation_gradient, per_sample);
  make.task("loss", TaskKind::loss, {last, labels}, {make.graph_.loss, gradient});
  std::vector<TensorId> gradients(weights.size());
  for (int i = layers; i >= 1; --i) {
    const std::string n = std::to_string(i);
    const size_t k = static_cast<size_t>(i - 1);
    const TensorId dy = make.tensor("dconv" + n, TensorKind::activation_gradient, per_sample);
    make.task("relu" + n + ".backward", TaskKind::backward_data, {outputs[k], gradient}, {dy}, {}, {{gradient, dy}});
    gradients[k] = make.gradient("dw" + n, weight);
    make.task("conv" + n + ".backward_weights", TaskKind::backward_weights, {inputs[k], dy}, {gradients[k]});
    if (i == 1) break;
    gradient = make.tensor("drelu" + std::to_string(i - 1), TensorKind::activation_gradient, per_sample);
    make.task("conv" + n + ".backward_data", TaskKind::backward_data, {weights[k], dy}, {gradient});
  }
  for (int i = 1; i <= layers; ++i) {
    const size_t k = static_cast<size_t>(i - 1);
    make.task("w" + std::to_string(i) + ".update", TaskKind::update, {gradients[k]}, {}, {weights[k]});
  }
  return std::move(make.graph_);
}

TaskGraph random_graph(unsigned seed, int tasks) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t from, int64_t to) {  // [from, to]
    return from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
  };
  GraphMaker make;
  const TensorId x = make.tensor("x", TensorKind::input, draw(1, 3000));
  const TensorId labels = make.tensor("labels", TensorKind::input, 1);
  make.graph_.inputs = {x, labels};
  struct Layer {
    std::vector<TensorId> reads;
    TensorId output, weight, stash;
  };
  std::vector<TensorId> values{x};
  std::vector<Layer> layers;
  for (int i = 0; i < tasks; ++i) {
    const std::string n = std::to_string(i);
    Layer layer;
    const size_t many = static_cast<size_t>(draw(1, 3));
    for (size_t k = 0; k < many; ++k) {
      const size_t back = static_cast<size_t>(draw(0, 3) == 0 ? draw(0, 20) : draw(0, 2));
      const TensorId value = values[values.size() - 1 - std::min(back, values.size() - 1)];
      if (std::find(layer.reads.begin(), layer.reads.end(), value) == layer.reads.end()) layer.reads.push_back(value);
    }
    const bool same = draw(0, 1) == 0;
    const int64_t size = same ? make.graph_.tensors[layer.reads[0]].type.dims[0].value : draw(1, 3000);
    layer.output = make.activation("y" + n, size);
    std::vector<TensorId> reads = layer.reads, writes{layer.output};
    if (draw(0, 2) == 0) reads.push_back(layer.weight = make.weight("w" + n, draw(1, 4000)));
    if (draw(0, 3) == 0) writes.push_back(layer.stash = make.tensor("s" + n, TensorKind::stash, draw(1, 200)));
    std::vector<Task::InPlace> in_place;
    if (draw(0, 1) == 0) in_place.push_back({layer.reads[0], layer.output});
    const TaskId task = make.task("f" + n, TaskKind::forward, reads, writes, {}, in_place);
    if (layer.stash.valid() && i % 2 == 0) make.graph_.tasks[task].remembers = {layer.stash};
    values.push_back(layer.output);
    layers.push_back(std::move(layer));
  }
  make.graph_.output = values.back();
  make.graph_.loss = make.graph_.tensors.push_back({.name = "loss", .type = {DataType::f32, {{1}}}});
  std::map<TensorId, TensorId> gradient_of;
  gradient_of[values.back()] = make.tensor("dlast", TensorKind::activation_gradient, 10);
  make.task("loss", TaskKind::loss, {values.back(), labels}, {make.graph_.loss, gradient_of[values.back()]});
  std::vector<std::pair<TensorId, TensorId>> updates;
  for (size_t i = layers.size(); i-- > 0;) {
    const Layer& layer = layers[i];
    const std::string n = std::to_string(i);
    if (!gradient_of.count(layer.output)) continue;
    std::vector<TensorId> reads{gradient_of[layer.output]}, writes;
    if (layer.stash.valid()) reads.push_back(layer.stash);
    std::vector<Task::InPlace> in_place;
    for (const TensorId value : layer.reads) {
      if (draw(0, 1) == 0) reads.push_back(value);
      if (value == x || gradient_of.count(value)) continue;
      const int64_t size = make.graph_.tensors[value].type.dims[0].value;
      gradient_of[value] = make.tensor("d" + make.graph_.tensors[value].name, TensorKind::activation_gradient, size);
      writes.push_back(gradient_of[value]);
      in_place.push_back({gradient_of[layer.output], gradient_of[value]});
    }
    if (layer.weight.valid()) {
      const TensorId gradient = make.gradient("d" + make.graph_.tensors[layer.weight].name,
                                              make.graph_.tensors[layer.weight].type.dims[0].value);
      reads.push_back(layer.weight);
      writes.push_back(gradient);
      updates.push_back({layer.weight, gradient});
    }
    if (!writes.empty()) make.task("b" + n, TaskKind::backward, reads, writes, {}, in_place);
  }
  for (const auto& [weight, gradient] : updates)
    make.task(make.graph_.tensors[weight].name + ".update", TaskKind::update, {gradient}, {}, {weight});
  return std::move(make.graph_);
}

namespace {

bool runs_again(const Task& task) {
  const std::vector<TensorId> reads = task.reads();
  return !task.remembers.empty() && std::find(reads.begin(), reads.end(), task.remembers.front()) != reads.end();
}

std::string name_of(const Task& task) { return runs_again(task) ? task.name + " again" : task.name; }

}  // namespace

Status FakeCosts::prepare(const TaskGraph& graph, int64_t samples) {
  prepared.push_back(samples);
  for_each_work(graph, [&](const Task& task) {
    auto found = special.find(name_of(task));
    if (found == special.end()) found = special.find(task.name);
    std::vector<AlgorithmCost> all{{.name = "default", .seconds = 0.001 * static_cast<double>(samples)}};
    if (found != special.end()) {
      all = found->second;
      for (AlgorithmCost& algorithm : all) {
        algorithm.workspace_bytes *= samples;
        algorithm.seconds *= static_cast<double>(samples);
      }
    }
    known_[{name_of(task), samples}] = all;
  });
  return {};
}

std::span<const AlgorithmCost> FakeCosts::algorithms(const Task& task, int64_t samples) const {
  return known_.at({name_of(task), samples});
}

std::string flaw(const Plan& plan, const TaskGraph& graph) {
  return to_string(check_plan(plan)) + to_string(check_against_graph(plan, graph));
}

}  // namespace plimsoll::test
