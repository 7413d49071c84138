// SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits, weights?}   logits [N, C, d…], labels [N, d…] i32 or
// i64, weights [C]
// NegativeLogLikelihood {log_probabilities, labels, loss, correct, dlog_probabilities, weights?}   likewise
// SoftmaxCrossEntropyEach {logits, labels, losses, weights?}            a loss per label
// SoftmaxCrossEntropyEachBackward {logits, labels, dlosses, dlogits, weights?}
// NegativeLogLikelihoodEach {log_probabilities, labels, losses, weights?}
// NegativeLogLikelihoodEachBackward {labels, dlosses, dlog_probabilities, weights?}
//
// Loss, hits and gradient in one pass over a row. `correct` and the gradient may be absent; in evaluation the gradient
// is not written. The gradient may overwrite the scores. SoftmaxCrossEntropy, SoftmaxCrossEntropyEach: logits and their
// gradient are f32 or bf16.
//
// Each row (or stretch of pixels) writes its share to the workspace. The shares are added in order, so the bits do not
// depend on the number of threads.
#include <limits>

#include "runtime/host/cross_entropy_rows.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/math.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr size_t kWeightsOfLoss = 5;

bool has_weights(std::span<const OperandDesc> operands) {
  return operands.size() > kWeightsOfLoss && operands[kWeightsOfLoss].access != Access::absent;
}

const float* weights_in(std::byte* const* operands, bool has_weights) {
  return has_weights ? host::in(operands, kWeightsOfLoss) : nullptr;
}

template <class T>
class SoftmaxCrossEntropyKernel final : public Kernel {
 public:
  SoftmaxCrossEntropyKernel(const SoftmaxCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        labels_{operands[1].tensor.type == DataType::i64, attrs.ignore_index},
        shape_(operands[0].tensor),
        batch_(shape_.batch),
        classes_(shape_.classes),
        pixels_(shape_.pixels),
        has_weights_(has_weights(operands)),
        is_plain_(attrs.smoothing == 0 && !has_weights_) {
    stretches_ = pixels_ == 1 ? 1 : (pixels_ + kLossStretch - 1) / kLossStretch;
  }

  int64_t workspace_bytes() const { return batch_ * stretches_ * static_cast<int64_t>(sizeof(LossShare)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const host::CrossEntropyRows rows(shape_, labels_, weights_in(operands, has_weights_), attrs_.smoothing);
    const host::LossScales scales(attrs_, context, rows, operands[1], shape_.rows());
    scale_ = static_cast<float>(scales.of_gradient);
    const T* logits = host::in<T>(operands, 0);
    T* gradient = context.training ? host::out<T>(operands, 4) : nullptr;
    LossShare* shares = reinterpret_cast<LossShare*>(workspace);
    const int64_t image = classes_ * pixels_, units = batch_ * stretches_;
#pragma omp parallel for schedule(static) if (batch_ * image > 4096)
    for (int64_t i = 0; i < units; ++i) {
      const int64_t n = i / stretches_, first = i % stretches_ * kLossStretch;
      const T* x = logits + n * image + first;
      T* dx = gradient ? gradient + n * image + first : nullptr;
      const int64_t count = std::min(kLossStretch, pixels_ - first), label = n * pixels_ + first;
      shares[i] = !is_plain_     ? weighed(rows, x, operands[1], label, count, dx, scales.of_gradient)
                  : pixels_ == 1 ? rows.plain_softmax(x, labels_.at(operands[1], n), dx, scale_)
                                 : stretch(x, operands[1], label, count, dx);
    }
    const LossShare sum = total(shares, units);
    *host::out(operands, 2) = static_cast<float>(sum.loss * scales.of_loss);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kLossStretch = 64;  // pixels at a time

  LossShare weighed(const host::CrossEntropyRows& rows, const T* x, const std::byte* labels, int64_t first,
                    int64_t count, T* dx, double scale) const {
    LossShare share;
    for (int64_t p = 0; p < count; ++p) {
      const LossShare one = rows.softmax(x + p, labels_.at(labels, first + p), dx ? dx + p : nullptr, scale);
      share.loss += one.loss;
      share.hits += one.hits;
    }
    return share;
  }

  // Up to kLossStretch pixels of one sample; the classes of a pixel are pixels_ elements apart.
  LossShare stretch(const T* x, const std::byte* labels, int64_t first, int64_t count, T* dx) const {
    float largest[kLossStretch], sum[kLossStretch], factor[kLossStretch], mine[kLossStretch];
    int64_t wanted[kLossStretch];
    int32_t best[kLossStretch];  // as wide as a score, so that both are selected by one mask
    for (int64_t p = 0; p < count; ++p) {
      largest[p] = x[p];
      sum[p] = 0;
      best[p] = 0;
      wanted[p] = labels_.at(labels, first + p);
      const bool known = wanted[p] >= 0 && wanted[p] < classes_;
      mine[p] = known ? static_cast<float>(x[wanted[p] * pixels_ + p]) : std::numeric_limits<float>::quiet_NaN();
    }
    for (int64_t c = 1; c < classes_; ++c) {
      for (int64_t p = 0; p < count; ++p) {
        const float value = x[c * pixels_ + p];
        best[p] = value > largest[p] ? static_cast<int32_t>(c) : best[p];
        largest[p] = value > largest[p] ? value : largest[p];
      }
    }
    for (int64_t c = 0; c < classes_; ++c)
      for (int64_t p = 0; p < count; ++p) sum[p] += host::exp_of(x[c * pixels_ + p] - largest[p]);
    LossShare share;
    for (int64_t p = 0; p < count; ++p) {
      const bool counted = labels_.counts(wanted[p]);
      factor[p] = counted ? scale_ / sum[p] : 0;
      if (!counted) continue;
      share.loss +=
          std::log(static_cast<double>(sum[p])) + static_cast<double>(largest[p]) - static_cast<double>(mine[p]);
      share.hits += best[p] == wanted[p] ? 1 : 0;
    }
    if (dx == nullptr) return share;
    for (int64_t c = 0; c < classes_; ++c) {
#pragma omp simd  // dx may be x
      for (int64_t p = 0; p < count; ++p)
        dx[c * pixels_ + p] = host::exp_of(x[c * pixels_ + p] - largest[p]) * factor[p];
    }
    for (int64_t p = 0; p < count; ++p)
      if (labels_.counts(wanted[p]) && wanted[p] < classes_)
        dx[wanted[p] * pixels_ + p] = host::exp_of(mine[p] - largest[p]) * factor[p] - scale_;
    return share;
  }

  SoftmaxCrossEntropyAttrs attrs_;
  float scale_ = 0;  // of the gradient, in this run
  host::ClassLabels labels_;
  host::ScoreShape shape_;
  int64_t batch_, classes_, pixels_, stretches_ = 1;
  bool has_weights_;
  bool is_plain_;  // no class weights, no smoothing: only the label's class counts
};

// On log-probabilities: only the label's counts.
class NegativeLogLikelihoodKernel final : public Kernel {
 public:
  NegativeLogLikelihoodKernel(const SoftmaxCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        labels_{operands[1].tensor.type == DataType::i64, attrs.ignore_index},
        shape_(operands[0].tensor),
        has_weights_(has_weights(operands)) {}

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(LossShare)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const host::CrossEntropyRows rows(shape_, labels_, weights_in(operands, has_weights_), 0);
    const host::LossScales scales(attrs_, context, rows, operands[1], shape_.rows());
    const float* x = host::in(operands, 0);
    float* dx = context.training ? host::out(operands, 4) : nullptr;
    LossShare* shares = reinterpret_cast<LossShare*>(workspace);
#pragma omp parallel for schedule(static) if (shape_.rows() * shape_.classes > 4096)
    for (int64_t i = 0; i < parts(); ++i) {
      shares[i] = {};
      for (int64_t row = i * kRowsOfPart; row < std::min(shape_.rows(), (i + 1) * kRowsOfPart); ++row) {
        const int64_t first = shape_.first_of(row);
        const LossShare one =
            rows.likelihood(x + first, labels_.at(operands[1], row), dx ? dx + first : nullptr, scales.of_gradient);
        shares[i].loss += one.loss;
        shares[i].hits += one.hits;
      }
    }
    const LossShare sum = total(shares, parts());
    *host::out(operands, 2) = static_cast<float>(sum.loss * scales.of_loss);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kRowsOfPart = 64;
  int64_t parts() const { return (shape_.rows() + kRowsOfPart - 1) / kRowsOfPart; }

  SoftmaxCrossEntropyAttrs attrs_;
  host::ClassLabels labels_;
  host::ScoreShape shape_;
  bool has_weights_;
};

// for_row(rows, row, label) for every label. `scores`: the slot with their shape; labels and weights have theirs.
template <class ForRow>
std::unique_ptr<Kernel> each_row_kernel(const CrossEntropyEachAttrs& attrs, std::span<const OperandDesc> descs,
                                        size_t scores, size_t labels, size_t weights, ForRow for_row) {
  const host::ScoreShape shape(descs[scores].tensor);
  const host::ClassLabels of{descs[labels].tensor.type == DataType::i64, attrs.ignore_index};
  const bool weighed = descs.size() > weights && descs[weights].access != Access::absent;
  return host::flat_kernel([=](const RunContext&, std::byte* const* operands) {
    const host::CrossEntropyRows rows(shape, of, weighed ? host::in(operands, weights) : nullptr, attrs.smoothing);
#pragma omp parallel for schedule(static) if (shape.rows() * shape.classes > 4096)
    for (int64_t row = 0; row < shape.rows(); ++row)
      for_row(operands, rows, row, shape.first_of(row), of.at(operands[labels], row));
  });
}

}  // namespace

std::vector<Algorithm> SoftmaxCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = SoftmaxCrossEntropyKernel<float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> SoftmaxCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                  std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<SoftmaxCrossEntropyKernel<decltype(zero)>>(attrs, operands);
  });
}

std::vector<Algorithm> NegativeLogLikelihood::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = NegativeLogLikelihoodKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> NegativeLogLikelihood::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view) {
  return std::make_unique<NegativeLogLikelihoodKernel>(attrs, operands);
}

std::vector<Algorithm> SoftmaxCrossEntropyEach::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SoftmaxCrossEntropyEach::make(const Attrs& attrs, std::span<const OperandDesc> descs,
                                                      std::string_view) {
  return host::by_real(descs[0].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return each_row_kernel(
        attrs, descs, 0, 1, 3,
        [](std::byte* const* operands, const host::CrossEntropyRows& rows, int64_t row, int64_t first, int64_t label) {
      T* const none = nullptr;
      const LossShare share = rows.softmax(host::in<T>(operands, 0) + first, label, none, 0);
      host::out(operands, 2)[row] = static_cast<float>(share.loss);
        });
  });
}

std::vector<Algorithm> SoftmaxCrossEntropyEachBackward::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> SoftmaxCrossEntropyEachBackward::make(const Attrs& attrs, std::span<const OperandDesc> descs,
                                                              std::string_view) {
  return host::by_real(descs[0].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    return each_row_kernel(
        attrs, descs, 0, 1, 4,
        [](std::byte* const* operands, const host::CrossEntropyRows& rows, int64_t row, int64_t first, int64_t label) {
      rows.softmax(host::in<T>(operands, 0) + first, label, host::out<T>(operands, 3) + first,
                   static_cast<double>(host::in(operands, 2)[row]));
        });
  });
}

std::vector<Algorithm> NegativeLogLikelihoodEach::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> NegativeLogLikelihoodEach::make(const Attrs& attrs, std::span<const OperandDesc> descs,
                                                        std::string_view) {
  return each_row_kernel(
      attrs, descs, 0, 1, 3,
      [](std::byte* const* operands, const host::CrossEntropyRows& rows, int64_t row, int64_t first, int64_t label) {
    host::out(operands, 2)[row] =
        static_cast<float>(rows.likelihood<float>(host::in(operands, 0) + first, label, nullptr, 0).loss);
      });
}

std::vector<Algorithm> NegativeLogLikelihoodEachBackward::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> NegativeLogLikelihoodEachBackward::make(const Attrs& attrs, std::span<const OperandDesc> descs,
                                                                std::string_view) {
  return each_row_kernel(
      attrs, descs, 2, 0, 3,
      [](std::byte* const* operands, const host::CrossEntropyRows& rows, int64_t row, int64_t first, int64_t label) {
    rows.likelihood_slope(label, host::out(operands, 2) + first, static_cast<double>(host::in(operands, 1)[row]));
      });
}

}  // namespace plimsoll
