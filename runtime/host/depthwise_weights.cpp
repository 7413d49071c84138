#include "runtime/host/depthwise_weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/product_of_tiles.h"
#include "runtime/host/real.h"
#include "runtime/host/square.h"
#include "runtime/host/work_items.h"

namespace plimsoll::host {
namespace {

using Lanes = Planes<kWidest>;
using Vector = Lanes::Vector;

// The sums that are kept in registers belong to a tile of the kernel's rows and columns.
constexpr int64_t kMostRows = 8, kMostColumns = 3;
#ifdef __AVX512F__
constexpr int64_t kMostSums = 24;
#else
constexpr int64_t kMostSums = 12;
#endif

// A row of dy, and the rows of x that it is multiplied with; each pixel is a vector.
struct TileOfTaps {
  const float* const* x;  // one for each row of the tile, from the pixel of its first column on
  const float* dy;
  int64_t pixels;            // of dy
  int64_t stride, dilation;  // floats of x from one pixel of dy to the next, and from one column to the next
  float* sums;
  int64_t row_of_sums;  // floats
};

template <int kRows, int kColumns>
void add_products(const TileOfTaps& tile) {
  Vector sums[kRows][kColumns];
  const float* x[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    x[r] = tile.x[r];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) sums[r][c] = Lanes::load(tile.sums + r * tile.row_of_sums + c * kWidest);
  }
  const int64_t stride = tile.stride, dilation = tile.dilation;
  int64_t at = 0;
  for (int64_t pixel = 0; pixel < tile.pixels; ++pixel, at += stride) {
    const Vector dy = Lanes::load(tile.dy + pixel * kWidest);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) add_product(dy, Lanes::load(x[r] + at + c * dilation), sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) Lanes::store(tile.sums + r * tile.row_of_sums + c * kWidest, sums[r][c]);
  }
}

using AddProducts = void (*)(const TileOfTaps&);

template <size_t... kTiles>
constexpr auto all_tiles(std::index_sequence<kTiles...>) {
  return std::array<AddProducts, sizeof...(kTiles)>{
      &add_products<kTiles / kMostColumns + 1, kTiles % kMostColumns + 1>...};
}
constexpr auto kTiles = all_tiles(std::make_index_sequence<kMostRows * kMostColumns>());

// How many of `left` rows or columns are next, so that all tiles have at most `most`, and about as many.
int64_t next_of(int64_t left, int64_t most) { return left / ((left + most - 1) / most); }

// An activation, read row by row.
struct Image {
  int64_t channels, rows, columns, block;

  explicit Image(const TensorDesc& desc)
      : channels(desc.dim(1)),
        rows(desc.dim(2)),
        columns(desc.dim(3)),
        block(by_block(desc.layout, [](auto b) -> int64_t { return b; })) {}

  int64_t offset(int64_t sample, int64_t channel, int64_t row) const {
    const int64_t blocks = (channels + block - 1) / block;
    return ((sample * blocks + channel / block) * rows + row) * columns * block + channel % block;
  }

  // to[pixel] = the channels from `channel` on, in f32; those that do not exist are 0.
  template <class T>
  void read_row(const T* from, int64_t sample, int64_t channel, int64_t row, int64_t pixels, float* to) const {
    if (block % kWidest == 0) {
      const T* at = from + offset(sample, channel, row);
      for (int64_t pixel = 0; pixel < pixels; ++pixel)
        Lanes::store(to + pixel * kWidest, Lanes::load(at + pixel * block));
      return;
    }
    int64_t done = 0;
    if (block == 1 && channel + kWidest <= channels)
      done = transpose_row(from + offset(sample, channel, row), rows * columns, pixels, to);
    for (int64_t lane = 0; lane < kWidest; ++lane) {
      const bool exists = channel + lane < channels;
      const T* at = from + (exists ? offset(sample, channel + lane, row) : 0);
      for (int64_t pixel = done; pixel < pixels; ++pixel)
        to[pixel * kWidest + lane] = exists ? static_cast<float>(at[pixel * block]) : 0.0F;
    }
  }

 private:
  // As many pixels of a plain row as fill squares; returns their number. `step`: from one channel to the next.
  template <class T>
  static int64_t transpose_row(const T* from, int64_t step, int64_t pixels, float* to) {
    constexpr int kSize = Square<float>::kSize;
    const int64_t whole = pixels / kSize * kSize;
    for (int64_t first = 0; first < whole; first += kSize) {
      for (int lane = 0; lane < kWidest; lane += kSize) {
        Square<float> square;
        for (int i = 0; i < kSize; ++i) square.row(i) = Planes<kSize>::load(from + (lane + i) * step + first);
        square.transpose();
        for (int i = 0; i < kSize; ++i) Planes<kSize>::store(to + (first + i) * kWidest + lane, square.row(i));
      }
    }
    return whole;
  }
};

// One axis of the window.
struct Axis {
  int64_t kernel, stride, dilation, before;

  // The pixel that tap 0 reads for this output; it may be outside the image.
  int64_t start(int64_t output) const { return output * stride - before; }
  // The taps that read one of `size` pixels.
  Part taps_inside(int64_t output, int64_t size) const {
    const int64_t from = start(output);
    const auto taps_before = [&](int64_t pixel) {  // that read in front of it
      return pixel <= from ? 0 : std::min(kernel, (pixel - from + dilation - 1) / dilation);
    };
    return {taps_before(0), taps_before(size)};
  }
};

struct Depthwise {
  Image x, dy;
  int64_t samples;
  Axis rows, columns;
  int64_t block_of_weights;  // channels per block of dw
  bool adds[2];              // to what dw and db have
  int64_t blocks, parts;     // of channels, a vector each; of the rows of dy, counted over all samples
  int64_t lanes;

  Depthwise(const ConvAttrs& attrs, std::span<const OperandDesc> operands)
      : x(operands[0].tensor),
        dy(operands[1].tensor),
        samples(operands[0].tensor.dim(0)),
        rows{operands[2].tensor.dim(2), attrs.strides[0], attrs.dilations[0], attrs.pads[0]},
        columns{operands[2].tensor.dim(3), attrs.strides[1], attrs.dilations[1], attrs.pads[1]},
        block_of_weights(operands[2].tensor.layout == Layout::Goihw16g  ? 16
                         : operands[2].tensor.layout == Layout::Goihw8g ? 8
                                                                        : 1),
        adds{operands[2].access == Access::update, operands[3].access == Access::update},
        blocks((x.channels + kWidest - 1) / kWidest),
        parts(std::min(samples * dy.rows,
                       parts_of(blocks, samples * dy.rows * dy.columns * rows.kernel * columns.kernel * kWidest))),
        lanes(lanes_of(blocks * parts, lane_bytes(), bytes_of(operands))) {}

  int64_t taps() const { return rows.kernel * columns.kernel; }
  int64_t held_rows() const { return (rows.kernel - 1) * rows.dilation + 1; }
  // Of x and its padding, as far as they are read.
  int64_t held_columns() const {
    return (dy.columns - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1;
  }
  int64_t sums() const { return (taps() + 1) * kWidest; }  // of a work item, in floats
  int64_t sums_bytes() const { return parts * blocks * sums() * static_cast<int64_t>(sizeof(float)); }
  int64_t lane_bytes() const {
    const int64_t floats = (held_rows() * held_columns() + dy.columns) * kWidest;
    return floats * static_cast<int64_t>(sizeof(float)) +
           (held_rows() * static_cast<int64_t>(sizeof(int64_t)) + 63) / 64 * 64;
  }
  int64_t workspace_bytes() const { return sums_bytes() + lanes * lane_bytes(); }
};

// The last rows of x that were read, each in the place that follows from its number.
class HeldRows {
 public:
  HeldRows(const Depthwise& shape, float* rows, int64_t* numbers)
      : shape_(shape), rows_(rows), numbers_(numbers), count_(shape.held_rows()), width_(shape.held_columns()) {}

  void clear() { std::fill_n(numbers_, count_, int64_t{-1}); }

  template <class T>
  const float* row(const T* x, int64_t sample, int64_t channel, int64_t number) {
    const int64_t place = number % count_;
    float* const to = rows_ + place * width_ * kWidest;
    if (std::exchange(numbers_[place], number) == number) return to;
    const int64_t before = std::min(shape_.columns.before, width_), there = std::min(shape_.x.columns, width_ - before);
    std::fill_n(to, before * kWidest, 0.0F);
    shape_.x.read_row(x, sample, channel, number, there, to + before * kWidest);
    std::fill_n(to + (before + there) * kWidest, (width_ - before - there) * kWidest, 0.0F);
    return to;
  }

 private:
  const Depthwise& shape_;
  float* const rows_;
  int64_t* const numbers_;
  const int64_t count_, width_;
};

template <class T>
class DepthwiseKernel final : public Kernel {
 public:
  explicit DepthwiseKernel(const Depthwise& shape) : shape_(shape) {}

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const T *x = in<T>(operands, 0), *dy = in<T>(operands, 1);
    float* const sums = reinterpret_cast<float*>(workspace);
    std::byte* const buffers = workspace + shape_.sums_bytes();
    for_work_items(shape_.blocks * shape_.parts, shape_.lanes, [&](int64_t item, int64_t lane) {
      const Part part = part_of(item / shape_.blocks, shape_.parts, shape_.samples * shape_.dy.rows);
      add_up(x, dy, item % shape_.blocks * kWidest, part, sums + item * shape_.sums(),
             buffers + lane * shape_.lane_bytes());
    });
    finish(sums, out(operands, 2), out(operands, 3));
  }

 private:
  // The sums of a vector of channels over some rows of dy.
  void add_up(const T* x, const T* dy, int64_t channel, Part part, float* sums, std::byte* buffers) const {
    float* const rows = reinterpret_cast<float*>(buffers);
    float* const row_of_dy = rows + shape_.held_rows() * shape_.held_columns() * kWidest;
    HeldRows held(shape_, rows, reinterpret_cast<int64_t*>(row_of_dy + shape_.dy.columns * kWidest));
    std::fill_n(sums, shape_.sums(), 0.0F);
    Vector sum_of_dy{};
    for (int64_t i = part.first; i < part.end; ++i) {
      const int64_t sample = i / shape_.dy.rows, row = i % shape_.dy.rows;
      if (i == part.first || row == 0) held.clear();
      shape_.dy.read_row(dy, sample, channel, row, shape_.dy.columns, row_of_dy);
      for (int64_t pixel = 0; pixel < shape_.dy.columns; ++pixel) sum_of_dy += Lanes::load(row_of_dy + pixel * kWidest);
      const Part taps = shape_.rows.taps_inside(row, shape_.x.rows);
      for (int64_t first = taps.first, some; first < taps.end; first += some) {
        some = next_of(taps.end - first, kMostRows);
        const float* lines[kMostRows];
        for (int64_t r = 0; r < some; ++r)
          lines[r] = held.row(x, sample, channel, shape_.rows.start(row) + (first + r) * shape_.rows.dilation);
        multiply(lines, some, row_of_dy, sums + first * shape_.columns.kernel * kWidest);
      }
    }
    Lanes::store(sums + shape_.taps() * kWidest, sum_of_dy);
  }

  // All columns of some rows of the kernel.
  void multiply(const float** lines, int64_t rows, const float* row_of_dy, float* sums) const {
    const Axis& columns = shape_.columns;
    const int64_t most = std::clamp<int64_t>(kMostSums / rows, 1, kMostColumns), dilation = columns.dilation * kWidest;
    for (int64_t first = 0, some; first < columns.kernel; first += some) {
      some = next_of(columns.kernel - first, most);
      const TileOfTaps tile{.x = lines,
                            .dy = row_of_dy,
                            .pixels = shape_.dy.columns,
                            .stride = columns.stride * kWidest,
                            .dilation = dilation,
                            .sums = sums + first * kWidest,
                            .row_of_sums = columns.kernel * kWidest};
      kTiles[static_cast<size_t>((rows - 1) * kMostColumns + some - 1)](tile);
      for (int64_t r = 0; r < rows; ++r) lines[r] += some * dilation;
    }
  }

  void finish(const float* sums, float* dw, float* db) const {
    const int64_t taps = shape_.taps(), all = shape_.blocks * shape_.sums(), block = shape_.block_of_weights;
    const bool adds_to_dw = shape_.adds[0], adds_to_db = shape_.adds[1];
    add_shares(sums, shape_.parts, all, all, [=, channels = shape_.x.channels](int64_t j, float sum) {
      const int64_t vector = j / kWidest, tap = vector % (taps + 1);
      const int64_t channel = vector / (taps + 1) * kWidest + j % kWidest;
      if (channel >= channels) return;
      if (tap < taps) {
        float& to = dw[(channel / block * taps + tap) * block + channel % block];
        to = sum + (adds_to_dw ? to : 0.0F);
      } else if (db != nullptr) {
        db[channel] = sum + (adds_to_db ? db[channel] : 0.0F);
      }
    });
  }

  const Depthwise shape_;
};

}  // namespace

DepthwiseWeights depthwise_weights(const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  const TensorDesc &x = operands[0].tensor, &dy = operands[1].tensor, &dw = operands[2].tensor;
  const auto is_none_of = [](Layout layout, std::initializer_list<Layout> known) {
    return std::find(known.begin(), known.end(), layout) == known.end();
  };
  if (operands[2].access == Access::absent || x.rank() != 4 || attrs.group != x.dim(1) || dw.dim(0) != attrs.group)
    return {};
  if (x.type != dy.type || (x.type != DataType::f32 && x.type != DataType::bf16) || dw.type != DataType::f32) return {};
  for (const Layout layout : {x.layout, dy.layout})
    if (is_none_of(layout, {Layout::plain, Layout::nChw8c, Layout::nChw16c})) return {};
  if (is_none_of(dw.layout, {Layout::plain, Layout::Goihw8g, Layout::Goihw16g})) return {};
  if (std::any_of(attrs.pads.begin(), attrs.pads.end(), [](int64_t pad) { return pad < 0; })) return {};
  const Depthwise shape(attrs, operands);
  if (attrs.group % shape.block_of_weights != 0) return {};
  return {by_real(x.type, [&](auto zero) -> std::unique_ptr<Kernel> {
            return std::make_unique<DepthwiseKernel<decltype(zero)>>(shape);
          }),
          shape.workspace_bytes()};
}

}  // namespace plimsoll::host
