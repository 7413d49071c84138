// The cross entropy of one label with class weights and label smoothing, as in PyTorch's CrossEntropyLoss:
//
//   loss = w[y] (1 - s) (lse - x[y]) + Σ s/C w[c] (lse - x[c])      lse: the logarithm of Σ exp(x[c]); s: smoothing
//
// A label that is not a class makes the loss NaN: the error is visible, and no memory outside the arrays is accessed.
#pragma once

#include <cmath>
#include <limits>

#include "runtime/attrs/loss.h"
#include "runtime/attrs/mixed_label.h"
#include "runtime/attrs/tensor.h"
#include "runtime/host/exponentials.h"
#include "runtime/host/loss_share.h"
#include "runtime/host/math.h"
#include "runtime/kernel.h"

namespace plimsoll::host {

struct ClassLabels {
  bool wide;
  int64_t ignored;

  int64_t at(const std::byte* labels, int64_t i) const {
    return wide ? reinterpret_cast<const int64_t*>(labels)[i] : reinterpret_cast<const int32_t*>(labels)[i];
  }
  bool counts(int64_t label) const { return label >= 0 && label != ignored; }
};

// Scores [N, C, d…]: the classes of a row are `pixels` elements apart.
struct ScoreShape {
  int64_t batch = 0, classes = 0, pixels = 1;

  ScoreShape(int64_t rows, int64_t of_classes) : batch(rows), classes(of_classes) {}
  explicit ScoreShape(const TensorDesc& scores) : batch(scores.dim(0)), classes(scores.dim(1)) {
    for (size_t i = 2; i < scores.rank(); ++i) pixels *= scores.dim(i);
  }
  int64_t rows() const { return batch * pixels; }
  int64_t first_of(int64_t row) const { return row / pixels * classes * pixels + row % pixels; }
};

class CrossEntropyRows {
 public:
  // `weights`: class weights; nullptr: all are 1.
  CrossEntropyRows(const ScoreShape& shape, const ClassLabels& labels, const float* weights, double smoothing)
      : classes_(shape.classes), step_(shape.pixels), labels_(labels), weights_(weights), smoothing_(smoothing) {
    if (smoothing == 0) return;
    for (int64_t c = 0; c < classes_; ++c) all_weights_ += weight_of(c);
  }

  int64_t classes() const { return classes_; }
  int64_t step() const { return step_; }  // from a class of a row to the next
  double smoothing() const { return smoothing_; }
  double all_weights() const { return all_weights_; }  // the sum of all class weights; 0 without smoothing
  bool has_weights() const { return weights_ != nullptr; }
  bool counts(int64_t label) const { return labels_.counts(label); }
  int64_t label(const std::byte* labels, int64_t i) const { return labels_.at(labels, i); }

  double weight_of(int64_t label) const {
    if (label >= classes_) return std::numeric_limits<double>::quiet_NaN();
    return weights_ ? static_cast<double>(weights_[label]) : 1;
  }

  // The sum of the weights of the labels.
  double counted(const std::byte* labels, int64_t rows) const {
    double sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      if (const int64_t label = labels_.at(labels, i); labels_.counts(label)) sum += weight_of(label);
    return sum;
  }

  // For logits whose classes follow each other, without class weights and smoothing.
  template <class T>
  LossShare plain_softmax(const T* x, int64_t label, T* dx, float scale) const {
    if (!labels_.counts(label)) return none(dx);
    const float largest = largest_of(x, classes_);
    const bool known = label < classes_;
    const float mine = known ? static_cast<float>(x[label]) : std::numeric_limits<float>::quiet_NaN();
    bool hit = mine == largest;
    for (int64_t c = 0; hit && c < label; ++c) hit = x[c] != largest;  // the first of equal scores is the arg max
    const auto sum = exponentials(x, classes_, largest, nullptr).template total<double>();
    if (dx) {
      const float factor = static_cast<float>(static_cast<double>(scale) / sum);
#pragma omp simd  // dx may be x
      for (int64_t j = 0; j < classes_; ++j) dx[j] = exp_of(x[j] - largest) * factor;
      if (known) dx[label] = exp_of(mine - largest) * factor - scale;
    }
    return {std::log(sum) + static_cast<double>(largest) - static_cast<double>(mine), hit ? 1.0 : 0.0};
  }

  // For scores that are logits, in f32 or bf16. `dx` may be null, or equal `x`; `scale` applies only to the gradient.
  template <class T>
  LossShare softmax(const T* x, int64_t label, T* dx, double scale) const {
    if (!labels_.counts(label)) return none(dx);
    const int64_t best = best_of(x);
    const float largest = x[best * step_];
    const double each = smoothing_ / static_cast<double>(classes_);
    double sum = 0, off = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      const float below = x[c * step_] - largest;
      sum += static_cast<double>(exp_of(below));
      if (smoothing_ != 0) off += weight_of(c) * static_cast<double>(below);
    }
    const bool known = label < classes_;
    const double of_label = (1 - smoothing_) * weight_of(label), all = of_label + each * all_weights_;
    const float below_best = known ? x[label * step_] - largest : std::numeric_limits<float>::quiet_NaN();
    const double mine = static_cast<double>(below_best);
    if (dx) {
      const auto factor = static_cast<float>(scale * all / sum);
      const auto slope_of = [&](int64_t c, float below) {
        const float slope = exp_of(below) * factor;
        return smoothing_ != 0 ? slope - static_cast<float>(scale * each * weight_of(c)) : slope;
      };
      for (int64_t c = 0; c < classes_; ++c) dx[c * step_] = slope_of(c, x[c * step_] - largest);
      if (known) dx[label * step_] = slope_of(label, below_best) - static_cast<float>(scale * of_label);
    }
    const double smoothed = smoothing_ != 0 ? each * off : 0;
    return {all * std::log(sum) - of_label * mine - smoothed, best == label ? 1.0 : 0.0};
  }

  // For logits of a mixed sample: (1 - share) · softmax(own) + share · softmax(other).
  template <class T>
  LossShare mixed(const T* x, const MixedLabel& label, T* dx, double scale) const {
    const double own = labels_.counts(label.own) ? 1 - label.of_other() : 0,
                 other = labels_.counts(label.other) ? label.of_other() : 0;
    if (own == 0 && other == 0) return none(dx);
    const int64_t best = best_of(x);
    const float largest = x[best * step_];
    const double each = (own + other) * smoothing_ / static_cast<double>(classes_);
    double sum = 0, off = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      const float below = x[c * step_] - largest;
      sum += static_cast<double>(exp_of(below));
      if (smoothing_ != 0) off += weight_of(c) * static_cast<double>(below);
    }
    struct Part {
      double target = 0, loss = 0;  // the class's probability apart from the smoothing, and its -target · ln p
    };
    const auto part_of = [&](double share, int64_t at) -> Part {
      if (share == 0) return {};
      const double target = share * (1 - smoothing_) * weight_of(at);
      const float below = at < classes_ ? x[at * step_] - largest : std::numeric_limits<float>::quiet_NaN();
      return {target, target * (std::log(sum) - static_cast<double>(below))};
    };
    const Part of_own = part_of(own, label.own), of_other = part_of(other, label.other);
    const double all = of_own.target + of_other.target + each * all_weights_;
    const double factor = scale * all / sum;
    for (int64_t c = 0; dx && c < classes_; ++c) {
      double target = smoothing_ != 0 ? each * weight_of(c) : 0;
      if (c == label.own) target += of_own.target;
      if (c == label.other) target += of_other.target;
      dx[c * step_] = static_cast<float>(static_cast<double>(exp_of(x[c * step_] - largest)) * factor - scale * target);
    }
    const double smoothed = smoothing_ != 0 ? each * (all_weights_ * std::log(sum) - off) : 0;
    return {of_own.loss + of_other.loss + smoothed, (best == label.own ? own : 0) + (best == label.other ? other : 0)};
  }

  // For scores that are log-probabilities; without smoothing.
  template <class T>
  LossShare likelihood(const T* x, int64_t label, T* dx, double scale) const {
    if (!labels_.counts(label)) return none(dx);
    LossShare share{0, best_of(x) == label ? 1.0 : 0.0};
    share.loss -= label < classes_ ? weight_of(label) * static_cast<double>(x[label * step_])
                                   : std::numeric_limits<double>::quiet_NaN();
    if (dx) likelihood_slope(label, dx, scale);
    return share;
  }

  template <class T>
  void likelihood_slope(int64_t label, T* dx, double scale) const {
    none(dx);
    if (labels_.counts(label) && label < classes_) dx[label * step_] = static_cast<float>(-(weight_of(label) * scale));
  }

 private:
  template <class T>
  LossShare none(T* dx) const {
    for (int64_t c = 0; dx && c < classes_; ++c) dx[c * step_] = 0;
    return {};
  }

  template <class T>
  int64_t best_of(const T* x) const {
    int64_t best = 0;
    for (int64_t c = 1; c < classes_; ++c)
      if (x[c * step_] > x[best * step_]) best = c;
    return best;
  }

  int64_t classes_, step_;
  ClassLabels labels_;
  const float* weights_;
  double smoothing_, all_weights_ = 0;
};

// The factors of one run.
struct LossScales {
  double of_loss;
  double of_gradient;

  // If no label counts, the loss is 0. A sum needs no correction, but must signal a bad batch: `loss_scale` is then
  // NaN.
  LossScales(const SoftmaxCrossEntropyAttrs& attrs, const RunContext& context, const CrossEntropyRows& rows,
             const std::byte* labels, int64_t count) {
    const double of_trainer = std::isnan(context.loss_scale) ? context.loss_scale
                              : attrs.sum || attrs.counts    ? 1
                              : attrs.fed < 0                ? context.loss_scale
                                                             : context.label_scales[static_cast<size_t>(attrs.fed)];
    const double divisor = attrs.counts ? rows.counted(labels, count) : 0;
    of_loss = (!attrs.counts ? attrs.scale : divisor == 0 ? 0 : 1 / divisor) * of_trainer;
    of_gradient = of_loss * (attrs.term ? 1 : context.gradient_scale);
  }
};

}  // namespace plimsoll::host
