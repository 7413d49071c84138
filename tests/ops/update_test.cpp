// Optimizers against numbers computed by PyTorch 1.13 and timm 1.0, and the factor that clips or unscales gradients
// before them.
#include <catch2/catch.hpp>
#include <cmath>
#include <string_view>

#include "executor.h"
#include "runtime/backend.h"

namespace plimsoll::test {
namespace {

// Three steps with gradients (0.1, -0.2, 0.3) times 1, 2, 3 and learning rate 0.1.
Values optimized(const KernelCall& call, size_t states) {
  std::vector<std::vector<float>> tensors = {{1, -2, 0.5F}, {0, 0, 0}};
  for (size_t i = 0; i < states; ++i) tensors.push_back({0, 0, 0});
  const std::unique_ptr<Kernel> kernel = make_kernel(call, "");
  std::vector<double> workspace(static_cast<size_t>(algorithms_of(call)[0].workspace_bytes) / sizeof(double) + 1);
  for (int64_t step = 0; step < 3; ++step) {
    const float times = static_cast<float>(step + 1);
    tensors[1] = {0.1F * times, -0.2F * times, 0.3F * times};
    std::vector<std::byte*> addresses;
    for (std::vector<float>& tensor : tensors) addresses.push_back(reinterpret_cast<std::byte*>(tensor.data()));
    kernel->run({.iteration = step, .learning_rate = 0.1}, addresses.data(),
                reinterpret_cast<std::byte*>(workspace.data()));
    backend::finish(nullptr);
  }
  // A gradient that accumulates over rounds is cleared for the next iteration; one that is only read is not changed.
  const bool cleared = tensors[1] == std::vector<float>{0, 0, 0};
  CHECK(cleared == (call.operands[1].access == Access::update));
  return Values(tensors[0].begin(), tensors[0].end());
}

}  // namespace

TEST_CASE("optimizers step as PyTorch's") {
  const TensorDesc three = f32({3});
  const auto call = [&](const char* name, std::vector<KernelAttribute> attributes, size_t states, bool accumulated) {
    KernelCall made{.name = name, .attributes = std::move(attributes), .operands = {update(three)}};
    made.operands.push_back(accumulated ? update(three) : read(three));
    for (size_t i = 0; i < states; ++i) made.operands.push_back(update(three));
    return made;
  };
  for (const bool accumulated : {false, true}) {
    INFO((accumulated ? "gradient accumulates" : "gradient is read"));
    CHECK(distance(optimized(call("SgdUpdate", {{"weight_decay", 0.01}}, 0, accumulated), 0),
                   {0.937043, -1.87409, 0.318621}) < 1e-5);
    CHECK(distance(optimized(call("MomentumUpdate", {{"momentum", 0.9}, {"weight_decay", 0.01}}, 1, accumulated), 1),
                   {0.899353, -1.79871, 0.212071}) < 1e-5);
    CHECK(distance(optimized(call("MomentumUpdate", {{"nesterov", true}}, 1, accumulated), 1),
                   {0.85441, -1.70882, 0.06323}) < 1e-5);
    CHECK(distance(optimized(call("AdamUpdate",
                                  {{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.01}}, 2,
                                  accumulated),
                             2),
                   {0.701832, -1.70187, 0.202481}) < 1e-5);
    CHECK(distance(optimized(call("AdamUpdate", {{"weight_decay", 0.1}, {"decoupled", true}}, 2, accumulated), 2),
                   {0.680936, -1.65123, 0.195786}) < 1e-5);
    // timm 1.0, Lamb without max_grad_norm.
    const auto lamb = [&](std::vector<KernelAttribute> attributes) {
      KernelCall made = call("LambUpdate", std::move(attributes), 2, accumulated);
      made.operands.push_back(write(f32({1})));
      return optimized(made, 3);
    };
    CHECK(distance(lamb({{"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-6}, {"weight_decay", 0.05}}),
                   {0.639950, -1.622662, 0.148592}) < 1e-5);
    CHECK(distance(lamb({}), {0.707684, -1.707683, 0.207682}) < 1e-5);
    CHECK(
        distance(
            optimized(call("LionUpdate", {{"beta1", 0.8}, {"beta2", 0.95}, {"weight_decay", 0.05}}, 1, accumulated), 1),
            {0.686572, -1.671647, 0.194035}) < 1e-5);
  }
}

TEST_CASE("the factor of clipped gradients is that of their norm together, and updates step by what it leaves") {
  if (!backend::heeds().discard) return;  // nor does it clip: runtime/backend.h
  const auto factor_of = [](double max_norm, std::vector<float> a, std::vector<float> b) {
    const KernelCall call{.name = "ClipFactor",
                          .attributes = {{"max_norm", max_norm}},
                          .operands = {read(f32({static_cast<int64_t>(a.size())})),
                                       read(f32({static_cast<int64_t>(b.size())})), write(f32({1}))}};
    std::vector<std::vector<float>> tensors = {std::move(a), std::move(b), {-7}};
    run_once(call, {}, tensors);
    return tensors[2][0];
  };
  CHECK(factor_of(10, {3, 0}, {4}) == 1);
  CHECK(factor_of(5.0000011, {3, 0}, {4}) == 1);
  CHECK(factor_of(1, {3, 0}, {4}) == Approx(1 / 5.000001));
  CHECK(factor_of(1, {0, 0}, {0}) == 1);
  CHECK(factor_of(1, std::vector<float>(100000, 2), std::vector<float>(33333, -1)) == Approx(1 / std::sqrt(433333.0)));
  CHECK(std::isnan(factor_of(1, {NAN, 0}, {4})));

  for (const auto& [name, states] :
       {std::pair{"SgdUpdate", 0}, {"MomentumUpdate", 1}, {"AdamUpdate", 2}, {"LionUpdate", 1}}) {
    INFO(name);
    KernelCall plain{.name = name, .operands = {update(f32({3})), update(f32({3}))}};
    for (int i = 0; i < states; ++i) plain.operands.push_back(update(f32({3})));
    KernelCall clipped = plain;
    clipped.operands.push_back(read(f32({1})));
    const auto tensors = [&](float times) {
      std::vector<std::vector<float>> made = {{1, -2, 0.5F}, {0.1F * times, -0.2F * times, 0.3F * times}};
      for (int i = 0; i < states; ++i) made.push_back({0.25F, 0.5F, 0.125F});
      return made;
    };
    auto by_hand = tensors(0.5F), by_factor = tensors(1), discarded = tensors(NAN);
    by_factor.push_back({0.5F});
    run_once(plain, {.learning_rate = 0.1}, by_hand);
    run_once(clipped, {.learning_rate = 0.1}, by_factor);
    for (size_t i = 0; i < by_hand.size(); ++i) CHECK(by_hand[i] == by_factor[i]);
    CHECK(by_factor[1] == std::vector<float>{0, 0, 0});
    run_once(plain, {.learning_rate = 0.1, .discard = true}, discarded);
    auto untouched = tensors(0);
    for (size_t i = 0; i < untouched.size(); ++i) CHECK(discarded[i] == untouched[i]);
  }
}

TEST_CASE("the factor of scaled gradients undoes the scale, clips by the norm without it, and is negative of NaN") {
  const auto factor_of = [](double scale, double max_norm, std::vector<float> a, std::vector<float> b) {
    const KernelCall call{.name = "UnscaleFactor",
                          .attributes = {{"max_norm", max_norm}},
                          .operands = {read(f32({static_cast<int64_t>(a.size())})),
                                       read(f32({static_cast<int64_t>(b.size())})), write(f32({1}))}};
    std::vector<std::vector<float>> tensors = {std::move(a), std::move(b), {-7}};
    run_once(call, {.gradient_scale = scale}, tensors);
    return tensors[2][0];
  };
  CHECK(factor_of(1024, 0, {3, 0}, {4}) == 1.0F / 1024);
  CHECK(factor_of(1, 0, {3, 0}, {4}) == 1);
  CHECK(factor_of(8, 10, {24, 0}, {32}) == 0.125F);
  CHECK(factor_of(8, 1, {24, 0}, {32}) == Approx(1 / 5.000001 / 8));
  CHECK(factor_of(8, 1, std::vector<float>(100000, 16), std::vector<float>(33333, -8)) ==
        Approx(1 / std::sqrt(433333.0) / 8));
  CHECK(factor_of(1024, 0, {3e38F, 0}, {3e38F}) == 1.0F / 1024);  // whose squares are beyond f32
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    CHECK(factor_of(1024, 0, {3, bad}, {4}) < 0);
    CHECK(factor_of(1024, 1, {3}, {bad}) < 0);
    std::vector<float> many(100000, 1);
    many.back() = bad;
    CHECK(factor_of(1024, 0, {3}, std::move(many)) < 0);
  }
}

TEST_CASE("an update with a negative factor changes nothing but a gradient that it clears") {
  for (const auto& [name, states] :
       {std::pair{"SgdUpdate", 0}, {"MomentumUpdate", 1}, {"AdamUpdate", 2}, {"LionUpdate", 1}, {"LambUpdate", 2}}) {
    for (const DataType stored : {DataType::f32, DataType::bf16, DataType::q8}) {
      if (states == 0 && stored != DataType::f32) continue;
      if (stored == DataType::q8 && std::string_view(name) == "LambUpdate") continue;
      INFO(name << " " << name_of(stored));
      KernelCall call{.name = name, .operands = {update(f32({3})), update(f32({3}))}};
      for (int i = 0; i < states; ++i)
        call.operands.push_back(update({stored == DataType::q8 && i == 1 ? DataType::uq8 : stored, {3}}));
      std::vector<std::vector<float>> before = {{1, -2, 0.5F}, {NAN, INFINITY, 0.3F}};
      for (int i = 0; i < states; ++i) before.push_back({0.25F, 0.5F, 0.125F});
      if (std::string_view(name) == "LambUpdate") {
        call.operands.push_back(write(f32({1})));
        before.push_back({0});
      }
      call.operands.push_back(read(f32({1})));
      before.push_back({-1});
      auto after = before;
      run_once(call, {.learning_rate = 0.1}, after);
      CHECK(after[0] == before[0]);
      CHECK(after[1] == std::vector<float>{0, 0, 0});
      for (int i = 0; i < states; ++i) CHECK(after[size_t(2 + i)] == before[size_t(2 + i)]);
    }
  }
}

TEST_CASE("steps of Adam and LAMB are counted without the iterations that were skipped") {
  for (const char* const name : {"AdamUpdate", "LambUpdate"}) {
    KernelCall call{.name = name, .operands = {update(f32({3})), read(f32({3})), update(f32({3})), update(f32({3}))}};
    if (std::string_view(name) == "LambUpdate") call.operands.push_back(write(f32({1})));
    const auto stepped = [&](int64_t iteration, int64_t skipped) {
      std::vector<std::vector<float>> tensors = {
          {1, -2, 0.5F}, {0.1F, 0.2F, -0.3F}, {0.25F, 0.5F, 0.125F}, {0.25F, 0.5F, 0.125F}, {0}};
      run_once(call, {.iteration = iteration, .learning_rate = 0.1, .skipped = skipped}, tensors);
      return tensors[0];
    };
    CHECK(stepped(7, 3) == stepped(4, 0));
    CHECK(stepped(7, 3) != stepped(7, 0));
  }
}

}  // namespace plimsoll::test
