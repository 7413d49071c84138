#include "compiler/papers/chen.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace plimsoll {
namespace {

enum class Reads { none, x, y, both };

struct ChenMeaning {
  std::string_view op;
  Reads reads = Reads::none;       // operands of the backward in addition to dY
  bool forward_in_place = false;   // overwrites the first X
  bool backward_in_place = false;  // the first dX overwrites dY
};

constexpr std::array<ChenMeaning, 22> kChenMeanings = {{{"Conv", Reads::x},
                                                {"ConvTranspose", Reads::x},
                                                {"Gemm", Reads::x},
                                                {"MatMul", Reads::x},
                                                {"BatchNormalization", Reads::x, false, true},
                                                {"Mul", Reads::x},
                                                {"Relu", Reads::y, true, true},
                                                {"Clip", Reads::y, true, true},
                                                {"Sigmoid", Reads::y, true, true},
                                                {"Tanh", Reads::y, true, true},
                                                {"MaxPool", Reads::both},
                                                {"AveragePool", Reads::both},
                                                {"GlobalAveragePool", Reads::both},
                                                {"LRN", Reads::both},
                                                {"Add", Reads::none, true, true},
                                                {"Sum", Reads::none, true, true},
                                                {"Concat", Reads::none},
                                                {"Split", Reads::none},
                                                {"Slice", Reads::none},
                                                {"Dropout", Reads::none},
                                                {"Softmax", Reads::y, false, true},
                                                {"SoftmaxCrossEntropyLoss", Reads::y, false, true}}};

const ChenMeaning& meaning_of(const ReadLayer& layer) {
  return *std::find_if(kChenMeanings.begin(), kChenMeanings.end(),
                       [&](const ChenMeaning& meaning) { return meaning.op == layer.op; });
}

class ChenBuilder {
 public:
  ChenBuilder(const Network& network, ReadNetwork read, int64_t batch)
      : network_(network), read_(std::move(read)), make_(network, batch), output_(network.values.size()),
        edges_(network.values.size()), given_(network.values.size(), false) {}

  TaskGraph run() {
    for (const ValueId input : network_.inputs) given_[input] = true;
    for (const ReadLayer& layer : read_.layers) forward(layer);
    for (size_t i = read_.layers.size(); i-- > 0;) backward(read_.layers[i]);
    return std::move(make_.graph);
  }

 private:
  // Pieces of the images count as images.
  bool cuts_images(const ReadLayer& layer) const {
    return (layer.op == "Split" || layer.op == "Slice") && given_[layer.x[0]];
  }

  void forward(const ReadLayer& layer) {
    if (cuts_images(layer)) {
      for (const ValueId y : layer.y) given_[y] = true;
      return;
    }
    const ChenMeaning& meaning = meaning_of(layer);
    Task task = make_.task(layer, "forward", layer.op, TaskKind::forward);
    for (const ValueId x : layer.x) make_.use(task, output_[x], Access::read);
    make_.use_parameters(task, layer, false);
    for (const ValueId y : layer.y) {
      const TensorType& type = y.valid() ? network_.values[y].type : layer.x_types[0];
      const TensorId made = make_.tensor(layer.name + ".Y", TensorKind::activation, type);
      if (y.valid()) output_[y] = made;
      else softmax_ = made;
      make_.use(task, made, Access::write);
      if (meaning.forward_in_place && output_[layer.x[0]].valid()) task.in_place.push_back({output_[layer.x[0]], made});
    }
    make_.put(std::move(task));
  }

  // The gradient of a value: that of its only edge, or an additional tensor with the sum of all.
  TensorId gradient_of(const ReadLayer& layer, ValueId y) {
    if (!y.valid() || edges_[y].empty()) return {};
    if (edges_[y].size() == 1) return edges_[y][0];
    Task task = make_.task(layer, "sum", "Sum", TaskKind::backward);
    task.flops = network_.values[y].type.elements();
    const TensorId sum = make_.tensor(layer.name + ".dY", TensorKind::activation_gradient, network_.values[y].type);
    for (const TensorId edge : edges_[y]) make_.use(task, edge, Access::read);
    make_.use(task, sum, Access::write);
    task.in_place = {{edges_[y][0], sum}};
    task.name += std::to_string(sums_++);
    make_.put(std::move(task));
    return sum;
  }

  void backward(const ReadLayer& layer) {
    if (cuts_images(layer)) return;
    const ChenMeaning& meaning = meaning_of(layer);
    std::vector<TensorId> dy;
    for (const ValueId y : layer.y)
      if (const TensorId gradient = gradient_of(layer, y); gradient.valid()) dy.push_back(gradient);
    const TensorId y = layer.y[0].valid() ? output_[layer.y[0]] : softmax_;
    if (dy.empty() && !is_softmax(layer)) return;
    Task task = make_.task(layer, "backward", layer.op, TaskKind::backward);
    if (meaning.reads == Reads::x && !layer.parameters.empty())
      task.flops = {2 * layer.flops.fixed, 2 * layer.flops.per_sample};
    if (meaning.reads == Reads::x || meaning.reads == Reads::both)
      for (const ValueId x : layer.x) make_.use(task, output_[x], Access::read);
    if (meaning.reads == Reads::y || meaning.reads == Reads::both) make_.use(task, y, Access::read);
    for (const TensorId each : dy) make_.use(task, each, Access::read);
    make_.use_parameters(task, layer, true);
    for (size_t i = 0; i < layer.x.size(); ++i) {
      if (given_[layer.x[i]]) continue;
      const TensorId dx = make_.tensor(layer.name + ".dX", TensorKind::activation_gradient, layer.x_types[i]);
      make_.use(task, dx, Access::write);
      edges_[layer.x[i]].push_back(dx);
      const TensorId over = dy.empty() ? y : dy[0];
      if (meaning.backward_in_place && task.in_place.empty()) task.in_place = {{over, dx}};
    }
    make_.put(std::move(task));
  }

  const Network& network_;
  const ReadNetwork read_;
  RuleGraph make_;
  IdVector<ValueId, TensorId> output_;
  IdVector<ValueId, std::vector<TensorId>> edges_;  // gradients, one per operator that reads the value
  IdVector<ValueId, bool> given_;
  TensorId softmax_ = {};
  int sums_ = 0;
};

// MXNet's allocator, replayed in step order. Outputs that may work in place take over the block. Others take the
// smallest free block of at least their size and at most 16 times that, else the largest smaller one, which grows. Then
// tensors after their last use are freed.
class Matcher {
 public:
  explicit Matcher(const Plan& plan)
      : plan_(plan), block_of_(plan.tensors.size(), -1), ends_(plan.steps.size()), begins_(plan.steps.size()) {
    for (const Residency& residency : plan.residencies) {
      if (plan.tensors[residency.tensor].persistent) continue;
      begins_[static_cast<size_t>(residency.first_step)].push_back(residency.tensor);
      ends_[std::min(static_cast<size_t>(residency.last_step), plan.steps.size() - 1)].push_back(residency.tensor);
    }
  }

  int64_t run() {
    for (size_t step = 0; step < begins_.size(); ++step) {
      std::vector<TensorId> leaving = ends_[step];
      for (const TensorId tensor : begins_[step]) {
        const int64_t bytes = plan_.tensors[tensor].bytes;
        const TensorId below = taken_over(step, tensor, leaving);
        if (below.valid()) {
          block_of_[tensor] = block_of_[below];
          std::erase(leaving, below);
        } else {
          block_of_[tensor] = match(bytes);
        }
        int64_t& size = sizes_[static_cast<size_t>(block_of_[tensor])];
        size = std::max(size, bytes);
      }
      for (const TensorId tensor : leaving)
        free_.emplace(sizes_[static_cast<size_t>(block_of_[tensor])], block_of_[tensor]);
    }
    return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0});
  }

 private:
  TensorId taken_over(size_t step, TensorId tensor, const std::vector<TensorId>& leaving) const {
    const Step& at = plan_.steps[StepId(static_cast<int64_t>(step))];
    if (at.kind != StepKind::compute) return {};
    for (const Task::InPlace& pair : plan_.tasks[at.task].in_place)
      if (pair.written == tensor && plan_.tensors[pair.read].bytes >= plan_.tensors[tensor].bytes &&
          std::find(leaving.begin(), leaving.end(), pair.read) != leaving.end())
        return pair.read;
    return {};
  }

  int match(int64_t bytes) {
    constexpr int64_t kRange = 16;
    const auto take = [&](std::multimap<int64_t, int>::iterator found) {
      const int block = found->second;
      free_.erase(found);
      return block;
    };
    const auto larger = free_.lower_bound(bytes);
    if (larger != free_.end() && larger->first <= kRange * bytes) return take(larger);
    if (larger != free_.begin() && std::prev(larger)->first >= bytes / kRange) return take(std::prev(larger));
    sizes_.push_back(bytes);
    return static_cast<int>(sizes_.size()) - 1;
  }

  const Plan& plan_;
  IdVector<TensorId, int> block_of_;
  std::vector<std::vector<TensorId>> ends_, begins_;  // per step
  std::vector<int64_t> sizes_;                        // of each block
  std::multimap<int64_t, int> free_;                  // by size
};

}  // namespace

Result<TaskGraph> chen_graph(const Network& network, int64_t batch) {
  std::vector<std::string_view> known;
  for (const ChenMeaning& meaning : kChenMeanings) known.push_back(meaning.op);
  PLIMSOLL_ASSIGN(ReadNetwork read, read_network(network, "Chen et al.", known));
  return ChenBuilder(network, std::move(read), batch).run();
}

ChenFigures chen_figures(const Plan& plan) {
  ChenFigures figures{
      .all_bytes = bytes_of(plan, TensorKind::activation) + bytes_of(plan, TensorKind::activation_gradient),
      .planned_bytes = plan.summary.arena_bytes - plan.summary.persistent_bytes,
      .matched_bytes = Matcher(plan).run(),
      .parameter_bytes = bytes_of(plan, TensorKind::weight) + bytes_of(plan, TensorKind::weight_gradient)};
  figures.live_bytes = plan.summary.live_bytes - (plan.rules == "chen" ? 0 : figures.parameter_bytes);
  if (plan.summary.ideal_seconds > 0)
    figures.recompute_share = plan.summary.recompute_seconds / plan.summary.ideal_seconds;
  return figures;
}

void count_as_chen(Plan& plan) {
  const ChenFigures figures = chen_figures(plan);
  plan.rules = "chen";
  plan.summary.network_wide_bytes = figures.all_bytes;
  plan.summary.live_bytes = figures.live_bytes;
}

}  // namespace plimsoll
