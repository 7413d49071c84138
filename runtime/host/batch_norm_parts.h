// What the forward and the backward of a batch normalization share: how planes are divided among threads, the fused
// activation, and the line that normalizes a channel.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/attrs/batch_norm.h"
#include "runtime/host/gates.h"
#include "runtime/host/planes.h"
#include "runtime/host/work_items.h"

namespace plimsoll::host {

inline constexpr int64_t kNormChunk = 4096;  // floats: 16 KiB, so two operands fit a first-level cache

// Planes, each divided into parts of whole chunks where there are few planes: early layers have many pixels and few
// channels.
struct PlaneParts {
  int64_t floats, samples, blocks, planes, parts;  // blocks: of channels

  PlaneParts(const PlaneShape& shape, Layout layout)
      : floats(shape.pixels * std::max(1, block_of(layout))),
        samples(shape.samples),
        blocks(shape.channels / std::max(1, block_of(layout))),
        planes(samples * blocks),
        parts(parts_of(planes, floats)) {}

  // body(blocks) for parts of the channels. The second pass over a part finds in a cache what the first one has read,
  // which saves a quarter to a third of the memory traffic. `tensors`: of this shape, that are accessed; 0: there is
  // one pass only. The order in which planes are processed changes no bits, so it may depend on the number of threads.
  //
  //   pass 1 of all, pass 2 of all     x from memory twice
  //   1 of the channels c0 … c7, 2 of c0 … c7, 1 of c8 … c15, …
  template <class Body>
  void for_blocks(int64_t tensors, int64_t element_bytes, Body body) const {
    constexpr int64_t kCacheBytes = 8 << 20, kItemsOfThread = 4;
    const int64_t block_bytes = std::max<int64_t>(1, samples * floats * tensors * element_bytes);
    const int64_t busy = (omp_get_max_threads() * kItemsOfThread + samples * parts - 1) / (samples * parts);
    const int64_t most = tensors == 0 ? blocks : std::max(kCacheBytes / block_bytes, busy);
    for (int64_t first = 0; first < blocks; first += most) body(Part{first, std::min(first + most, blocks)});
  }
  int64_t items(const Part& of) const { return samples * (of.end - of.first) * parts; }
  // Work item i of these blocks.
  int64_t item(const Part& of, int64_t i) const {
    const int64_t each = (of.end - of.first) * parts;
    return (i / each * blocks + of.first) * parts + i % each;
  }

  int64_t plane(int64_t item) const { return parts == 1 ? item : item / parts; }
  // The floats of a plane.
  Part part(int64_t item) const {
    if (parts == 1) return {0, floats};
    const int64_t chunks = (floats + kNormChunk - 1) / kNormChunk;
    const Part part = part_of(item % parts, parts, chunks);
    return {part.first * kNormChunk, std::min(part.end * kNormChunk, floats)};
  }
  // The number of the first channel of a work item in an array [samples][parts][channels].
  int64_t place(int64_t item, int64_t channels, int64_t block) const {
    const int64_t channel = plane(item) * block;
    return (channel / channels * parts + item % parts) * channels + channel % channels;
  }
};

// Of some values of a channel.
struct Moments {
  double mean = 0, squares = 0;  // squares: sum of (x - mean)^2
};

inline void merge(Moments& into, double count, const Moments& more, double more_count) {
  const double delta = more.mean - into.mean, total = count + more_count;
  into.mean += delta * (more_count / total);
  into.squares += more.squares + delta * delta * (count * more_count / total);
}

// Sums of g and of g * (x - mean), where g is the gradient before the activation.
struct NormSums {
  double g = 0, g_off = 0;
};

// The activation of y: none, a Relu, or a function with value() and slope() (gates.h).
struct PlainOutput {};
struct ReluOutput {};
template <class Activation>
inline constexpr bool kIsGate = !std::is_same_v<Activation, PlainOutput> && !std::is_same_v<Activation, ReluOutput>;

template <class Body>
void by_activation(const BatchNormAttrs& attrs, Body body) {
  if (attrs.relu) return body(ReluOutput{});
  if (attrs.swish) return body(SwishGate{});
  if (attrs.hard_swish) return body(HardSwishGate{});
  body(PlainOutput{});
}

// to[i] = activation(value(load, i)).
template <class P, class T, class Activation, class Value>
void write_part(T* to, const Part& part, const Activation& activation, Value value) {
  if constexpr (std::is_same_v<Activation, PlainOutput>) {
    P::map(to, part.first, part.end, value);
  } else if constexpr (std::is_same_v<Activation, ReluOutput>) {
    P::map(to, part.first, part.end, [&](auto load, int64_t i) {
      const auto v = value(load, i);
      return v > 0 ? v : v - v;
    });
  } else {
    constexpr int64_t kGateStretch = 256;  // floats
    for (int64_t begin = part.first; begin < part.end; begin += kGateStretch) {
      const int64_t end = std::min(begin + kGateStretch, part.end);
      float held[kGateStretch];
      P::map(held, 0, end - begin, [&](auto load, int64_t i) { return value(load, begin + i); });
#pragma omp simd
      for (int64_t i = 0; i < end - begin; ++i) held[i] = activation.value(held[i]);
      P::map(to, begin, end, [&](auto load, int64_t i) { return load(held + i - begin); });
    }
  }
}

// y = factor * x + offset, of a channel.
struct Line {
  float factor, offset;
};

inline Line line_of(const BatchNormAttrs& attrs, float scale, float bias, float mean, float var) {
  const double factor = scale / std::sqrt(static_cast<double>(var) + attrs.epsilon);
  return {static_cast<float>(factor), static_cast<float>(bias - static_cast<double>(mean) * factor)};
}

}  // namespace plimsoll::host
