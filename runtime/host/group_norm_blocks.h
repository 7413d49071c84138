// Group normalization of blocked channels (nChw8c, nChw16c), for group_norm.cpp, which has the formulas. x, y, dy and
// dx are [samples, channels, height, width].
//
// A vector is one pixel of the channels of a block. A unit is the fewest blocks that hold whole groups: one block where
// a group is a part of it. Each unit is processed by one thread. Sums are computed for each channel, and then for each
// group from those of its channels.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "runtime/attrs/group_norm.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/gates.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernel.h"

namespace plimsoll::host {

struct GroupBlocks {
  PlaneShape shape;
  int64_t groups, factors;  // of a sample
  int64_t of_group, of_unit, floats;  // channels of a group and of a unit; elements of a block's plane

  GroupBlocks(const TensorDesc& x, const TensorDesc& scale, int64_t groups_of_sample)
      : shape(x),
        groups(groups_of_sample),
        factors(scale.dim(0)),
        of_group(shape.channels / groups),
        of_unit(std::lcm(of_group, int64_t{block_of(x.layout)})),
        floats(shape.pixels * block_of(x.layout)) {}

  int64_t units() const { return shape.samples * shape.channels / of_unit; }
  int64_t channels() const { return shape.samples * shape.channels; }
  double elements_of_group() const { return static_cast<double>(of_group * shape.pixels); }
  // Channels are counted through all samples, and so are groups.
  int64_t group(int64_t channel) const { return channel / of_group; }
  int64_t factor(int64_t channel) const { return channel % shape.channels * factors / shape.channels; }
  // body(first channel, first element) for each block of a unit.
  template <int kBlock, class Body>
  void for_blocks(int64_t unit, Body body) const {
    for (int64_t c = unit * of_unit; c < (unit + 1) * of_unit; c += kBlock) body(c, c / kBlock * floats);
  }
};

// value(c + lane) for each lane.
template <int kBlock, class Value>
typename Planes<kBlock>::Vector by_lane(int64_t c, Value value) {
  float lanes[kBlock];
  for (int64_t lane = 0; lane < kBlock; ++lane) lanes[lane] = value(c + lane);
  return Planes<kBlock>::load(lanes);
}

inline constexpr int64_t kGroupStretch = 1024;  // floats at a time: a multiple of each block

template <int kBlock, class T>
class GroupNormBlocksForward final : public Kernel {
 public:
  GroupNormBlocksForward(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands)
      : epsilon_(attrs.epsilon), swish_(attrs.swish), blocks_(operands[0].tensor, operands[1].tensor, attrs.groups) {}

  int64_t workspace_bytes() const {
    return blocks_.channels() * static_cast<int64_t>(sizeof(double)) +
           2 * blocks_.shape.samples * blocks_.groups * static_cast<int64_t>(sizeof(float));
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    double* const sums = reinterpret_cast<double*>(workspace);
    float* const means = reinterpret_cast<float*>(sums + blocks_.channels());
    float* const deviations = means + blocks_.shape.samples * blocks_.groups;
#pragma omp parallel for schedule(static) if (blocks_.channels() * blocks_.shape.pixels > 8192)
    for (int64_t unit = 0; unit < blocks_.units(); ++unit) {
      find_statistics(host::in<T>(operands, 0), unit, sums, means, deviations);
      write(operands, unit, means, deviations);
      const int64_t first = blocks_.group(unit * blocks_.of_unit), count = blocks_.of_unit / blocks_.of_group;
      if (float* const to = host::out(operands, 4)) std::copy_n(means + first, count, to + first);
      if (float* const to = host::out(operands, 5)) std::copy_n(deviations + first, count, to + first);
    }
  }

 private:
  using P = Planes<kBlock>;

  void find_statistics(const T* x, int64_t unit, double* sums, float* means, float* deviations) const {
    blocks_.for_blocks<kBlock>(unit, [&](int64_t c, int64_t base) {
      std::fill_n(sums + c, kBlock, 0.0);
      sum_stretches([&](auto load, int64_t i) { return load(x + base + i); }, sums + c);
    });
    for_groups(unit, sums, [&](int64_t group, double sum) { means[group] = static_cast<float>(sum); });
    blocks_.for_blocks<kBlock>(unit, [&](int64_t c, int64_t base) {
      const auto middle = by_lane<kBlock>(c, [&](int64_t channel) { return means[blocks_.group(channel)]; });
      std::fill_n(sums + c, kBlock, 0.0);
      sum_stretches([&](auto load, int64_t i) {
        const auto off = load(x + base + i) - middle;
        return off * off;
      }, sums + c);
    });
    for_groups(unit, sums, [&](int64_t group, double variance) {
      deviations[group] = static_cast<float>(1 / std::sqrt(variance + epsilon_));
    });
  }

  template <class Term>
  void sum_stretches(Term term, double* sums) const {
    for (int64_t begin = 0; begin < blocks_.floats; begin += kGroupStretch)
      P::fold(P::sum(begin, std::min(begin + kGroupStretch, blocks_.floats), term), sums);
  }

  // body(group, mean): from the sums of the channels.
  template <class Body>
  void for_groups(int64_t unit, const double* sums, Body body) const {
    for (int64_t c = unit * blocks_.of_unit; c < (unit + 1) * blocks_.of_unit; c += blocks_.of_group)
      body(blocks_.group(c), std::accumulate(sums + c, sums + c + blocks_.of_group, 0.0) / blocks_.elements_of_group());
  }

  void write(std::byte* const* operands, int64_t unit, const float* means, const float* deviations) const {
    const T* x = host::in<T>(operands, 0);
    const float *scale = host::in(operands, 1), *bias = host::in(operands, 2);
    T* y = host::out<T>(operands, 3);
    blocks_.for_blocks<kBlock>(unit, [&](int64_t c, int64_t base) {
      const auto middle = by_lane<kBlock>(c, [&](int64_t channel) { return means[blocks_.group(channel)]; });
      const auto inverse = by_lane<kBlock>(c, [&](int64_t channel) { return deviations[blocks_.group(channel)]; });
      const auto a = by_lane<kBlock>(c, [&](int64_t channel) { return scale[blocks_.factor(channel)]; });
      const auto b = by_lane<kBlock>(c, [&](int64_t channel) { return bias[blocks_.factor(channel)]; });
      const auto value = [=](auto load, int64_t i) { return (load(x + base + i) - middle) * inverse * a + b; };
      if (!swish_) return P::map(y + base, 0, blocks_.floats, value);
      for (int64_t begin = 0; begin < blocks_.floats; begin += kGroupStretch) {
        const int64_t end = std::min(begin + kGroupStretch, blocks_.floats);
        float held[kGroupStretch];
        P::map(held, 0, end - begin, [&](auto load, int64_t i) { return value(load, begin + i); });
#pragma omp simd
        for (int64_t i = 0; i < end - begin; ++i) held[i] = SwishGate{}.value(held[i]);
        P::map(y + base, begin, end, [&](auto load, int64_t i) { return load(held + i - begin); });
      }
    });
  }

  double epsilon_;
  bool swish_;
  GroupBlocks blocks_;
};

template <int kBlock, class T>
class GroupNormBlocksBackward final : public Kernel {
 public:
  GroupNormBlocksBackward(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands)
      : swish_(attrs.swish), blocks_(operands[0].tensor, operands[2].tensor, attrs.groups) {
    for (size_t i = 0; i < 2; ++i) adds_[i] = operands[6 + i].access == Access::update;
  }

  // Of each channel of each sample {Σ dy · h, Σ dy}, and the means of these times the scale, of each group.
  int64_t workspace_bytes() const {
    return blocks_.channels() * 2 * static_cast<int64_t>(sizeof(double)) +
           blocks_.shape.samples * blocks_.groups * static_cast<int64_t>(sizeof(Means));
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    double* const sums = reinterpret_cast<double*>(workspace);
    Means* const means = reinterpret_cast<Means*>(sums + 2 * blocks_.channels());
#pragma omp parallel for schedule(static) if (blocks_.channels() * blocks_.shape.pixels > 8192)
    for (int64_t unit = 0; unit < blocks_.units(); ++unit)
      swish_ ? run_unit<true>(operands, unit, sums, means) : run_unit<false>(operands, unit, sums, means);
    for (size_t which = 0; which < 2; ++which)
      if (float* const to = host::out(operands, 6 + which)) add_samples(sums + which, to, adds_[which]);
  }

 private:
  using P = Planes<kBlock>;
  using Vector = typename P::Vector;

  struct Means {
    float tilt, middle;  // of dy · scale · h and of dy · scale
  };

  // Of the channels of a block.
  struct Lines {
    Vector middle, inverse, a, b;
  };
  Lines lines_of(std::byte* const* operands, int64_t c) const {
    const float *scale = host::in(operands, 2), *bias = host::in(operands, kBias);
    const float *means = host::in(operands, 3), *deviations = host::in(operands, 4);
    return {by_lane<kBlock>(c, [&](int64_t channel) { return means[blocks_.group(channel)]; }),
            by_lane<kBlock>(c, [&](int64_t channel) { return deviations[blocks_.group(channel)]; }),
            by_lane<kBlock>(c, [&](int64_t channel) { return scale[blocks_.factor(channel)]; }),
            by_lane<kBlock>(c, [&](int64_t channel) { return swish_ ? bias[blocks_.factor(channel)] : 0.0F; })};
  }

  // dx may overwrite dy, and without a Swish x: the sums of a unit are complete before its dx is written. With a Swish,
  // the first pass over f32 leaves dy times the slope in dx, as in group_norm.cpp.
  template <bool kSwish>
  void run_unit(std::byte* const* operands, int64_t unit, double* sums, Means* means) const {
    constexpr bool kHolds = kSwish && std::is_same_v<T, float>;
    const T *x = host::in<T>(operands, 0), *dy = host::in<T>(operands, 1);
    T* const dx = host::out<T>(operands, 5);
    float held[kSwish ? kGroupStretch : 1];
    // The gradient before the activation, of [begin, end) of a block.
    const auto gradient = [=, &held](const Lines& lines, int64_t base, int64_t begin, int64_t end) {
      if constexpr (kSwish) {
        P::map(held, 0, end - begin, [&](auto load, int64_t i) {
          return (load(x + base + begin + i) - lines.middle) * lines.inverse * lines.a + lines.b;
        });
#pragma omp simd
        for (int64_t i = 0; i < end - begin; ++i) held[i] = SwishGate{}.slope(held[i]);
        P::map(held, 0, end - begin, [&](auto load, int64_t i) {
          return load(dy + base + begin + i) * load(held + i);
        });
        return [from = &held[0], begin](auto load, int64_t i) { return load(from + (i - begin)); };
      } else {
        return [from = dy + base](auto load, int64_t i) { return load(from + i); };
      }
    };
    blocks_.for_blocks<kBlock>(unit, [&](int64_t c, int64_t base) {
      const Lines lines = lines_of(operands, c);
      double along[kBlock] = {}, sum[kBlock] = {};
      for (int64_t begin = 0; begin < blocks_.floats; begin += kGroupStretch) {
        const int64_t end = std::min(begin + kGroupStretch, blocks_.floats);
        const auto of = gradient(lines, base, begin, end);
        P::fold(P::sum(begin, end, [&](auto load, int64_t i) {
                  return of(load, i) * ((load(x + base + i) - lines.middle) * lines.inverse);
                }), along);
        P::fold(P::sum(begin, end, of), sum);
        if (kHolds && dx) P::map(dx + base, begin, end, of);
      }
      for (int64_t lane = 0; lane < kBlock; ++lane) {
        sums[2 * (c + lane)] = along[lane];
        sums[2 * (c + lane) + 1] = sum[lane];
      }
    });
    if (!dx) return;
    find_means(host::in(operands, 2), unit, sums, means);
    blocks_.for_blocks<kBlock>(unit, [&](int64_t c, int64_t base) {
      const Lines lines = lines_of(operands, c);
      const Vector tilt = by_lane<kBlock>(c, [&](int64_t channel) { return means[blocks_.group(channel)].tilt; });
      const Vector shift = by_lane<kBlock>(c, [&](int64_t channel) { return means[blocks_.group(channel)].middle; });
      for (int64_t begin = 0; begin < blocks_.floats; begin += kGroupStretch) {
        const int64_t end = std::min(begin + kGroupStretch, blocks_.floats);
        const auto write = [&](auto of) {
          P::map(dx + base, begin, end, [&](auto load, int64_t i) {
            return lines.inverse * (of(load, i) * lines.a - shift -
                                    (load(x + base + i) - lines.middle) * lines.inverse * tilt);
          });
        };
        if constexpr (kHolds) write([&](auto load, int64_t i) { return load(dx + base + i); });
        else write(gradient(lines, base, begin, end));
      }
    });
  }

  void find_means(const float* scale, int64_t unit, const double* sums, Means* means) const {
    const double n = blocks_.elements_of_group();
    for (int64_t first = unit * blocks_.of_unit; first < (unit + 1) * blocks_.of_unit; first += blocks_.of_group) {
      double along = 0, sum = 0;
      for (int64_t c = first; c < first + blocks_.of_group; ++c) {
        const double a = static_cast<double>(scale[blocks_.factor(c)]);
        along += a * sums[2 * c];
        sum += a * sums[2 * c + 1];
      }
      means[blocks_.group(first)] = {static_cast<float>(along / n), static_cast<float>(sum / n)};
    }
  }

  void add_samples(const double* sums, float* to, bool adds) const {
    const int64_t of_factor = blocks_.shape.channels / blocks_.factors;
    host::for_elements(blocks_.factors, [=, this](int64_t factor) {
      double sum = 0;
      for (int64_t sample = 0; sample < blocks_.shape.samples; ++sample)
        for (int64_t c = 0; c < of_factor; ++c)
          sum += sums[2 * (sample * blocks_.shape.channels + factor * of_factor + c)];
      to[factor] = static_cast<float>(sum) + (adds ? to[factor] : 0.0F);
    }, blocks_.shape.samples * of_factor);
  }

  static constexpr size_t kBias = 8;

  bool swish_;
  GroupBlocks blocks_;
  bool adds_[2] = {};
};

}  // namespace plimsoll::host
