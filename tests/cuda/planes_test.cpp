// Sums over planes of any number of pixels: all elements once, by accesses that are aligned (the build checks that) and
// touch no other plane's element, in any number of samples, channels and stretches.
#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/kernels.h"
#include "tests/cuda/guarded_floats.h"

namespace plimsoll::test {
namespace {

struct PlaneCase {
  int64_t n, c, h, w;
  int64_t pixels() const { return h * w; }
};

const std::vector<PlaneCase> kPlaneCases = {{2, 3, 1, 5},   {1, 1, 1, 7},   {3, 3, 2, 3}, {5, 2, 3, 3},
                                            {2, 5, 2, 5},   {3, 4, 5, 5},   {3, 5, 7, 7}, {200, 2, 7, 7},
                                            {2, 2, 35, 35}, {3, 1, 67, 67}, {2, 3, 1, 3}, {2, 3, 4, 4}};

bool near_sum(double value, double expected, double size) { return std::abs(value - expected) <= 2e-6 * (1 + size); }

// visit(element, channel, plane)
template <class Visit>
void for_each_element(const PlaneCase& s, Visit visit) {
  for (int64_t i = 0; i < s.n * s.c * s.pixels(); ++i) visit(i, i / s.pixels() % s.c, i / s.pixels());
}

}  // namespace

TEST_CASE("the parts of a plane have each of its elements once, and at most two of them are not whole") {
  for (int64_t pixels = 1; pixels < 40; ++pixels)
    for (int64_t begin = 0; begin < 8; ++begin) {
      if (cuda::step_of_plane(pixels) != cuda::Step::across) continue;
      std::vector<int> seen(static_cast<size_t>(begin + pixels + 8));
      int torn = 0;
      for (int64_t k = 0; k < cuda::parts_of_plane(cuda::Step::across, pixels); ++k) {
        const cuda::PlanePart<cuda::Step::across, uint32_t> part(begin, begin + pixels, k);
        int there = 0;
        for (int j = 0; j < 4; ++j)
          if (part.has(j)) ++seen[static_cast<size_t>(part.at + j)], ++there;
        CHECK(part.at % 4 == 0);
        torn += there != 0 && there != 4;
      }
      CHECK(torn <= 2);
      for (size_t i = 0; i < seen.size(); ++i)
        CHECK(seen[i] == (static_cast<int64_t>(i) >= begin && static_cast<int64_t>(i) < begin + pixels));
    }
}

TEST_CASE("batch normalization sums planes of any size") {
  const int activation = GENERATE(0, 1, 2);
  const bool relu = activation == 1, swish = activation == 2;
  for (const PlaneCase& s : kPlaneCases) {
    INFO(s.n << " x " << s.c << " x " << s.h << " x " << s.w << (relu ? ", relu" : swish ? ", swish" : ""));
    const int64_t all = s.n * s.c * s.pixels();
    const double count = static_cast<double>(s.n * s.pixels());
    const TensorDesc image = f32({s.n, s.c, s.h, s.w}), one = f32({s.c});
    GuardedFloats x(all, 0.37F, 3), dy(all, 0.73F), scale(s.c, 0, 1.5F), bias(s.c, 0, 0.1F), moving_mean(s.c),
        moving_var(s.c, 0, 1), y(all), mean(s.c), var(s.c), dx(all), dscale(s.c), dbias(s.c);
    const BatchNormAttrs attrs{.relu = relu, .swish = swish};
    run_on<BatchNormForward>(
        attrs, {read(image), read(one), read(one), update(one), update(one), write(image), write(one), write(one)},
        {&x, &scale, &bias, &moving_mean, &moving_var, &y, &mean, &var});
    run_on<BatchNormBackward>(
        attrs,
        {read(image), read(image), read(one), read(one), read(one), read(image), write(image), write(one), write(one),
         read(one)},
        {&x, &dy, &scale, &mean, &var, &y, &dx, &dscale, &dbias, &bias});
    std::vector<double> sum(static_cast<size_t>(s.c)), squares(sum), g(sum), g_off(sum), size(sum);
    for_each_element(s, [&](int64_t i, int64_t c, int64_t) { sum[static_cast<size_t>(c)] += x.at(i); });
    for_each_element(s, [&](int64_t i, int64_t channel, int64_t) {
      const size_t c = static_cast<size_t>(channel);
      const double off = x.at(i) - sum[c] / count;
      double slope = relu && !(y.at(i) > 0) ? 0 : dy.at(i);
      if (swish) {
        const double normalized = off / std::sqrt(var.at(channel) + attrs.epsilon);
        const double z = scale.at(channel) * normalized + bias.at(channel), gate = 1 / (1 + std::exp(-z));
        CHECK(std::abs(y.at(i) - z * gate) <= 1e-5 * (1 + std::abs(z)));
        slope *= gate + z * gate * (1 - gate);
      }
      squares[c] += off * off;
      g[c] += slope;
      g_off[c] += slope * off;
      size[c] += std::abs(slope) * (1 + std::abs(off));
    });
    for (int64_t channel = 0; channel < s.c; ++channel) {
      const size_t c = static_cast<size_t>(channel);
      CHECK(near_sum(mean.at(channel), sum[c] / count, 4));
      CHECK(near_sum(var.at(channel), squares[c] / count, 4));
      CHECK(near_sum(dbias.at(channel), g[c], size[c]));
      CHECK(near_sum(dscale.at(channel), g_off[c] / std::sqrt(squares[c] / count + attrs.epsilon), 4 * size[c]));
    }
  }
}

TEST_CASE("sums and means over planes of any size") {
  for (const PlaneCase& s : kPlaneCases) {
    INFO(s.n << " x " << s.c << " x " << s.h << " x " << s.w);
    const int64_t all = s.n * s.c * s.pixels();
    const TensorDesc image = f32({s.n, s.c, s.h, s.w}), of_channels = f32({1, s.c, 1, 1}),
                     of_planes = f32({s.n, s.c, 1, 1});
    GuardedFloats x(all, 0.37F), other(all, 0.73F), channels(s.c), planes(s.n * s.c), products(s.n * s.c),
        of_products(s.c), pooled(s.n * s.c);
    run_on<SumToShape>({}, {read(image), write(of_channels)}, {&x, &channels});
    run_on<SumToShape>({}, {read(image), write(of_planes)}, {&x, &planes});
    run_on<ProductSum>({}, {read(image), read(image), write(of_planes)}, {&x, &other, &products});
    run_on<ProductSum>({}, {read(image), read(image), write(of_channels)}, {&x, &other, &of_products});
    run_on<GlobalAveragePoolForward>({}, {read(image), write(of_planes)}, {&x, &pooled});
    std::vector<double> a(static_cast<size_t>(s.c)), ab(a), p(static_cast<size_t>(s.n * s.c)), pq(p);
    for_each_element(s, [&](int64_t i, int64_t c, int64_t plane) {
      const double value = x.at(i), product = value * other.at(i);
      a[static_cast<size_t>(c)] += value, ab[static_cast<size_t>(c)] += product;
      p[static_cast<size_t>(plane)] += value, pq[static_cast<size_t>(plane)] += product;
    });
    const double pixels = static_cast<double>(s.pixels()), of_channel = pixels * static_cast<double>(s.n);
    for (int64_t c = 0; c < s.c; ++c) {
      CHECK(near_sum(channels.at(c), a[static_cast<size_t>(c)], of_channel));
      CHECK(near_sum(of_products.at(c), ab[static_cast<size_t>(c)], of_channel));
    }
    for (int64_t i = 0; i < s.n * s.c; ++i) {
      CHECK(near_sum(planes.at(i), p[static_cast<size_t>(i)], pixels));
      CHECK(near_sum(products.at(i), pq[static_cast<size_t>(i)], pixels));
      CHECK(near_sum(pooled.at(i), p[static_cast<size_t>(i)] / pixels, 1));
    }
  }
}

}  // namespace plimsoll::test
