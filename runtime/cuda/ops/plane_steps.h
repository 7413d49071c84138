// Device code for passes over all elements of [samples, channels, pixels] with a parameter per channel, for sums over
// the planes of a channel, and for passes over a row, which is a plane here.
#pragma once

#include <type_traits>

#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

// How a thread's elements lie in planes of contiguous pixels: four of one plane; four that may be of adjacent planes,
// if the number of pixels is odd and that of all elements is a multiple of four; or one.
enum class Step { four, across, one };

// The parameter of a channel for each of the elements of a thread.
template <Step kStep, class Index>
struct ChannelsOfThread {
  static constexpr int kAtOnce = kStep == Step::one ? 1 : 4;
  int64_t of[kAtOnce];

  __device__ ChannelsOfThread(Index number, Index pixels, Index channels) {
    const Index i = number * kAtOnce, plane = i / pixels;
    Index left = pixels - (i - plane * pixels), c = plane % channels;
    for (int k = 0; k < kAtOnce; ++k) {
      of[k] = static_cast<int64_t>(c);
      if (kStep != Step::across || --left > 0) continue;
      left = pixels;
      c = c + 1 == channels ? 0 : c + 1;
    }
  }
  __device__ Few<kAtOnce> load(const float* from) const {
    Few<kAtOnce> few;
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = from[of[k]];
    return few;
  }
};

// For sums over planes of contiguous pixels: how a thread reads adjacent elements of one plane. A plane with an odd
// number of pixels begins anywhere; with Step::across its parts are at multiples of four elements of the tensor, and
// the first and the last may have less than four elements of the plane, which are read one by one:
//
//   planes of 7   | 0  1  2  3  4  5  6| 7  8  9 10 11 12 13|14 …
//   parts         [            [            [             [              of plane 1: 1, 4 and 2 elements
inline Step step_of_plane(int64_t pixels) {
  return pixels % 4 == 0 ? Step::four : pixels > 4 ? Step::across : Step::one;
}
__host__ __device__ inline int64_t parts_of_plane(Step step, int64_t pixels) {
  return step == Step::one ? pixels : step == Step::four ? pixels / 4 : (pixels + 6) / 4;
}

template <Step kStep, class Index>
struct PlanePart {
  static constexpr int kAtOnce = kStep == Step::one ? 1 : 4;
  int64_t at = 0;          // in the tensor
  int first = 0, end = 0;  // of the elements, those of the plane

  // Part `number` of the channel's planes, beginning with those of a sample. Default: no elements.
  PlanePart() = default;
  __device__ PlanePart(int64_t first_sample, int64_t channel, int64_t channels, Index pixels, Index number) {
    const Index each = static_cast<Index>(parts_of_plane(kStep, static_cast<int64_t>(pixels)));
    const Index sample = number / each, part = number - sample * each;
    const int64_t begin = ((first_sample + static_cast<int64_t>(sample)) * channels + channel) * pixels;
    set(begin, begin + static_cast<int64_t>(pixels), static_cast<int64_t>(part));
  }
  // Part `part` of the plane [begin, stop).
  __device__ PlanePart(int64_t begin, int64_t stop, int64_t part) { set(begin, stop, part); }
  // The part of the plane [begin, stop) that begins at `at`.
  __device__ static PlanePart beginning(int64_t at, int64_t begin, int64_t stop) {
    PlanePart part;
    part.at = at;
    part.set_bounds(begin, stop);
    return part;
  }

  __device__ bool has(int k) const { return kStep == Step::across ? k >= first && k < end : end != 0; }
  // 0 for elements that are not of the plane, which are not read.
  template <class T>
  __device__ Few<kAtOnce> load(const T* from) const {
    if (kStep == Step::across ? first == 0 && end == kAtOnce : end != 0) return load_few<kAtOnce>(from + at);
    Few<kAtOnce> few{};
    if constexpr (kStep == Step::across)
      for (int k = 0; k < kAtOnce; ++k)
        if (has(k)) few.of[k] = load_one(from + at + k);
    return few;
  }
  // Of `values`, which has one for each element of a plane, those of this part; the plane begins at `begin`.
  __device__ Few<kAtOnce> load_of_columns(const float* values, int64_t begin) const {
    if constexpr (kStep != Step::across) return load_few<kAtOnce>(values + (at - begin));
    Few<kAtOnce> few{};
    for (int k = 0; k < kAtOnce; ++k)
      if (has(k)) few.of[k] = values[at + k - begin];
    return few;
  }
  // Writes the elements of the plane, and no other; with `kAdd` they are added to what is there.
  template <bool kAdd, class T>
  __device__ void put(T* to, const Few<kAtOnce>& few) const {
    if (is_whole()) return put_few<kAdd>(to + at, few);
    if constexpr (kStep == Step::across)
      for (int k = 0; k < kAtOnce; ++k)
        if (has(k)) store_one(to + at + k, kAdd ? load_one(to + at + k) + few.of[k] : few.of[k]);
  }

 private:
  __device__ bool is_whole() const { return kStep == Step::across ? first == 0 && end == kAtOnce : end != 0; }
  __device__ void set(int64_t begin, int64_t stop, int64_t part) {
    at = (kStep == Step::across ? begin / 4 * 4 : begin) + kAtOnce * part;
    set_bounds(begin, stop);
  }
  __device__ void set_bounds(int64_t begin, int64_t stop) {
    if constexpr (kStep == Step::across) {
      first = at < begin ? static_cast<int>(begin - at) : 0;
      end = at >= stop ? 0 : stop - at < kAtOnce ? static_cast<int>(stop - at) : kAtOnce;
    } else {
      end = kAtOnce;
    }
  }
};

// A row of n elements, one of many: `base` is the element of the tensor at which the row's first part begins, and
// `begin` the row's first element from there.
template <Step kStep>
struct RowOf {
  int64_t base, begin, n;

  __device__ RowOf(int64_t row, int64_t n_)
      : base(kStep == Step::across ? row * n_ / 4 * 4 : row * n_),
        begin(kStep == Step::across ? row * n_ - base : 0),
        n(n_) {}
};

// body(PlanePart) for this thread's parts of a row, which a block of kThreads shares. Parts count from the row's base.
template <int kThreads, Step kStep, class Body>
__device__ void for_parts(const RowOf<kStep>& row, Body body) {
  using Part = PlanePart<kStep, int64_t>;
  for (int64_t at = Part::kAtOnce * threadIdx.x; at < row.begin + row.n; at += Part::kAtOnce * kThreads)
    body(Part::beginning(at, row.begin, row.begin + row.n));
}

// body(std::integral_constant<Step>)
template <class Body>
decltype(auto) by_step_of_plane(Step step, Body body) {
  if (step == Step::four) return body(std::integral_constant<Step, Step::four>{});
  if (step == Step::across) return body(std::integral_constant<Step, Step::across>{});
  return body(std::integral_constant<Step, Step::one>{});
}

}  // namespace plimsoll::cuda
