// GroupNormForward  {x, scale, bias, y, mean, deviation}                 x [groups of all samples, elements of a group]
//                                                                        or blocked (runtime/host/group_norm_blocks.h)
// GroupNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias, bias?}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// With a fused Swish, y is the Swish of that, and dy below stands for dy times its slope.
//
// Each row is processed by one thread. It consists of runs of elements with the same scale and bias: the pixels of a
// channel, or the whole row. The sums of dy and of dy · h over each run are in the workspace. The sums over a row are
// computed from them; so are dscale and dbias, which add up the samples in order.
#include "runtime/attrs/group_norm.h"

#include <algorithm>
#include <type_traits>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/gates.h"
#include "runtime/host/group_norm_blocks.h"
#include "runtime/host/real.h"
#include "runtime/host/row_statistics.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct GroupRuns {
  int64_t rows, columns;
  int64_t factors;         // number of elements of the scale
  int64_t groups, length;  // groups per sample; elements per run

  GroupRuns(const TensorDesc& x, const TensorDesc& scale, int64_t groups_of_sample)
      : rows(x.dim(0)),
        columns(x.dim(1)),
        factors(scale.dim(0)),
        groups(groups_of_sample),
        length(columns / of_row()) {}

  int64_t of_row() const { return factors / groups; }
  int64_t count() const { return rows * of_row(); }
};

template <class T>
class GroupNormForwardKernel final : public Kernel {
 public:
  GroupNormForwardKernel(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands)
      : epsilon_(attrs.epsilon), swish_(attrs.swish), runs_(operands[0].tensor, operands[1].tensor, attrs.groups) {}

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    const T* x = host::in<T>(operands, 0);
    const float *scale = host::in(operands, 1), *bias = host::in(operands, 2);
    T* y = host::out<T>(operands, 3);
    float *means = host::out(operands, 4), *deviations = host::out(operands, 5);
    const int64_t n = runs_.columns, length = runs_.length, of_row = runs_.of_row();
#pragma omp parallel for schedule(static) if (runs_.rows * n > 8192)
    for (int64_t i = 0; i < runs_.rows; ++i) {
      const auto [mean, d] = host::row_statistics<true>(x + i * n, n, epsilon_);
      for (int64_t r = 0; r < of_row; ++r) {
        const int64_t factor = i % runs_.groups * of_row + r;
        const T* from = x + i * n + r * length;
        const float a = scale[factor], b = bias[factor], middle = mean, inverse = d;
        T* to = y + i * n + r * length;
        if (swish_)
          for (int64_t j = 0; j < length; ++j) to[j] = host::SwishGate{}.value((from[j] - middle) * inverse * a + b);
        else
          for (int64_t j = 0; j < length; ++j) to[j] = (from[j] - middle) * inverse * a + b;
      }
      if (means) means[i] = mean;
      if (deviations) deviations[i] = d;
    }
  }

 private:
  double epsilon_;
  bool swish_;
  GroupRuns runs_;
};

template <class T>
class GroupNormBackwardKernel final : public Kernel {
 public:
  GroupNormBackwardKernel(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands)
      : swish_(attrs.swish), runs_(operands[0].tensor, operands[2].tensor, attrs.groups) {
    for (size_t i = 0; i < 2; ++i) adds_[i] = operands[6 + i].access == Access::update;
  }

  int64_t workspace_bytes() const { return runs_.count() * 2 * static_cast<int64_t>(sizeof(float)); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    float* sums = reinterpret_cast<float*>(workspace);
#pragma omp parallel for schedule(static) if (runs_.rows * runs_.columns > 8192)
    for (int64_t i = 0; i < runs_.rows; ++i)
      swish_ ? row_of_swish(operands, i, sums + 2 * i * runs_.of_row())
             : row(operands, i, sums + 2 * i * runs_.of_row());
    for (size_t which = 0; which < 2; ++which) {
      float* to = host::out(operands, 6 + which);
      if (!to) continue;
      const int64_t factors = runs_.factors, samples = runs_.rows / runs_.groups;
      const bool adds = adds_[which];
      host::for_elements(factors, [=](int64_t factor) {
        double sum = 0;
        for (int64_t sample = 0; sample < samples; ++sample)
          sum += static_cast<double>(sums[2 * (sample * factors + factor) + static_cast<int64_t>(which)]);
        to[factor] = static_cast<float>(sum) + (adds ? to[factor] : 0.0F);
      }, samples);
    }
  }

 private:
  // dx may overwrite dy or x: each row is read completely before it is written. sums: {Σ dy · h, Σ dy} of each run.
  void row(std::byte* const* operands, int64_t i, float* sums) const {
    const int64_t n = runs_.columns, length = runs_.length, of_row = runs_.of_row();
    const T *x = host::in<T>(operands, 0) + i * n, *dy = host::in<T>(operands, 1) + i * n;
    const float* scale = host::in(operands, 2) + i % runs_.groups * of_row;
    const float mean = host::in(operands, 3)[i], d = host::in(operands, 4)[i];
    for (int64_t r = 0; r < of_row; ++r) {
      const T *u = x + r * length, *v = dy + r * length;
      sums[2 * r] = static_cast<float>(host::row_sum(length, [=](int64_t j) { return v[j] * ((u[j] - mean) * d); }));
      sums[2 * r + 1] = static_cast<float>(host::row_sum(length, [=](int64_t j) { return v[j]; }));
    }
    T* dx = host::out<T>(operands, 5);
    if (!dx) return;
    dx += i * n;
    const auto [middle, tilt] = means_of(scale, sums);
    for (int64_t r = 0; r < of_row; ++r) {
      const T *u = x + r * length, *v = dy + r * length;
      const float a = scale[r];
      T* to = dx + r * length;
      for (int64_t j = 0; j < length; ++j) to[j] = d * (v[j] * a - middle - (u[j] - mean) * d * tilt);
    }
  }

  // The same with a Swish: dy times its slope is computed in stretches. The slope takes longer to compute than to read,
  // so in f32 the products are written to dx, which is not x then. In bf16 they would be rounded.
  void row_of_swish(std::byte* const* operands, int64_t i, float* sums) const {
    constexpr bool kHolds = std::is_same_v<T, float>;
    constexpr int64_t kStretch = 1024;
    const int64_t n = runs_.columns, length = runs_.length, of_row = runs_.of_row();
    const T *x = host::in<T>(operands, 0) + i * n, *dy = host::in<T>(operands, 1) + i * n;
    const float* scale = host::in(operands, 2) + i % runs_.groups * of_row;
    const float* bias = host::in(operands, kBias) + i % runs_.groups * of_row;
    const float mean = host::in(operands, 3)[i], d = host::in(operands, 4)[i];
    T* const dx = host::out<T>(operands, 5) ? host::out<T>(operands, 5) + i * n : nullptr;
    float held[kStretch];
    const auto fill = [=, &held](int64_t r, int64_t begin, int64_t count) {
      const T *u = x + r * length + begin, *v = dy + r * length + begin;
      const float a = scale[r], b = bias[r];
      for (int64_t j = 0; j < count; ++j) held[j] = v[j] * host::SwishGate{}.slope((u[j] - mean) * d * a + b);
    };
    const auto for_stretches = [=](auto body) {
      for (int64_t r = 0; r < of_row; ++r)
        for (int64_t begin = 0; begin < length; begin += kStretch)
          body(r, begin, std::min(kStretch, length - begin));
    };
    std::fill_n(sums, 2 * of_row, 0.0F);
    for_stretches([&](int64_t r, int64_t begin, int64_t count) {
      fill(r, begin, count);
      const T* u = x + r * length + begin;
      const float* const v = held;
      sums[2 * r] += static_cast<float>(host::row_sum(count, [=](int64_t j) { return v[j] * ((u[j] - mean) * d); }));
      sums[2 * r + 1] += static_cast<float>(host::row_sum(count, [=](int64_t j) { return v[j]; }));
      if (kHolds && dx) std::copy_n(held, count, dx + r * length + begin);
    });
    if (!dx) return;
    const auto [middle, tilt] = means_of(scale, sums);
    for_stretches([&, middle = middle, tilt = tilt](int64_t r, int64_t begin, int64_t count) {
      const T* u = x + r * length + begin;
      T* const to = dx + r * length + begin;
      if constexpr (kHolds) std::copy_n(to, count, held);
      else fill(r, begin, count);
      const float a = scale[r];
      for (int64_t j = 0; j < count; ++j) to[j] = d * (held[j] * a - middle - (u[j] - mean) * d * tilt);
    });
  }

  struct RowMeans {
    float middle, tilt;  // of g and of g · h
  };
  RowMeans means_of(const float* scale, const float* sums) const {
    double along = 0, sum = 0;
    for (int64_t r = 0; r < runs_.of_row(); ++r) {
      along += static_cast<double>(scale[r]) * static_cast<double>(sums[2 * r]);
      sum += static_cast<double>(scale[r]) * static_cast<double>(sums[2 * r + 1]);
    }
    const double n = static_cast<double>(runs_.columns);
    return {static_cast<float>(sum / n), static_cast<float>(along / n)};
  }

  bool swish_;
  GroupRuns runs_;
  bool adds_[2] = {};

  static constexpr size_t kBias = 8;
};

template <class T>
std::unique_ptr<Kernel> group_norm_forward(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands) {
  return host::by_block(operands[0].tensor.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    if constexpr (decltype(block)::value == 1) return std::make_unique<GroupNormForwardKernel<T>>(attrs, operands);
    else return std::make_unique<host::GroupNormBlocksForward<decltype(block)::value, T>>(attrs, operands);
  });
}

template <class T>
std::unique_ptr<Kernel> group_norm_backward(const GroupNormAttrs& attrs, std::span<const OperandDesc> operands) {
  return host::by_block(operands[0].tensor.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    if constexpr (decltype(block)::value == 1) return std::make_unique<GroupNormBackwardKernel<T>>(attrs, operands);
    else return std::make_unique<host::GroupNormBlocksBackward<decltype(block)::value, T>>(attrs, operands);
  });
}

}  // namespace

std::vector<Algorithm> GroupNormForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  if (operands[0].tensor.layout == Layout::plain) return {{}};
  return {{.workspace_bytes = host::GroupNormBlocksForward<8, float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> GroupNormForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) {
    return group_norm_forward<decltype(zero)>(attrs, operands);
  });
}

std::vector<Algorithm> GroupNormBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  if (operands[0].tensor.layout == Layout::plain)
    return {{.workspace_bytes = GroupNormBackwardKernel<float>(attrs, operands).workspace_bytes()}};
  return {{.workspace_bytes = host::GroupNormBlocksBackward<8, float>(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> GroupNormBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) {
    return group_norm_backward<decltype(zero)>(attrs, operands);
  });
}

}  // namespace plimsoll
