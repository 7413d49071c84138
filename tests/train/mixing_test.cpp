// Samples that are made of two (--mixup, --cutmix), and threads that fetch them (--workers).
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/feeder.h"
#include "runtime/train/mixing.h"
#include "runtime/train/random.h"
#include "runtime/train/workers.h"
#include "tests/train/code_of.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

constexpr int64_t kMixed = 64;  // samples

// Every pixel of sample i is i, and so is its label.
class NumberedSamples final : public Column {
 public:
  NumberedSamples(int64_t elements, DataType type) : elements_(elements), type_(type) {}
  int64_t samples() const override { return kMixed; }
  void read(int64_t index, std::byte* to) override {
    for (int64_t i = 0; i < elements_; ++i) {
      const auto real = static_cast<float>(index);
      if (type_ == DataType::f32) std::memcpy(to + 4 * i, &real, 4);
      else std::memcpy(to + bytes_of(type_) * i, &index, static_cast<size_t>(bytes_of(type_)));
    }
  }

 private:
  int64_t elements_;
  DataType type_;
};

// Images of 6 x 8 in one channel, with a class each or, for bce-logits, two probabilities.
struct Mixable {
  std::vector<ProgramInput> inputs{{"image", f32({8, 1, 6, 8})}, {"label", {DataType::i64, {8}}}};
  Program program;
  Dataset data{.name = "numbered", .columns = {}, .samples = kMixed};
  explicit Mixable(bool classes = true) {
    if (!classes) inputs[1].desc = f32({8, 2});
    program.batch = program.sub_batch = 8;
    program.rounds = 1;
    program.classes = classes ? kMixed : 0;
    program.counts_correct = true;
    program.inputs = inputs;
    data.columns.push_back(std::make_unique<NumberedSamples>(48, DataType::f32));
    data.columns.push_back(std::make_unique<NumberedSamples>(classes ? 1 : 2, classes ? DataType::i64 : DataType::f32));
  }
  Mix mix(const MixOptions& options, int64_t sample, uint64_t key = 5) const {
    return mix_of(options, key, sample, kMixed, inputs[0].desc);
  }
};

// All bytes that a feeder stages in two epochs.
std::string all_staged(const Feeder::Setup& setup, bool classes = true) {
  Mixable c(classes);
  Feeder feeder(c.program, c.data, true, 3, nullptr, setup);
  std::string all;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    feeder.begin_epoch(epoch);
    for (int64_t first = 0; first < kMixed; first += 8) {
      feeder.stage({first, 8}, first + 8 < kMixed ? Samples{first + 8, 8} : Samples{});
      for (size_t i = 0; i < 2; ++i)
        all.append(reinterpret_cast<const char*>(feeder.staged()[i]), static_cast<size_t>(c.inputs[i].desc.bytes()));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("own parts of mixed samples have the distribution Beta(alpha, alpha)") {
  for (const double alpha : {0.05, 0.2, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 40000;
    for (uint64_t key = 0; key < kDraws; ++key) {
      const double own = draw_beta(alpha, key);
      REQUIRE((own >= 0 && own <= 1));
      sum += own;
      squares += own * own;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    INFO(alpha);
    CHECK(mean == Approx(0.5).margin(0.01));
    CHECK(variance == Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.03));
  }
  CHECK(std::isfinite(draw_beta(1e-300, 1)));
  CHECK(draw_beta(3e38, 1) == Approx(0.5));
}

TEST_CASE("a mixed sample is the sum of two, and its class is one of theirs, as often as it has a part of it") {
  Mixable c;
  const MixOptions options{.mixup = 0.4};
  Feeder feeder(c.program, c.data, false, 3, nullptr, {.mixing = options});
  int kept = 0;
  double own = 0;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    feeder.begin_epoch(epoch);
    for (int64_t first = 0; first < kMixed; first += 8) {
      feeder.stage({first, 8}, {});
      const auto* const pixels = reinterpret_cast<const float*>(feeder.staged()[0]);
      const auto* const labels = reinterpret_cast<const int64_t*>(feeder.staged()[1]);
      for (int64_t i = 0; i < 8; ++i) {
        const int64_t sample = first + i;
        const Mix mix = c.mix(options, sample, random_bits(3, static_cast<uint64_t>(epoch)));
        CHECK(pixels[i * 48] ==
              Approx(mix.own * static_cast<double>(sample) + (1 - mix.own) * static_cast<double>(mix.other))
                  .margin(1e-4));
        CHECK(pixels[i * 48] == pixels[i * 48 + 47]);
        CHECK(labels[i] == (mix.keeps_label ? sample : mix.other));
        kept += mix.keeps_label;
        own += mix.own;
      }
    }
  }
  CHECK(kept == Approx(own).epsilon(0.03));
}

TEST_CASE("a rectangle of the other image has the area that its label has a chance of") {
  Mixable c;
  double areas = 0;
  for (int64_t sample = 0; sample < kMixed; ++sample) {
    const Mix mix = c.mix({.cutmix = 1}, sample);
    REQUIRE(mix.cut);
    std::vector<float> x(48, 1), other(48, 2);
    mix_samples(mix, c.inputs[0].desc, x.data(), other.data());
    const auto pasted = static_cast<double>(std::count(x.begin(), x.end(), 2.0F));
    CHECK(pasted / 48 == Approx(1 - mix.own));
    areas += pasted;
  }
  CHECK(areas > 0.2 * 48 * kMixed);
  int cut = 0;
  for (int64_t sample = 0; sample < kMixed; ++sample) cut += c.mix({.mixup = 1, .cutmix = 1}, sample).cut;
  CHECK(cut > kMixed / 4);
  CHECK(cut < kMixed * 3 / 4);
}

TEST_CASE("targets that are probabilities are mixed like the samples") {
  Mixable c(false);
  Feeder feeder(c.program, c.data, false, 3, nullptr, {.mixing = {.mixup = 1}});
  feeder.begin_epoch(0);
  feeder.stage({0, 8}, {});
  const auto* const pixels = reinterpret_cast<const float*>(feeder.staged()[0]);
  const auto* const targets = reinterpret_cast<const float*>(feeder.staged()[1]);
  for (int64_t i = 0; i < 8; ++i) CHECK(targets[2 * i] == pixels[48 * i]);
}

TEST_CASE("what counts of mixed labels is what counts of the drawn ones") {
  Mixable c;
  c.data.counted_labels.assign(kMixed, 1);
  c.data.label_weights.assign(2, std::vector<double>(kMixed));
  for (size_t i = 0; i < kMixed; ++i) {
    c.data.label_weights[1][i] = static_cast<double>(i);
    if (i % 2) c.data.counted_labels[i] = 0;
  }
  Feeder feeder(c.program, c.data, true, 3, nullptr, {.mixing = {.mixup = 1}});
  feeder.begin_epoch(0);
  feeder.stage({8, 8}, {});
  const auto* const labels = reinterpret_cast<const int64_t*>(feeder.staged()[1]);
  double weight = 0;
  int64_t counted = 0;
  for (int i = 0; i < 8; ++i) {
    weight += static_cast<double>(labels[i]);
    counted += labels[i] % 2 == 0;
  }
  CHECK(feeder.label_weight(1, {8, 8}) == weight);
  CHECK(feeder.counted_labels({8, 8}) == counted);
}

TEST_CASE("a loss of mixed labels gets both classes and the share of the second") {
  Mixable c;
  c.inputs[1] = {"labels", i32({8, 3})};
  c.inputs[1].mixed_labels = true;
  c.program.inputs = c.inputs;
  const ProgramOfData of_data(c.program);
  CHECK((*of_data).inputs[1].desc == i32({8}));
  CHECK_FALSE((*of_data).inputs[1].mixed_labels);
  c.data.columns[1] = std::make_unique<NumberedSamples>(1, DataType::i32);
  c.data.counted_labels.assign(kMixed, 1);
  c.data.label_weights.assign(2, std::vector<double>(kMixed));
  for (size_t i = 0; i < kMixed; ++i) {
    c.data.label_weights[1][i] = static_cast<double>(i % 7);
    if (i % 7 == 0) c.data.counted_labels[i] = 0;
  }
  CHECK_NOTHROW(check_mixing(c.program, {.mixup = 1}));
  Feeder feeder(c.program, c.data, false, 3, nullptr, {.workers = 2, .mixing = {.mixup = 1}});
  feeder.begin_epoch(0);
  feeder.stage({kMixed - 6, 8}, {});
  const auto* const labels = reinterpret_cast<const MixedLabel*>(feeder.staged()[1]);
  double weight = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t sample = kMixed - 6 + i;
    const Mix mix = c.mix({.mixup = 1}, sample, random_bits(3, 0));
    CHECK(labels[i].own == sample);
    CHECK(labels[i].other == mix.other);
    CHECK(labels[i].of_other() == Approx(1 - mix.own).margin(1e-9));
    weight += mix.own * static_cast<double>(sample % 7) + (1 - mix.own) * static_cast<double>(mix.other % 7);
    counted += sample % 7 != 0 || mix.other % 7 != 0;
  }
  for (int64_t i = 6; i < 8; ++i) CHECK((labels[i].own == -1 && labels[i].other == -1));  // after the last sample
  CHECK(feeder.label_weight(1, {kMixed - 6, 6}) == Approx(weight).epsilon(1e-12));
  CHECK(feeder.counted_labels({kMixed - 6, 6}) == counted);
  // Without mixing, as in an evaluation: the sample's own class alone.
  Feeder plain(c.program, c.data, false, 3);
  plain.begin_epoch(0);
  plain.stage({8, 8}, {});
  const auto* const own = reinterpret_cast<const MixedLabel*>(plain.staged()[1]);
  for (int64_t i = 0; i < 8; ++i) CHECK((own[i].own == 8 + i && own[i].share == 0));
  CHECK(plain.label_weight(1, {8, 2}) == 3);
}

TEST_CASE("mixing is refused where samples or labels cannot be mixed") {
  const auto code = [](Mixable& c, const MixOptions& options) {
    return code_of([&] { check_mixing(c.program, options); });
  };
  Mixable classes, probabilities(false), regression(false), integers, tokens, several, pixels, vectors;
  CHECK(code(classes, {.mixup = 1, .cutmix = 1}) == Exit::ok);
  CHECK(code(probabilities, {.mixup = 1}) == Exit::ok);
  regression.program.counts_correct = false;
  CHECK(code(regression, {.mixup = 1}) == Exit::ok);
  regression.inputs[1].per_sample = false;
  CHECK(code(regression, {.mixup = 1}) == Exit::usage);
  CHECK(code(regression, {}) == Exit::ok);
  integers.program.counts_correct = false;
  integers.program.classes = 0;
  CHECK(code(integers, {.mixup = 1}) == Exit::usage);
  tokens.inputs[0].desc.type = DataType::i64;
  CHECK(code(tokens, {.mixup = 1}) == Exit::usage);
  several.inputs.insert(several.inputs.begin(), several.inputs[0]);
  several.program.inputs = several.inputs;
  CHECK(code(several, {.mixup = 1}) == Exit::usage);
  pixels.inputs[1].desc.dims = {8, 6, 8};
  CHECK(code(pixels, {.mixup = 1}) == Exit::usage);
  vectors.inputs[0].desc.dims = {8, 48};
  CHECK(code(vectors, {.mixup = 1}) == Exit::ok);
  CHECK(code(vectors, {.cutmix = 1}) == Exit::usage);
}

TEST_CASE("the number of threads that fetch samples changes no bit") {
  for (const bool classes : {true, false})
    for (const MixOptions mixing : {MixOptions{}, MixOptions{.mixup = 1}, MixOptions{.mixup = 0.3, .cutmix = 1}}) {
      const std::string one = all_staged({.workers = 1, .mixing = mixing}, classes);
      for (const int64_t workers : {2, 3, 8}) CHECK(all_staged({.workers = workers, .mixing = mixing}, classes) == one);
    }
  CHECK(all_staged({.mixing = {.mixup = 1}}) != all_staged({}));
}

TEST_CASE("workers call each item once, and tell the error of the first") {
  for (const int64_t threads : {1, 2, 7}) {
    Workers workers(threads);
    for (const int64_t count : {0, 1, 5, 100}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      workers.run(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const auto& one : calls) CHECK(one == 1);
      const auto failing = [&](int64_t i) {
        if (i >= 3) throw TrainerError(Exit::unreadable_input, std::to_string(i));
      };
      std::string told;
      try {
        workers.run(count, failing);
      } catch (const TrainerError& error) {
        told = error.what();
      }
      CHECK(told == (count > 3 ? "3" : ""));
    }
  }
}
