// LogSoftmax along an axis.   LogSoftmaxForward {x, y}   LogSoftmaxBackward {y, dy, dx}: dx = dy - e^y · Σ dy
// A LogSoftmax that is a model's last node before the cross entropy is fused into the loss (compiler/network/loss.cpp).
#include "compiler/ops/softmax.h"

namespace plimsoll {

const Op op_LogSoftmax{.name = "LogSoftmax",
                       .attributes = {attribute::integer("axis")},
                       .normalizes = softmax_normalizes,
                       .infer = infer_softmax,
                       .forward = forward_softmax,
                       .backward = backward_softmax,
                       .precision = PrecisionRule::single,
                       .samples = softmax_samples};

}  // namespace plimsoll
