// The cross entropy of pixels: scores [N, C, d…], where the classes of a pixel are far apart.
//
// A tile of neighbouring pixels is computed at once, because they are adjacent in memory:
//
//            pixels of the tile
//   class 0  x x x x x x x x . .  . . .
//   class 1  x x x x x x x x . .  . . .      each loop takes one class of all pixels
//   …
//
// If the classes of a tile fit, its scores are copied: each is then read from memory once, and its exponential computed
// once. A distance of a power of two between classes would otherwise map all of them to the same few sets of a cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/host/cross_entropy_rows.h"
#include "runtime/host/math.h"

namespace plimsoll::host {

class CrossEntropyPixels {
 public:
  static constexpr int64_t kPixels = 256;  // at most, in a tile

  explicit CrossEntropyPixels(const CrossEntropyRows& rows) : rows_(rows) {
    const int64_t fit = kHeld / rows.classes() / kLeast * kLeast;
    held_ = fit > 0;
    at_once_ = held_ ? std::min(kPixels, fit) : kPixels;
  }

  // `count` <= kPixels pixels of a sample: class 0 of the first is at x, and its label is number `first` of all labels.
  // dx may be null, or equal x; scale_of(p) applies to the gradient of pixel p. Calls take(p, loss, hit) for each, in
  // order.
  template <class T, class ScaleOf, class Take>
  void softmax(const T* x, const std::byte* all_labels, int64_t first, int64_t count, T* dx, ScaleOf scale_of,
               Take take) const {
    int64_t labels[kPixels];
    for (int64_t p = 0; p < count; ++p) labels[p] = rows_.label(all_labels, first + p);
    float held[kHeld];
    for (int64_t p = 0; p < count; p += at_once_) {
      const int64_t some = std::min(at_once_, count - p);
      T* const to = dx ? dx + p : nullptr;
      const auto scale = [&](int64_t i) { return scale_of(p + i); };
      const auto taken = [&](int64_t i, double loss, bool hit) { take(p + i, loss, hit); };
      if (held_) tile<true>(x + p, labels + p, some, to, held, scale, taken);
      else tile<false>(x + p, labels + p, some, to, held, scale, taken);
    }
  }

 private:
  static constexpr int64_t kHeld = 16384;  // scores: 64 KiB of the stack
  static constexpr int64_t kLeast = 16;    // pixels of a tile whose scores are copied
  static constexpr int64_t kAdded = 64;    // classes that are summed apart, so that sums of many are more exact

  // Of a pixel that does not count, all of these are 0, and its loss is not used.
  struct Targets {
    float scale[kPixels], of_label[kPixels], all[kPixels];
  };

  template <class ScaleOf>
  Targets targets(const int64_t* labels, int64_t count, ScaleOf scale_of) const {
    Targets result;
    const double each = rows_.smoothing() / static_cast<double>(rows_.classes());
    for (int64_t p = 0; p < count; ++p) {
      const bool counts = rows_.counts(labels[p]);
      const double of_label = counts ? (1 - rows_.smoothing()) * rows_.weight_of(labels[p]) : 0;
      result.scale[p] = counts ? static_cast<float>(scale_of(p)) : 0;
      result.of_label[p] = static_cast<float>(of_label);
      result.all[p] = counts ? static_cast<float>(of_label + each * rows_.all_weights()) : 0;
    }
    return result;
  }

  template <bool kCopied, class T, class ScaleOf, class Take>
  void tile(const T* x, const int64_t* labels, int64_t count, T* dx, float* held, ScaleOf scale_of, Take take) const {
    const int64_t classes = rows_.classes(), step = rows_.step();
    const float each = static_cast<float>(rows_.smoothing() / static_cast<double>(classes));
    const bool smooths = rows_.smoothing() != 0;
    const auto weight_of = [&](int64_t c) { return smooths ? static_cast<float>(rows_.weight_of(c)) : 0; };
    float largest[kPixels], mine[kPixels], sum[kPixels], off[kPixels], factor[kPixels], loss[kPixels];
    int32_t best[kPixels];  // as wide as a score, so that both are selected by one mask
    for (int64_t p = 0; p < count; ++p) {
      const bool known = labels[p] >= 0 && labels[p] < classes;
      mine[p] = known ? static_cast<float>(x[labels[p] * step + p]) : std::numeric_limits<float>::quiet_NaN();
      largest[p] = x[p];
      best[p] = 0;
      sum[p] = off[p] = 0;
    }
    for (int64_t c = 0; c < classes; ++c) {
#pragma omp simd
      for (int64_t p = 0; p < count; ++p) {
        const float value = x[c * step + p];
        if constexpr (kCopied) held[c * count + p] = value;
        best[p] = value > largest[p] ? static_cast<int32_t>(c) : best[p];
        largest[p] = value > largest[p] ? value : largest[p];
      }
    }
    for (int64_t first = 0; first < classes; first += kAdded) {
      float some[kPixels] = {}, some_off[kPixels] = {};
      for (int64_t c = first; c < std::min(classes, first + kAdded); ++c) {
        const float weight = weight_of(c);
#pragma omp simd
        for (int64_t p = 0; p < count; ++p) {
          const float below = (kCopied ? held[c * count + p] : static_cast<float>(x[c * step + p])) - largest[p];
          const float e = exp_of(below);
          if constexpr (kCopied) held[c * count + p] = e;
          some[p] += e;
          if (smooths) some_off[p] += weight * below;
        }
      }
      for (int64_t p = 0; p < count; ++p) sum[p] += some[p], off[p] += some_off[p];
    }
    const Targets target = targets(labels, count, scale_of);
#pragma omp simd
    for (int64_t p = 0; p < count; ++p) {
      factor[p] = target.scale[p] * target.all[p] / sum[p];
      loss[p] = target.all[p] * log_of(sum[p]) - target.of_label[p] * (mine[p] - largest[p]) - each * off[p];
    }
    for (int64_t p = 0; p < count; ++p)
      rows_.counts(labels[p]) ? take(p, static_cast<double>(loss[p]), best[p] == labels[p]) : take(p, 0.0, false);
    if (dx == nullptr) return;
    for (int64_t c = 0; c < classes; ++c) {
      const float of_class = each * weight_of(c);
#pragma omp simd  // dx may be x
      for (int64_t p = 0; p < count; ++p) {
        const float e = kCopied ? held[c * count + p] : exp_of(x[c * step + p] - largest[p]);
        const float slope = e * factor[p] - target.scale[p] * of_class;
        dx[c * step + p] = target.scale[p] == 0 ? 0 : slope;  // 0 also where e is not finite
      }
    }
    for (int64_t p = 0; p < count; ++p) {
      if (!rows_.counts(labels[p]) || labels[p] >= classes) continue;
      const float e = kCopied ? held[labels[p] * count + p] : exp_of(mine[p] - largest[p]);
      const float of_class = each * weight_of(labels[p]);
      dx[labels[p] * step + p] = e * factor[p] - target.scale[p] * (of_class + target.of_label[p]);
    }
  }

  const CrossEntropyRows& rows_;
  int64_t at_once_ = kPixels;
  bool held_ = false;
};

}  // namespace plimsoll::host
