// Batch normalization of rows [N, C], as behind a fully connected layer: the channels are contiguous, so vectors are of
// channels, and sums run down the rows. A part is some rows, a work item a part of a stretch of channels:
//
//              c0 … c127 | c128 … c255 | …
//   part 0     item        item
//   part 1     item        item               then the parts of each channel are merged, in order
#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/host/batch_norm_parts.h"

namespace plimsoll::host {

struct ColumnParts {
  static constexpr int64_t kChannels = 128;  // of a work item
  static constexpr int64_t kRows = 64;       // that are summed in f32

  int64_t rows, channels, parts;

  // Few parts, because each needs workspace; the number depends on nothing but the shape.
  explicit ColumnParts(const PlaneShape& shape)
      : rows(shape.samples), channels(shape.channels), parts(std::clamp<int64_t>(rows / 256, 1, 32)) {}

  Part rows_of(int64_t part) const { return part_of(part, parts, rows); }

  // body(part, its rows, channels) for every work item.
  template <class Body>
  void for_items(Body body) const {
    const int64_t stretches = (channels + kChannels - 1) / kChannels;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < parts * stretches; ++i) {
      const int64_t part = i / stretches, first = i % stretches * kChannels;
      body(part, rows_of(part), Part{first, std::min(first + kChannels, channels)});
    }
  }
};

// moments[parts][channels]
template <class T>
void moments_of_columns(const ColumnParts& columns, const T* x, Moments* moments) {
  columns.for_items([&](int64_t part, const Part& rows, const Part& channels) {
    const int64_t width = channels.end - channels.first;
    Moments* const own = moments + part * columns.channels + channels.first;
    std::fill_n(own, width, Moments{});
    for (int64_t begin = rows.first; begin < rows.end; begin += ColumnParts::kRows) {
      const int64_t end = std::min(begin + ColumnParts::kRows, rows.end);
      const double count = static_cast<double>(end - begin);
      float sums[ColumnParts::kChannels] = {}, squares[ColumnParts::kChannels] = {}, means[ColumnParts::kChannels];
      for (int64_t row = begin; row < end; ++row) {
        const T* const from = x + row * columns.channels + channels.first;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) sums[c] += from[c];
      }
      for (int64_t c = 0; c < width; ++c) means[c] = static_cast<float>(static_cast<double>(sums[c]) / count);
      for (int64_t row = begin; row < end; ++row) {
        const T* const from = x + row * columns.channels + channels.first;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          const float off = from[c] - means[c];
          squares[c] += off * off;
        }
      }
      for (int64_t c = 0; c < width; ++c)
        merge(own[c], static_cast<double>(begin - rows.first),
              {static_cast<double>(sums[c]) / count, static_cast<double>(squares[c])}, count);
    }
  });
}

// y = activation(factor · x + offset [+ addend])
template <class T, class Activation>
void normalize_columns(const ColumnParts& columns, const Activation& activation, const T* x, const float* factor,
                       const float* offset, const T* addend, T* y) {
  const auto value = [=](float v) {
    if constexpr (kIsGate<Activation>) return activation.value(v);
    else if constexpr (std::is_same_v<Activation, ReluOutput>) return v > 0 ? v : v - v;
    else return v;
  };
  const int64_t channels = columns.channels;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < columns.rows; ++row) {
    const T *const from = x + row * channels, *const more = addend ? addend + row * channels : nullptr;
    T* const to = y + row * channels;
    if (more) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) to[c] = value(from[c] * factor[c] + offset[c] + more[c]);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) to[c] = value(from[c] * factor[c] + offset[c]);
    }
  }
}

// What the two passes of a backward read. g, the gradient of factor · x + offset, is dy through the activation.
template <class T, class Activation>
struct ColumnGradients {
  Activation activation;
  const T *x, *dy, *y;
  const float *factor, *offset;  // of an activation with a slope

  // At element `at`, of channel c.
  float g(int64_t at, int64_t c) const {
    const float slope = dy[at];
    if constexpr (kIsGate<Activation>) return slope * activation.slope(x[at] * factor[c] + offset[c]);
    else if constexpr (std::is_same_v<Activation, ReluOutput>) return y[at] > 0 ? slope : 0.0F;
    else return slope;
  }
};

// sums[parts][channels]
template <class T, class Activation>
void sums_of_columns(const ColumnParts& columns, const ColumnGradients<T, Activation>& gradients, const float* mean,
                     NormSums* sums) {
  columns.for_items([&](int64_t part, const Part& rows, const Part& channels) {
    const int64_t width = channels.end - channels.first;
    NormSums* const own = sums + part * columns.channels + channels.first;
    std::fill_n(own, width, NormSums{});
    for (int64_t begin = rows.first; begin < rows.end; begin += ColumnParts::kRows) {
      float g[ColumnParts::kChannels] = {}, g_off[ColumnParts::kChannels] = {};
      for (int64_t row = begin; row < std::min(begin + ColumnParts::kRows, rows.end); ++row) {
        const int64_t at = row * columns.channels + channels.first;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          const float one = gradients.g(at + c, channels.first + c);
          g[c] += one;
          g_off[c] += one * (gradients.x[at + c] - mean[channels.first + c]);
        }
      }
      for (int64_t c = 0; c < width; ++c)
        own[c] = {own[c].g + static_cast<double>(g[c]), own[c].g_off + static_cast<double>(g_off[c])};
    }
  });
}

// dx = p · g + q · x + r; with frozen statistics p · g: x may not be finite then, or absent.
template <class T, class Activation>
void gradients_of_columns(const ColumnParts& columns, const ColumnGradients<T, Activation>& gradients, bool frozen,
                          const float* p, const float* q, const float* r, T* dx) {
  const int64_t channels = columns.channels;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < columns.rows; ++row) {
    const int64_t at = row * channels;
    if (frozen) {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c) dx[at + c] = gradients.g(at + c, c) * p[c];
    } else {
#pragma omp simd
      for (int64_t c = 0; c < channels; ++c)
        dx[at + c] = gradients.g(at + c, c) * p[c] + (gradients.x[at + c] * q[c] + r[c]);
    }
  }
}

}  // namespace plimsoll::host
