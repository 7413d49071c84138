// Mse {prediction, target, loss, dprediction}
// BinaryCrossEntropy {logits, target, loss, correct, dlogits, weights?, positive weights?}   targets from 0 to 1
// OutputLoss {x, loss, dx}   x is itself the loss: its gradient is 1, or the run's scale
//
// Loss, hits and gradient in one launch; each block writes its share to the workspace, and the block that arrives last
// adds the shares in a fixed order. `correct` and the gradient may be absent; in evaluation the gradient is not
// written. The gradient may overwrite the operand that it belongs to.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/loss_share.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kHeld = 16;  // values per thread
constexpr int64_t kPart = cuda::kThreads * kHeld;

// slope_of(x, t, i, share) adds the contribution of element i to the loss and returns its slope.
template <int kAtOnce, class SlopeOf>
__device__ void loss_of_elements(int64_t n, const cuda::LossScale& scale, const float* x, const float* t, float* dx,
                                 const cuda::LossTotal& total, SlopeOf slope_of) {
  cuda::LossShare share{0, 0};
  for (int k = 0; k < kHeld / kAtOnce; ++k) {
    const int64_t i = blockIdx.x * kPart + kAtOnce * (k * cuda::kThreads + threadIdx.x);
    if (i >= n) break;
    auto few = cuda::load_few<kAtOnce>(x + i);
    const auto targets = cuda::load_few<kAtOnce>(t + i);
    for (int j = 0; j < kAtOnce; ++j) few.of[j] = slope_of(few.of[j], targets.of[j], i + j, share);
    if (dx) cuda::store_few(dx + i, few);
  }
  total.settle(cuda::block_reduce<cuda::kThreads>(share, cuda::plus), scale);
}

template <int kAtOnce>
__global__ void mse_kernel(int64_t n, cuda::LossScale scale, const float* x, const float* t, float* dx,
                           cuda::LossTotal total) {
  const float factor = static_cast<float>(2 * scale.slope());
  loss_of_elements<kAtOnce>(n, scale, x, t, dx, total,
                            [factor](float given, float target, int64_t, cuda::LossShare& share) {
    const float difference = given - target;
    share.loss += static_cast<double>(difference) * static_cast<double>(difference);
    return factor * difference;
  });
}

// The smoothing of targets, and the weights of classes: null, one for all elements, or one for each class.
struct BinaryWeights {
  float kept, added;
  const float *weights, *positive;
  int64_t weight_count, positive_count, inner;

  __device__ float weight(int64_t i) const { return weights ? weights[i / inner % weight_count] : 1; }
  __device__ float of_positive(int64_t i) const { return positive ? positive[i / inner % positive_count] : 1; }
};

// max(x, 0) - x·t + ln(1 + e^-|x|), which never overflows; its slope is sigmoid(x) - t. With the weight p of the
// target: (1 - t)·x + (1 + (p - 1)·t)·(max(-x, 0) + ln(1 + e^-|x|)).
template <int kAtOnce, bool kWeighed>
__global__ void binary_loss_kernel(int64_t n, cuda::LossScale scale, BinaryWeights weights, const float* x,
                                   const float* t, float* dx, cuda::LossTotal total) {
  const float factor = static_cast<float>(scale.slope());
  loss_of_elements<kAtOnce>(n, scale, x, t, dx, total,
                            [=](float logit, float given, int64_t i, cuda::LossShare& share) {
    const float target = weights.kept * given + weights.added;
    const float sigmoid = 1.0F / (1.0F + expf(-logit));
    const double logarithm = log1p(static_cast<double>(expf(-fabsf(logit))));
    share.hits += (logit > 0) == (given > 0.5F) ? 1 : 0;
    if constexpr (kWeighed) {
      const float weight = weights.weight(i), positive = 1 + (weights.of_positive(i) - 1) * target;
      const float below = logit < 0 ? -logit : 0;
      share.loss +=
          static_cast<double>(weight) * (static_cast<double>((1 - target) * logit) +
                                         static_cast<double>(positive) * (static_cast<double>(below) + logarithm));
      return factor * weight * (1 - target - positive * (1 - sigmoid));
    } else {
      const float above = logit > 0 ? logit : 0;
      share.loss += static_cast<double>(above - logit * target) + logarithm;
      return factor * (sigmoid - target);
    }
  });
}

__global__ void output_loss_kernel(const float* x, float* loss, float* dx, cuda::ChangingArgument changing) {
  if (cuda::thread_number() > 0) return;
  *loss = *x;
  if (dx) *dx = static_cast<float>(changing.gradient_scale());
}

}  // namespace

std::vector<Algorithm> Mse::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = cuda::bytes_of_shares(cuda::divided_up(operands[0].tensor.elements(), kPart))}};
}

std::unique_ptr<Kernel> Mse::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.elements(), blocks = cuda::divided_up(n, kPart);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const cuda::LossTotal total{reinterpret_cast<cuda::LossShare*>(workspace), cuda::out(operand, 2), nullptr};
    const cuda::LossScale scale{attrs.scale, cuda::changing(context)};
    cuda::by_row(n, [&](auto at_once) {
      cuda::launch("squared error", mse_kernel<decltype(at_once)::value>, blocks, cuda::kThreads, context, n, scale,
                   cuda::in(operand, 0), cuda::in(operand, 1), context.training ? cuda::out(operand, 3) : nullptr,
                   total);
    });
  });
}

std::vector<Algorithm> BinaryCrossEntropy::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = cuda::bytes_of_shares(cuda::divided_up(operands[0].tensor.elements(), kPart))}};
}

std::unique_ptr<Kernel> BinaryCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  const int64_t n = operands[0].tensor.elements(), blocks = cuda::divided_up(n, kPart);
  const auto count = [&](size_t i) {
    return i < operands.size() && operands[i].tensor.rank() > 0 ? operands[i].tensor.elements() : 1;
  };
  const size_t slots = operands.size();
  const BinaryWeights shape{.kept = static_cast<float>(1 - attrs.smoothing),
                            .added = static_cast<float>(attrs.smoothing / 2),
                            .weights = nullptr,
                            .positive = nullptr,
                            .weight_count = count(5),
                            .positive_count = count(6),
                            .inner = attrs.inner};
  return cuda::by_flag(slots > 5, [&](auto weighed) -> std::unique_ptr<Kernel> {
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      const cuda::LossTotal total{reinterpret_cast<cuda::LossShare*>(workspace), cuda::out(operand, 2),
                                  cuda::out(operand, 3)};
      const cuda::LossScale scale{attrs.scale, cuda::changing(context)};
      BinaryWeights weights = shape;
      if (slots > 5) weights.weights = cuda::in(operand, 5);
      if (slots > 6) weights.positive = cuda::in(operand, 6);
      cuda::by_row(n, [&](auto at_once) {
        cuda::launch("binary cross entropy", binary_loss_kernel<decltype(at_once)::value, decltype(weighed)::value>,
                     blocks, cuda::kThreads, context, n, scale, weights, cuda::in(operand, 0), cuda::in(operand, 1),
                     context.training ? cuda::out(operand, 4) : nullptr, total);
      });
    });
  });
}

PLIMSOLL_CUDA_KERNEL(OutputLoss, {
  static_cast<void>(attrs);
  static_cast<void>(operands);
  return cuda::kernel([](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("the loss", output_loss_kernel, 1, cuda::kThreads, context, cuda::in(operand, 0),
                 cuda::out(operand, 1), context.training ? cuda::out(operand, 2) : nullptr, cuda::changing(context));
  });
})

}  // namespace plimsoll
