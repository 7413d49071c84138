// The same elements, traversed with other strides: slices, transpositions and other layouts.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

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
// pass through the first-level cache, so that every line is read and written once. Some tiles along x are one unit of
// work: the columns of x lie far apart, and the processor fetches several lines of a column faster than one.
template <bool Accumulate, class T>
void transpose(const Loops<2>& loops, size_t along, T* y, const T* x) {
  constexpr int64_t kTile = 64 / sizeof(T), kMostTiles = 4, kUnits = 64;
  const int64_t columns = loops.counts[0], x_step = loops.strides[1][0];
  const int64_t lines = loops.counts[along], y_step = loops.strides[0][along];
  Loops<2> around;
  for (size_t i = 1; i < loops.depth(); ++i)
    if (i != along) around.around(loops.counts[i], {loops.strides[0][i], loops.strides[1][i]});
  const int64_t tiles = around.count(0) * ((lines + kTile - 1) / kTile);
  const int64_t strip = kTile * std::clamp<int64_t>(tiles / kUnits, 1, kMostTiles);
  const int64_t strips = (lines + strip - 1) / strip, units = around.count(0) * strips;
#pragma omp parallel for schedule(static) if (units > 1)
  for (int64_t u = 0; u < units; ++u) {
    const int64_t first = u % strips * strip, count = std::min(strip, lines - first);
    T* to = y + around.offset(0, u / strips, 0) + first * y_step;
    const T* from = x + around.offset(1, u / strips, 0) + first;
    for (int64_t c = 0; c < columns; c += kTile)
      for (int64_t line = 0; line < count; line += kTile)
        transpose_tile<Accumulate>(std::min(kTile, count - line), std::min(kTile, columns - c), to + line * y_step + c,
                                   y_step, from + c * x_step + line, x_step);
  }
}

// The number of places of an operand that a loop nest reads or writes in turn: the rows that it passes before the one
// that is next to the first in this operand.
inline int64_t places_of(const Loops<2>& loops, size_t operand) {
  int64_t places = 1;
  for (size_t i = 1; i < loops.depth() && loops.strides[operand][i] != loops.counts[0]; ++i) places *= loops.counts[i];
  return places;
}

// The same loops in the order of x.
inline Loops<2> in_order_of_x(const Loops<2>& loops) {
  std::vector<size_t> order(loops.depth());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin() + 1, order.end(),
            [&](size_t a, size_t b) { return loops.strides[1][a] < loops.strides[1][b]; });
  Loops<2> ordered;
  for (const size_t i : order) {
    ordered.counts.push_back(loops.counts[i]);
    for (size_t k = 0; k < 2; ++k) ordered.strides[k].push_back(loops.strides[k][i]);
  }
  return ordered;
}

// A loop nest in the order of y: {y, x}. If both are contiguous along the same axis, rows are copied in the order of x
// where y is then written in fewer places than x would be read in: [N,T,3,H,d] → [3,N,H,T,d] is written in 3·H places,
// but read in T.
class Moved {
 public:
  explicit Moved(Loops<2> loops) : loops_(std::move(loops)) {
    if (loops_.strides[0][0] == 1 && loops_.strides[1][0] == 1) {
      Loops<2> other = in_order_of_x(loops_);
      if (places_of(other, 0) < places_of(loops_, 1)) loops_ = std::move(other);
      return;
    }
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
