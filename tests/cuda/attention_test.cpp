// Attention on tensor cores, whose products are emulated here, compared with the kernels in f32.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "tests/cuda/guarded_floats.h"

namespace plimsoll::test {
namespace {

// Of factors rounded to TF32, which has 10 bits after the binary point; sines cancel in the sums.
constexpr double kTf32 = 5e-3;

double distance(GuardedFloats& a, GuardedFloats& b) {
  double apart = 0, norm = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    apart += std::pow(a.at(i) - b.at(i), 2);
    norm += std::pow(b.at(i), 2);
  }
  return std::sqrt(apart / std::max(norm, 1e-30));
}

struct Heads {
  int64_t samples, heads, key_heads, queries, keys, size, value_size;
  int64_t left = -1, right = -1;
  bool mask = false;
  double dropped = 0;
};

}  // namespace

TEST_CASE("attention in TF32 is that in f32, rounded") {
  const Heads cases[] = {{1, 1, 1, 1, 1, 4, 4},
                         {1, 2, 2, 17, 17, 20, 12},
                         {2, 2, 1, 64, 64, 32, 32, -1, 0},
                         {1, 1, 1, 70, 100, 64, 64},
                         {1, 2, 1, 100, 130, 64, 48, -1, 0},
                         {1, 1, 1, 130, 130, 32, 64, 40, 8},
                         {1, 2, 2, 40, 66, 36, 32, -1, -1, true},
                         {1, 2, 1, 66, 70, 32, 32, -1, 0, false, 0.3},
                         {1, 1, 1, 66, 70, 128, 96, -1, 0}};
  for (const Heads& h : cases) {
    INFO(h.queries << " queries, " << h.keys << " keys, heads of " << h.size << " and " << h.value_size);
    const TensorDesc of_q = f32({h.samples, h.heads, h.queries, h.size}),
                     of_k = f32({h.samples, h.key_heads, h.keys, h.size}),
                     of_v = f32({h.samples, h.key_heads, h.keys, h.value_size}),
                     of_y = f32({h.samples, h.heads, h.queries, h.value_size}),
                     of_statistics = f32({h.samples, h.heads, h.queries, 2}), of_mask = f32({h.queries, h.keys});
    const AttentionAttrs attrs{.scale = 1 / std::sqrt(static_cast<float>(h.size)),
                               .left = h.left,
                               .right = h.right,
                               .dropped = h.dropped,
                               .dropout_key = 7};
    const OperandDesc mask_operand = h.mask ? read(of_mask) : absent();
    GuardedFloats q(of_q.elements(), 0.37F), k(of_k.elements(), 0.73F), v(of_v.elements(), 0.51F),
        mask(of_mask.elements(), 1.3F), dy(of_y.elements(), 0.29F);
    struct Results {
      GuardedFloats y, statistics, dq, dk, dv;
    };
    const auto results_of = [&](std::string_view algorithm) {
      Results r{GuardedFloats(of_y.elements()), GuardedFloats(of_statistics.elements()), GuardedFloats(of_q.elements()),
                GuardedFloats(of_k.elements()), GuardedFloats(of_v.elements())};
      GuardedFloats* const of = h.mask ? &mask : nullptr;
      run_on<AttentionForward>(attrs,
                               {read(of_q), read(of_k), read(of_v), mask_operand, write(of_y), write(of_statistics)},
                               {&q, &k, &v, of, &r.y, &r.statistics}, algorithm);
      if (h.size > 64) return r;
      run_on<AttentionBackward>(attrs,
                                {read(of_q), read(of_k), read(of_v), mask_operand, read(of_y), read(of_statistics),
                                 read(of_y), write(of_q), write(of_k), write(of_v), absent()},
                                {&q, &k, &v, of, &r.y, &r.statistics, &dy, &r.dq, &r.dk, &r.dv, nullptr}, algorithm);
      return r;
    };
    Results exact = results_of(""), rounded = results_of("tf32_tiles");
    CHECK(distance(rounded.y, exact.y) < kTf32);
    CHECK(distance(rounded.statistics, exact.statistics) < kTf32);
    if (h.keys > 1 && h.size <= 64) {
      CHECK(distance(rounded.dq, exact.dq) < 2 * kTf32);
      CHECK(distance(rounded.dk, exact.dk) < 2 * kTf32);
    }
    if (h.size <= 64) CHECK(distance(rounded.dv, exact.dv) < kTf32);
    if (h.dropped == 0) CHECK(rounded.y.at(0) != exact.y.at(0));
  }
}

TEST_CASE("attention in TF32 is not offered where its results do not fit, nor for the gradient of a mask") {
  const auto count = [](int64_t size, bool scores) {
    const TensorDesc x = f32({1, 1, 8, size}), two = f32({1, 1, 8, 2}), square = f32({1, 1, 8, 8});
    return std::pair(
        AttentionForward::algorithms({}, std::vector{read(x), read(x), read(x), absent(), write(x), write(two)}).size(),
        AttentionBackward::algorithms({}, std::vector{read(x), read(x), read(x), absent(), read(x), read(two), read(x),
                                                      write(x), write(x), write(x), scores ? write(square) : absent()})
            .size());
  };
  CHECK(count(64, false) == std::pair<size_t, size_t>(2, 2));
  CHECK(count(64, true) == std::pair<size_t, size_t>(2, 1));
  CHECK(count(128, false) == std::pair<size_t, size_t>(2, 1));
  CHECK(count(256, false) == std::pair<size_t, size_t>(1, 1));
  CHECK(count(30, false) == std::pair<size_t, size_t>(1, 1));
}

}  // namespace plimsoll::test
