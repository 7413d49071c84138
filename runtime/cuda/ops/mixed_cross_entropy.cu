// MixedCrossEntropy {logits, labels, loss, correct, dlogits, weights?}   logits [N, C], labels [N, 3]
// (runtime/attrs/mixed_label.h), weights [C]; runtime/host/ops/mixed_cross_entropy.cpp has the formula.
//
// One block per sample; each writes its share to the workspace, and the block that arrives last adds the shares in a
// fixed order.
#include "runtime/attrs/mixed_label.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/ops/class_weighing.h"
#include "runtime/cuda/ops/loss_share.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using cuda::BestClass, cuda::LossScale, cuda::Weighing;

__global__ void mixed_rows_kernel(LossScale given_scale, Weighing weighing, int64_t ignored, const MixedLabel* labels,
                                  const float* logits, float* gradient, cuda::LossTotal total) {
  const int64_t n = blockIdx.x, classes = weighing.classes;
  const float* const x = logits + n * classes;
  float* const dx = gradient ? gradient + n * classes : nullptr;
  const int64_t own = labels[n].own, other = labels[n].other;
  const double part = static_cast<double>(labels[n].share) / kWholeShare;
  const double of_own = own >= 0 && own != ignored ? 1 - part : 0, of_other = other >= 0 && other != ignored ? part : 0;
  if (of_own == 0 && of_other == 0) {
    for (int64_t c = threadIdx.x; dx && c < classes; c += cuda::kThreads) dx[c] = 0;
    total.settle({0, 0}, given_scale);
    return;
  }
  BestClass best{0, -1};
  for (int64_t c = threadIdx.x; c < classes; c += cuda::kThreads) best = cuda::better_class(best, {x[c], c});
  __shared__ BestClass of_all;
  best = cuda::block_reduce<cuda::kThreads>(best, cuda::better_class);
  if (threadIdx.x == 0) of_all = best;
  __syncthreads();
  const float largest = of_all.value;
  // A label that is not a class makes the loss NaN, and no memory outside the arrays is accessed.
  const auto below = [&](int64_t label, double share) -> double {
    if (share == 0) return 0;
    return static_cast<double>(label < classes ? x[label] - largest : nanf(""));
  };
  const double below_own = below(own, of_own), below_other = below(other, of_other);
  double sum = 0, off = 0, all = 0;
  for (int64_t c = threadIdx.x; c < classes; c += cuda::kThreads) {
    sum += static_cast<double>(expf(x[c] - largest));
    off += weighing.smoothing != 0 ? weighing.of(c) * static_cast<double>(x[c] - largest) : 0;
    all += weighing.of(c);
  }
  sum = cuda::block_sum_for_all<cuda::kThreads>(sum);  // all threads have read the labels' logits
  off = cuda::block_sum_for_all<cuda::kThreads>(off);
  all = cuda::block_sum_for_all<cuda::kThreads>(all);
  // The probabilities of the target: of each class, and of the two in addition.
  const double each = (of_own + of_other) * (weighing.smoothing != 0 ? weighing.each() : 0);
  const double kept = 1 - weighing.smoothing;
  const double to_own = of_own == 0 ? 0 : of_own * kept * weighing.of(own);
  const double to_other = of_other == 0 ? 0 : of_other * kept * weighing.of(other);
  const double target = to_own + to_other + each * all;
  cuda::LossShare share{0, 0};  // of thread 0
  if (threadIdx.x == 0)
    share = {target * log(sum) - to_own * below_own - to_other * below_other - each * off,
             (of_all.at == own ? of_own : 0) + (of_all.at == other ? of_other : 0)};
  const double scale = given_scale.slope();
  for (int64_t c = threadIdx.x; dx && c < classes; c += cuda::kThreads)
    dx[c] = static_cast<float>(scale * (static_cast<double>(expf(x[c] - largest)) / sum * target -
                                        each * weighing.of(c) - (c == own ? to_own : 0) - (c == other ? to_other : 0)));
  total.settle(share, given_scale);
}

constexpr size_t kWeightsOfMixedLoss = 5;

}  // namespace

std::vector<Algorithm> MixedCrossEntropy::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = cuda::bytes_of_shares(operands[0].tensor.dim(0))}};
}

std::unique_ptr<Kernel> MixedCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  const int64_t batch = operands[0].tensor.dim(0), classes = operands[0].tensor.dim(1);
  const bool weighed = operands.size() > kWeightsOfMixedLoss && operands[kWeightsOfMixedLoss].access != Access::absent;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const LossScale scale{attrs.scale, cuda::changing(context)};
    const Weighing weighing{weighed ? cuda::in(operand, kWeightsOfMixedLoss) : nullptr, classes, attrs.smoothing};
    cuda::launch(
        "cross entropy of mixed labels", mixed_rows_kernel, batch, cuda::kThreads, context, scale, weighing,
        attrs.ignore_index, reinterpret_cast<const MixedLabel*>(operand[1]), cuda::in(operand, 0),
        context.training ? cuda::out(operand, 4) : nullptr,
        cuda::LossTotal{reinterpret_cast<cuda::LossShare*>(workspace), cuda::out(operand, 2), cuda::out(operand, 3)});
  });
}

}  // namespace plimsoll
