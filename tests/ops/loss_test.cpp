// The fused losses against the formulas in double precision: loss, hits, gradient, ignored labels.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "executor.h"
#include "runtime/attrs/mixed_label.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

struct LossOutcome {
  float loss = -1, correct = -1;
  std::vector<float> gradient;
};

// Logits [n, classes, pixels]; labels [n, pixels].
LossOutcome run(const std::vector<float>& logits, const std::vector<int32_t>& labels, int64_t n, int64_t classes,
            int64_t pixels, const SoftmaxCrossEntropyAttrs& attrs, bool training = true, bool of_logarithms = false,
            std::vector<float> weights = {}, RunContext context = {}) {
  const TensorDesc scores = pixels == 1 ? f32({n, classes}) : f32({n, classes, pixels});
  std::vector<OperandDesc> operands = {read(scores), read(i32({n, pixels})), write(f32({1})), write(f32({1})),
                                       write(scores)};
  if (!weights.empty()) operands.push_back(read(f32({classes})));
  const auto kernel =
      of_logarithms ? NegativeLogLikelihood::make(attrs, operands, "") : SoftmaxCrossEntropy::make(attrs, operands, "");
  const auto algorithms = of_logarithms ? NegativeLogLikelihood::algorithms(attrs, operands)
                                        : SoftmaxCrossEntropy::algorithms(attrs, operands);
  std::vector<std::byte> workspace(static_cast<size_t>(algorithms[0].workspace_bytes) + 512);
  LossOutcome outcome{.gradient = std::vector<float>(logits.size(), 7)};
  std::vector<float> given = logits;
  std::vector<int32_t> given_labels = labels;
  std::byte* const addresses[] = {
      reinterpret_cast<std::byte*>(given.data()), reinterpret_cast<std::byte*>(given_labels.data()),
      reinterpret_cast<std::byte*>(&outcome.loss), reinterpret_cast<std::byte*>(&outcome.correct),
      reinterpret_cast<std::byte*>(outcome.gradient.data()), reinterpret_cast<std::byte*>(weights.data())};
  context.training = training;
  kernel->run(context, addresses, workspace.data());
  backend::finish(nullptr);
  return outcome;
}

// Logits [labels, classes].
LossOutcome run_mixed(std::vector<float> logits, std::vector<MixedLabel> labels, int64_t classes,
                      const SoftmaxCrossEntropyAttrs& attrs, std::vector<float> weights = {}, bool training = true) {
  const auto n = static_cast<int64_t>(labels.size());
  const TensorDesc scores = f32({n, classes});
  std::vector<OperandDesc> operands = {read(scores), read(i32({n, 3})), write(f32({1})), write(f32({1})),
                                       write(scores)};
  if (!weights.empty()) operands.push_back(read(f32({classes})));
  const auto kernel = MixedCrossEntropy::make(attrs, operands, "");
  std::vector<double> workspace(
      static_cast<size_t>(MixedCrossEntropy::algorithms(attrs, operands)[0].workspace_bytes) / 8 + 1);
  LossOutcome outcome{.gradient = std::vector<float>(logits.size(), 7)};
  std::byte* const addresses[] = {
      reinterpret_cast<std::byte*>(logits.data()),           reinterpret_cast<std::byte*>(labels.data()),
      reinterpret_cast<std::byte*>(&outcome.loss),           reinterpret_cast<std::byte*>(&outcome.correct),
      reinterpret_cast<std::byte*>(outcome.gradient.data()), reinterpret_cast<std::byte*>(weights.data())};
  kernel->run({.training = training}, addresses, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
  return outcome;
}

void check(int64_t n, int64_t classes, int64_t pixels) {
  std::vector<float> logits(static_cast<size_t>(n * classes * pixels));
  std::vector<int32_t> labels(static_cast<size_t>(n * pixels));
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 1.7F) * 4;
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int32_t>(i * 5 % static_cast<size_t>(classes + 1)) - 1;
  const double scale = 0.125;
  const int64_t ignored = 2;
  const LossOutcome got = run(logits, labels, n, classes, pixels, {.scale = scale, .ignore_index = ignored});

  double loss = 0, correct = 0, worst = 0;
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t p = 0; p < pixels; ++p) {
      const auto at = [&](int64_t c) { return static_cast<size_t>((s * classes + c) * pixels + p); };
      const int32_t label = labels[static_cast<size_t>(s * pixels + p)];
      const bool counted = label >= 0 && label != ignored;
      double sum = 0;
      int64_t best = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += std::exp(static_cast<double>(logits[at(c)]));
        if (logits[at(c)] > logits[at(best)]) best = c;
      }
      for (int64_t c = 0; c < classes; ++c) {
        const double softmax = std::exp(static_cast<double>(logits[at(c)])) / sum;
        const double wanted = counted ? scale * (softmax - (c == label ? 1 : 0)) : 0;
        worst = std::max(worst, std::abs(wanted - static_cast<double>(got.gradient[at(c)])));
      }
      if (!counted) continue;
      loss += scale * (std::log(sum) - static_cast<double>(logits[at(label)]));
      correct += best == label ? 1 : 0;
    }
  }
  CHECK(got.loss == Approx(loss).epsilon(1e-6));
  CHECK(static_cast<double>(got.correct) == correct);
  CHECK(worst < 1e-7);
}

}  // namespace

TEST_CASE("softmax cross entropy is what its formula says") {
  check(7, 10, 1);
  check(5, 1000, 1);
  check(3, 21, 150);
  check(1, 3, 700);
  check(2, 150, 300);
  check(2, 1100, 70);
}

// The same losses and gradients, without their sum.
TEST_CASE("a loss for each label is its share of the loss of all") {
  struct Shape {
    int64_t n, classes, pixels;
  };
  for (const Shape& shape : {Shape{5, 10, 1}, {3, 21, 150}, {1, 150, 300}, {2, 1100, 70}}) {
    std::vector<float> logits(static_cast<size_t>(shape.n * shape.classes * shape.pixels)), gradient(logits.size(), 7),
        weights(static_cast<size_t>(shape.classes));
    std::vector<int32_t> labels(static_cast<size_t>(shape.n * shape.pixels));
    std::vector<float> losses(labels.size(), 7), slopes(labels.size(), 0.125F);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 1.7F) * 4;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.25F * static_cast<float>(i % 7 + 1);
    for (size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<int32_t>(i * 5 % static_cast<size_t>(shape.classes + 1)) - 1;
    const LossOutcome whole = run(logits, labels, shape.n, shape.classes, shape.pixels,
                                  {.scale = 0.125, .smoothing = 0.1}, true, false, weights);
    const bool plain = shape.pixels == 1;
    const TensorDesc scores =
        plain ? f32({shape.n, shape.classes}) : f32({shape.n, shape.classes, shape.pixels});
    const TensorDesc of_labels = plain ? i32({shape.n}) : i32({shape.n, shape.pixels}),
                     each = plain ? f32({shape.n}) : f32({shape.n, shape.pixels});
    const CrossEntropyEachAttrs attrs{.smoothing = 0.1};
    std::byte *const x = reinterpret_cast<std::byte*>(logits.data()),
              *const y = reinterpret_cast<std::byte*>(labels.data()),
              *const w = reinterpret_cast<std::byte*>(weights.data());
    const std::vector<OperandDesc> forward = {read(scores), read(of_labels), write(each), read(f32({shape.classes}))};
    std::byte* const of_forward[] = {x, y, reinterpret_cast<std::byte*>(losses.data()), w};
    SoftmaxCrossEntropyEach::make(attrs, forward, "")->run({}, of_forward, nullptr);
    const std::vector<OperandDesc> backward = {read(scores), read(of_labels), read(each), write(scores),
                                               read(f32({shape.classes}))};
    std::byte* const of_backward[] = {x, y, reinterpret_cast<std::byte*>(slopes.data()),
                                      reinterpret_cast<std::byte*>(gradient.data()), w};
    SoftmaxCrossEntropyEachBackward::make(attrs, backward, "")->run({}, of_backward, nullptr);
    backend::finish(nullptr);
    double sum = 0, worst = 0;
    for (const float loss : losses) sum += 0.125 * static_cast<double>(loss);
    for (size_t i = 0; i < gradient.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(gradient[i]) - static_cast<double>(whole.gradient[i])));
    CHECK(whole.loss == Approx(sum).epsilon(1e-6));
    CHECK(worst < 1e-7);
  }
}

TEST_CASE("a mean is divided by what its labels count for, a sum by nothing") {
  const std::vector<float> logits = {1, 2, -1, 0.5F, 0, 3, -2, 1, 1};
  const std::vector<int32_t> labels = {0, 2, -1};
  const float sum = run(logits, labels, 3, 3, 1, {.sum = true}).loss;
  CHECK(run(logits, labels, 3, 3, 1, {.counts = true}).loss == Approx(sum / 2).epsilon(1e-6));
  CHECK(run(logits, labels, 3, 3, 1, {.ignore_index = 2, .counts = true}).gradient[0] ==
        Approx(run(logits, labels, 3, 3, 1, {.ignore_index = 2, .sum = true}).gradient[0]));
  CHECK(run(logits, {-1, -1, -1}, 3, 3, 1, {.counts = true}).loss == 0);
  RunContext of_bad_batch{.loss_scale = std::nan("")};
  of_bad_batch.label_scales[3] = 0.25;
  for (const SoftmaxCrossEntropyAttrs& attrs :
       {SoftmaxCrossEntropyAttrs{}, {.sum = true}, {.counts = true}, {.fed = 3}})
    CHECK(std::isnan(run(logits, labels, 3, 3, 1, attrs, true, false, {}, of_bad_batch).loss));
  of_bad_batch.loss_scale = 0.5;
  CHECK(run(logits, labels, 3, 3, 1, {}, true, false, {}, of_bad_batch).loss == Approx(sum / 2).epsilon(1e-6));
  CHECK(run(logits, labels, 3, 3, 1, {.fed = 3}, true, false, {}, of_bad_batch).loss == Approx(sum / 4).epsilon(1e-6));
  CHECK(run(logits, labels, 3, 3, 1, {.sum = true}, true, false, {}, of_bad_batch).loss == sum);
  CHECK(run(logits, labels, 3, 3, 1, {.counts = true}, true, false, {}, of_bad_batch).loss ==
        Approx(sum / 2).epsilon(1e-6));
}

// With class weights and label_smoothing as in PyTorch's CrossEntropyLoss.
void check_weighed(int64_t n, int64_t classes, int64_t pixels, bool weighed, double smoothing) {
  std::vector<float> logits(static_cast<size_t>(n * classes * pixels)),
      weights(weighed ? static_cast<size_t>(classes) : 0);
  std::vector<int32_t> labels(static_cast<size_t>(n * pixels));
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 1.7F) * 4;
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int32_t>(i * 5 % static_cast<size_t>(classes + 1)) - 1;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.25F * static_cast<float>(i % 7 + 1);
  const LossOutcome got =
      run(logits, labels, n, classes, pixels, {.smoothing = smoothing, .counts = true}, true, false, weights);
  const auto weight = [&](int64_t c) { return weighed ? static_cast<double>(weights[static_cast<size_t>(c)]) : 1; };
  double loss = 0, divisor = 0, worst = 0;
  for (const int32_t label : labels) divisor += label < 0 ? 0 : weight(label);
  for (int64_t s = 0; s < n; ++s)
    for (int64_t p = 0; p < pixels; ++p) {
      const auto at = [&](int64_t c) { return static_cast<size_t>((s * classes + c) * pixels + p); };
      const int32_t label = labels[static_cast<size_t>(s * pixels + p)];
      double sum = 0, all = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[at(c)]));
      const auto share = [&](int64_t c) {
        return (c == label ? (1 - smoothing) * weight(c) : 0) + smoothing / static_cast<double>(classes) * weight(c);
      };
      for (int64_t c = 0; c < classes; ++c) all += share(c);
      for (int64_t c = 0; c < classes; ++c) {
        const double x = static_cast<double>(logits[at(c)]);
        if (label >= 0) loss += share(c) * (std::log(sum) - x) / divisor;
        const double wanted = label < 0 ? 0 : (all * std::exp(x) / sum - share(c)) / divisor;
        worst = std::max(worst, std::abs(wanted - static_cast<double>(got.gradient[at(c)])));
      }
    }
  CHECK(got.loss == Approx(loss).epsilon(1e-6));
  CHECK(worst < 1e-7);
}

TEST_CASE("weights of classes and smoothed labels are what their formula says") {
  for (const bool weighed : {false, true})
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      check_weighed(7, 10, 1, weighed, smoothing);
      check_weighed(5, 1000, 1, weighed, smoothing);
      check_weighed(3, 21, 150, weighed, smoothing);
      check_weighed(1, 150, 300, weighed, smoothing);
      check_weighed(1, 1100, 70, weighed, smoothing);
    }
  CHECK(std::isnan(run({1, 2}, {2}, 1, 2, 1, {.smoothing = 0.1}, true, false, {1, 1}).loss));
  // Without smoothing, a score of minus infinity for another class does not affect the label.
  CHECK(std::isfinite(run({1, -std::numeric_limits<float>::infinity()}, {0}, 1, 2, 1, {}, true, false, {1, 2}).loss));
}

// Compared with SoftmaxCrossEntropy of each label, row by row.
TEST_CASE("the loss of mixed labels is the sum of two losses, by their shares") {
  constexpr int64_t kRows = 6, kClasses = 21, kIgnored = 3;
  std::vector<float> logits(kRows * kClasses), weights(kClasses);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 1.7F) * 4;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.25F * static_cast<float>(i % 7 + 1);
  // Of two classes, of one, of one class twice, with an ignored class on either side, and of no class that counts.
  const std::vector<MixedLabel> labels = {{5, 11, kWholeShare / 4},  {7, 2, 0},
                                          {20, 20, kWholeShare / 3}, {kIgnored, 4, kWholeShare / 8},
                                          {9, -1, kWholeShare / 2},  {-1, -1, -1}};
  for (const bool weighed : {false, true})
    for (const double smoothing : {0.0, 0.1}) {
      const SoftmaxCrossEntropyAttrs attrs{.scale = 0.125, .ignore_index = kIgnored, .smoothing = smoothing};
      const std::vector<float> given = weighed ? weights : std::vector<float>();
      const LossOutcome got = run_mixed(logits, labels, kClasses, attrs, given);
      double loss = 0, correct = 0, worst = 0;
      for (size_t row = 0; row < kRows; ++row) {
        const std::vector<float> one(logits.begin() + static_cast<int64_t>(row) * kClasses,
                                     logits.begin() + static_cast<int64_t>(row + 1) * kClasses);
        const LossOutcome own = run(one, {labels[row].own}, 1, kClasses, 1, attrs, true, false, given),
                          other = run(one, {labels[row].other}, 1, kClasses, 1, attrs, true, false, given);
        const double share = labels[row].of_other();
        const auto mixed = [&](float a, float b) {
          return (1 - share) * static_cast<double>(a) + share * static_cast<double>(b);
        };
        loss += mixed(own.loss, other.loss);
        correct += mixed(own.correct, other.correct);
        for (size_t c = 0; c < kClasses; ++c)
          worst = std::max(worst, std::abs(mixed(own.gradient[c], other.gradient[c]) -
                                           static_cast<double>(got.gradient[row * kClasses + c])));
      }
      CHECK(got.loss == Approx(loss).epsilon(1e-6));
      CHECK(got.correct == Approx(correct).epsilon(1e-6));
      CHECK(worst < 1e-7);
    }
  CHECK(run_mixed({1, 3}, {{0, 1, kWholeShare / 4}}, 2, {}).correct == 0.25F);
  CHECK(std::isnan(run_mixed({1, 2}, {{0, 2, kWholeShare / 2}}, 2, {}).loss));
  CHECK(std::isfinite(run_mixed({1, 2}, {{0, 2, 0}}, 2, {}).loss));
  CHECK(run_mixed({1, 2}, {{0, 1, 5}}, 2, {}, {}, false).gradient == std::vector<float>{7, 7});
}

TEST_CASE("the first of equal scores is the arg max") {
  CHECK(run({1, 3, 3, 0}, {1}, 1, 4, 1, {}).correct == 1);
  CHECK(run({1, 3, 3, 0}, {2}, 1, 4, 1, {}).correct == 0);
}

TEST_CASE("large scores do not overflow, and a label that is no class makes the loss NaN") {
  CHECK(run({1e4F, -1e4F}, {0}, 1, 2, 1, {}).loss == 0);
  CHECK(run({1e4F, -1e4F}, {1}, 1, 2, 1, {}).loss == 2e4F);
  CHECK(std::isnan(run({1, 2}, {2}, 1, 2, 1, {}).loss));
  // Of pixels, too. What does not count has no gradient, whatever its scores are.
  CHECK(std::isnan(run({1, 2, 3, 4}, {0, 2}, 1, 2, 2, {}).loss));
  const LossOutcome ignored = run({1, INFINITY, 3, -INFINITY}, {0, 1}, 1, 2, 2, {.ignore_index = 1});
  CHECK(std::isfinite(ignored.loss));
  CHECK(ignored.gradient[1] == 0);
  CHECK(ignored.gradient[3] == 0);
}

TEST_CASE("evaluation leaves the gradient alone") {
  const LossOutcome got = run({1, 2}, {1}, 1, 2, 1, {}, false);
  CHECK(got.gradient == std::vector<float>{7, 7});
  CHECK(got.correct == 1);
}

TEST_CASE("the square error is what its formula says") {
  std::vector<float> x(10007), target(x.size()), gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<float>(i));
    target[i] = std::cos(static_cast<float>(i) * 0.7F);
  }
  const TensorDesc desc = f32({static_cast<int64_t>(x.size())});
  const std::vector<OperandDesc> operands = {read(desc), read(desc), write(f32({1})), write(desc)};
  const MseAttrs attrs{.scale = 1.0 / 20000};
  const auto kernel = Mse::make(attrs, operands, "");
  std::vector<double> workspace(static_cast<size_t>(Mse::algorithms(attrs, operands)[0].workspace_bytes) / 8 + 1);
  float loss = -1;
  std::byte* const addresses[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(target.data()),
                                  reinterpret_cast<std::byte*>(&loss), reinterpret_cast<std::byte*>(gradient.data())};
  kernel->run({}, addresses, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
  double wanted = 0, worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(target[i]);
    wanted += difference * difference / 20000;
    worst = std::max(worst, std::abs(static_cast<double>(gradient[i]) - difference / 10000));
  }
  CHECK(loss == Approx(wanted).epsilon(1e-6));
  CHECK(worst < 1e-9);
}

TEST_CASE("the likelihood is that of the labels alone") {
  // [2, 3, 2]: the classes of a pixel are 2 elements apart. Sample 0 has labels 1 and -1; sample 1 has 2, which is
  // ignored, and 0.
  const std::vector<float> logarithms = {-1, -2, -0.5F, -3, -4, -0.25F, -1, -0.125F, -2, -5, -0.5F, -6};
  const std::vector<int32_t> labels = {1, -1, 2, 0};
  const LossOutcome got = run(logarithms, labels, 2, 3, 2, {.scale = 0.25, .ignore_index = 2}, true, true);
  CHECK(got.loss == 0.25F * (0.5F + 0.125F));
  CHECK(got.correct == 2);
  std::vector<float> wanted(12, 0);
  wanted[2] = wanted[7] = -0.25F;
  CHECK(got.gradient == wanted);
  CHECK(run(logarithms, labels, 2, 3, 2, {.ignore_index = 2}, false, true).gradient == std::vector<float>(12, 7));
  CHECK(std::isnan(run({-1, -2}, {2}, 1, 2, 1, {}, true, true).loss));
}

TEST_CASE("weights and smoothing of a binary cross entropy are PyTorch's") {
  std::vector<float> x = {1.5F, -2, 0.25F, 0.5F, 3, -1}, target = {1, 0, 0.3F, 0, 1, 1}, gradient(6);
  std::vector<float> weights = {0.5F, 1, 2}, positive = {3, 0.25F, 1.5F};
  const TensorDesc desc = f32({2, 3});
  const std::vector<OperandDesc> operands = {read(desc),  read(desc),     write(f32({1})), write(f32({1})),
                                             write(desc), read(f32({3})), read(f32({3}))};
  const BinaryCrossEntropyAttrs attrs{.scale = 1.0 / 6, .smoothing = 0.2};
  const auto kernel = BinaryCrossEntropy::make(attrs, operands, "");
  std::vector<double> workspace(
      static_cast<size_t>(BinaryCrossEntropy::algorithms(attrs, operands)[0].workspace_bytes) / 8 + 1);
  float loss = -1, correct = -1;
  std::byte* const addresses[] = {
      reinterpret_cast<std::byte*>(x.data()),        reinterpret_cast<std::byte*>(target.data()),
      reinterpret_cast<std::byte*>(&loss),           reinterpret_cast<std::byte*>(&correct),
      reinterpret_cast<std::byte*>(gradient.data()), reinterpret_cast<std::byte*>(weights.data()),
      reinterpret_cast<std::byte*>(positive.data())};
  kernel->run({}, addresses, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
  // F.binary_cross_entropy_with_logits(x, 0.8 * target + 0.1, weight=weights, pos_weight=positive)
  CHECK(loss == Approx(1.1059635359132456).epsilon(1e-6));
  CHECK(correct == 3);  // smoothing moves no target across 0.5
  const std::vector<double> wanted = {-0.034232622221483155, 0.014210450478409789, 0.04924883534546124,
                                      0.037245933120185454,  0.01409776520288182,  -0.3200116463378357};
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(static_cast<double>(gradient[i]) == Approx(wanted[i]).epsilon(1e-5));
}

TEST_CASE("the binary cross entropy is what its formula says, and overflows nowhere") {
  std::vector<float> x(5003), target(x.size()), gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 9 * std::sin(static_cast<float>(i));
    target[i] = i % 3 == 0 ? 0.0F : i % 3 == 1 ? 1.0F : 0.3F;
  }
  x[0] = 1e30F, x[1] = -1e30F, x[3] = -1e30F, x[4] = 1e30F;  // wrong, wrong, right, right
  const TensorDesc desc = f32({static_cast<int64_t>(x.size())});
  const std::vector<OperandDesc> operands = {read(desc), read(desc), write(f32({1})), write(f32({1})), write(desc)};
  const BinaryCrossEntropyAttrs attrs{.scale = 1.0 / 10000};
  const auto kernel = BinaryCrossEntropy::make(attrs, operands, "");
  std::vector<double> workspace(
      static_cast<size_t>(BinaryCrossEntropy::algorithms(attrs, operands)[0].workspace_bytes) / 8 + 1);
  float loss = -1, correct = -1;
  const auto play = [&](const RunContext& context) {
    std::byte* const addresses[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(target.data()),
                                    reinterpret_cast<std::byte*>(&loss), reinterpret_cast<std::byte*>(&correct),
                                    reinterpret_cast<std::byte*>(gradient.data())};
    kernel->run(context, addresses, reinterpret_cast<std::byte*>(workspace.data()));
    backend::finish(nullptr);
  };
  play({});
  double worst = 0, hits = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double probability = 1 / (1 + std::exp(-static_cast<double>(x[i])));
    worst = std::max(
        worst, std::abs(static_cast<double>(gradient[i]) - (probability - static_cast<double>(target[i])) / 10000));
    hits += (x[i] > 0) == (target[i] > 0.5F) ? 1 : 0;
  }
  CHECK(loss == Approx(2e26).epsilon(1e-6));
  CHECK(static_cast<double>(correct) == hits);
  CHECK(worst < 1e-10);
  for (const size_t i : {0, 1, 3, 4}) x[i] = 0.5F;
  const std::vector<float> before = gradient;
  play({.training = false});
  CHECK(gradient == before);
  double wanted = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double probability = 1 / (1 + std::exp(-static_cast<double>(x[i]))), t = static_cast<double>(target[i]);
    wanted -= (t * std::log(probability) + (1 - t) * std::log(1 - probability)) / 10000;
  }
  CHECK(loss == Approx(wanted).epsilon(1e-5));
}

TEST_CASE("the scale of the gradient multiplies the gradient of the loss, not the loss, nor that of a term") {
  const auto run = [](const KernelCall& call, std::vector<std::vector<float>> tensors, double scale) {
    run_once(call, {.gradient_scale = scale}, tensors);
    return tensors;
  };
  const auto expect =
      [&](const KernelCall& call, const std::vector<std::vector<float>>& tensors, size_t gradient, float times) {
    INFO(call.name);
    const auto plain = run(call, tensors, 1), scaled = run(call, tensors, 64);
    for (size_t i = 0; i < plain.size(); ++i) {
      if (i != gradient) {
        CHECK(plain[i] == scaled[i]);
        continue;
      }
      for (size_t j = 0; j < plain[i].size(); ++j) CHECK(scaled[i][j] == times * plain[i][j]);
      CHECK(plain[i] != std::vector<float>(plain[i].size(), 0));
    }
  };
  const TensorDesc one = f32({1}), rows = f32({2, 2});
  expect(
      {.name = "Mse", .attributes = {{"scale", 0.25}}, .operands = {read(rows), read(rows), write(one), write(rows)}},
      {{1, 2, 3, 4}, {0, 0, 1, 8}, {0}, {0, 0, 0, 0}}, 3, 64);
  expect({.name = "BinaryCrossEntropy",
          .attributes = {{"scale", 0.25}},
          .operands = {read(rows), read(rows), write(one), write(one), write(rows)}},
         {{1, 2, 3, 4}, {0, 0, 1, 1}, {0}, {0}, {0, 0, 0, 0}}, 4, 64);
  expect({.name = "OutputLoss", .operands = {read(one), write(one), write(one)}}, {{3}, {0}, {0}}, 2, 64);
  for (const char* const name : {"SoftmaxCrossEntropy", "NegativeLogLikelihood"})
    for (const bool term : {false, true})
      expect({.name = name,
              .attributes = {{"scale", 0.5}, {"term", term}},
              .operands = {read(rows), read(i32({2})), write(one), write(one), write(rows)}},
             {{-1, -2, -3, -4}, {0, 0}, {0}, {0}, {0, 0, 0, 0}}, 4, term ? 1 : 64);
}

TEST_CASE("a loss scaled is its gradient scaled: a batch that is not whole is the mean over what it has") {
  if (!backend::heeds().loss_scale) return;
  const auto mean = [](double scale, double loss_scale) {
    const KernelCall call{.name = "Mse",
                          .attributes = {{"scale", scale}},
                          .operands = {read(f32({4})), read(f32({4})), write(f32({1})), write(f32({4}))}};
    std::vector<std::vector<float>> tensors = {{1, 2, 3, 4}, {0, 0, 1, 8}, {0}, {0, 0, 0, 0}};
    run_once(call, {.loss_scale = loss_scale}, tensors);
    return tensors;
  };
  CHECK(mean(0.25, 1) == mean(0.125, 2));
  CHECK(mean(0.25, 1)[2][0] == 6.25F);
  const auto entropy = [](double scale, double loss_scale) {
    const KernelCall call{
        .name = "SoftmaxCrossEntropy",
        .attributes = {{"scale", scale}},
        .operands = {read(f32({2, 2})), read(i32({2})), write(f32({1})), absent(), write(f32({2, 2}))}};
    std::vector<std::vector<float>> tensors = {{1, 2, 3, 4}, {0, 0}, {0}, {0}, {0, 0, 0, 0}};
    std::vector<std::byte*> addresses;
    for (auto& tensor : tensors) addresses.push_back(reinterpret_cast<std::byte*>(tensor.data()));
    addresses[3] = nullptr;
    std::vector<double> workspace(64);
    const std::unique_ptr<Kernel> kernel = make_kernel(call, "");
    kernel->run({.loss_scale = loss_scale}, addresses.data(), reinterpret_cast<std::byte*>(workspace.data()));
    backend::finish(nullptr);
    return tensors;
  };
  CHECK(entropy(0.5, 1) == entropy(0.25, 2));
  CHECK(entropy(0.5, 1)[2][0] == Approx(1.31326));
}

}  // namespace plimsoll::test
