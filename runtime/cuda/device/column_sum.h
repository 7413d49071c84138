// Sums over the rows of a matrix whose columns are contiguous: a bias's gradient over the pixels of channels last,
// batch statistics, the gradients of a row normalization's parameters, a sum over leading dimensions.
//
//   columns →      groups of kAtOnce columns, `width` of them side by side
//   rows     part 0   | line 0 | line 0 | …     a block has a part of the rows, and a line every n-th of them
//     ↓               | line 1 | line 1 | …
//            part 1   | …                       the block that arrives last combines the parts
//
// A thread loads kAhead rows before it uses the first, by 16 bytes if the number of columns is a multiple of four. The
// order of summation depends only on the shape.
//
// What is summed is a Work:
//
//   kAtOnce, kAhead   columns and rows that a thread processes at once
//   Row               what is loaded of a row
//   at(group)         an object with load(row) → Row, for that group of columns
//   Running           a thread's sums: add(rows, count, column object) and partial(k) → Partial, of column k
//   Partial           a column's sum over some rows; Partial::Total combines several (below)
//   finish(column, Partial)   the end: called once per column
#pragma once

#include <algorithm>

#include "runtime/cuda/device/arrival.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {

// K sums of a column.
template <int K>
struct Sums {
  double of[K];

  struct Total {
    Sums sums{};
    __device__ explicit Total(const Sums&) {}
    __device__ void add(const Sums& other) {
      for (int k = 0; k < K; ++k) sums.of[k] += other.of[k];
    }
    __device__ Sums get() const { return sums; }
  };
};

// The mean and the sum of squares about it. Several are combined as sums about the mean of the first: those of any part
// are close enough to each other that nothing cancels in f64, and a division is needed at the end only.
struct Moments {
  double count, mean, squares;

  struct Total {
    double pivot, count = 0, sum = 0, squares = 0;  // of the values minus `pivot`
    __device__ explicit Total(const Moments& first) : pivot(first.mean) {}
    __device__ void add(const Moments& other) {
      const double off = other.mean - pivot;
      count += other.count;
      sum += other.count * off;
      squares += other.squares + other.count * off * off;
    }
    __device__ Moments get() const {
      if (count == 0) return {0, pivot, 0};
      const double off = sum / count;
      return {count, pivot + off, squares - sum * off};
    }
  };
};

struct ColumnParts {
  int64_t rows = 0, groups = 0;  // groups of kAtOnce columns
  int64_t parts = 1;
  int width = 16;  // a power of two

  ColumnParts() = default;
  ColumnParts(int64_t rows_, int64_t columns, int64_t at_once) : rows(rows_), groups(columns / at_once) {
    // As many blocks as an H200 runs at the same time, unless a thread would have too few rows to load ahead. A band is
    // 128 bytes wide, or 256 if there are enough columns for that: with narrow bands each has fewer parts, and the
    // block that combines them more threads for a column. On an H200 the moments of 50,176 rows of 128 columns take
    // 17 us so, and 31 us with 512 blocks and bands of 512 bytes.
    constexpr int64_t kBlocks = 264, kLeastRows = 16, kGroupsOfWide = 64;
    width = groups > kGroupsOfWide ? 16 : 8;
    parts = std::clamp<int64_t>(kBlocks / std::max<int64_t>(bands(), 1), 1,
                                std::max<int64_t>(divided_up(rows, kThreads / width * kLeastRows), 1));
  }
  int64_t bands() const { return divided_up(groups, width); }
  int64_t blocks() const { return bands() * parts; }
};

template <class Work>
int64_t column_sum_workspace(const ColumnParts& shape) {
  return shape.parts == 1
             ? 0
             : shape.parts * shape.groups * Work::kAtOnce * static_cast<int64_t>(sizeof(typename Work::Partial));
}

// The parts for which the last block waits for memory once, instead of once for each: its time is that of the whole
// sum's end.
inline constexpr int kPartsAhead = 8;

template <class Work>
__global__ void __launch_bounds__(kThreads, 2)
    column_sums_kernel(ColumnParts shape, Work work, typename Work::Partial* partial) {
  using Partial = typename Work::Partial;
  using Total = typename Partial::Total;
  constexpr int kAtOnce = Work::kAtOnce, kAhead = Work::kAhead;
  __shared__ Partial held[kThreads * kAtOnce];
  const int thread = static_cast<int>(threadIdx.x), width = shape.width, lines = kThreads / width,
            columns = width * kAtOnce;
  const int64_t band = int64_t{blockIdx.x} / shape.parts, part = int64_t{blockIdx.x} % shape.parts;
  const int64_t end = shape.rows * (part + 1) / shape.parts, group = band * width + thread % width;
  typename Work::Running running;
  if (group < shape.groups) {
    const auto column = work.at(group);
    for (int64_t first = shape.rows * part / shape.parts + thread / width; first < end; first += kAhead * lines) {
      typename Work::Row rows[kAhead];
      int count = 0;
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const int64_t row = first + k * lines;
        rows[k] = column.load(row < end ? row : end - 1);
        count += row < end;
      }
      running.add(rows, count, column);
    }
  }
  for (int k = 0; k < kAtOnce; ++k) held[thread * kAtOnce + k] = running.partial(k);
  __syncthreads();
  // From here on a thread has one column.
  const int64_t all = shape.groups * kAtOnce;
  if (thread < columns && band * columns + thread < all) {
    Total total(held[thread]);
    for (int line = 0; line < lines; ++line) total.add(held[line * columns + thread]);
    if (shape.parts == 1) work.finish(band * columns + thread, total.get());
    else partial[part * all + band * columns + thread] = total.get();
  }
  if (shape.parts == 1 || !arrives_last(band, static_cast<unsigned>(shape.parts))) return;
  // Several threads share a column: each has every `shares`-th part.
  const int shares = kThreads / columns, share = thread / columns;
  const int64_t at = band * columns + thread % columns;
  if (at < all) {
    Total total(partial[at]);
    for (int64_t first = share; first < shape.parts; first += kPartsAhead * shares) {
      Partial loaded[kPartsAhead];
#pragma unroll
      for (int k = 0; k < kPartsAhead; ++k) {
        const int64_t other = first + k * shares;
        loaded[k] = partial[(other < shape.parts ? other : first) * all + at];
      }
#pragma unroll
      for (int k = 0; k < kPartsAhead; ++k)
        if (first + k * shares < shape.parts) total.add(loaded[k]);
    }
    held[thread] = total.get();
  }
  __syncthreads();
  if (share != 0 || at >= all) return;
  Total total(held[thread]);
  for (int other = 0; other < shares; ++other) total.add(held[other * columns + thread]);
  work.finish(at, total.get());
}

// `workspace` has column_sum_workspace() bytes.
template <class Work>
void sum_columns(const char* name, const RunContext& context, const ColumnParts& shape, const Work& work,
                 void* workspace) {
  static_assert(kThreads / 8 <= 32 && 32 * Work::kAtOnce <= kThreads);
  launch(name, column_sums_kernel<Work>, shape.blocks(), kThreads, context, shape, work,
         static_cast<typename Work::Partial*>(workspace));
}

}  // namespace plimsoll::cuda
