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
#include <algorithm>

#include "runtime/host/cross_entropy_pixels.h"
#include "runtime/host/cross_entropy_rows.h"
#include "runtime/host/flat_kernel.h"
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
    stretches_ = pixels_ == 1 ? 1 : (pixels_ + kStretch - 1) / kStretch;
  }

  int64_t workspace_bytes() const { return batch_ * stretches_ * static_cast<int64_t>(sizeof(LossShare)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const host::CrossEntropyRows rows(shape_, labels_, weights_in(operands, has_weights_), attrs_.smoothing);
    const host::LossScales scales(attrs_, context, rows, operands[1], shape_.rows());
    const host::CrossEntropyPixels tiles(rows);
    const T* logits = host::in<T>(operands, 0);
    T* gradient = context.training ? host::out<T>(operands, 4) : nullptr;
    LossShare* shares = reinterpret_cast<LossShare*>(workspace);
    const int64_t image = classes_ * pixels_, units = batch_ * stretches_;
#pragma omp parallel for schedule(static) if (batch_ * image > 4096)
    for (int64_t i = 0; i < units; ++i) {
      const int64_t n = i / stretches_, first = i % stretches_ * kStretch;
      const T* x = logits + n * image + first;
      T* dx = gradient ? gradient + n * image + first : nullptr;
      const int64_t label = n * pixels_ + first;
      if (pixels_ > 1) {
        shares[i] = stretch(tiles, x, operands[1], label, std::min(kStretch, pixels_ - first), dx, scales.of_gradient);
      } else {
        const int64_t wanted = labels_.at(operands[1], label);
        shares[i] = is_plain_ ? rows.plain_softmax(x, wanted, dx, static_cast<float>(scales.of_gradient))
                              : rows.softmax(x, wanted, dx, scales.of_gradient);
      }
    }
    const LossShare sum = total(shares, units);
    *host::out(operands, 2) = static_cast<float>(sum.loss * scales.of_loss);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kStretch = host::CrossEntropyPixels::kPixels;

  LossShare stretch(const host::CrossEntropyPixels& tiles, const T* x, const std::byte* labels, int64_t first,
                    int64_t count, T* dx, double scale) const {
    double sum = 0;
    int64_t hits = 0;  // added without a branch, which would be hard to predict
    tiles.softmax(
        x, labels, first, count, dx, [&](int64_t) { return scale; },
        [&](int64_t, double loss, bool hit) {
      sum += loss;
      hits += static_cast<int64_t>(hit);
        });
    return {sum, static_cast<double>(hits)};
  }

  SoftmaxCrossEntropyAttrs attrs_;
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

struct EachRow {
  host::ScoreShape shape;
  host::ClassLabels labels;
  bool weighed;
  double smoothing;

  // `scores`: the slot with their shape; labels and weights have theirs.
  EachRow(const CrossEntropyEachAttrs& attrs, std::span<const OperandDesc> descs, size_t scores, size_t of_labels,
          size_t weights)
      : shape(descs[scores].tensor),
        labels{descs[of_labels].tensor.type == DataType::i64, attrs.ignore_index},
        weighed(descs.size() > weights && descs[weights].access != Access::absent),
        smoothing(attrs.smoothing) {}

  host::CrossEntropyRows rows(const float* weights) const {
    return {shape, labels, weighed ? weights : nullptr, smoothing};
  }
};

// for_row(operands, rows, row, first, label) for every label; `first`: where the row's scores begin.
template <class ForRow>
std::unique_ptr<Kernel> each_row_kernel(const EachRow& each, size_t labels, size_t weights, ForRow for_row) {
  return host::flat_kernel([=](const RunContext&, std::byte* const* operands) {
    const host::CrossEntropyRows rows = each.rows(each.weighed ? host::in(operands, weights) : nullptr);
    const host::ScoreShape& shape = each.shape;
#pragma omp parallel for schedule(static) if (shape.rows() * shape.classes > 4096)
    for (int64_t row = 0; row < shape.rows(); ++row)
      for_row(operands, rows, row, shape.first_of(row), each.labels.at(operands[labels], row));
  });
}

// Of logits: writes a loss for each label, or to dx the gradient of the losses times dlosses. The other is null.
template <class T>
void each_softmax(const EachRow& each, const float* weights, const T* x, const std::byte* labels, float* losses,
                  const float* dlosses, T* dx) {
  const host::CrossEntropyRows rows = each.rows(weights);
  const host::CrossEntropyPixels tiles(rows);
  const host::ScoreShape& shape = each.shape;
  constexpr int64_t kStretch = host::CrossEntropyPixels::kPixels;
  const int64_t stretches = shape.pixels == 1 ? 1 : (shape.pixels + kStretch - 1) / kStretch;
#pragma omp parallel for schedule(static) if (shape.rows() * shape.classes > 4096)
  for (int64_t i = 0; i < shape.batch * stretches; ++i) {
    const int64_t row = i / stretches * shape.pixels + i % stretches * kStretch, first = shape.first_of(row);
    const auto scale_of = [&](int64_t p) { return dlosses ? static_cast<double>(dlosses[row + p]) : 0; };
    const auto take = [&](int64_t p, double loss, bool) {
      if (losses) losses[row + p] = static_cast<float>(loss);
    };
    T* const to = dx ? dx + first : nullptr;
    if (shape.pixels == 1) {
      const LossShare one = rows.softmax(x + first, each.labels.at(labels, row), to, scale_of(0));
      take(0, one.loss, one.hits > 0);
      continue;
    }
    const int64_t count = std::min(kStretch, shape.pixels - i % stretches * kStretch);
    tiles.softmax(x + first, labels, row, count, to, scale_of, take);
  }
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
    return host::flat_kernel(
        [each = EachRow(attrs, descs, 0, 1, 3)](const RunContext&, std::byte* const* operands) {
      T* const none = nullptr;
      each_softmax(each, each.weighed ? host::in(operands, 3) : nullptr, host::in<T>(operands, 0), operands[1],
                   host::out(operands, 2), nullptr, none);
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
    return host::flat_kernel(
        [each = EachRow(attrs, descs, 0, 1, 4)](const RunContext&, std::byte* const* operands) {
      each_softmax(each, each.weighed ? host::in(operands, 4) : nullptr, host::in<T>(operands, 0), operands[1], nullptr,
                   host::in(operands, 2), host::out<T>(operands, 3));
        });
  });
}

std::vector<Algorithm> NegativeLogLikelihoodEach::algorithms(const Attrs&, std::span<const OperandDesc>) {
  return {{}};
}

std::unique_ptr<Kernel> NegativeLogLikelihoodEach::make(const Attrs& attrs, std::span<const OperandDesc> descs,
                                                        std::string_view) {
  return each_row_kernel(
      EachRow(attrs, descs, 0, 1, 3), 1, 3,
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
      EachRow(attrs, descs, 2, 0, 3), 0, 3,
      [](std::byte* const* operands, const host::CrossEntropyRows& rows, int64_t row, int64_t first, int64_t label) {
    rows.likelihood_slope(label, host::out(operands, 2) + first, static_cast<double>(host::in(operands, 1)[row]));
      });
}

}  // namespace plimsoll
