#include "compiler/network/modes.h"

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/support/counted.h"
#include "compiler/network/evaluated_dropout.h"

namespace plimsoll {

Status decide_modes(Network& network, bool states_modes, Modes modes, bool statistics_are_said) {
  constexpr int kFirstWithModes = 14;  // first opset in which BatchNormalization has a training_mode
  if (modes == Modes::as_exported) network.modes_are_stated = true;
  if (!states_modes || modes != Modes::asked || statistics_are_said || network.modes_are_stated) return {};
  int64_t evaluated = 0;
  for (const Node& node : network.nodes) {
    if (is_in_training_mode(network, node)) return {};
    evaluated += node.op == "BatchNormalization" && node.opset >= kFirstWithModes;
  }
  if (evaluated == 0) return {};
  return Error{
      ExitCode::invalid_model,
      fmt::format("the model was exported for evaluation: its {} in evaluation mode, and no node is in training mode",
                  fmt::format("{} {}", counted(evaluated, "batch normalization"), is_or_are(evaluated))),
      {"to train as after model.train(), by the statistics of each batch: --modes train",
       "to keep all running statistics, as after model.eval(): --modes as-exported",
       "dropouts are left out of such an export: export the model again to have them (model.train(), "
       "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False), or with plimsoll.export"}};
}

}  // namespace plimsoll
