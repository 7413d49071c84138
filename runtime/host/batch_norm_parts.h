// What the forward and the backward of a batch normalization share: how planes are divided among threads, the fused
// activation, and the line that normalizes a channel.
#pragma once

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
  int64_t floats, planes, parts;

  PlaneParts(const PlaneShape& shape, Layout layout)
      : floats(shape.pixels * std::max(1, block_of(layout))),
        planes(shape.samples * shape.channels / std::max(1, block_of(layout))),
        parts(parts_of(planes, floats)) {}

  int64_t items() const { return planes * parts; }
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

// y = factor * x + offset, of a channel.
struct Line {
  float factor, offset;
};

inline Line line_of(const BatchNormAttrs& attrs, float scale, float bias, float mean, float var) {
  const double factor = scale / std::sqrt(static_cast<double>(var) + attrs.epsilon);
  return {static_cast<float>(factor), static_cast<float>(bias - static_cast<double>(mean) * factor)};
}

}  // namespace plimsoll::host
