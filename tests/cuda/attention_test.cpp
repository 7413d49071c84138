// Attention on tensor cores, whose products are emulated here, compared with the kernels in f32.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "tests/cuda/guarded_floats.h"

namespace plimsoll::test {
namespace {

// Of factors rounded to TF32, which has 10 bits after the binary point, or to bf16, which has 7; sines cancel in the
// sums.
constexpr double kTf32 = 5e-3, kBf16 = 8 * kTf32, kF16 = kTf32;  // f16 has 10, too

template <class A, class B>
double distance(A& a, B& b) {
  double apart = 0, norm = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double of_a = static_cast<float>(a.at(i)), of_b = static_cast<float>(b.at(i));
    apart += std::pow(of_a - of_b, 2);
    norm += std::pow(of_b, 2);
  }
  return std::sqrt(apart / std::max(norm, 1e-30));
}

struct Heads {
  int64_t samples, heads, key_heads, queries, keys, size, value_size;
  int64_t left = -1, right = -1;
  bool mask = false;
  double dropped = 0;
};

constexpr Heads kCases[] = {{1, 1, 1, 1, 1, 4, 4},
                            {1, 2, 2, 17, 17, 20, 12},
                            {2, 2, 1, 64, 64, 32, 32, -1, 0},
                            {1, 1, 1, 70, 100, 64, 64},
                            {1, 2, 1, 100, 130, 64, 48, -1, 0},
                            {1, 1, 1, 130, 130, 32, 64, 40, 8},
                            {1, 2, 2, 40, 66, 36, 32, -1, -1, true},
                            {1, 2, 1, 66, 70, 32, 32, -1, 0, false, 0.3},
                            {1, 1, 1, 66, 70, 128, 96, -1, 0},
                            {1, 2, 1, 70, 90, 128, 128, -1, -1, true, 0.2}};

// The operands of a case. `Real`: their type, GuardedFloats or GuardedNarrow; the mask and the statistics are in f32.
template <class Real>
struct Attention {
  const Heads& h;
  Real &q, &k, &v, &dy;
  GuardedFloats& mask;
  Real y, dq, dk, dv;
  GuardedFloats statistics;

  Attention(const Heads& heads, Real& q, Real& k, Real& v, Real& dy, GuardedFloats& mask)
      : h(heads),
        q(q),
        k(k),
        v(v),
        dy(dy),
        mask(mask),
        y(dy.count()),
        dq(q.count()),
        dk(k.count()),
        dv(v.count()),
        statistics(2 * h.samples * h.heads * h.queries) {}

  void run(std::string_view algorithm, bool backward) {
    const DataType type = std::is_same_v<Real, GuardedFloats>         ? DataType::f32
                          : std::is_same_v<Real, GuardedNarrow<Bf16>> ? DataType::bf16
                                                                      : DataType::f16;
    const TensorDesc of_q{type, {h.samples, h.heads, h.queries, h.size}},
        of_k{type, {h.samples, h.key_heads, h.keys, h.size}},
        of_v{type, {h.samples, h.key_heads, h.keys, h.value_size}},
        of_y{type, {h.samples, h.heads, h.queries, h.value_size}};
    const TensorDesc of_statistics = f32({h.samples, h.heads, h.queries, 2});
    const OperandDesc masked = h.mask ? read(f32({h.queries, h.keys})) : absent();
    const AttentionAttrs attrs{.scale = 1 / std::sqrt(static_cast<float>(h.size)),
                               .left = h.left,
                               .right = h.right,
                               .dropped = h.dropped,
                               .dropout_key = 7};
    GuardedFloats* const given = h.mask ? &mask : nullptr;
    run_on<AttentionForward>(attrs, {read(of_q), read(of_k), read(of_v), masked, write(of_y), write(of_statistics)},
                             {&q, &k, &v, given, &y, &statistics}, algorithm);
    if (!backward) return;
    run_on<AttentionBackward>(attrs,
                              {read(of_q), read(of_k), read(of_v), masked, read(of_y), read(of_statistics), read(of_y),
                               write(of_q), write(of_k), write(of_v), absent()},
                              {&q, &k, &v, given, &y, &statistics, &dy, &dq, &dk, &dv, nullptr}, algorithm);
  }
};

struct Samples {
  GuardedFloats q, k, v, dy, mask;
  explicit Samples(const Heads& h)
      : q(h.samples * h.heads * h.queries * h.size, 0.37F),
        k(h.samples * h.key_heads * h.keys * h.size, 0.73F),
        v(h.samples * h.key_heads * h.keys * h.value_size, 0.51F),
        dy(h.samples * h.heads * h.queries * h.value_size, 0.29F),
        mask(h.queries * h.keys, 1.3F) {}
};

template <class A, class B>
void expect_near(const Heads& h, Attention<A>& rounded, Attention<B>& exact, bool backward, double most) {
  INFO(h.queries << " queries, " << h.keys << " keys, heads of " << h.size << " and " << h.value_size);
  CHECK(distance(rounded.y, exact.y) < most);
  CHECK(distance(rounded.statistics, exact.statistics) < most);
  if (backward && h.keys > 1) {
    CHECK(distance(rounded.dq, exact.dq) < 2 * most);
    CHECK(distance(rounded.dk, exact.dk) < 2 * most);
  }
  if (backward) CHECK(distance(rounded.dv, exact.dv) < most);
}

template <class T>
void expect_near_on_tensor_cores(const Heads& h, const char* algorithm, double most) {
  Samples s(h);
  GuardedNarrow<T> q(s.q), k(s.k), v(s.v), dy(s.dy);
  Attention<GuardedFloats> exact(h, s.q, s.k, s.v, s.dy, s.mask);
  Attention<GuardedNarrow<T>> rounded(h, q, k, v, dy, s.mask);
  exact.run("", true);
  rounded.run(algorithm, true);
  expect_near(h, rounded, exact, true, most);
}

}  // namespace

TEST_CASE("attention in TF32 is that in f32, rounded") {
  for (const Heads& h : kCases) {
    const bool backward = h.size <= 64;
    Samples s(h);
    Attention<GuardedFloats> exact(h, s.q, s.k, s.v, s.dy, s.mask), rounded(h, s.q, s.k, s.v, s.dy, s.mask);
    exact.run("", backward);
    rounded.run("tf32_tiles", backward);
    expect_near(h, rounded, exact, backward, kTf32);
    if (h.dropped == 0) CHECK(rounded.y.at(0) != exact.y.at(0));
  }
}

TEST_CASE("attention on tensor cores in bf16 is that in f32, rounded, also of heads of 128 elements") {
  for (const Heads& h : kCases) expect_near_on_tensor_cores<Bf16>(h, "bf16_tiles", kBf16);
}

TEST_CASE("attention on tensor cores in f16 is that in f32, rounded, also of heads of 128 elements") {
  for (const Heads& h : kCases) expect_near_on_tensor_cores<F16>(h, "f16_tiles", kF16);
}

TEST_CASE("attention on tensor cores is not offered where its results do not fit, nor for the gradient of a mask") {
  const auto count = [](int64_t size, bool scores, DataType type = DataType::f32) {
    const TensorDesc x{type, {1, 1, 8, size}}, two = f32({1, 1, 8, 2}), square = f32({1, 1, 8, 8});
    return std::pair(
        AttentionForward::algorithms({}, std::vector{read(x), read(x), read(x), absent(), write(x), write(two)}).size(),
        AttentionBackward::algorithms({}, std::vector{read(x), read(x), read(x), absent(), read(x), read(two), read(x),
                                                      write(x), write(x), write(x), scores ? write(square) : absent()})
            .size());
  };
  CHECK(count(64, false) == std::pair<size_t, size_t>(2, 2));
  CHECK(count(64, true) == std::pair<size_t, size_t>(2, 1));
  CHECK(count(128, false) == std::pair<size_t, size_t>(2, 1));
  CHECK(count(128, false, DataType::bf16) == std::pair<size_t, size_t>(2, 2));
  CHECK(count(128, false, DataType::f16) == std::pair<size_t, size_t>(2, 2));
  CHECK(count(256, false) == std::pair<size_t, size_t>(1, 1));
  CHECK(count(30, false) == std::pair<size_t, size_t>(1, 1));
}

}  // namespace plimsoll::test
