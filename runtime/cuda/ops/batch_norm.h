// Shared by the batch normalization kernels: the partition of the work, and what follows from a channel's sums.
//
// If the pixels of a channel are contiguous, they are divided into stretches. A stretch fits the registers of a block,
// so its moments can be computed mean first although x is read from memory once; sums of squares without subtracting
// the mean would cancel. Moments are merged as in Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for
// computing sample variances", 1979. If the channels of a pixel are contiguous (channels last; samples without pixels),
// the sums are those of a matrix's columns (device/column_sum.h).
#pragma once

#include "runtime/attrs/batch_norm.h"
#include "runtime/cuda/device/column_sum.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/ops/gates.h"
#include "runtime/cuda/ops/plane_steps.h"

namespace plimsoll::cuda::batch_norm {

inline constexpr int kValuesOfThread = 16;
inline constexpr int64_t kStretch = kThreads * kValuesOfThread;  // per channel: 16 KiB

// The elements of a channel, sample by sample.
struct Channels {
  int64_t samples, channels, pixels, count;
  int64_t parts, stretches;  // of a channel, if its pixels are contiguous (plane_steps.h)
  Step step;                 // how its parts are read
  bool beside;          // the channels of a pixel are contiguous
  ColumnParts columns;  // if they are

  explicit Channels(const TensorDesc &x) {
    const PlaneShape shape(x);
    samples = shape.samples;
    channels = shape.channels;
    pixels = shape.pixels;
    count = samples * pixels;
    beside = shape.channels_last || pixels == 1;
    step = step_of_plane(pixels);
    parts = samples * parts_of_plane(step, pixels);
    stretches = divided_up(parts * (step == Step::one ? 1 : 4), kStretch);
    columns = ColumnParts(count, channels, channels % 4 == 0 ? 4 : 1);
  }
  int64_t elements() const { return count * channels; }
  // Whether four adjacent elements of a channel are contiguous and aligned to 16 bytes.
  bool by_four() const { return (beside ? channels : pixels) % 4 == 0; }
  // The k-th part of a thread, of a stretch of channel c; it has no elements if the stretch is shorter.
  template <Step kStep, class Index>
  __device__ PlanePart<kStep, Index> part_of_thread(int64_t c, int64_t stretch, int k) const {
    using Part = PlanePart<kStep, Index>;
    const int64_t number = stretch * (kStretch / Part::kAtOnce) + int64_t{k} * kThreads + threadIdx.x;
    return number < parts ? Part(0, c, channels, static_cast<Index>(pixels), static_cast<Index>(number)) : Part();
  }
};

// y = factor * x + offset, before the activation.
struct Line {
  float factor, offset;
};
__device__ inline Line line_of(float scale, float bias, float mean, float var, double epsilon) {
  const double factor = scale / sqrt(static_cast<double>(var) + epsilon);
  return {static_cast<float>(factor), static_cast<float>(bias - static_cast<double>(mean) * factor)};
}

// What the forward computes of a channel once its moments are known.
struct ForwardEnd {
  double count, epsilon, momentum;
  const float *scale, *bias;
  float *running_mean, *running_var;  // nullptr: they are not updated
  float *saved_mean, *saved_var;      // may be nullptr
  float *factor, *offset;             // y = factor * x + offset

  __device__ void put(int64_t c, float mean, float var) const {
    if (saved_mean) saved_mean[c] = mean;
    if (saved_var) saved_var[c] = var;
    const Line line = line_of(scale[c], bias[c], mean, var, epsilon);
    factor[c] = line.factor;
    offset[c] = line.offset;
  }
  __device__ void finish(int64_t c, const Moments &m) const {
    if (running_mean) {
      // As in PyTorch: normalized by the biased variance; the running variance is updated with the unbiased one.
      const double unbiased = m.squares / (count > 2 ? count - 1 : 1);
      running_mean[c] = static_cast<float>(momentum * running_mean[c] + (1 - momentum) * m.mean);
      running_var[c] = static_cast<float>(momentum * running_var[c] + (1 - momentum) * unbiased);
    }
    put(c, static_cast<float>(m.mean), static_cast<float>(m.squares / count));
  }
};

// The sums of a channel's gradient: of g = dy, masked by a fused Relu or times the slope of another activation, and of
// g * (x - mean).
using GradientSums = Sums<2>;

// What the backward computes of them, with z = (x - mean) / std:
//
//   dbias = sum g,   dscale = sum g z,   dx = scale / std * (g - dbias / count - z * dscale / count)
//
// For frozen statistics, which do not depend on x, dx = scale / std * g.
struct BackwardEnd {
  double count, epsilon;
  bool frozen, adds_scale, adds_bias;
  const float *scale, *mean, *var;
  const float *bias;      // for an activation with a slope
  float *dscale, *dbias;  // may be nullptr
  float *p, *q, *r;       // dx = p * g + q * x + r
  float *lines;           // factor[channels], offset[channels]; nullptr: the activation has no slope
  int64_t channels;

  __device__ Line line(int64_t c) const { return line_of(scale[c], bias[c], mean[c], var[c], epsilon); }
  __device__ void finish(int64_t c, const GradientSums &sums) const {
    const double g = sums.of[0], g_off = sums.of[1], deviation = sqrt(static_cast<double>(var[c]) + epsilon);
    const double slope = scale[c] / deviation, across = g_off / (deviation * deviation * count);
    p[c] = static_cast<float>(slope);
    q[c] = frozen ? 0 : static_cast<float>(-slope * across);
    r[c] = frozen ? 0 : static_cast<float>(slope * (across * mean[c] - g / count));
    if (dscale) dscale[c] = static_cast<float>(g_off / deviation) + (adds_scale ? dscale[c] : 0);
    if (dbias) dbias[c] = static_cast<float>(g) + (adds_bias ? dbias[c] : 0);
    if (lines == nullptr) return;
    const Line of_channel = line(c);
    lines[c] = of_channel.factor;
    lines[channels + c] = of_channel.offset;
  }
};

// The activation of y: none, a Relu, or one whose slope is a function of its input (gates.h), which the backward
// computes again from x. gradient(dy, result): `result` is y of a Relu, else the activation's input.
struct PlainOutput {
  static constexpr bool kReadsOutput = false, kReadsInput = false;
  __device__ float value(float x) const { return x; }
  __device__ float gradient(float dy, float) const { return dy; }
};
struct ReluOutput {
  static constexpr bool kReadsOutput = true, kReadsInput = false;
  __device__ float value(float x) const { return x > 0 ? x : 0; }
  __device__ float gradient(float dy, float y) const { return y > 0 ? dy : 0; }
};
template <class Gate>
struct GateOutput {
  static constexpr bool kReadsOutput = false, kReadsInput = true;
  Gate gate;
  __device__ float value(float x) const { return gate.value(x); }
  __device__ float gradient(float dy, float x) const { return dy * gate.slope(x); }
};

template <class Body>
void by_activation(const BatchNormAttrs &attrs, Body body) {
  if (attrs.relu) return body(ReluOutput{});
  if (attrs.swish) return body(GateOutput<SwishGate>{{1}});
  if (attrs.hard_swish) return body(GateOutput<HardSwishGate>{});
  body(PlainOutput{});
}

}  // namespace plimsoll::cuda::batch_norm
