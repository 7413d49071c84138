// BatchNormForward  {x, scale, bias, running_mean, running_var, y, mean, var, addend?}
// BatchNormBackward {x?, dy, scale, mean, var, y, dx, dscale, dbias, bias?}
//
// x is read from memory twice: once for both moments, once for the normalization. When recomputed, mean and var are
// read, and x only once. Frozen statistics are the running ones: x is read once, and the forward has only slots 3 and
// 4, which the backward reads as its mean and var. The normalization always uses mean and var as they are stored, so
// that both ways give the same bits. Moments are computed over chunks that fit the first-level cache, mean first, and
// merged as in Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979;
// sums of squares without subtracting the mean would cancel.
#include <algorithm>
#include <cmath>

#include "runtime/host/batch_norm_columns.h"
#include "runtime/host/batch_norm_parts.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using host::ColumnParts, host::PlaneParts, host::PlaneShape;
using host::kIsGate, host::kNormChunk, host::Line, host::Moments, host::PlainOutput, host::ReluOutput;
using Sums = host::NormSums;

template <int kBlock, class T>
void moments_of_plane(const T* plane, host::Part part, Moments* moments) {
  using P = host::Planes<kBlock>;
  for (int64_t begin = part.first; begin < part.end; begin += kNormChunk) {
    const int64_t end = std::min(begin + kNormChunk, part.end);
    const double before = static_cast<double>(begin - part.first) / kBlock;
    const double count = static_cast<double>(end - begin) / kBlock;
    double sums[kBlock] = {}, squares[kBlock] = {};
    float means[kBlock];
    P::fold(P::sum(begin, end, [&](auto load, int64_t i) { return load(plane + i); }), sums);
    for (int c = 0; c < kBlock; ++c) means[c] = static_cast<float>(sums[c] / count);
    const auto mean = P::spread(means);
    const auto squared = [&](auto load, int64_t i) {
      const auto off = load(plane + i) - mean;
      return off * off;
    };
    P::fold(P::sum(begin, end, squared), squares);
    // The squares are relative to the rounded mean; the squared rounding error is far below the resolution of a float.
    for (int c = 0; c < kBlock; ++c) merge(moments[c], before, {sums[c] / count, squares[c]}, count);
  }
}

// Rows [N, C], and images of one pixel, which lie alike in every layout, are the subject of batch_norm_columns.h.
bool in_columns(const PlaneShape& shape) { return shape.pixels == 1; }

// workspace: moments[samples][parts][channels], of rows moments[parts][channels], unless mean and var are cached, then
// factor[channels] and offset[channels]: y = factor * x + offset.
class BatchNormForwardKernel final : public Kernel {
 public:
  BatchNormForwardKernel(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        shape_(operands[0].tensor),
        layout_(operands[0].tensor.layout),
        parts_(shape_, layout_),
        columns_(shape_),
        type_(operands[0].tensor.type),
        remembered_(operands[6].access == Access::read),
        has_addend_(operands.size() > kAddend) {}

  int64_t workspace_bytes() const {
    return moment_count() * static_cast<int64_t>(sizeof(Moments)) +
           2 * shape_.channels * static_cast<int64_t>(sizeof(float));
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(layout_, [&](auto block) {
      host::by_real(type_, [&](auto zero) { run<block, decltype(zero)>(context, operands, workspace); });
    });
  }

 private:
  bool takes_moments() const { return !remembered_ && !attrs_.frozen; }
  int64_t moments_of_channel() const { return in_columns(shape_) ? columns_.parts : shape_.samples * parts_.parts; }
  int64_t moment_count() const { return !takes_moments() ? 0 : moments_of_channel() * shape_.channels; }

  template <int kBlock, class T>
  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) {
    const T* x = host::in<T>(operands, 0);
    const int64_t channels = shape_.channels, floats = parts_.floats;
    Moments* moments = reinterpret_cast<Moments*>(workspace);
    float* factor = reinterpret_cast<float*>(moments + moment_count());
    float* offset = factor + channels;
    T* y = host::out<T>(operands, 5);
    using P = host::Planes<kBlock>;
    const bool reads_twice = context.training && takes_moments();
    if (in_columns(shape_)) {
      if (reads_twice) host::moments_of_columns(columns_, x, moments);
      settle_channels(context, operands, {0, channels}, moments, factor, offset);
      const T* const more = has_addend_ ? host::in<T>(operands, kAddend) : nullptr;
      return host::by_activation(attrs_, [&](auto activation) {
        host::normalize_columns(columns_, activation, x, factor, offset, more, y);
      });
    }
    parts_.for_blocks(reads_twice ? 2 : 0, sizeof(T), [&](const host::Part& blocks) {
      if (reads_twice) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < parts_.items(blocks); ++i) {
          const int64_t item = parts_.item(blocks, i);
          Moments* const own = moments + parts_.place(item, channels, kBlock);
          std::fill_n(own, kBlock, Moments{});
          moments_of_plane<kBlock>(x + parts_.plane(item) * floats, parts_.part(item), own);
        }
      }
      settle_channels(context, operands, {blocks.first * kBlock, blocks.end * kBlock}, moments, factor, offset);
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < parts_.items(blocks); ++i) {
        const int64_t item = parts_.item(blocks, i), plane = parts_.plane(item);
        const host::Part part = parts_.part(item);
        const auto a = P::spread(factor + plane * kBlock % channels), b = P::spread(offset + plane * kBlock % channels);
        const T* from = x + plane * floats;
        const T* more = has_addend_ ? host::in<T>(operands, kAddend) + plane * floats : nullptr;
        T* to = y + plane * floats;
        const auto write = [&](auto value) {
          host::by_activation(attrs_, [&](auto activation) { host::write_part<P>(to, part, activation, value); });
        };
        if (more) write([&](auto load, int64_t j) { return load(from + j) * a + b + load(more + j); });
        else write([&](auto load, int64_t j) { return load(from + j) * a + b; });
      }
    });
  }

  // As stored.
  struct Statistics {
    float mean, var;
  };

  // For one channel: merges the samples' moments, and updates the running statistics.
  Statistics find_statistics(const RunContext& context, std::byte* const* operands, const Moments* moments,
                             int64_t c) const {
    float *running_mean = host::out(operands, 3), *running_var = host::out(operands, 4);
    if (!context.training || attrs_.frozen) return {running_mean[c], running_var[c]};
    const double pixels = static_cast<double>(shape_.pixels), count = pixels * static_cast<double>(shape_.samples);
    Moments all;
    double before = 0;
    for (int64_t i = 0; i < moments_of_channel(); ++i) {
      const host::Part part = in_columns(shape_) ? columns_.rows_of(i) : parts_.part(i % parts_.parts);
      const int64_t floats_of_pixel = in_columns(shape_) ? 1 : parts_.floats / shape_.pixels;
      const double in_part = static_cast<double>((part.end - part.first) / floats_of_pixel);
      merge(all, before, moments[i * shape_.channels + c], in_part);
      before += in_part;
    }
    if (!context.recompute) {
      // As in PyTorch: normalized by the biased variance; the running variance is updated with the unbiased one.
      const double unbiased = all.squares / std::max(1.0, count - 1), keep = attrs_.momentum;
      running_mean[c] = static_cast<float>(keep * running_mean[c] + (1 - keep) * all.mean);
      running_var[c] = static_cast<float>(keep * running_var[c] + (1 - keep) * unbiased);
    }
    return {static_cast<float>(all.mean), static_cast<float>(all.squares / count)};
  }

  // Computes factor and offset of each of the channels.
  void settle_channels(const RunContext& context, std::byte* const* operands, const host::Part& of,
                       const Moments* moments, float* factor, float* offset) const {
    const float *scale = host::in(operands, 1), *bias = host::in(operands, 2);
    float *saved_mean = host::out(operands, 6), *saved_var = host::out(operands, 7);
#pragma omp parallel for schedule(static)
    for (int64_t c = of.first; c < of.end; ++c) {
      const Statistics found =
          remembered_ ? Statistics{saved_mean[c], saved_var[c]} : find_statistics(context, operands, moments, c);
      if (saved_mean && !remembered_) saved_mean[c] = found.mean;
      if (saved_var && !remembered_) saved_var[c] = found.var;
      const Line line = host::line_of(attrs_, scale[c], bias[c], found.mean, found.var);
      factor[c] = line.factor;
      offset[c] = line.offset;
    }
  }

  const BatchNormAttrs attrs_;
  const PlaneShape shape_;
  const Layout layout_;
  const PlaneParts parts_;
  const ColumnParts columns_;
  const DataType type_;    // of activations and their gradients
  const bool remembered_;  // mean and var are read
  const bool has_addend_;

  static constexpr size_t kAddend = 8;
};

// With g = dy, masked by a fused Relu or times the slope of another activation, and z = (x - mean) / std:
//   dbias = sum g,   dscale = sum g z,   dx = scale / std * (g - dbias / count - z * dscale / count)
// For frozen statistics, which do not depend on x, dx = scale / std * g. Without dscale x may then be absent.
// workspace: Sums[samples][parts][channels] if a gradient depends on sums, then three floats per channel: dx = p * g +
// q * x + r; for an activation with a slope, two more: y = factor * x + offset. A slope takes longer to compute than to
// read, so in f32 the first pass writes g to dx, which is not x then, and the second pass reads it there. In bf16 g
// would be rounded.
class BatchNormBackwardKernel final : public Kernel {
 public:
  BatchNormBackwardKernel(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        shape_(operands[1].tensor),
        layout_(operands[1].tensor.layout),
        parts_(shape_, layout_),
        columns_(shape_),
        type_(operands[1].tensor.type),
        summed_(in_columns(shape_) ? columns_.parts : shape_.samples * parts_.parts) {
    for (size_t i = 0; i < 2; ++i) adds_[i] = operands[7 + i].access == Access::update;
    const auto is_written = [&](size_t i) { return operands[i].access != Access::absent; };
    if (attrs_.frozen && !attrs_.reads_bias() && !is_written(7) && !is_written(8)) summed_ = 0;
  }

  int64_t workspace_bytes() const {
    const int64_t of_channel = attrs_.reads_bias() ? 5 : 3;
    return shape_.channels *
           (summed_ * static_cast<int64_t>(sizeof(Sums)) + of_channel * static_cast<int64_t>(sizeof(float)));
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(layout_, [&](auto block) {
      host::by_real(type_, [&](auto zero) {
        using T = decltype(zero);
        host::by_activation(attrs_, [&](auto activation) { run<block, T>(activation, operands, workspace); });
      });
    });
  }

 private:
  template <class Activation, class T>
  static constexpr bool kHoldsGradient = kIsGate<Activation> && std::is_same_v<T, float>;

  template <int kBlock, class T, class Activation>
  void run(const Activation& activation, std::byte* const* operands, std::byte* workspace) {
    using P = host::Planes<kBlock>;
    const T *dy = host::in<T>(operands, 1), *y = host::in<T>(operands, 5);
    const T* x = operands[0] ? host::in<T>(operands, 0) : dy;  // if absent, it is not needed
    const float* mean = host::in(operands, 3);
    const bool frozen = attrs_.frozen;
    T* dx = host::out<T>(operands, 6);
    const int64_t channels = shape_.channels, floats = parts_.floats;
    Sums* sums = reinterpret_cast<Sums*>(workspace);
    float* p = reinterpret_cast<float*>(sums + summed_ * channels);
    float *q = p + channels, *r = q + channels;
    const float *factor = r + channels, *offset = factor + channels;  // of an activation with a slope
    if constexpr (kIsGate<Activation>) settle_lines(operands, r + channels);
    if (in_columns(shape_)) {
      const host::ColumnGradients<T, Activation> gradients{activation, x, dy, y, factor, offset};
      if (summed_ > 0) host::sums_of_columns(columns_, gradients, mean, sums);
      settle_channels(operands, {0, channels}, sums, p, q, r);
      if (dx) host::gradients_of_columns(columns_, gradients, frozen, p, q, r, dx);
      return;
    }
    // g of some floats of a plane, at most kNormChunk; `held` has room for as many.
    const auto gradient = [=](int64_t plane, int64_t begin, int64_t end, float* held) {
      const int64_t base = plane * floats;
      if constexpr (kIsGate<Activation>) {
        const auto a = P::spread(factor + plane * kBlock % channels), b = P::spread(offset + plane * kBlock % channels);
        P::map(held, 0, end - begin, [&](auto load, int64_t i) { return load(x + base + begin + i) * a + b; });
#pragma omp simd
        for (int64_t i = 0; i < end - begin; ++i) held[i] = activation.slope(held[i]);
        P::map(held, 0, end - begin, [&](auto load, int64_t i) {
          return load(dy + base + begin + i) * load(held + i);
        });
        if (kHoldsGradient<Activation, T> && dx)
          P::map(dx + base, begin, end, [&](auto load, int64_t i) { return load(held + i - begin); });
        return [=](auto load, int64_t i) { return load(held + i - begin); };
      } else {
        return [=](auto load, int64_t i) {
          const auto g = load(dy + base + i);
          if constexpr (std::is_same_v<Activation, PlainOutput>) return g;
          else return load(y + base + i) > 0 ? g : typename P::Vector{};
        };
      }
    };
    const int64_t tensors = 3 + (std::is_same_v<Activation, ReluOutput> ? 1 : 0);  // x, dy, dx, y
    parts_.for_blocks(summed_ == 0 ? 0 : tensors, sizeof(T), [&](const host::Part& blocks) {
      const int64_t items = summed_ == 0 ? 0 : parts_.items(blocks);
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < items; ++i) {
        const int64_t item = parts_.item(blocks, i), plane = parts_.plane(item), base = plane * floats;
        const host::Part part = parts_.part(item);
        const auto middle = P::spread(mean + plane * kBlock % channels);
        double g[kBlock] = {}, g_off[kBlock] = {};
        float held[kIsGate<Activation> ? kNormChunk : 1];
        for (int64_t begin = part.first; begin < part.end; begin += kNormChunk) {
          const int64_t end = std::min(begin + kNormChunk, part.end);
          const auto of = gradient(plane, begin, end, held);
          P::fold(P::sum(begin, end, of), g);
          P::fold(P::sum(begin, end, [&](auto load, int64_t j) {
                    return of(load, j) * (load(x + base + j) - middle);
                  }), g_off);
        }
        Sums* const own = sums + parts_.place(item, channels, kBlock);
        for (int c = 0; c < kBlock; ++c) own[c] = {g[c], g_off[c]};
      }
      settle_channels(operands, {blocks.first * kBlock, blocks.end * kBlock}, sums, p, q, r);
      if (!dx) return;
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < parts_.items(blocks); ++i) {
        const int64_t item = parts_.item(blocks, i), plane = parts_.plane(item);
        const int64_t base = plane * floats, c = plane * kBlock % channels;
        const auto a = P::spread(p + c), b = P::spread(q + c), d = P::spread(r + c);
        const host::Part part = parts_.part(item);
        float held[kIsGate<Activation> ? kNormChunk : 1];
        for (int64_t begin = part.first; begin < part.end; begin += kNormChunk) {
          const int64_t end = std::min(begin + kNormChunk, part.end);
          const auto write = [&](auto of) {
            // No product of x and 0: it would be NaN where x is not finite, or dy, which is read in place of an absent
            // x.
            if (frozen) return P::map(dx + base, begin, end, [&](auto load, int64_t j) { return of(load, j) * a; });
            P::map(dx + base, begin, end, [&](auto load, int64_t j) {
              return of(load, j) * a + (load(x + base + j) * b + d);
            });
          };
          if constexpr (kHoldsGradient<Activation, T>) write([&](auto load, int64_t j) { return load(dx + base + j); });
          else write(gradient(plane, begin, end, held));
        }
      }
    });
  }

  // Computes factor[channels] and offset[channels], as the forward does.
  void settle_lines(std::byte* const* operands, float* lines) const {
    const float *scale = host::in(operands, 2), *mean = host::in(operands, 3), *var = host::in(operands, 4);
    const float* bias = host::in(operands, kBias);
    for (int64_t c = 0; c < shape_.channels; ++c) {
      const Line line = host::line_of(attrs_, scale[c], bias[c], mean[c], var[c]);
      lines[c] = line.factor;
      lines[shape_.channels + c] = line.offset;
    }
  }

  void settle_channels(std::byte* const* operands, const host::Part& of, const Sums* sums, float* p, float* q,
                       float* r) const {
    const float *scale = host::in(operands, 2), *mean = host::in(operands, 3), *var = host::in(operands, 4);
    float *dscale = host::out(operands, 7), *dbias = host::out(operands, 8);
    const double count = static_cast<double>(shape_.samples * shape_.pixels);
#pragma omp parallel for schedule(static)
    for (int64_t c = of.first; c < of.end; ++c) {
      Sums all;
      for (int64_t i = 0; i < summed_; ++i) {
        all.g += sums[i * shape_.channels + c].g;
        all.g_off += sums[i * shape_.channels + c].g_off;
      }
      const double deviation = std::sqrt(static_cast<double>(var[c]) + attrs_.epsilon);
      const double slope = scale[c] / deviation, across = all.g_off / (deviation * deviation * count);
      p[c] = static_cast<float>(slope);
      q[c] = attrs_.frozen ? 0 : static_cast<float>(-slope * across);
      r[c] = attrs_.frozen ? 0 : static_cast<float>(slope * (across * mean[c] - all.g / count));
      if (dscale) dscale[c] = static_cast<float>(all.g_off / deviation) + (adds_[0] ? dscale[c] : 0);
      if (dbias) dbias[c] = static_cast<float>(all.g) + (adds_[1] ? dbias[c] : 0);
    }
  }

  const BatchNormAttrs attrs_;
  const PlaneShape shape_;
  const Layout layout_;
  const PlaneParts parts_;
  const ColumnParts columns_;
  const DataType type_;  // of activations and their gradients
  int64_t summed_;       // the sums of a channel; 0 if no gradient depends on them
  bool adds_[2] = {};    // whether dscale, dbias are accumulated

  static constexpr size_t kBias = 9;
};

}  // namespace

std::vector<Algorithm> BatchNormForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = BatchNormForwardKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> BatchNormForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view) {
  return std::make_unique<BatchNormForwardKernel>(attrs, operands);
}

std::vector<Algorithm> BatchNormBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = BatchNormBackwardKernel(attrs, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> BatchNormBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  return std::make_unique<BatchNormBackwardKernel>(attrs, operands);
}

}  // namespace plimsoll
