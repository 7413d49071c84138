// NegativeLogLikelihoodLoss: log-probabilities [N, C, d…], labels [N, d…] → minus the mean of the labels'
// log-probabilities.
//   NegativeLogLikelihood {log_probabilities, labels, loss, correct, dlog_probabilities, weights?}
//   NegativeLogLikelihoodEach {log_probabilities, labels, losses, weights?}
//   NegativeLogLikelihoodEachBackward {labels, dlosses, dlog_probabilities, weights?}
// After a LogSoftmax, as exporters write a cross entropy, the two are fused (compiler/network/loss.cpp).
#include "compiler/ops/class_loss.h"

namespace plimsoll {

const Op op_NegativeLogLikelihoodLoss{
    .name = "NegativeLogLikelihoodLoss",
    .first_opset = 12,
    .required_inputs = 2,
    .attributes = {attribute::integer("ignore_index").since(12),
                   attribute::text("reduction", attribute::kReductions).since(12)},
    .without_gradient = {1, 2},
    .infer = infer_class_loss,
    .forward = [](TaskBuilder& build) { forward_class_loss(build, "NegativeLogLikelihood"); },
    .backward = backward_class_loss,
    .whole_numbers = 1,
    .marks = {.classes_last = true},
    .sums_samples = true,
    .wants_all_samples = class_loss_wants_all_samples,
    .precision = PrecisionRule::single,
    .samples = class_loss_samples};

}  // namespace plimsoll
