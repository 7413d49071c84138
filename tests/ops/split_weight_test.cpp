// Weights in two halves: both together are the value in f32, so every update steps them to the same bits, whether the
// gradient is in f32 or, with the same numbers, in bf16.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "executor.h"
#include "runtime/attrs/bf16.h"
#include "runtime/backend.h"
#include "runtime/reduced_state.h"
#include "runtime/split_weight.h"

namespace plimsoll::test {
namespace {

using Bytes = std::vector<std::byte>;

struct SplitRule {
  const char* kernel;
  std::vector<DataType> states;
};

enum class Stored { whole, in_halves, in_halves_with_narrow_gradient };

// {w, g, states…, ratio?, low?}
KernelCall call_of(const SplitRule& rule, Stored stored, int64_t n) {
  const bool halves = stored != Stored::whole, narrow = stored == Stored::in_halves_with_narrow_gradient;
  KernelCall call{.name = rule.kernel,
                  .operands = {update(halves ? bf16({n}) : f32({n})), narrow ? read(bf16({n})) : update(f32({n}))}};
  for (const DataType state : rule.states) call.operands.push_back(update({state, {n}}));
  if (std::string_view(rule.kernel) == "LambUpdate") call.operands.push_back(write(f32({1})));
  if (halves) call.operands.push_back(update(i16({n})));
  if (std::string_view(rule.kernel) != "LionUpdate") call.attributes = {{"weight_decay", 0.02}};
  return call;
}

// Its operands, aligned as in the arena.
class Operands {
 public:
  explicit Operands(const KernelCall& call) {
    for (const OperandDesc& operand : call.operands) {
      begins_.push_back(bytes_);
      bytes_ += (operand.tensor.bytes() + 255) / 256 * 256;
    }
    memory_.resize(static_cast<size_t>(bytes_) / sizeof(double) + 32);
  }
  std::byte* of(size_t slot) {
    auto* const first = reinterpret_cast<std::byte*>(memory_.data());
    return first + (256 - reinterpret_cast<uintptr_t>(first) % 256) % 256 + begins_[slot];
  }

 private:
  std::vector<int64_t> begins_;
  int64_t bytes_ = 0;
  std::vector<double> memory_;
};

float weight_at(int64_t i) { return std::sin(static_cast<float>(i)) * std::pow(2.0F, static_cast<float>(i % 40) - 20); }

// The bytes of the weight in f32 and of its states after some steps with gradients that bf16 can show.
std::vector<Bytes> stepped(const SplitRule& rule, Stored stored, int64_t n) {
  const bool halves = stored != Stored::whole;
  const KernelCall call = call_of(rule, stored, n);
  Operands operands(call);
  const size_t low = call.operands.size() - 1;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = split::bits_to_split(weight_at(i));
    if (!halves) reinterpret_cast<float*>(operands.of(0))[i] = weight_at(i);
    else {
      reinterpret_cast<uint16_t*>(operands.of(0))[i] = split::high_of(bits);
      reinterpret_cast<int16_t*>(operands.of(low))[i] = split::low_of(bits);
    }
  }
  const std::unique_ptr<Kernel> kernel = make_kernel(call, "");
  std::vector<double> workspace(static_cast<size_t>(algorithms_of(call)[0].workspace_bytes) / sizeof(double) + 1);
  for (int64_t step = 0; step < 3; ++step) {
    for (int64_t i = 0; i < n; ++i) {
      const uint16_t gradient = narrowed(std::cos(static_cast<float>(7 * i + step)) * 1e-3F);
      if (stored == Stored::in_halves_with_narrow_gradient) reinterpret_cast<uint16_t*>(operands.of(1))[i] = gradient;
      else reinterpret_cast<float*>(operands.of(1))[i] = widened(gradient);
    }
    std::vector<std::byte*> addresses;
    for (size_t slot = 0; slot < call.operands.size(); ++slot) addresses.push_back(operands.of(slot));
    kernel->run({.seed = 5, .iteration = step, .learning_rate = 1e-3}, addresses.data(),
                reinterpret_cast<std::byte*>(workspace.data()));
    backend::finish(nullptr);
  }
  std::vector<Bytes> all(1, Bytes(static_cast<size_t>(4 * n)));
  for (int64_t i = 0; i < n; ++i) {
    float value = 0;
    if (halves)
      value = split::joined(reinterpret_cast<uint16_t*>(operands.of(0))[i],
                            reinterpret_cast<int16_t*>(operands.of(low))[i]);
    else value = reinterpret_cast<float*>(operands.of(0))[i];
    std::memcpy(all[0].data() + 4 * i, &value, 4);
  }
  for (size_t s = 0; s < rule.states.size(); ++s)
    all.emplace_back(operands.of(2 + s), operands.of(2 + s) + bytes_of(rule.states[s], n));
  return all;
}

}  // namespace

TEST_CASE("two halves are the number again, and the upper one is the nearest in bf16") {
  const auto check = [](float value) {
    const uint32_t bits = split::bits_to_split(value);
    const float again = split::joined(split::high_of(bits), split::low_of(bits)), above = widened(split::high_of(bits));
    INFO(value);
    if (std::isnan(value)) {
      CHECK(std::isnan(again));
      CHECK(std::isnan(above));
      return;
    }
    CHECK(reduced::bits_of(again) == reduced::bits_of(value));
    const float nearest = widened(narrowed(value));
    // Halfway, a cast takes the even one, and this the one farther from zero.
    if (std::isfinite(nearest)) CHECK(std::abs(value - above) == std::abs(value - nearest));
    else CHECK(above == nearest);
  };
  for (const uint32_t upper : {0U, 1U, 0x3F80U, 0x3F81U, 0x7F7FU, 0x8000U, 0x8001U, 0xBF80U, 0xFF7FU})
    for (const uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU})
      check(reduced::float_of(upper << 16 | lower));
  for (const float value : {INFINITY, -INFINITY, NAN, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min(), 0.1F, -1e-30F})
    check(value);
  check(reduced::float_of(0x7FFFFFFFU));  // the NaN of a GPU, whose upper half alone would round to -0
  check(reduced::float_of(0xFFFFFFFFU));
}

TEST_CASE("an update steps a weight in two halves to the same bits as one in f32, with state of any type") {
  const auto both = [](DataType one) { return std::vector{one, one == DataType::q8 ? DataType::uq8 : one}; };
  for (const DataType state : {DataType::f32, DataType::bf16, DataType::q8})
    for (const SplitRule& rule : {SplitRule{"SgdUpdate", {}}, {"MomentumUpdate", {state}}, {"LionUpdate", {state}},
                                  {"AdamUpdate", both(state)}, {"LambUpdate", both(state)}}) {
      if (state != DataType::f32 && rule.states.empty()) continue;
      if (state == DataType::q8 && std::string_view(rule.kernel) == "LambUpdate") continue;
      for (const int64_t n : {3, 1030, 40000}) {
        INFO(rule.kernel << " with state in " << name_of(state) << ", " << n << " elements");
        const std::vector<Bytes> whole = stepped(rule, Stored::whole, n);
        CHECK((stepped(rule, Stored::in_halves, n) == whole));
        CHECK((stepped(rule, Stored::in_halves_with_narrow_gradient, n) == whole));
      }
    }
}

TEST_CASE("the norm of gradients in f32 and in bf16 is that of their numbers") {
  const auto factor = [](bool narrow) {
    const KernelCall call{.name = "ClipFactor",
                          .attributes = {{"max_norm", 1.0}},
                          .operands = {read(f32({20000})), read(narrow ? bf16({40001}) : f32({40001})),
                                       read(f32({7})), write(f32({1}))}};
    Operands operands(call);
    for (size_t slot = 0; slot < 3; ++slot)
      for (int64_t i = 0; i < call.operands[slot].tensor.elements(); ++i) {
        const uint16_t gradient = narrowed(std::cos(static_cast<float>(5 * i + static_cast<int64_t>(slot))));
        if (call.operands[slot].tensor.type == DataType::bf16) {
          reinterpret_cast<uint16_t*>(operands.of(slot))[i] = gradient;
        } else {
          reinterpret_cast<float*>(operands.of(slot))[i] = widened(gradient);
        }
      }
    const std::vector<Algorithm> ways = algorithms_of(call);
    CHECK(ways.front().name == Algorithm{}.name);  // not on widened operands: those are all gradients once more
    std::vector<double> workspace(static_cast<size_t>(ways.front().workspace_bytes) / sizeof(double) + 1);
    std::vector<std::byte*> addresses;
    for (size_t slot = 0; slot < call.operands.size(); ++slot) addresses.push_back(operands.of(slot));
    make_kernel(call, "")->run({}, addresses.data(), reinterpret_cast<std::byte*>(workspace.data()));
    backend::finish(nullptr);
    return *reinterpret_cast<float*>(operands.of(3));
  };
  CHECK(factor(true) == Approx(factor(false)).epsilon(1e-6));
  CHECK(factor(false) < 0.01F);
}

}  // namespace plimsoll::test
