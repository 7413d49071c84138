// Mse {prediction, target, loss, dprediction}
// BinaryCrossEntropy {logits, target, loss, correct, dlogits, weights?, positive weights?}   targets from 0 to 1
// OutputLoss {x, loss, dx}   x is itself the loss: its gradient is 1, or the run's scale
//
// prediction, logits and their gradients are f32 or bf16.
// Loss, hits and gradient in one pass. `correct` and the gradient may be absent; in evaluation the gradient is not
// written. The gradient may overwrite the operand that it belongs to.
//
// Each part writes its share to the workspace. The shares are added in order, so the bits do not depend on the number
// of threads.
#include "runtime/host/flat_kernel.h"
#include "runtime/host/loss_share.h"
#include "runtime/host/math.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

template <class T>
class MseKernel final : public Kernel {
 public:
  MseKernel(const MseAttrs& attrs, std::span<const OperandDesc> operands)
      : scale_(attrs.scale), n_(operands[0].tensor.elements()) {}

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(double)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const T* x = host::in<T>(operands, 0);
    const float* t = host::in(operands, 1);
    T* dx = context.training ? host::out<T>(operands, 3) : nullptr;
    double* sums = reinterpret_cast<double*>(workspace);
    const double scale = scale_ * context.loss_scale;
    const float factor = static_cast<float>(2 * scale * context.gradient_scale);
#pragma omp parallel for schedule(static) if (n_ > 16384)
    for (int64_t i = 0; i < parts(); ++i) {
      const int64_t first = i * kPart, end = std::min(n_, first + kPart);
      double sum = 0;
      for (int64_t j = first; j < end; ++j) {
        const float difference = x[j] - t[j];
        sum += static_cast<double>(difference) * static_cast<double>(difference);
        if (dx) dx[j] = factor * difference;
      }
      sums[i] = sum;
    }
    double sum = 0;
    for (int64_t i = 0; i < parts(); ++i) sum += sums[i];
    *host::out(operands, 2) = static_cast<float>(sum * scale);
  }

 private:
  static constexpr int64_t kPart = 4096;
  int64_t parts() const { return (n_ + kPart - 1) / kPart; }

  double scale_;
  int64_t n_;
};

// max(x, 0) - x·t + ln(1 + e^-|x|), which never overflows; its slope is sigmoid(x) - t.
struct BinaryTerm {
  double loss;
  float slope;
};

BinaryTerm binary_term(float logit, float target) {
  return {static_cast<double>((logit > 0 ? logit : 0) - logit * target) +
              std::log1p(static_cast<double>(host::exp_of(-std::fabs(logit)))),
          host::sigmoid_of(logit) - target};
}

// With the weight p of the target: (1 - t)·x + (1 + (p - 1)·t)·(max(-x, 0) + ln(1 + e^-|x|)).
BinaryTerm binary_term(float logit, float target, float weight, float positive) {
  const float factor = 1 + (positive - 1) * target;
  const double logarithm =
      static_cast<double>(logit < 0 ? -logit : 0) + std::log1p(static_cast<double>(host::exp_of(-std::fabs(logit))));
  return {static_cast<double>(weight) *
              (static_cast<double>((1 - target) * logit) + static_cast<double>(factor) * logarithm),
          weight * (1 - target - factor * (1 - host::sigmoid_of(logit)))};
}

// The weights of an operand that may be absent: one for all elements, or one for each class.
struct ElementWeights {
  const float* values = nullptr;
  int64_t count = 1, inner = 1;

  ElementWeights(std::span<const OperandDesc> operands, size_t i, int64_t of_inner) : inner(of_inner) {
    if (i < operands.size() && operands[i].tensor.rank() > 0) count = operands[i].tensor.elements();
  }
  float at(int64_t element) const { return values ? values[element / inner % count] : 1; }
};

template <class T>
class BinaryCrossEntropyKernel final : public Kernel {
 public:
  BinaryCrossEntropyKernel(const BinaryCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        n_(operands[0].tensor.elements()),
        operands_(operands.size()),
        weights_(operands, 5, attrs.inner),
        positive_(operands, 6, attrs.inner) {}

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(LossShare)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const T* x = host::in<T>(operands, 0);
    const float* t = host::in(operands, 1);
    T* dx = context.training ? host::out<T>(operands, 4) : nullptr;
    LossShare* shares = reinterpret_cast<LossShare*>(workspace);
    ElementWeights weights = weights_, positive = positive_;
    if (operands_ > 5) weights.values = host::in(operands, 5);
    if (operands_ > 6) positive.values = host::in(operands, 6);
    const double scale = attrs_.scale * context.loss_scale;
    const float factor = static_cast<float>(scale * context.gradient_scale);
    const float kept = static_cast<float>(1 - attrs_.smoothing), added = static_cast<float>(attrs_.smoothing / 2);
#pragma omp parallel for schedule(static) if (n_ > 4096)
    for (int64_t i = 0; i < parts(); ++i) {
      shares[i] = {};
      for (int64_t j = i * kPart; j < std::min(n_, (i + 1) * kPart); ++j) {
        const float logit = x[j], given = t[j], target = kept * given + added;
        const BinaryTerm term =
            operands_ > 5 ? binary_term(logit, target, weights.at(j), positive.at(j)) : binary_term(logit, target);
        shares[i].loss += term.loss;
        shares[i].hits += (logit > 0) == (given > 0.5F) ? 1 : 0;
        if (dx) dx[j] = factor * term.slope;
      }
    }
    const LossShare sum = total(shares, parts());
    *host::out(operands, 2) = static_cast<float>(sum.loss * scale);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kPart = 1024;
  int64_t parts() const { return (n_ + kPart - 1) / kPart; }

  BinaryCrossEntropyAttrs attrs_;
  int64_t n_;
  size_t operands_;
  ElementWeights weights_, positive_;
};

}  // namespace

std::vector<Algorithm> Mse::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = MseKernel<float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> Mse::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<MseKernel<decltype(zero)>>(attrs, operands);
  });
}

std::vector<Algorithm> BinaryCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = BinaryCrossEntropyKernel<float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> BinaryCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<BinaryCrossEntropyKernel<decltype(zero)>>(attrs, operands);
  });
}

std::vector<Algorithm> OutputLoss::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> OutputLoss::make(const Attrs&, std::span<const OperandDesc>, std::string_view) {
  return host::flat_kernel([](const RunContext& context, std::byte* const* operands) {
    *host::out(operands, 1) = *host::in(operands, 0);
    if (context.training && operands[2]) *host::out(operands, 2) = static_cast<float>(context.gradient_scale);
  });
}

}  // namespace plimsoll
