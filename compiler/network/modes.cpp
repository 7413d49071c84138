#include "compiler/network/modes.h"

#include <fmt/format.h>

#include "compiler/network/evaluated_dropout.h"
#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {

Status decide_modes(Network& network, bool states_modes, Modes modes, bool statistics_are_said) {
  constexpr int kFirstWithModes = 14;  // first opset in which BatchNormalization has a training_mode
  if (modes == Modes::as_exported) network.modes_are_stated = true;
  if (modes != Modes::asked || network.modes_are_stated) return {};
  const bool normalizations_state = states_modes && !statistics_are_said;
  int64_t normalizations = 0, dropouts = 0;
  for (const Node& node : network.nodes) {
    if (is_in_training_mode(network, node)) return {};
    normalizations += normalizations_state && node.op == "BatchNormalization" && node.opset >= kFirstWithModes;
    dropouts += is_evaluated_dropout(network, node);
  }
  if (normalizations + dropouts == 0) return {};
  const char *train = "train with active dropouts", *as_exported = "train without dropout";
  std::string evaluated = counted(dropouts, "dropout");
  if (normalizations > 0) {
    train = dropouts > 0 ? "train with the statistics of each batch and with active dropouts"
                         : "train with the statistics of each batch";
    as_exported =
        dropouts > 0 ? "keep all running statistics, and train without dropout" : "keep all running statistics";
    evaluated = counted(normalizations, "batch normalization") + (dropouts > 0 ? " and " + evaluated : "");
  }
  Error error{ExitCode::invalid_model,
              fmt::format("the model was exported for evaluation: its {} {} in evaluation mode, and no node is in "
                          "training mode",
                          evaluated, is_or_are(normalizations + dropouts)),
              {fmt::format("--modes train: {}, as after model.train()", train),
               fmt::format("--modes as-exported: {}, as after model.eval()", as_exported)}};
  if (dropouts == 0)
    error.notes.push_back(
        "such an export contains no dropouts; to have them, export the model again (model.train(), "
        "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False), or with plimsoll.export");
  return error;
}

}  // namespace plimsoll
