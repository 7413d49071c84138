// MixedCrossEntropy {logits, labels, loss, correct, dlogits, weights?}   logits [N, C], f32 or bf16 like their
// gradient; labels [N, 3] (runtime/attrs/mixed_label.h); weights [C]
//
// With class weights w and label smoothing s, a sample of the classes a and b with the share q of b is
//
//   loss = (1 - q) CE(a) + q CE(b)      CE(y) = w[y] (1 - s) (lse - x[y]) + Σ s/C w[c] (lse - x[c])
//
// where CE of an ignored class is 0. Hits are shared alike: 1 - q if a is the best class, q if b is. The trainer knows
// the divisor of the mean. Each row writes its share to the workspace; shares are added in order, so the bits do not
// depend on the number of threads.
#include "runtime/attrs/mixed_label.h"
#include "runtime/host/cross_entropy_rows.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr size_t kWeightsOfMixedLoss = 5;

template <class T>
class MixedCrossEntropyKernel final : public Kernel {
 public:
  MixedCrossEntropyKernel(const SoftmaxCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        shape_(operands[0].tensor),
        has_weights_(operands.size() > kWeightsOfMixedLoss && operands[kWeightsOfMixedLoss].access != Access::absent) {}

  int64_t workspace_bytes() const { return shape_.batch * static_cast<int64_t>(sizeof(LossShare)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const host::CrossEntropyRows rows(shape_, {.wide = false, .ignored = attrs_.ignore_index},
                                      has_weights_ ? host::in(operands, kWeightsOfMixedLoss) : nullptr,
                                      attrs_.smoothing);
    const double scale = attrs_.scale * context.loss_scale;
    const T* x = host::in<T>(operands, 0);
    const auto* labels = reinterpret_cast<const MixedLabel*>(operands[1]);
    T* dx = context.training ? host::out<T>(operands, 4) : nullptr;
    LossShare* shares = reinterpret_cast<LossShare*>(workspace);
#pragma omp parallel for schedule(static) if (shape_.batch * shape_.classes > 4096)
    for (int64_t n = 0; n < shape_.batch; ++n) {
      const int64_t first = n * shape_.classes;
      shares[n] = rows.mixed(x + first, labels[n], dx ? dx + first : nullptr, scale * context.gradient_scale);
    }
    const LossShare sum = total(shares, shape_.batch);
    *host::out(operands, 2) = static_cast<float>(sum.loss * scale);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  SoftmaxCrossEntropyAttrs attrs_;
  host::ScoreShape shape_;
  bool has_weights_;
};

}  // namespace

std::vector<Algorithm> MixedCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = MixedCrossEntropyKernel<float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> MixedCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<MixedCrossEntropyKernel<decltype(zero)>>(attrs, operands);
  });
}

}  // namespace plimsoll
