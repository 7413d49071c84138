#include "compiler/network/evaluated_dropout.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr int kFirstWithMode = 12;  // first opset in which Dropout has a training_mode
constexpr size_t kRatioInput = 1, kModeInput = 2;

enum class Mode { training, evaluation, not_said };

Mode mode_of(const Network& network, const Node& node) {
  if (node.op == "BatchNormalization")
    return NodeView(network, node).integer("training_mode", 0) != 0 ? Mode::training : Mode::not_said;
  if (node.op != "Dropout" || node.opset < kFirstWithMode) return Mode::not_said;
  if (node.inputs.size() <= kModeInput || !node.inputs[kModeInput].valid()) return Mode::evaluation;
  const Value& mode = network.values[node.inputs[kModeInput]];
  if (!mode.constant) return Mode::not_said;
  const auto is_true = [](auto item) { return item != 0; };
  const bool training = std::any_of(mode.constant->ints.begin(), mode.constant->ints.end(), is_true) ||
                        std::any_of(mode.constant->reals.begin(), mode.constant->reals.end(), is_true);
  return training ? Mode::training : Mode::evaluation;
}

}  // namespace

bool is_in_training_mode(const Network& network, const Node& node) { return mode_of(network, node) == Mode::training; }

bool is_evaluated_dropout(const Network& network, const Node& node) {
  if (node.op != "Dropout" || mode_of(network, node) != Mode::evaluation) return false;
  if (node.inputs.size() <= kRatioInput || !node.inputs[kRatioInput].valid()) return true;  // the default ratio is 0.5
  const Value& ratio = network.values[node.inputs[kRatioInput]];
  return !ratio.constant || ratio.constant->reals != std::vector<double>{0};
}

void leave_out_evaluated_dropouts(Network& network, std::vector<std::string>& notes) {
  bool tells = network.modes_are_stated;
  std::vector<Node*> evaluated;
  for (Node& node : network.nodes) {
    const Mode mode = mode_of(network, node);
    tells |= mode == Mode::training;
    if (mode == Mode::evaluation) evaluated.push_back(&node);
  }
  if (evaluated.empty()) return;
  const auto count = static_cast<int64_t>(evaluated.size());
  if (!tells) {
    notes.push_back(fmt::format(
        "{} {} in evaluation mode, like the whole file, but active in training (--modes as-exported disables {})",
        counted(count, "dropout"), is_or_are(count), count == 1 ? "it" : "them"));
    return;
  }
  for (Node* node : evaluated) {
    node->op = "Identity";
    node->inputs.resize(1);
    node->attributes.clear();
  }
  notes.push_back(fmt::format("{} {} in evaluation mode while other nodes are in training mode, and {} disabled: {}{}",
                              counted(count, "dropout"), is_or_are(count), is_or_are(count), evaluated[0]->name,
                              count > 1 ? ", …" : ""));
}

}  // namespace plimsoll
