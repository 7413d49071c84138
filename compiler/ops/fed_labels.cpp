#include "compiler/ops/fed_labels.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"

namespace plimsoll {
namespace {

constexpr int64_t kNowhere = -1;
constexpr int64_t kMostLabels = int64_t{1} << 22;  // per sample

// For each element of one sample, the index of the element of the input that it is.
using Positions = std::vector<int64_t>;

bool is_class_loss(const Node& node) {
  return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss" ||
         node.op == "LinearCrossEntropyLoss";
}

const Node* maker_of(const Network& network, ValueId value) {
  for (const Node& node : network.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}

// The dimensions of one sample. nullopt if samples are merged into another dimension.
std::optional<Dims> of_one_sample(const Dims& dims) {
  Dims one = dims;
  for (Dim& dim : one) {
    if (!dim.batch) continue;
    if (dim.value != 1) return std::nullopt;
    dim = {1};
  }
  return one;
}

// `may_fill`: whether a fill value next to the labels is ignored by the loss.
std::optional<Positions> moved(const Positions& given, const Dims& from, const Dims& to, const Moves& moves,
                               bool may_fill) {
  const auto x = of_one_sample(from), y = of_one_sample(to);
  if (!x || !y) return std::nullopt;
  std::vector<int64_t> strides(x->size(), 1);
  for (size_t i = x->size(); i-- > 1;) strides[i - 1] = strides[i] * (*x)[i].value;
  int64_t count = 1;
  for (const Dim dim : *y) count *= dim.value;
  if (count > kMostLabels) return std::nullopt;
  Positions result;
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = k, at = 0;
    bool inside = true;
    for (size_t axis = y->size(); axis-- > 0;) {
      const auto of = static_cast<size_t>(moves.axis[axis]);
      const int64_t here = moves.start[axis] + moves.step[axis] * (rest % (*y)[axis].value);
      rest /= (*y)[axis].value;
      inside = inside && here >= 0 && here < (*x)[of].value;
      at += here * strides[of];
    }
    if (!inside && !may_fill) return std::nullopt;
    result.push_back(inside ? given[static_cast<size_t>(at)] : kNowhere);
  }
  return result;
}

// `left_out`: whether the loss ignores a given fill value next to the labels.
template <class LeftOut>
std::optional<FedLabels> traced(const Network& network, ValueId labels, LeftOut left_out) {
  std::vector<const Node*> way;
  while (network.values[labels].kind == ValueKind::intermediate) {
    const Node* const maker = maker_of(network, labels);
    if (!maker || maker->inputs.empty()) return std::nullopt;
    way.push_back(maker);
    labels = maker->inputs[0];
  }
  const auto input = std::find(network.inputs.begin(), network.inputs.end(), labels);
  const TensorType& fed = network.values[labels].type;
  if (input == network.inputs.end() || !fed.depends_on_batch() || fed.elements().per_sample > kMostLabels)
    return std::nullopt;
  Positions positions(static_cast<size_t>(fed.elements().per_sample));
  std::iota(positions.begin(), positions.end(), 0);
  bool one_size = false;  // after a WholeBatch, no dimension says which elements are of one sample
  for (auto node = way.rbegin(); node != way.rend(); ++node) {
    const Op* const op = find_op((*node)->op);
    one_size = one_size || (*node)->op == "WholeBatch";
    if (op && op->forward == forward_alias) continue;
    if (one_size) return std::nullopt;
    const NodeView view(network, **node);
    const auto moves = op && op->moves ? op->moves(view) : std::nullopt;
    if (!moves) return std::nullopt;
    const auto next =
        moved(positions, view.input_type(0).dims, view.output_type(0).dims, *moves, left_out(moves->fill));
    if (!next) return std::nullopt;
    positions = *next;
  }
  std::erase(positions, kNowhere);
  if (positions.empty()) return std::nullopt;
  std::sort(positions.begin(), positions.end());
  const FedLabels found{.input = labels,
                        .index = input - network.inputs.begin(),
                        .first = positions.front(),
                        .end = positions.back() + 1};
  for (size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != found.first + static_cast<int64_t>(i)) return std::nullopt;
  return found;
}

std::optional<FedLabels> alone(const NodeView& loss) {
  const int64_t ignored = ignored_label(loss);
  return traced(loss.network(), loss.node().inputs[1],
                [&](double number) { return number < 0 || number == static_cast<double>(ignored); });
}

ValueId weights_of(const NodeView& loss) { return loss.has_input(2) ? loss.node().inputs[2] : ValueId(); }

}  // namespace

int64_t ignored_label(const NodeView& loss) {
  constexpr int64_t kPyTorchs = -100;  // if the model specifies none
  return loss.integer("ignore_index", kPyTorchs);
}

std::optional<FedLabels> fed_labels(const NodeView& loss) {
  const Network& network = loss.network();
  if (const ValueId weights = weights_of(loss); weights.valid())
    if (const Value& value = network.values[weights];
        value.kind != ValueKind::parameter || value.trainable || value.initializer.empty())
      return std::nullopt;
  const auto found = alone(loss);
  if (!found || found->index >= static_cast<int64_t>(kLabelScales)) return std::nullopt;
  for (const Node& node : network.nodes) {
    if (!is_class_loss(node) || &node == &loss.node()) continue;
    const NodeView other(network, node);
    const auto its = alone(other);
    if (!its || its->input != found->input) continue;
    if (*its != *found || ignored_label(other) != ignored_label(loss) || weights_of(other) != weights_of(loss))
      return std::nullopt;
  }
  return found;
}

}  // namespace plimsoll
