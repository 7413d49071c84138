// Kernels on rows of any length: a row begins at any element, is read and written by accesses that are aligned (the
// build checks that), and no other row's element is changed.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels.h"
#include "runtime/precision.h"
#include "tests/cuda/guarded_floats.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kRows = 5;

// Below a part of four, around one, and more than the 128 or 256 threads of a block have at once.
const std::vector<int64_t> kRowLengths = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 17, 49, 511, 513, 1001, 1026, 2047};

void check_near(GuardedFloats& values, const std::vector<double>& expected, double off = 2e-5) {
  double most = 0;
  for (int64_t i = 0; i < values.count(); ++i)
    most = std::max(most, std::abs(values.at(i) - expected[static_cast<size_t>(i)]) /
                              (1 + std::abs(expected[static_cast<size_t>(i)])));
  CHECK(most <= off);
}

void check_same_bits(GuardedFloats& a, GuardedFloats& b) {
  int64_t different = 0;
  for (int64_t i = 0; i < a.count(); ++i) different += a.at(i) != b.at(i);
  CHECK(different == 0);
}

// The same for every element of a row: visit(element, row, column).
template <class Visit>
void for_rows(int64_t n, Visit visit) {
  for (int64_t i = 0; i < kRows * n; ++i)
    visit(static_cast<size_t>(i), static_cast<size_t>(i / n), static_cast<size_t>(i % n));
}

}  // namespace

TEST_CASE("softmax of rows of any length") {
  for (const int64_t n : kRowLengths) {
    INFO(n << " classes");
    const TensorDesc rows = f32({kRows, n, 1});
    GuardedFloats x(kRows * n, 0.37F, 1), y(kRows * n), dy(kRows * n, 0.73F), dx(kRows * n), sum(kRows * n, 0, 2);
    run_on<SoftmaxForward>({}, {read(rows), write(rows)}, {&x, &y});
    run_on<SoftmaxBackward>({}, {read(rows), read(rows), write(rows)}, {&y, &dy, &dx});
    run_on<SoftmaxBackward>({}, {read(rows), read(rows), update(rows)}, {&y, &dy, &sum});
    const size_t all = static_cast<size_t>(kRows * n);
    std::vector<double> p(all), g(all), added(all), total(kRows), dot(kRows);
    for_rows(n, [&](size_t i, size_t r, size_t) { total[r] += std::exp(x.at(static_cast<int64_t>(i))); });
    for_rows(n, [&](size_t i, size_t r, size_t) {
      p[i] = std::exp(x.at(static_cast<int64_t>(i))) / total[r];
      dot[r] += p[i] * dy.at(static_cast<int64_t>(i));
    });
    for_rows(n, [&](size_t i, size_t r, size_t) {
      g[i] = p[i] * (dy.at(static_cast<int64_t>(i)) - dot[r]);
      added[i] = 2 + g[i];
    });
    check_near(y, p);
    check_near(dx, g);
    check_near(sum, added);
    run_on<SoftmaxForward>({}, {read(rows), write(rows)}, {&x, &x});  // in place
    check_same_bits(x, y);
    run_on<SoftmaxBackward>({}, {read(rows), read(rows), write(rows)}, {&y, &dy, &dy});
    check_same_bits(dy, dx);
  }
}

TEST_CASE("layer normalization of rows of any length") {
  for (const int64_t n : kRowLengths) {
    INFO(n << " columns");
    const TensorDesc rows = f32({kRows, n}), columns = f32({n}), one = f32({kRows});
    const LayerNormAttrs attrs{.epsilon = 1e-3F};
    GuardedFloats x(kRows * n, 0.37F, 1), dy(kRows * n, 0.73F), scale(n, 0.21F, 1), bias(n, 0.11F), y(kRows * n),
        mean(kRows), deviation(kRows), dx(kRows * n), dscale(n), dbias(n);
    run_on<LayerNormForward>(attrs, {read(rows), read(columns), read(columns), write(rows), write(one), write(one)},
                             {&x, &scale, &bias, &y, &mean, &deviation});
    run_on<LayerNormBackward>(
        attrs,
        {read(rows), read(rows), read(columns), read(one), read(one), write(rows), write(columns), write(columns)},
        {&x, &dy, &scale, &mean, &deviation, &dx, &dscale, &dbias});
    const size_t all = static_cast<size_t>(kRows * n);
    const double count = static_cast<double>(n);
    std::vector<double> m(kRows), v(kRows), h(all), result(all), sum(kRows), along(kRows), gradient(all);
    const auto value = [](GuardedFloats& of, size_t i) { return static_cast<double>(of.at(static_cast<int64_t>(i))); };
    for_rows(n, [&](size_t i, size_t r, size_t) { m[r] += value(x, i) / count; });
    for_rows(n, [&](size_t i, size_t r, size_t) { v[r] += (value(x, i) - m[r]) * (value(x, i) - m[r]) / count; });
    const auto d = [&](size_t r) { return 1 / std::sqrt(v[r] + static_cast<double>(attrs.epsilon)); };
    for_rows(n, [&](size_t i, size_t r, size_t c) {
      h[i] = (value(x, i) - m[r]) * d(r);
      result[i] = h[i] * value(scale, c) + value(bias, c);
      sum[r] += value(dy, i) * value(scale, c) / count;
      along[r] += value(dy, i) * value(scale, c) * h[i] / count;
    });
    for_rows(n, [&](size_t i, size_t r, size_t c) {
      gradient[i] = d(r) * (value(dy, i) * value(scale, c) - sum[r] - h[i] * along[r]);
    });
    check_near(y, result);
    check_near(mean, m);
    check_near(dx, gradient, 1e-4);
    run_on<LayerNormBackward>(
        attrs,
        {read(rows), read(rows), read(columns), read(one), read(one), write(rows), write(columns), write(columns)},
        {&x, &dy, &scale, &mean, &deviation, &dy, &dscale, &dbias});  // in place
    check_same_bits(dy, dx);
  }
}

TEST_CASE("group normalization of runs of any length") {
  // Rows of an odd length, of a multiple of four with odd runs, runs of four, and more channels than arrivals.
  struct GroupCase {
    int64_t channels, groups, pixels;
  };
  for (const auto& [channels, groups, pixels] : std::vector<GroupCase>{
           {6, 2, 1}, {6, 2, 7}, {4, 1, 3}, {8, 2, 49}, {6, 3, 9}, {3, 3, 1}, {10, 2, 257}, {4, 2, 8}, {8201, 1, 1}}) {
    constexpr int64_t kSamples = 3;
    INFO(channels << " channels in " << groups << " groups, " << pixels << " pixels");
    const int64_t rows = kSamples * groups, columns = channels / groups * pixels, all = rows * columns;
    const TensorDesc x_desc = f32({rows, columns}), factors = f32({channels}), one = f32({rows});
    const GroupNormAttrs attrs{.epsilon = 1e-3F, .groups = groups};
    GuardedFloats x(all, 0.37F, 1), dy(all, 0.73F), scale(channels, 0.21F, 1), bias(channels, 0.11F), y(all),
        mean(rows), deviation(rows), dx(all), dscale(channels), dbias(channels, 0, 3);
    run_on<GroupNormForward>(attrs, {read(x_desc), read(factors), read(factors), write(x_desc), write(one), write(one)},
                             {&x, &scale, &bias, &y, &mean, &deviation});
    run_on<GroupNormBackward>(attrs,
                              {read(x_desc), read(x_desc), read(factors), read(one), read(one), write(x_desc),
                               write(factors), update(factors)},
                              {&x, &dy, &scale, &mean, &deviation, &dx, &dscale, &dbias});
    const auto value = [](GuardedFloats& of, int64_t i) { return static_cast<double>(of.at(i)); };
    std::vector<double> result(static_cast<size_t>(all)), gradient(result), of_scale(static_cast<size_t>(channels)),
        of_bias(static_cast<size_t>(channels), 3);
    const double count = static_cast<double>(columns);
    for (int64_t row = 0; row < rows; ++row) {
      double m = 0, v = 0, sum = 0, along = 0;
      const auto each = [&](auto visit) {
        for (int64_t j = 0; j < columns; ++j) visit(row * columns + j, row % groups * (channels / groups) + j / pixels);
      };
      each([&](int64_t i, int64_t) { m += value(x, i) / count; });
      each([&](int64_t i, int64_t) { v += (value(x, i) - m) * (value(x, i) - m) / count; });
      const double d = 1 / std::sqrt(v + static_cast<double>(attrs.epsilon));
      each([&](int64_t i, int64_t c) {
        const double h = (value(x, i) - m) * d;
        result[static_cast<size_t>(i)] = h * value(scale, c) + value(bias, c);
        sum += value(dy, i) * value(scale, c) / count;
        along += value(dy, i) * value(scale, c) * h / count;
        of_scale[static_cast<size_t>(c)] += value(dy, i) * h;
        of_bias[static_cast<size_t>(c)] += value(dy, i);
      });
      each([&](int64_t i, int64_t c) {
        gradient[static_cast<size_t>(i)] = d * (value(dy, i) * value(scale, c) - sum - (value(x, i) - m) * d * along);
      });
    }
    check_near(y, result);
    check_near(dx, gradient, 1e-4);
    check_near(dscale, of_scale, 1e-4);
    check_near(dbias, of_bias, 1e-4);
  }
}

TEST_CASE("cross entropy of rows of any length") {
  for (const int64_t n : kRowLengths) {
    INFO(n << " classes");
    const TensorDesc logits = f32({kRows, n}), labels{DataType::i32, {kRows}, Layout::plain}, scalar = f32({1});
    GuardedFloats x(kRows * n, 0.37F, 1), given(kRows), loss(1), hits(1), dx(kRows * n);
    std::vector<int64_t> label(kRows);
    for (int64_t r = 0; r < kRows; ++r) {
      label[static_cast<size_t>(r)] = r * 7 % n;
      reinterpret_cast<int32_t*>(given.data())[r] = static_cast<int32_t>(r * 7 % n);
    }
    const SoftmaxCrossEntropyAttrs attrs{.scale = 1.0 / static_cast<double>(kRows)};
    run_on<SoftmaxCrossEntropy>(attrs, {read(logits), read(labels), write(scalar), write(scalar), write(logits)},
                                {&x, &given, &loss, &hits, &dx});
    std::vector<double> gradient(static_cast<size_t>(kRows * n)), total(kRows);
    double expected = 0;
    for_rows(n, [&](size_t i, size_t r, size_t) { total[r] += std::exp(x.at(static_cast<int64_t>(i))); });
    for_rows(n, [&](size_t i, size_t r, size_t c) {
      const double p = std::exp(x.at(static_cast<int64_t>(i))) / total[r];
      const bool is_label = static_cast<int64_t>(c) == label[r];
      gradient[i] = (p - is_label) / static_cast<double>(kRows);
      if (is_label) expected -= std::log(p) / static_cast<double>(kRows);
    });
    CHECK(std::abs(loss.at(0) - expected) <= 1e-5 * (1 + expected));
    check_near(dx, gradient);
    run_on<SoftmaxCrossEntropy>(attrs, {read(logits), read(labels), write(scalar), write(scalar), write(logits)},
                                {&x, &given, &loss, &hits, &x});  // in place
    check_same_bits(x, dx);
  }
}

TEST_CASE("broadcasts to rows of any length") {
  for (const int64_t n : kRowLengths) {
    INFO(n << " columns");
    const TensorDesc rows = f32({kRows, 2, n}), of_rows = f32({kRows, 2, 1}), of_columns = f32({1, 1, n}),
                     of_middle = f32({1, 2, 1});
    const ScaleAttrs attrs{.scale = 0.5F};
    for (const auto& [desc, which] : {std::pair{of_rows, 0}, {of_columns, 1}, {of_middle, 2}}) {
      GuardedFloats x(desc.elements(), 0.37F, 1), y(2 * kRows * n), sum(2 * kRows * n, 0, 2);
      run_on<BroadcastTo>(attrs, {read(desc), write(rows)}, {&x, &y});
      run_on<BroadcastTo>(attrs, {read(desc), update(rows)}, {&x, &sum});
      int64_t wrong = 0;
      for (int64_t i = 0; i < 2 * kRows * n; ++i) {
        const float expected = 0.5F * x.at(which == 0 ? i / n : which == 1 ? i % n : i / n % 2);
        wrong += y.at(i) != expected || sum.at(i) != 2 + expected;
      }
      CHECK(wrong == 0);
    }
  }
}

template <class T>
void check_casts(DataType type, float times) {
  for (const Layout layout : {Layout::plain, Layout::nhwc}) {
    const TensorDesc wide{DataType::f32, {3, 5, 3, 7}, layout}, narrow{type, {3, 5, 3, 7}, layout};
    GuardedFloats x(wide.elements(), 0.37F), back(wide.elements());
    for (int64_t i = 0; i < x.count(); ++i) x.at(i) *= times;
    Buffer y(narrow.bytes());
    std::byte* down[] = {x.data(), y.data()};
    std::byte* up[] = {y.data(), back.data()};
    CastTo::make({}, std::vector{read(wide), write(narrow)}, "")->run({}, down, nullptr);
    CastTo::make({}, std::vector{read(narrow), write(wide)}, "")->run({}, up, nullptr);
    backend::finish(nullptr);
    int64_t wrong = 0;
    for (int64_t i = 0; i < wide.elements(); ++i) {
      const T rounded = x.at(i);
      wrong +=
          reinterpret_cast<const T*>(y.data())[i].bits != rounded.bits || back.at(i) != static_cast<float>(rounded);
    }
    CHECK(wrong == 0);
    CHECK((y.guards_intact() && back.guards_intact()));
    CHECK(has_narrow_kernel("CastTo", std::vector{read(wide), write(narrow)}));
  }
}

TEST_CASE("a cast to 16 bits rounds as the host does, and back it is exact, in any layout and length") {
  check_casts<Bf16>(DataType::bf16, 1);
  check_casts<F16>(DataType::f16, 1);
  check_casts<F16>(DataType::f16, 1e-6F);  // subnormal
  check_casts<F16>(DataType::f16, 1e5F);   // some beyond the largest
}

}  // namespace plimsoll::test
