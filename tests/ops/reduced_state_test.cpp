// Optimizer state in bf16 and in 8 bits (runtime/reduced_state.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <tuple>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/reduced_state.h"

namespace plimsoll::test {
namespace {

using Bytes = std::vector<std::byte>;

struct Trained {
  std::vector<float> w;
  std::vector<Bytes> states;
};

// An optimizer and how its states are stored.
struct Rule {
  const char* kernel;
  std::vector<DataType> states;
};

std::vector<Rule> rules_in(DataType with_sign, DataType without) {
  return {{"MomentumUpdate", {with_sign}}, {"LionUpdate", {with_sign}}, {"AdamUpdate", {with_sign, without}}};
}

KernelCall call_of(const Rule& rule, int64_t n, bool clears = false) {
  KernelCall call{.name = rule.kernel, .operands = {update(f32({n})), clears ? update(f32({n})) : read(f32({n}))}};
  for (const DataType type : rule.states) call.operands.push_back(update({type, {n}, Layout::plain}));
  if (call.name == "LambUpdate") call.operands.push_back(write(f32({1})));
  return call;
}

Trained beginning(const Rule& rule, int64_t n) {
  Trained trained{.w = std::vector<float>(static_cast<size_t>(n)), .states = {}};
  for (size_t i = 0; i < trained.w.size(); ++i) trained.w[i] = std::sin(static_cast<float>(i) + 1);
  for (const DataType type : rule.states) trained.states.emplace_back(static_cast<size_t>(bytes_of(type, n)));
  return trained;
}

void step(const KernelCall& call, const RunContext& context, Trained& trained, std::vector<float>& g) {
  std::vector<std::byte*> addresses = {reinterpret_cast<std::byte*>(trained.w.data()),
                                       reinterpret_cast<std::byte*>(g.data())};
  for (Bytes& state : trained.states) addresses.push_back(state.data());
  float ratio = 0;
  if (call.name == "LambUpdate") addresses.push_back(reinterpret_cast<std::byte*>(&ratio));
  std::vector<double> workspace(static_cast<size_t>(algorithms_of(call)[0].workspace_bytes) / sizeof(double) + 1);
  make_kernel(call, "")->run(context, addresses.data(), reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
}

std::vector<float> values(DataType stored, const Bytes& state, int64_t n) {
  std::vector<float> read(static_cast<size_t>(n));
  reduced::to_f32(stored, state.data(), n, read.data());
  return read;
}

// Gradients of different sizes, of which the squares cover ten decades.
std::vector<float> gradients(int64_t n, int64_t iteration) {
  std::vector<float> g(static_cast<size_t>(n));
  for (size_t i = 0; i < g.size(); ++i)
    g[i] = std::pow(10.0F, -static_cast<float>(i % 6)) *
           std::cos(static_cast<float>(i) * 0.7F + static_cast<float>(iteration));
  return g;
}

double mean(const std::vector<float>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

// The norm of the difference, as a part of the norm of the wanted values.
double relative_distance(const std::vector<float>& found, const std::vector<float>& wanted) {
  double far = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    far += std::pow(found[i] - wanted[i], 2);
    all += std::pow(wanted[i], 2);
  }
  return std::sqrt(far / all);
}

}  // namespace

TEST_CASE("what is read of state in 8 bits is stored as it was, whatever the largest element's sign") {
  for (const DataType type : {DataType::q8, DataType::uq8}) {
    INFO(name_of(type));
    const bool has_sign = type == DataType::q8;
    std::vector<float> given;
    for (int i = 0; i < 700; ++i) {
      const float magnitude = std::pow(10.0F, -static_cast<float>(i % 97) / 11);
      given.push_back(has_sign && i % 3 == 0 ? -3 * magnitude : magnitude);
    }
    given[300] = 0;
    const int64_t n = static_cast<int64_t>(given.size());
    Bytes stored(static_cast<size_t>(bytes_of(type, n))), again(stored.size());
    CHECK(stored.size() == 700 + 3 * 4);
    reduced::from_f32(type, given.data(), n, stored.data());
    const std::vector<float> read = values(type, stored, n);
    reduced::from_f32(type, read.data(), n, again.data());
    CHECK(stored == again);
    CHECK(read[300] == 0);
    for (size_t i = 0; i < given.size(); ++i) {
      INFO(i << ": " << given[i] << " " << read[i]);
      CHECK(read[i] * given[i] >= 0);
      // Half of a cell, of which the top decade has 64 or 128; and the first decades have few.
      const auto block = given.begin() + static_cast<int64_t>(i / 256 * 256);
      const auto end = given.end() - block > 256 ? block + 256 : given.end();
      const float largest = std::abs(*std::max_element(block, end, [](float a, float b) {
        return std::abs(a) < std::abs(b);
      }));
      const float share = std::abs(given[i]) / largest;
      if (share > 0.1F) CHECK(std::abs(read[i] - given[i]) <= largest * 0.9F / (has_sign ? 64 : 128));
      if (share > 1e-5F) CHECK(std::abs(read[i] - given[i]) <= 2.5F * std::abs(given[i]));
      if (!has_sign && given[i] > 0) CHECK(read[i] > 0);
    }
  }
  // 255 values of each.
  std::set<float> with_sign, without;
  for (int code = 0; code < 256; ++code) {
    with_sign.insert(reduced::values_of_codes<true>().of[code]);
    without.insert(reduced::values_of_codes<false>().of[code]);
  }
  CHECK(with_sign.size() == 255);
  CHECK(*with_sign.begin() == -1);
  CHECK(without.size() == 256);
  CHECK(*without.rbegin() == 1);
  for (uint32_t code = 0; code < 128; ++code)
    CHECK(reduced::magnitude_of<true>(code) == Approx(reduced::values_of_codes<true>().of[code]));
  for (uint32_t code = 0; code < 256; ++code)
    CHECK(reduced::magnitude_of<false>(code) == Approx(reduced::values_of_codes<false>().of[code]));
}

TEST_CASE("whatever the random bits, 0 and the largest element of a block are exact, and others a neighbour's value") {
  const auto codes = [](auto has_sign, float magnitude) {
    std::set<uint32_t> found;
    for (uint32_t bits = 0; bits < 65536; ++bits)
      found.insert(reduced::code_of<decltype(has_sign)::value>(magnitude, reduced::share_of(bits)));
    return found;
  };
  const std::true_type has_sign;
  const std::false_type has_none;
  CHECK(codes(has_sign, 0) == std::set<uint32_t>{0});
  CHECK(codes(has_none, 0) == std::set<uint32_t>{0});
  CHECK(codes(has_sign, 1) == std::set<uint32_t>{127});
  CHECK(codes(has_none, 1) == std::set<uint32_t>{255});
  // At the end of a decade: the last value of the one below, 0.099, and the first one above, 0.107 (0.104).
  CHECK(codes(has_sign, 0.1F) == std::set<uint32_t>{63, 64});
  CHECK(codes(has_none, 0.1F) == std::set<uint32_t>{127, 128});
  CHECK(codes(has_none, 1e-12F) == std::set<uint32_t>{1});
  // Not a number: some code.
  CHECK(*codes(has_sign, NAN).rbegin() < 128);
  CHECK(*codes(has_none, NAN).rbegin() < 256);
}

TEST_CASE("a second moment in bf16 or 8 bits does not stall: it comes as near to the gradient's square as in f32") {
  constexpr int64_t kElements = 4000, kSteps = 1500;
  for (const auto& [with_sign, without] : {std::pair{DataType::bf16, DataType::bf16}, {DataType::q8, DataType::uq8}}) {
    INFO(name_of(without));
    const Rule rule{"AdamUpdate", {with_sign, without}};
    Trained trained = beginning(rule, kElements);
    // Half of the elements have a gradient of a thousandth, and so a second moment of a millionth.
    std::vector<float> g(kElements, 1.0F);
    for (size_t i = 0; i < g.size(); i += 2) g[i] = 1e-3F;
    for (int64_t i = 0; i < kSteps; ++i)
      step(call_of(rule, kElements), {.seed = 3, .iteration = i, .learning_rate = 1e-3}, trained, g);
    const std::vector<float> v = values(without, trained.states[1], kElements);
    std::vector<float> large, small;
    for (size_t i = 0; i < v.size(); ++i) (i % 2 ? large : small).push_back(v[i]);
    const double wanted = 1 - std::pow(0.999, kSteps);  // 0.78; rounded to the nearest bf16, it stays below 0.34
    const bool in_bf16 = without == DataType::bf16;
    // In bf16, v grows by d in a step and is rounded to a multiple of v / 128, with a variance of at most d v / 128.
    // From 0 to v, this adds up to v^2 / 256: a standard deviation of 0.06 of v, and a 45th of that for the mean of
    // 2000. In 8 bits, all large elements equal the scale, which is exact. The small ones are a millionth of it,
    // between the values 0.775e-6 and 2.125e-6, with a standard deviation of sqrt(0.225 * 1.125) = 0.5, and so of 0.011
    // for the mean. The limits are five standard deviations.
    CHECK(mean(large) == Approx(wanted).epsilon(in_bf16 ? 0.007 : 1e-4));
    CHECK(mean(small) == Approx(wanted * 1e-6).epsilon(in_bf16 ? 0.007 : 0.056));
    // The same gradient in each step: each moves the weight by the learning rate. The second moments above bound the
    // error: by five halves of 0.06 in bf16. In 8 bits, 1 / sqrt(2.125) and 1 / sqrt(0.775) are 0.31 below and 0.14
    // above 1; and the first moment, a thousandth of its scale, is between 0.944 and 1.281 thousandths. A step's
    // standard deviation is at most 0.17. It counts ten times in the sum, which has 10 * 0.17 / sqrt(1500) = 0.04 of
    // its value.
    const Trained before = beginning(rule, kElements);
    for (size_t i = 0; i < v.size(); ++i) {
      INFO(i);
      CHECK(before.w[i] - trained.w[i] == Approx(1e-3 * kSteps).epsilon(in_bf16 ? 0.15 : i % 2 ? 1e-3 : 0.31 + 0.2));
    }
  }
}

// The limits follow from the format. All gradients have a factor of 0.5 to 1 and the mean 0.8, so that after a few of
// 40 steps, first moments are 0.38 to 1 of the largest, and second moments 0.25 to 1. There, a code's cell has 0.9 / 64
// of the scale, and 0.9 / 128 without a sign; bf16 has at most 1 / 128 of the value. The standard deviation of a number
// that is rounded at random is at most half of that: 0.007, 0.0035 and 0.004.
// - Momentum 0.9: what is rounded off in a step counts ten times in the sum of all steps. The weight is off by
//   10 * sqrt(40) * 0.007 / (40 * 0.38) = 0.03, in bf16 10 * sqrt(40) * 0.004 / 40 = 0.006. The state is off by
//   2.3 * 0.007 / 0.5 = 0.033 (2.3: a sum of squares of 0.9^k), in bf16 by 0.009.
// - A second moment grows, and adds up all errors of growing scales: sqrt(40^3 / 3) / 40 = 3.7 of them. It is off by
//   3.7 * 0.0035 / 0.25 = 0.05, in bf16 by 0.015, and the weight by half of that.
// - Lion's momentum, which grows as well, is off by 3.7 * 0.007 / 0.5 = 0.05, in bf16 by 0.015.
TEST_CASE("weights and state in bf16 or 8 bits stay as near to those with state in f32 as their formats allow") {
  constexpr int64_t kElements = 1030;  // a last block of 6
  for (const auto& [with_sign, without, weights_apart, states_apart] :
       {std::tuple{DataType::bf16, DataType::bf16, 0.01, 0.015}, {DataType::q8, DataType::uq8, 0.04, 0.05}}) {
    std::vector<Rule> rules = rules_in(with_sign, without);
    if (with_sign == DataType::bf16) rules.push_back({"LambUpdate", {with_sign, without}});
    for (const Rule& rule : rules) {
      INFO(rule.kernel << " " << name_of(with_sign));
      const Rule exact{rule.kernel, std::vector<DataType>(rule.states.size(), DataType::f32)};
      Trained trained = beginning(rule, kElements), wanted = beginning(exact, kElements);
      for (int64_t i = 0; i < 40; ++i) {
        std::vector<float> g(static_cast<size_t>(kElements));
        for (size_t k = 0; k < g.size(); ++k) {
          const float at = static_cast<float>(k);
          g[k] = (0.75F + 0.25F * std::sin(3 * at)) * (0.8F + std::cos(0.7F * at + static_cast<float>(i)));
        }
        const RunContext context{.seed = 1, .iteration = i, .learning_rate = 1e-3};
        step(call_of(rule, kElements), context, trained, g);
        step(call_of(exact, kElements), context, wanted, g);
      }
      std::vector<float> moved = trained.w, wanted_move = wanted.w;
      const Trained before = beginning(rule, kElements);
      for (size_t k = 0; k < moved.size(); ++k) {
        moved[k] -= before.w[k];
        wanted_move[k] -= before.w[k];
      }
      CHECK(relative_distance(moved, wanted_move) < weights_apart);
      for (size_t state = 0; state < rule.states.size(); ++state) {
        INFO("state " << state);
        const std::vector<float> found = values(rule.states[state], trained.states[state], kElements);
        std::vector<float> in_f32(found.size());
        std::memcpy(in_f32.data(), wanted.states[state].data(), wanted.states[state].size());
        CHECK(found != in_f32);
        CHECK(relative_distance(found, in_f32) < states_apart);
      }
    }
  }
}

TEST_CASE("slices of reduced state are stepped as the whole, and a discarded step changes none") {
  constexpr int64_t kElements = 20000, kCut = 16384;
  for (const auto& [with_sign, without] : {std::pair{DataType::bf16, DataType::bf16}, {DataType::q8, DataType::uq8}})
    for (const Rule& rule : rules_in(with_sign, without)) {
      INFO(rule.kernel << " " << name_of(with_sign));
      Trained whole = beginning(rule, kElements), first = whole, second = whole;
      const auto cut = [&](Trained& part, int64_t begin, int64_t end) {
        part.w = {whole.w.begin() + begin, whole.w.begin() + end};
        for (size_t s = 0; s < part.states.size(); ++s)
          part.states[s] = {whole.states[s].begin() + bytes_of(rule.states[s], begin),
                            whole.states[s].begin() + bytes_of(rule.states[s], end)};
      };
      cut(first, 0, kCut);
      cut(second, kCut, kElements);
      for (int64_t i = 0; i < 3; ++i) {
        std::vector<float> g = gradients(kElements, i), a(g.begin(), g.begin() + kCut), b(g.begin() + kCut, g.end());
        const RunContext context{.seed = 7, .iteration = i, .learning_rate = 0.01};
        step(call_of(rule, kElements), context, whole, g);
        step(call_of(rule, kCut), context, first, a);
        step(call_of(rule, kElements - kCut), context, second, b);
      }
      Trained part = whole;
      cut(part, 0, kCut);
      CHECK(part.w == first.w);
      CHECK(part.states == first.states);
      cut(part, kCut, kElements);
      CHECK(part.w == second.w);
      CHECK(part.states == second.states);

      if (!backend::heeds().discard) continue;
      const Trained before = whole;
      std::vector<float> g(kElements, NAN);
      step(call_of(rule, kElements, true), {.learning_rate = 0.01, .discard = true}, whole, g);
      CHECK(before.w == whole.w);
      CHECK(before.states == whole.states);
      CHECK(std::all_of(g.begin(), g.end(), [](float value) { return value == 0; }));
    }
}

}  // namespace plimsoll::test
