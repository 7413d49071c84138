// The fused losses against the formulas in double precision: loss, hits, gradient, what is not counted.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/kernels.h"
#include "runtime/backend.h"

namespace plimsoll::test {
namespace {

struct LossOutcome {
  float loss = -1, correct = -1;
  std::vector<float> gradient;
};

// Logits [n, classes, pixels]; labels [n, pixels].
LossOutcome run(const std::vector<float>& logits, const std::vector<int32_t>& labels, int64_t n, int64_t classes,
            int64_t pixels, const SoftmaxCrossEntropyAttrs& attrs, bool training = true) {
  const TensorDesc scores = f32({n, classes, pixels});
  const std::vector<OperandDesc> operands = {read(scores), read(i32({n, pixels})), write(f32({1})), write(f32({1})),
                                             write(scores)};
  const auto kernel = SoftmaxCrossEntropy::make(attrs, operands, "");
  std::vector<std::byte> workspace(
      static_cast<size_t>(SoftmaxCrossEntropy::algorithms(attrs, operands)[0].workspace_bytes) + 64);
  LossOutcome outcome{.gradient = std::vector<float>(logits.size(), 7)};
  std::vector<float> given = logits;
  std::vector<int32_t> given_labels = labels;
  std::byte* const addresses[] = {
      reinterpret_cast<std::byte*>(given.data()), reinterpret_cast<std::byte*>(given_labels.data()),
      reinterpret_cast<std::byte*>(&outcome.loss), reinterpret_cast<std::byte*>(&outcome.correct),
      reinterpret_cast<std::byte*>(outcome.gradient.data())};
  kernel->run({.training = training}, addresses, workspace.data());
  backend::finish(nullptr);
  return outcome;
}

void check(int64_t n, int64_t classes, int64_t pixels) {
  std::vector<float> logits(static_cast<size_t>(n * classes * pixels));
  std::vector<int32_t> labels(static_cast<size_t>(n * pixels));
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 1.7F) * 4;
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i * 5 % static_cast<size_t>(classes + 1)) - 1;
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
}

TEST_CASE("the first of equal scores is the arg max") {
  CHECK(run({1, 3, 3, 0}, {1}, 1, 4, 1, {}).correct == 1);
  CHECK(run({1, 3, 3, 0}, {2}, 1, 4, 1, {}).correct == 0);
}

TEST_CASE("large scores do not overflow, and a label that is no class makes the loss NaN") {
  CHECK(run({1e4F, -1e4F}, {0}, 1, 2, 1, {}).loss == 0);
  CHECK(run({1e4F, -1e4F}, {1}, 1, 2, 1, {}).loss == 2e4F);
  CHECK(std::isnan(run({1, 2}, {2}, 1, 2, 1, {}).loss));
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

}  // namespace plimsoll::test
