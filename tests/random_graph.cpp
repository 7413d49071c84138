#include "tests/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

namespace plimsoll {
namespace {

class Maker {
 public:
  Maker(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {
    graph_.name = fmt::format("random-{}", seed);
    graph_.batch = options.batch;
  }

  TaskGraph make() {
    const TensorId x = tensor("x", TensorKind::input, size()), labels = tensor("labels", TensorKind::input, 1);
    graph_.inputs = {x, labels};
    values_ = {x};
    for (int i = 0; i < options_.layers; ++i) forward(i);
    graph_.output = values_.back();
    loss(labels);
    for (size_t i = layers_.size(); i-- > 0;) backward(layers_[i]);
    for (size_t i = 0; i < weights_.size(); ++i) update(weights_[i]);
    if (options_.mixed) narrow_gradients();
    return std::move(graph_);
  }

 private:
  struct Weight {
    TensorId tensor = {}, gradient = {}, state = {};
    TensorId read = {};  // what the layers read: the weight, or its copy in bf16
    bool trained = true;
  };
  struct Layer {
    std::string name = {};
    std::vector<TensorId> inputs = {}, outputs = {};
    TensorId stash = {};
    int weight = -1;
    bool reads_output = false;  // in its backward task, like a Relu; else its inputs, like a convolution
  };

  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool one_in(int64_t count) { return below(count) == 0; }
  int64_t size() { return 1 + below(one_in(3) ? 5000 : 500); }
  DataType activation_type() { return options_.mixed && !one_in(4) ? DataType::bf16 : DataType::f32; }

  TensorId tensor(const std::string& name, TensorKind kind, int64_t per_sample, DataType type = DataType::f32) {
    return graph_.tensors.push_back({.name = name, .kind = kind, .type = {type, {{per_sample, true}}}});
  }
  TensorId fixed(const std::string& name, TensorKind kind, int64_t elements, bool persistent) {
    return graph_.tensors.push_back(
        {.name = name, .kind = kind, .type = {DataType::f32, {{elements}}}, .persistent = persistent});
  }
  int64_t size_of(TensorId id) const { return graph_.tensors[id].type.dims[0].value; }
  DataType type_of(TensorId id) const { return graph_.tensors[id].type.type; }
  bool alike(TensorId a, TensorId b) const { return size_of(a) == size_of(b) && type_of(a) == type_of(b); }
  void use(Task& task, Access access, TensorId id) { task.operands.push_back({id, access, graph_.tensors[id].type}); }
  void keep(Task task) { graph_.tasks.push_back(std::move(task)); }
  Task task(const std::string& layer, const char* what, TaskKind kind) {
    return {.name = fmt::format("{}.{}", layer, what),
            .op = "Random",
            .kind = kind,
            .layer = layer,
            .kernel = "Random",
            .flops = {0, below(1000)}};
  }

  void forward(int number) {
    Layer layer{.name = fmt::format("l{}", number)};
    const int64_t many = 1 + (one_in(3) ? below(2) + 1 : 0);
    for (int64_t k = 0; k < many; ++k) {
      const int64_t back =
          std::min<int64_t>(one_in(4) ? below(12) : below(2), static_cast<int64_t>(values_.size()) - 1);
      const TensorId value = values_[values_.size() - 1 - static_cast<size_t>(back)];
      if (std::find(layer.inputs.begin(), layer.inputs.end(), value) == layer.inputs.end())
        layer.inputs.push_back(value);
    }
    const bool elementwise = one_in(2);
    const int64_t outputs = one_in(6) ? 2 : 1;
    for (int64_t k = 0; k < outputs; ++k)
      layer.outputs.push_back(tensor(fmt::format("{}.Y{}", layer.name, k), TensorKind::activation,
                                     elementwise ? size_of(layer.inputs[0]) : size(), activation_type()));
    layer.reads_output = elementwise && one_in(2);
    Task run = task(layer.name, "forward", TaskKind::forward);
    for (TensorId input : layer.inputs) use(run, Access::read, input);
    if (!elementwise || one_in(4)) {
      layer.weight = !weights_.empty() && one_in(4) ? static_cast<int>(below(static_cast<int64_t>(weights_.size())))
                                                    : new_weight(layer.name);
      use(run, Access::read, weights_[static_cast<size_t>(layer.weight)].read);
    } else {
      run.operands.push_back({});
    }
    for (TensorId output : layer.outputs) use(run, Access::write, output);
    if (one_in(4))
      use(run, Access::write, layer.stash = tensor(layer.name + ".stash", TensorKind::stash, 1 + below(50)));
    if (layer.stash.valid() && number % 2 == 0) run.remembers = {layer.stash};
    if (one_in(6)) {
      use(run, Access::update, fixed(layer.name + ".mean", TensorKind::statistic, 1 + below(300), true));
      run.mixes_samples = true;
    }
    run.may_run_again = !one_in(8);
    if (elementwise && one_in(2) && alike(layer.inputs[0], layer.outputs[0]))
      run.in_place = {{layer.inputs[0], layer.outputs[0]}};
    keep(std::move(run));
    values_.insert(values_.end(), layer.outputs.begin(), layer.outputs.end());
    layers_.push_back(std::move(layer));
  }

  int new_weight(const std::string& layer) {
    const int64_t elements = 1 + below(4000);
    Weight weight{.tensor = fixed(layer + ".W", TensorKind::weight, elements, true), .trained = !one_in(6)};
    if (weight.trained && one_in(2)) weight.state = fixed(layer + ".V", TensorKind::optimizer_state, elements, true);
    graph_.parameters.push_back(
        {.tensor = weight.tensor, .initializer = layer + ".W", .stored = graph_.tensors[weight.tensor].type});
    weight.read = options_.mixed ? copy_in_bf16(layer, weight.tensor) : weight.tensor;
    weights_.push_back(weight);
    return static_cast<int>(weights_.size()) - 1;
  }

  TensorId copy_in_bf16(const std::string& layer, TensorId weight) {
    const TensorId copy = graph_.tensors.push_back(
        {.name = layer + ".W.bf16", .kind = TensorKind::activation, .type = {DataType::bf16, {{size_of(weight)}}}});
    Task run = task(layer, "cast", TaskKind::forward);
    use(run, Access::read, weight);
    use(run, Access::write, copy);
    keep(std::move(run));
    return copy;
  }

  void loss(TensorId labels) {
    graph_.loss = graph_.tensors.push_back({.name = "loss", .type = {DataType::f32, {{1}}}});
    if (one_in(2)) graph_.correct = graph_.tensors.push_back({.name = "correct", .type = {DataType::f32, {{1}}}});
    const TensorId gradient =
        tensor("dloss", TensorKind::activation_gradient, size_of(graph_.output), type_of(graph_.output));
    Task run = task("loss", "loss", TaskKind::loss);
    use(run, Access::read, graph_.output);
    use(run, Access::read, labels);
    use(run, Access::write, graph_.loss);
    if (graph_.correct.valid()) use(run, Access::write, graph_.correct);
    use(run, Access::write, gradient);
    if (one_in(2)) run.in_place = {{graph_.output, gradient}};
    keep(std::move(run));
    gradients_[graph_.output] = gradient;
  }

  // The gradient of a value: the first to arrive, or its sum with the next.
  void arrive(const std::string& layer, TensorId value, TensorId gradient) {
    const auto [at, first] = gradients_.emplace(value, gradient);
    if (first) return;
    const TensorId sum =
        tensor(fmt::format("{}.sum{}", layer, sums_), TensorKind::activation_gradient, size_of(value), type_of(value));
    Task run = task(layer, fmt::format("sum{}", sums_++).c_str(), TaskKind::backward_data);
    use(run, Access::read, at->second);
    use(run, Access::read, gradient);
    use(run, Access::write, sum);
    run.in_place = {{at->second, sum}, {gradient, sum}};
    keep(std::move(run));
    at->second = sum;
  }

  void backward(const Layer& layer) {
    std::vector<TensorId> arrived;
    for (TensorId output : layer.outputs)
      if (gradients_.count(output)) arrived.push_back(gradients_[output]);
    if (arrived.empty()) return;
    const auto read_common = [&](Task& run) {
      for (TensorId value : layer.reads_output ? layer.outputs : layer.inputs) use(run, Access::read, value);
      for (TensorId gradient : arrived) use(run, Access::read, gradient);
      if (layer.stash.valid()) use(run, Access::read, layer.stash);
    };
    if (layer.weight >= 0 && weights_[static_cast<size_t>(layer.weight)].trained) {
      Weight& weight = weights_[static_cast<size_t>(layer.weight)];
      Task run = task(layer.name, "weights", TaskKind::backward_weights);
      read_common(run);
      const bool first = !weight.gradient.valid();
      if (first)
        weight.gradient =
            fixed("d" + graph_.tensors[weight.tensor].name, TensorKind::weight_gradient, size_of(weight.tensor), false);
      use(run, first ? Access::write : Access::update, weight.gradient);
      keep(std::move(run));
    }
    Task run = task(layer.name, "data", TaskKind::backward_data);
    read_common(run);
    if (layer.weight >= 0) use(run, Access::read, weights_[static_cast<size_t>(layer.weight)].read);
    std::vector<std::pair<TensorId, TensorId>> made;
    for (TensorId input : layer.inputs) {
      if (graph_.tensors[input].kind == TensorKind::input) continue;
      const TensorId gradient = tensor(fmt::format("{}.d{}", layer.name, graph_.tensors[input].name),
                                       TensorKind::activation_gradient, size_of(input), type_of(input));
      use(run, Access::write, gradient);
      made.push_back({input, gradient});
    }
    if (made.empty()) return;
    if (alike(arrived[0], made[0].second)) run.in_place = {{arrived[0], made[0].second}};
    keep(std::move(run));
    for (const auto& [input, gradient] : made) arrive(layer.name, input, gradient);
  }

  void narrow_gradients() {
    const auto is_added_to = [&](TensorId gradient) {
      return std::ranges::any_of(graph_.tasks, [&](const Task& task) {
        return std::ranges::any_of(task.operands, [&](const Operand& operand) {
          return operand.tensor == gradient && operand.access == Access::update;
        });
      });
    };
    for (const TensorId id : ids_of(graph_.tensors))
      if (graph_.tensors[id].kind == TensorKind::weight_gradient && !is_added_to(id))
        graph_.tensors[id].type.type = DataType::bf16;
    for (Task& task : graph_.tasks)
      for (Operand& operand : task.operands)
        if (operand.tensor.valid()) operand.type.type = type_of(operand.tensor);
  }

  void update(const Weight& weight) {
    if (!weight.gradient.valid()) return;
    Task run = task(graph_.tensors[weight.tensor].name, "update", TaskKind::update);
    use(run, Access::update, weight.tensor);
    use(run, Access::read, weight.gradient);
    if (weight.state.valid()) use(run, Access::update, weight.state);
    keep(std::move(run));
  }

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  TaskGraph graph_;
  std::vector<TensorId> values_;
  std::vector<Layer> layers_;
  std::vector<Weight> weights_;
  std::map<TensorId, TensorId> gradients_;
  int sums_ = 0;
};

}  // namespace

TaskGraph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Maker(seed, options).make(); }

Status RandomCosts::prepare(const TaskGraph& graph, int64_t samples) {
  for_each_work(graph, [&](const Task& task) {
    std::vector<AlgorithmCost>& costs = known_[signature(task, samples)];
    if (!costs.empty()) return;
    // The same for a task under every number of samples, so that times and workspaces grow with it.
    std::seed_seq words{seed_, static_cast<uint64_t>(std::hash<std::string>{}(signature(task, 1)))};
    std::mt19937_64 random(words);
    const int count = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < count; ++i)
      costs.push_back(
          {.name = fmt::format("algorithm{}", i),
           .workspace_bytes = i + 1 == count ? 0 : static_cast<int64_t>(random() % 8192) * samples / (i + 1),
           .seconds = 1e-6 * static_cast<double>(samples) * static_cast<double>((i + 1) * (1 + random() % 100))});
    std::stable_sort(costs.begin(), costs.end(),
                     [](const AlgorithmCost& a, const AlgorithmCost& b) { return a.seconds < b.seconds; });
  });
  return {};
}

std::span<const AlgorithmCost> RandomCosts::algorithms(const Task& task, int64_t samples) const {
  return known_.at(signature(task, samples));
}

std::vector<uint64_t> seeds(uint64_t count) {
  const char* set = std::getenv("PLIMSOLL_FIRST_SEED");
  const uint64_t first = set ? std::strtoull(set, nullptr, 10) : 0;
  std::vector<uint64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TaskGraph shared(TaskGraph graph, uint64_t ranks) {
  graph.ranks = static_cast<int64_t>(ranks);
  graph.batch *= graph.ranks;
  return ranks > 1 ? with_gradients_in_f32(std::move(graph)) : graph;
}

}  // namespace plimsoll
