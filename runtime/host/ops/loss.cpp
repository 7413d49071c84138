// SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits}   logits [N, C, d…], labels [N, d…] i32 or i64
// NegativeLogLikelihood {log_probabilities, labels, loss, correct, dlog_probabilities}   likewise
// Mse {prediction, target, loss, dprediction}
// BinaryCrossEntropy {logits, target, loss, correct, dlogits}   targets from 0 to 1
// OutputLoss {x, loss, dx}   of a number that is the loss: its gradient is 1
//
// Loss, hits and gradient in one pass over a row. `correct` and the gradient may be absent; in evaluation the gradient
// is not written. The gradient may lie on what it is the gradient of.
//
// Every row (or stretch of pixels) leaves its share in the workspace; the shares are added in order, so that the bits do
// not depend on the number of threads.
#include <limits>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/math.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Share {
  double loss = 0;
  double hits = 0;
};

Share total(const Share* shares, int64_t count) {
  Share sum;
  for (int64_t i = 0; i < count; ++i) {
    sum.loss += shares[i].loss;
    sum.hits += shares[i].hits;
  }
  return sum;
}

struct Labels {
  bool wide;
  int64_t ignored;

  Labels(const SoftmaxCrossEntropyAttrs& attrs, const TensorDesc& labels) : wide(labels.type == DataType::i64), ignored(attrs.ignore_index) {}
  int64_t at(const std::byte* labels, int64_t i) const {
    return wide ? reinterpret_cast<const int64_t*>(labels)[i] : reinterpret_cast<const int32_t*>(labels)[i];
  }
  bool counts(int64_t label) const { return label >= 0 && label != ignored; }
};

class SoftmaxCrossEntropyKernel final : public Kernel {
 public:
  SoftmaxCrossEntropyKernel(const SoftmaxCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : attribute_scale_(attrs.scale), labels_(attrs, operands[1].tensor) {
    const TensorDesc& logits = operands[0].tensor;
    batch_ = logits.dim(0);
    classes_ = logits.dim(1);
    for (size_t i = 2; i < logits.rank(); ++i) pixels_ *= logits.dim(i);
    stretches_ = pixels_ == 1 ? 1 : (pixels_ + kLossStretch - 1) / kLossStretch;
  }

  int64_t workspace_bytes() const { return batch_ * stretches_ * static_cast<int64_t>(sizeof(Share)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const double exact_scale = attribute_scale_ * context.loss_scale;
    scale_ = static_cast<float>(exact_scale);
    const float* logits = host::in(operands, 0);
    float* gradient = context.training ? host::out(operands, 4) : nullptr;
    Share* shares = reinterpret_cast<Share*>(workspace);
    const int64_t image = classes_ * pixels_, units = batch_ * stretches_;
#pragma omp parallel for schedule(static) if (batch_ * image > 4096)
    for (int64_t i = 0; i < units; ++i) {
      const int64_t n = i / stretches_, first = i % stretches_ * kLossStretch;
      const float* x = logits + n * image + first;
      float* dx = gradient ? gradient + n * image + first : nullptr;
      shares[i] = pixels_ == 1 ? row(x, labels_.at(operands[1], n), dx)
                               : stretch(x, operands[1], n * pixels_ + first, std::min(kLossStretch, pixels_ - first), dx);
    }
    const Share sum = total(shares, units);
    *host::out(operands, 2) = static_cast<float>(sum.loss * exact_scale);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kLossStretch = 64;  // pixels at a time

  // One sample, its classes side by side. A label that is no class makes the loss NaN: loud, and no stray access.
  Share row(const float* x, int64_t label, float* dx) const {
    if (!labels_.counts(label)) {
      for (int64_t c = 0; dx && c < classes_; ++c) dx[c] = 0;
      return {};
    }
    float largest = x[0];
    for (int64_t c = 1; c < classes_; ++c) largest = x[c] > largest ? x[c] : largest;
    const bool known = label < classes_;
    const float mine = known ? x[label] : std::numeric_limits<float>::quiet_NaN();
    bool hit = mine == largest;
    for (int64_t c = 0; hit && c < label; ++c) hit = x[c] != largest;  // the first of equals is the arg max

    constexpr int64_t kLossLanes = 16;
    float lanes[kLossLanes] = {};
    int64_t c = 0;
    for (; c + kLossLanes <= classes_; c += kLossLanes)
      for (int64_t l = 0; l < kLossLanes; ++l) lanes[l] += host::exp_of(x[c + l] - largest);
    for (int64_t l = 0; c < classes_; ++c, ++l) lanes[l] += host::exp_of(x[c] - largest);
    double sum = 0;
    for (const float lane : lanes) sum += static_cast<double>(lane);

    if (dx) {
      const float factor = static_cast<float>(static_cast<double>(scale_) / sum);
      for (int64_t j = 0; j < classes_; ++j) dx[j] = host::exp_of(x[j] - largest) * factor;
      if (known) dx[label] -= scale_;
    }
    return {std::log(sum) + static_cast<double>(largest) - static_cast<double>(mine), hit ? 1.0 : 0.0};
  }

  // Up to kLossStretch pixels of one sample; a pixel's classes are pixels_ apart.
  Share stretch(const float* x, const std::byte* labels, int64_t first, int64_t count, float* dx) const {
    float largest[kLossStretch], sum[kLossStretch], factor[kLossStretch], mine[kLossStretch];
    int64_t wanted[kLossStretch], best[kLossStretch];
    for (int64_t p = 0; p < count; ++p) {
      largest[p] = x[p];
      sum[p] = 0;
      best[p] = 0;
      wanted[p] = labels_.at(labels, first + p);
      const bool known = wanted[p] >= 0 && wanted[p] < classes_;
      mine[p] = known ? x[wanted[p] * pixels_ + p] : std::numeric_limits<float>::quiet_NaN();
    }
    for (int64_t c = 1; c < classes_; ++c) {
      for (int64_t p = 0; p < count; ++p) {
        const float value = x[c * pixels_ + p];
        best[p] = value > largest[p] ? c : best[p];
        largest[p] = value > largest[p] ? value : largest[p];
      }
    }
    for (int64_t c = 0; c < classes_; ++c)
      for (int64_t p = 0; p < count; ++p) sum[p] += host::exp_of(x[c * pixels_ + p] - largest[p]);
    Share share;
    for (int64_t p = 0; p < count; ++p) {
      const bool counted = labels_.counts(wanted[p]);
      factor[p] = counted ? scale_ / sum[p] : 0;
      if (!counted) continue;
      share.loss += std::log(static_cast<double>(sum[p])) + static_cast<double>(largest[p]) - static_cast<double>(mine[p]);
      share.hits += best[p] == wanted[p] ? 1 : 0;
    }
    if (dx == nullptr) return share;
    for (int64_t c = 0; c < classes_; ++c)
      for (int64_t p = 0; p < count; ++p)
        dx[c * pixels_ + p] = host::exp_of(x[c * pixels_ + p] - largest[p]) * factor[p];
    for (int64_t p = 0; p < count; ++p)
      if (labels_.counts(wanted[p]) && wanted[p] < classes_) dx[wanted[p] * pixels_ + p] -= scale_;
    return share;
  }

  double attribute_scale_;
  float scale_ = 0;  // of this run
  Labels labels_;
  int64_t batch_ = 0, classes_ = 0, pixels_ = 1, stretches_ = 1;
};

// The logarithms of probabilities are given: nothing but the label's counts.
class NegativeLogLikelihoodKernel final : public Kernel {
 public:
  NegativeLogLikelihoodKernel(const SoftmaxCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : scale_(attrs.scale), labels_(attrs, operands[1].tensor) {
    const TensorDesc& given = operands[0].tensor;
    classes_ = given.dim(1);
    for (size_t i = 2; i < given.rank(); ++i) pixels_ *= given.dim(i);
    rows_ = given.dim(0) * pixels_;
  }

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(Share)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const double scale = scale_ * context.loss_scale;
    const float* x = host::in(operands, 0);
    float* dx = context.training ? host::out(operands, 4) : nullptr;
    Share* shares = reinterpret_cast<Share*>(workspace);
#pragma omp parallel for schedule(static) if (rows_ * classes_ > 4096)
    for (int64_t i = 0; i < parts(); ++i) {
      shares[i] = {};
      for (int64_t row = i * kRowsOfPart; row < std::min(rows_, (i + 1) * kRowsOfPart); ++row)
        add_row(x, labels_.at(operands[1], row), dx, row / pixels_ * classes_ * pixels_ + row % pixels_, static_cast<float>(scale), shares[i]);
    }
    const Share sum = total(shares, parts());
    *host::out(operands, 2) = static_cast<float>(sum.loss * scale);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kRowsOfPart = 64;
  int64_t parts() const { return (rows_ + kRowsOfPart - 1) / kRowsOfPart; }

  // `dx` may lie on `x`, so all of it is read first. A label that is no class makes the loss NaN.
  void add_row(const float* x, int64_t label, float* dx, int64_t first, float scale, Share& share) const {
    const bool counted = labels_.counts(label), known = label < classes_;
    if (counted) {
      int64_t best = 0;
      for (int64_t c = 1; c < classes_; ++c)
        if (x[first + c * pixels_] > x[first + best * pixels_]) best = c;
      share.loss -= known ? static_cast<double>(x[first + label * pixels_]) : std::numeric_limits<double>::quiet_NaN();
      share.hits += best == label ? 1 : 0;
    }
    for (int64_t c = 0; dx && c < classes_; ++c) dx[first + c * pixels_] = counted && c == label ? -scale : 0;
  }

  double scale_;
  Labels labels_;
  int64_t rows_ = 0, classes_ = 0, pixels_ = 1;
};

class MseKernel final : public Kernel {
 public:
  MseKernel(const MseAttrs& attrs, std::span<const OperandDesc> operands)
      : scale_(attrs.scale), n_(operands[0].tensor.elements()) {}

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(double)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *x = host::in(operands, 0), *t = host::in(operands, 1);
    float* dx = context.training ? host::out(operands, 3) : nullptr;
    double* sums = reinterpret_cast<double*>(workspace);
    const double scale = scale_ * context.loss_scale;
    const float factor = static_cast<float>(2 * scale);
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

// max(x, 0) - x·t + ln(1 + e^-|x|), which overflows nowhere; its slope is sigmoid(x) - t.
class BinaryCrossEntropyKernel final : public Kernel {
 public:
  BinaryCrossEntropyKernel(const BinaryCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands)
      : scale_(attrs.scale), n_(operands[0].tensor.elements()) {}

  int64_t workspace_bytes() const { return parts() * static_cast<int64_t>(sizeof(Share)); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *x = host::in(operands, 0), *t = host::in(operands, 1);
    float* dx = context.training ? host::out(operands, 4) : nullptr;
    Share* shares = reinterpret_cast<Share*>(workspace);
    const double scale = scale_ * context.loss_scale;
    const float factor = static_cast<float>(scale);
#pragma omp parallel for schedule(static) if (n_ > 4096)
    for (int64_t i = 0; i < parts(); ++i) {
      shares[i] = {};
      for (int64_t j = i * kPart; j < std::min(n_, (i + 1) * kPart); ++j) {
        const float logit = x[j], target = t[j];
        shares[i].loss += static_cast<double>((logit > 0 ? logit : 0) - logit * target) + std::log1p(static_cast<double>(host::exp_of(-std::fabs(logit))));
        shares[i].hits += (logit > 0) == (target > 0.5F) ? 1 : 0;
        if (dx) dx[j] = factor * (host::sigmoid_of(logit) - target);
      }
    }
    const Share sum = total(shares, parts());
    *host::out(operands, 2) = static_cast<float>(sum.loss * scale);
    if (operands[3]) *host::out(operands, 3) = static_cast<float>(sum.hits);
  }

 private:
  static constexpr int64_t kPart = 1024;
  int64_t parts() const { return (n_ + kPart - 1) / kPart; }

  double scale_;
  int64_t n_;
};

}  // namespace

std::vector<Algorithm> SoftmaxCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = SoftmaxCrossEntropyKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> SoftmaxCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                  std::string_view) {
  return std::make_unique<SoftmaxCrossEntropyKernel>(attrs, operands);
}

std::vector<Algorithm> NegativeLogLikelihood::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = NegativeLogLikelihoodKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> NegativeLogLikelihood::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view) {
  return std::make_unique<NegativeLogLikelihoodKernel>(attrs, operands);
}

std::vector<Algorithm> Mse::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = MseKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> Mse::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<MseKernel>(attrs, operands);
}

std::vector<Algorithm> BinaryCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = BinaryCrossEntropyKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> BinaryCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  return std::make_unique<BinaryCrossEntropyKernel>(attrs, operands);
}

std::vector<Algorithm> OutputLoss::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> OutputLoss::make(const Attrs&, std::span<const OperandDesc>, std::string_view) {
  return host::flat_kernel([](const RunContext& context, std::byte* const* operands) {
    *host::out(operands, 1) = *host::in(operands, 0);
    if (context.training && operands[2]) *host::out(operands, 2) = 1;
  });
}

}  // namespace plimsoll
