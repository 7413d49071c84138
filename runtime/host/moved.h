// The same elements, traversed with other strides: slices, transpositions and other layouts.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/host/rows.h"
#include "runtime/host/square.h"

namespace plimsoll::host {

template <bool Accumulate, class X, class Y>
void put(Y& to, X value) {
  if constexpr (Accumulate) to += value;
  else to = value;
}

// to[strides 0] = or += from[strides 1], over the loops.
template <bool Accumulate, class X, class Y>
void copy(const Loops<2>& loops, Y* to, const X* from) {
  const int64_t length = loops.counts[0], to_step = loops.strides[0][0], from_step = loops.strides[1][0];
  for_rows(loops, [=](const auto& offsets) {
    Y* y = to + offsets[0];
    const X* x = from + offsets[1];
    if (to_step == 1 && from_step == 1) {
      for (int64_t j = 0; j < length; ++j) put<Accumulate, X>(y[j], x[j]);
    } else {
      for (int64_t j = 0; j < length; ++j) put<Accumulate, X>(y[j * to_step], x[j * from_step]);
    }
  });
}

// y[line, column] = or += x[column, line] for lines [0, lines) and columns [0, columns), in squares where these are
// whole.
template <bool Accumulate, class T>
void transpose_tile(int64_t lines, int64_t columns, T* y, int64_t y_step, const T* x, int64_t x_step) {
  using Whole = Square<T>;
  const int64_t whole_lines = lines / Whole::kSize * Whole::kSize;
  const int64_t whole_columns = columns / Whole::kSize * Whole::kSize;
  for (int64_t line = 0; line < whole_lines; line += Whole::kSize) {
    for (int64_t column = 0; column < whole_columns; column += Whole::kSize) {
      Whole square;
      square.load(x + column * x_step + line, x_step);
      square.transpose();
      for (int i = 0; i < Whole::kSize; ++i) {
        T* const to = y + (line + i) * y_step + column;
        typename Whole::Row row = square.row(i);
        if constexpr (Accumulate) {
          typename Whole::Row there;
          std::memcpy(&there, to, sizeof there);
          row += there;
        }
        std::memcpy(to, &row, sizeof row);
      }
    }
  }
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t column = line < whole_lines ? whole_columns : 0; column < columns; ++column)
      put<Accumulate, T>(y[line * y_step + column], x[line + column * x_step]);
}

// A loop nest in the order of y. If x and y are contiguous along different axes, tiles of a cache line by a cache line
// pass through the first-level cache, so that every line is read and written once.
template <bool Accumulate, class T>
void transpose(const Loops<2>& loops, size_t along, T* y, const T* x) {
  constexpr int64_t kTile = 64 / sizeof(T);
  const int64_t columns = loops.counts[0], x_step = loops.strides[1][0];
  const int64_t lines = loops.counts[along], y_step = loops.strides[0][along];
  Loops<2> around;
  for (size_t i = 1; i < loops.depth(); ++i)
    if (i != along) around.around(loops.counts[i], {loops.strides[0][i], loops.strides[1][i]});
  const int64_t strips = (lines + kTile - 1) / kTile, units = around.count(0) * strips;
#pragma omp parallel for schedule(static) if (units > 1)
  for (int64_t u = 0; u < units; ++u) {
    const int64_t first = u % strips * kTile, count = std::min(kTile, lines - first);
    T* to = y + around.offset(0, u / strips, 0) + first * y_step;
    const T* from = x + around.offset(1, u / strips, 0) + first;
    for (int64_t c = 0; c < columns; c += kTile)
      transpose_tile<Accumulate>(count, std::min(kTile, columns - c), to + c, y_step, from + c * x_step, x_step);
  }
}

// A loop nest in the order of y: {y, x}.
class Moved {
 public:
  explicit Moved(Loops<2> loops) : loops_(std::move(loops)) {
    for (size_t i = 1; i < loops_.depth(); ++i)
      if (loops_.strides[1][i] == 1) along_ = i;
  }

  template <bool Accumulate, class T>
  void run(T* y, const T* x) const {
    if (loops_.strides[1][0] == 1 || along_ == 0) copy<Accumulate>(loops_, y, x);
    else transpose<Accumulate>(loops_, along_, y, x);
  }

 private:
  Loops<2> loops_;
  size_t along_ = 0;  // the loop along which x is contiguous
};

}  // namespace plimsoll::host
