// Loops over images by channel. In every layout a plane, the pixels of kBlock channels of one sample, is one contiguous
// run of floats, which is processed in vectors:
//
//   plain      plane of 1 channel      p0 p1 p2 … p15 | p16 …        a vector is pixels of the channel, as many as the
//                                                                    processor has lanes; there is a tail
//   nChw16c    plane of 16 channels    c0 c1 c2 … c15 | c0 c1 …      a vector is one pixel of all channels
//
// Sums are computed per plane and then over the samples in order, so the bits do not depend on the number of threads.
#pragma once

#include <cstring>
#include <type_traits>

#include "runtime/attrs/bf16.h"
#include "runtime/host/vectors.h"
#include "runtime/host/work_items.h"
#include "runtime/kernel.h"

namespace plimsoll::host {

// [samples, channels, …] viewed as planes.
struct PlaneShape {
  int64_t samples = 0, channels = 0, pixels = 0;
  explicit PlaneShape(const TensorDesc& desc) : samples(desc.dim(0)), channels(desc.dim(1)), pixels(1) {
    for (size_t axis = 2; axis < desc.rank(); ++axis) pixels *= desc.dim(axis);
  }
};

template <int kBlock>
struct Planes {
  static constexpr int kLanes = kBlock == 1 ? kWidest : kBlock;
  using Vector = typename VectorOf<kLanes>::Type;
  using Bits = typename VectorOf<kLanes>::Bits;
  using Upper = typename VectorOf<kLanes>::Upper;

  static Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static Vector load(const Bf16* from) {
    Upper upper;
    std::memcpy(&upper, from, sizeof upper);
    return reinterpret_cast<Vector>(__builtin_convertvector(upper, Bits) << 16);
  }
  static void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  static void store(Bf16* to, Vector v) {
    const Upper upper = narrow(v);
    std::memcpy(to, &upper, sizeof upper);
  }

  // One value per channel, repeated for all lanes.
  template <class T>
  static Vector spread(const T* channels) {
    if constexpr (kBlock == 1) {
      return all_lanes<Vector>(static_cast<float>(channels[0]));
    } else {
      return load(channels);
    }
  }
  // channels[c] += the lanes that belong to c.
  template <class T>
  static void fold(Vector sum, T* channels) {
    for (int lane = 0; lane < kLanes; ++lane) channels[kBlock == 1 ? 0 : lane] += static_cast<T>(sum[lane]);
  }

  // The sum of term(load, i) over the vectors of [begin, end), in floats; load(p) gives the vector at p.
  template <class Term>
  static Vector sum(int64_t begin, int64_t end, Term term) {
    const auto whole = [](const auto* from) { return load(from); };
    Vector a{}, b{}, c{}, d{};
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      a += term(whole, i);
      b += term(whole, i + kLanes);
      c += term(whole, i + 2 * kLanes);
      d += term(whole, i + 3 * kLanes);
    }
    for (; i + kLanes <= end; i += kLanes) a += term(whole, i);
    if (i < end) {
      Vector tail = term([rest = end - i](const auto* from) { return load_some(from, rest); }, i);
      for (int64_t lane = end - i; lane < kLanes; ++lane) tail[lane] = 0;
      b += tail;
    }
    return (a + b) + (c + d);
  }

  // to[i] = value(load, i) for [begin, end).
  template <class T, class Value>
  static void map(T* to, int64_t begin, int64_t end, Value value) {
    const auto whole = [](const auto* from) { return load(from); };
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) store(to + i, value(whole, i));
    if (i < end) {
      const Vector tail = value([rest = end - i](const auto* from) { return load_some(from, rest); }, i);
      store_some(to + i, tail, end - i);
    }
  }

 private:
  static Vector load_some(const float* from, int64_t count) {
    Vector v{};
    std::memcpy(&v, from, static_cast<size_t>(count) * sizeof(float));
    return v;
  }
  static Vector load_some(const Bf16* from, int64_t count) {
    Bf16 all[kLanes] = {};
    std::memcpy(all, from, static_cast<size_t>(count) * sizeof(Bf16));
    return load(all);
  }
  static void store_some(float* to, Vector v, int64_t count) {
    std::memcpy(to, &v, static_cast<size_t>(count) * sizeof(float));
  }
  static void store_some(Bf16* to, Vector v, int64_t count) {
    const Upper upper = narrow(v);
    std::memcpy(to, &upper, static_cast<size_t>(count) * sizeof(Bf16));
  }
  // As narrowed() in runtime/attrs/bf16.h.
  static Upper narrow(Vector v) {
    const Bits bits = reinterpret_cast<Bits>(v);
    const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16, quiet = (bits >> 16) | 0x40;
    return __builtin_convertvector((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded, Upper);
  }
};

// A kernel that adds up the elements of dx plane by plane. In bf16, sums need a plane of floats for each lane; in f32
// they are added up in dx.
struct PlaneSums {
  int64_t planes, lane_bytes, lanes;

  PlaneSums(const TensorDesc& dx, std::span<const OperandDesc> operands)
      : planes(dx.dim(0) * dx.dim(1) / std::max(1, block_of(dx.layout))),
        lane_bytes(dx.type == DataType::f32 ? 0 : dx.elements() / planes * static_cast<int64_t>(sizeof(float))),
        lanes(lanes_of(planes, lane_bytes, bytes_of(operands))) {}
  int64_t workspace_bytes() const { return lanes * lane_bytes; }
};

// body(plane, to) for every plane of dx: adds to the elements of a plane, which are 0 at first. In bf16 the sums are
// rounded once: `sums` is the workspace of PlaneSums.
template <class T, class Body>
void add_up_planes(int64_t planes, int64_t elements, int64_t lanes, T* dx, float* sums, Body body) {
  for_work_items(planes, lanes, [&](int64_t plane, int64_t lane) {
    float* to = sums + lane * elements;
    if constexpr (std::is_same_v<T, float>) to = dx + plane * elements;
    std::fill_n(to, elements, 0.0F);
    body(plane, to);
    if constexpr (!std::is_same_v<T, float>)
      for (int64_t i = 0; i < elements; ++i) dx[plane * elements + i] = to[i];
  });
}

// body(std::integral_constant<int, kBlock>) for the layout of an activation.
template <class Body>
auto by_block(Layout layout, Body body) {
  switch (layout) {
    case Layout::plain: return body(std::integral_constant<int, 1>{});
    case Layout::nChw8c: return body(std::integral_constant<int, 8>{});
    case Layout::nChw16c: return body(std::integral_constant<int, 16>{});
    default: throw KernelError("no activation lies in layout " + std::string(name_of(layout)));
  }
}

}  // namespace plimsoll::host
