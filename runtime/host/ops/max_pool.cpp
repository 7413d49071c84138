// MaxPoolForward {x, y, indices}   MaxPoolBackward {indices, dy, dx}
// Not oneDNN's: where the processor has no AVX-512, its forward with indices takes three times as long as without them
// and its backward five times as long as this one. It has no vectorized code for plain layouts. An index is a position
// in the window, and counts the positions outside the image, too. As in PyTorch, the first of equal maxima is taken,
// and NaN is larger than any number.
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/host/windows.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// In a plain layout: the windows [begin, end) of a row, at most kPooledColumns, in vectors.
constexpr int64_t kPooledColumns = 64;
template <class T, class Index>
void forward_columns(const host::PoolWindows& g, int64_t begin, int64_t end, const host::Reach& layers,
                     const host::Reach& rows, const T* x, T* y, Index* indices) {
  float best[kPooledColumns];
  int32_t where[kPooledColumns];
  // The first position that is in the image.
  const int64_t line = (layers.position * g.kernel[1] + rows.position) * g.kernel[2];
  for (int64_t i = 0; i < end - begin; ++i) {
    const int64_t outside = g.padding - (begin + i) * g.stride;
    best[i] = -std::numeric_limits<float>::infinity();
    where[i] = static_cast<int32_t>(line + (outside <= 0 ? 0 : (outside + g.step[2] - 1) / g.step[2]));
  }
  for (int64_t d = layers.first, i = layers.position; d < layers.last; d += g.step[0], ++i)
    for (int64_t h = rows.first, j = rows.position; h < rows.last; h += g.step[1], ++j)
      for (int64_t k = 0; k < g.kernel[2]; ++k) {
        // The windows whose position k is in the image: 0 <= column · stride + from < in[2].
        const int64_t from = k * g.step[2] - g.padding;
        const int64_t first = std::max(begin, from >= 0 ? 0 : (-from + g.stride - 1) / g.stride);
        const int64_t last = std::min(end, from >= g.in[2] ? 0 : (g.in[2] - from - 1) / g.stride + 1);
        const T* pixels = x + (d * g.in[1] + h) * g.in[2] + first * g.stride + from;
        const auto at = static_cast<int32_t>((i * g.kernel[1] + j) * g.kernel[2] + k);
        const auto take = [&](int64_t stride) {
#pragma omp simd
          for (int64_t column = 0; column < last - first; ++column) {
            const float value = pixels[column * stride], kept = best[first - begin + column];
            const bool larger = (value > kept) | (value != value);
            best[first - begin + column] = larger ? value : kept;
            where[first - begin + column] = larger ? at : where[first - begin + column];
          }
        };
        switch (g.stride) {  // loads in vectors need a known stride
          case 1: take(1); break;
          case 2: take(2); break;
          default: take(g.stride);
        }
      }
  for (int64_t i = 0; i < end - begin; ++i) y[i] = best[i];
  if (indices != nullptr)
    for (int64_t i = 0; i < end - begin; ++i) indices[i] = static_cast<Index>(where[i]);
}

// In a blocked layout: one window of kBlock channels.
template <int kBlock, class T, class Index>
void forward_pixel(const host::PoolWindows& g, const host::Reach& layers, const host::Reach& rows,
                   const host::Reach& columns, const T* x, T* y, Index* indices) {
  typedef typename host::Planes<kBlock>::Vector Values;
  typedef int32_t Positions __attribute__((vector_size(sizeof(Values))));
  typedef Index Narrow __attribute__((vector_size(sizeof(Index) * kBlock)));
  const auto position = [&](int64_t i, int64_t j) {
    return static_cast<int32_t>((i * g.kernel[1] + j) * g.kernel[2] + columns.position);
  };
  Values best = Values{} - std::numeric_limits<float>::infinity();
  Positions where = Positions{} + position(layers.position, rows.position);
  for (int64_t d = layers.first, i = layers.position; d < layers.last; d += g.step[0], ++i)
    for (int64_t h = rows.first, j = rows.position; h < rows.last; h += g.step[1], ++j) {
      const T* line = x + (d * g.in[1] + h) * g.in[2] * kBlock;
      Positions at = Positions{} + position(i, j);
      for (int64_t w = columns.first; w < columns.last; w += g.step[2], at += 1) {
        const Values value = host::Planes<kBlock>::load(line + w * kBlock);
        const auto larger = (value > best) | (value != value);
        best = larger ? value : best;
        where = larger ? at : where;
      }
    }
  host::Planes<kBlock>::store(y, best);
  if (indices == nullptr) return;
  const Narrow narrow = __builtin_convertvector(where, Narrow);
  std::memcpy(indices, &narrow, sizeof narrow);
}

// `indices`: null if no gradient is needed.
template <int kBlock, class T, class Index>
void max_forward(const host::PoolWindows& g, const T* x, T* y, Index* indices) {
#pragma omp parallel for schedule(static)
  for (int64_t item = 0; item < g.planes * g.rows; ++item) {
    const int64_t plane = item / g.rows, out = plane * g.out_plane();
    const T* from = x + plane * g.in_plane * kBlock;
    if constexpr (kBlock == 1) {
      const int64_t row = item % g.rows, at = out + row * g.columns;
      for (int64_t begin = 0; begin < g.columns; begin += kPooledColumns)
        forward_columns(g, begin, std::min(begin + kPooledColumns, g.columns), g.layers(row), g.lines(row), from,
                        y + at + begin, indices == nullptr ? nullptr : indices + at + begin);
    } else {
      g.for_row(item % g.rows, [&](int64_t pixel, const host::Reach& layers, const host::Reach& rows,
                                   const host::Reach& columns) {
        forward_pixel<kBlock>(g, layers, rows, columns, from, y + (out + pixel) * kBlock,
                              indices == nullptr ? nullptr : indices + (out + pixel) * kBlock);
      });
    }
  }
}

// Of each position of a window: its distance from position 0, in pixels.
std::vector<int64_t> distances_in(const host::PoolWindows& g) {
  std::vector<int64_t> distances;
  for (int64_t i = 0; i < g.kernel[0]; ++i)
    for (int64_t j = 0; j < g.kernel[1]; ++j)
      for (int64_t k = 0; k < g.kernel[2]; ++k)
        distances.push_back((i * g.step[0] * g.in[1] + j * g.step[1]) * g.in[2] + k * g.step[2]);
  return distances;
}

template <int kBlock, class T, class Index>
void max_backward(const host::PoolWindows& g, const std::vector<int64_t>& distances, const Index* indices, const T* dy,
                  T* dx, float* sums, int64_t lanes) {
  host::add_up_planes(g.planes, g.in_plane * kBlock, lanes, dx, sums, [&](int64_t plane, float* to) {
    const int64_t out = plane * g.out_plane() * kBlock;
    for (int64_t row = 0; row < g.rows; ++row)
      g.for_row(row, [&](int64_t pixel, const host::Reach& layers, const host::Reach& rows,
                         const host::Reach& columns) {
        // A dilated window may skip a small input entirely.
        if (layers.last <= layers.first || rows.last <= rows.first || columns.last <= columns.first) return;
        const int64_t first = ((layers.first - layers.position * g.step[0]) * g.in[1] +
                               (rows.first - rows.position * g.step[1])) * g.in[2] +
                              (columns.first - columns.position * g.step[2]);
        const Index* index = indices + out + pixel * kBlock;
        const T* gradient = dy + out + pixel * kBlock;
        for (int c = 0; c < kBlock; ++c)
          to[(first + distances[static_cast<size_t>(index[c])]) * kBlock + c] += static_cast<float>(gradient[c]);
      });
  });
}

// body(zero of the real type, zero of the type of an index)
template <class Body>
void by_pool_types(DataType real, DataType index, Body body) {
  host::by_real(real, [&](auto zero) {
    index == DataType::i32 ? body(zero, int32_t{}) : body(zero, uint8_t{});
  });
}

class MaxPoolBackwardKernel final : public Kernel {
 public:
  MaxPoolBackwardKernel(const PoolAttrs& attrs, std::span<const OperandDesc> operands)
      : dx_(operands[2].tensor),
        windows_(attrs, dx_, operands[1].tensor, std::max(1, block_of(dx_.layout))),
        distances_(distances_in(windows_)),
        index_(operands[0].tensor.type),
        lanes_(host::PlaneSums(dx_, operands).lanes) {}

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(dx_.layout, [&](auto block) {
      by_pool_types(dx_.type, index_, [&](auto real, auto index) {
        using T = decltype(real);
        max_backward<decltype(block)::value>(windows_, distances_, host::in<decltype(index)>(operands, 0),
                                             host::in<T>(operands, 1), host::out<T>(operands, 2),
                                             reinterpret_cast<float*>(workspace), lanes_);
      });
    });
  }

 private:
  TensorDesc dx_;
  host::PoolWindows windows_;
  std::vector<int64_t> distances_;
  DataType index_;
  int64_t lanes_;
};

}  // namespace

std::vector<Algorithm> MaxPoolForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MaxPoolForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  const TensorDesc &x = operands[0].tensor, &y = operands[1].tensor;
  const bool training = operands[2].access != Access::absent;
  return host::by_block(x.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    return host::flat_kernel([g = host::PoolWindows(attrs, x, y, block), type = y.type, training,
                              index_type = operands[2].tensor.type](const RunContext&, std::byte* const* operand) {
      by_pool_types(type, index_type, [&](auto real, auto index) {
        using T = decltype(real);
        max_forward<decltype(block)::value>(g, host::in<T>(operand, 0), host::out<T>(operand, 1),
                                            training ? host::out<decltype(index)>(operand, 2) : nullptr);
      });
    });
  });
}

std::vector<Algorithm> MaxPoolBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = host::PlaneSums(operands[2].tensor, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> MaxPoolBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  return std::make_unique<MaxPoolBackwardKernel>(attrs, operands);
}

}  // namespace plimsoll
