// ResizeForward {x, y}   ResizeBackward {dy, dx}
// Each row and column of the result is between two of the input, `share` of the way from `low` to `high`; with nearest,
// both are the same one. Each plane is processed by one thread, in both directions, because the backward scatters.
//
// Where channels are interleaved, vectors are of channels. Where they are not, vectors are of columns: whole rows are
// blended. A row of the input is stretched once (in the backward, compressed once) for all rows of the result that are
// next to it.
#include "runtime/attrs/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Between {
  int64_t low = 0, high = 0;
  float share = 0;
};

// Removes rounding errors from results that should be integers: three times a third is 1.
double place_of(double start, double step, int64_t o) {
  const double place = start + step * static_cast<double>(o), whole = std::nearbyint(place);
  return std::abs(place - whole) < 1e-6 ? whole : place;
}

Between between(double place, int64_t in, int64_t nearest) {
  const double last = static_cast<double>(in - 1);
  double low = std::floor(place), high = low;
  switch (nearest) {
    case ResizeAttrs::kLinear: {
      const double at = std::clamp(place, 0.0, last);
      low = std::floor(at);
      return {static_cast<int64_t>(low), static_cast<int64_t>(std::min(low + 1, last)), static_cast<float>(at - low)};
    }
    case ResizeAttrs::kFloor: break;
    case ResizeAttrs::kCeil: high = std::ceil(place); break;
    case ResizeAttrs::kPreferFloor: high = std::ceil(place - 0.5); break;
    default: high = std::floor(place + 0.5);
  }
  const int64_t at = static_cast<int64_t>(std::clamp(high, 0.0, last));
  return {at, at, 0};
}

std::vector<Between> table(double start, double step, int64_t in, int64_t out, int64_t nearest) {
  std::vector<Between> all;
  for (int64_t o = 0; o < out; ++o) all.push_back(between(place_of(start, step, o), in, nearest));
  return all;
}

// The small side is the input, the other the result; series [N, C, W] are images of one row.
struct ResizeShape {
  int64_t planes, rows_in, columns_in;
  std::vector<Between> rows, columns;

  ResizeShape(const ResizeAttrs& a, const TensorDesc& x, const TensorDesc& y) : planes(x.dim(0) * x.dim(1)) {
    const bool image = x.rank() == 4;
    rows_in = image ? x.dim(2) : 1;
    columns_in = x.dim(x.rank() - 1);
    rows = table(a.row_start, a.row_step, rows_in, image ? y.dim(2) : 1, a.nearest);
    columns = table(a.column_start, a.column_step, columns_in, y.dim(y.rank() - 1), a.nearest);
  }
};

constexpr size_t kColumnsAtOnce = 512;  // of a row of the result

// Two buffers, each for one row of the input. Neighbouring rows of the result need the same two.
class TwoRows {
 public:
  // The buffer of this row; if none has it, make(buffer) turns the buffer that was not used last into one.
  template <class Make>
  float* of(int64_t row, Make make) {
    for (size_t i = 0; i < 2; ++i)
      if (rows_[i] == row) return used(i);
    const size_t other = 1 - last_;
    make(buffers_[other], rows_[other]);
    rows_[other] = row;
    return used(other);
  }
  // each(buffer, row) for those that have one.
  template <class Each>
  void finish(Each each) {
    for (size_t i = 0; i < 2; ++i)
      if (rows_[i] >= 0) each(buffers_[i], rows_[i]);
  }

 private:
  float* used(size_t i) {
    last_ = i;
    return buffers_[i];
  }

  float buffers_[2][kColumnsAtOnce];
  int64_t rows_[2] = {-1, -1};
  size_t last_ = 0;
};

// body(columns, number of the first) for some columns of the result at a time.
template <class Body>
void for_columns(const ResizeShape& shape, Body body) {
  const std::span<const Between> all(shape.columns);
  for (size_t first = 0; first < all.size(); first += kColumnsAtOnce)
    body(all.subspan(first, std::min(kColumnsAtOnce, all.size() - first)), first);
}

template <class T>
void forward_plane(const ResizeShape& shape, const T* from, T* to) {
  for_columns(shape, [&](std::span<const Between> columns, size_t first) {
    TwoRows held;
    const auto stretched = [&](int64_t row) {
      return held.of(row, [&](float* line, int64_t) {
        const T* const x = from + row * shape.columns_in;
        for (const Between& c : columns) *line++ = x[c.low] * (1 - c.share) + x[c.high] * c.share;
      });
    };
    T* y = to + first;
    for (const Between& r : shape.rows) {
      const float *const top = stretched(r.low), *const bottom = stretched(r.high);
      const float lower = r.share;
#pragma omp simd
      for (size_t c = 0; c < columns.size(); ++c) y[c] = top[c] * (1 - lower) + bottom[c] * lower;
      y += shape.columns.size();
    }
  });
}

template <int kBlock, class T>
void forward(const ResizeShape& shape, const T* x, T* y) {
  const int64_t in = shape.rows_in * shape.columns_in * kBlock, row = shape.columns_in * kBlock;
  const int64_t out = static_cast<int64_t>(shape.rows.size() * shape.columns.size()) * kBlock;
#pragma omp parallel for schedule(static)
  for (int64_t plane = 0; plane < shape.planes / kBlock; ++plane) {
    const T* const from = x + plane * in;
    T* to = y + plane * out;
    if constexpr (kBlock == 1) {
      forward_plane(shape, from, to);
      continue;
    }
    for (const Between& r : shape.rows) {
      const T *const above = from + r.low * row, *const below = from + r.high * row;
      for (const Between& c : shape.columns) {
        const float lower = r.share, right = c.share;
#pragma omp simd
        for (int k = 0; k < kBlock; ++k) {
          const float top = above[c.low * kBlock + k] * (1 - right) + above[c.high * kBlock + k] * right;
          const float bottom = below[c.low * kBlock + k] * (1 - right) + below[c.high * kBlock + k] * right;
          to[k] = top * (1 - lower) + bottom * lower;
        }
        to += kBlock;
      }
    }
  }
}

// Adds to dx, a plane.
template <class T>
void backward_plane(const ResizeShape& shape, const T* dy, float* dx) {
  for_columns(shape, [&](std::span<const Between> columns, size_t first) {
    TwoRows held;
    const auto compress = [&](const float* line, int64_t row) {
      float* const to = dx + row * shape.columns_in;
      for (const Between& c : columns) {
        const float slope = *line++;
        to[c.low] += slope * (1 - c.share);
        to[c.high] += slope * c.share;
      }
    };
    const auto add = [&](int64_t row, const T* from, float share) {
      float* const line = held.of(row, [&](float* buffer, int64_t before) {
        if (before >= 0) compress(buffer, before);
        std::fill_n(buffer, columns.size(), 0.0F);
      });
#pragma omp simd
      for (size_t c = 0; c < columns.size(); ++c) line[c] += from[c] * share;
    };
    const T* from = dy + first;
    for (const Between& r : shape.rows) {
      add(r.low, from, 1 - r.share);
      if (r.share != 0) add(r.high, from, r.share);
      from += shape.columns.size();
    }
    held.finish(compress);
  });
}

// In bf16 the shares of an element are added up in f32, and rounded once: `sums` has a plane of floats for each lane.
template <int kBlock, class T>
void backward(const ResizeShape& shape, bool adds, const T* dy, T* dx, float* sums, int64_t lanes) {
  constexpr bool in_place = std::is_same_v<T, float>;
  const int64_t in = shape.rows_in * shape.columns_in * kBlock, row = shape.columns_in * kBlock;
  const int64_t out = static_cast<int64_t>(shape.rows.size() * shape.columns.size()) * kBlock;
  host::for_work_items(shape.planes / kBlock, lanes, [&](int64_t plane, int64_t lane) {
    const T* from = dy + plane * out;
    float* to = sums + lane * in;
    if constexpr (in_place) to = dx + plane * in;
    if (!adds) std::fill_n(to, in, 0.0F);
    if constexpr (kBlock == 1) backward_plane(shape, from, to);
    for (const Between& r : kBlock == 1 ? std::span<const Between>() : std::span(shape.rows)) {
      float *const above = to + r.low * row, *const below = to + r.high * row;
      for (const Between& c : shape.columns) {
        const float lower = r.share, right = c.share;
#pragma omp simd
        for (int k = 0; k < kBlock; ++k) {
          const float top = from[k] * (1 - lower), bottom = from[k] * lower;
          above[c.low * kBlock + k] += top * (1 - right);
          above[c.high * kBlock + k] += top * right;
          below[c.low * kBlock + k] += bottom * (1 - right);
          below[c.high * kBlock + k] += bottom * right;
        }
        from += kBlock;
      }
    }
    if constexpr (!in_place)
      for (int64_t i = 0; i < in; ++i) dx[plane * in + i] = to[i];
  });
}

class ResizeBackwardKernel final : public Kernel {
 public:
  ResizeBackwardKernel(const ResizeAttrs& attrs, std::span<const OperandDesc> operands)
      : shape_(attrs, operands[1].tensor, operands[0].tensor),
        dx_(operands[1].tensor),
        adds_(operands[1].access == Access::update),
        sums_(dx_, operands) {}

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(dx_.layout, [&](auto block) {
      host::by_real(dx_.type, [&](auto zero) {
        using T = decltype(zero);
        backward<decltype(block)::value>(shape_, adds_, host::in<T>(operands, 0), host::out<T>(operands, 1),
                                         reinterpret_cast<float*>(workspace), sums_.lanes);
      });
    });
  }

 private:
  ResizeShape shape_;
  TensorDesc dx_;
  bool adds_;
  host::PlaneSums sums_;
};

}  // namespace

std::vector<Algorithm> ResizeForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ResizeForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  const TensorDesc& x = operands[0].tensor;
  return host::by_block(x.layout, [&](auto block) -> std::unique_ptr<Kernel> {
    return host::by_real(x.type, [&](auto zero) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      return host::flat_kernel(
          [shape = ResizeShape(attrs, x, operands[1].tensor)](const RunContext&, std::byte* const* operand) {
        forward<decltype(block)::value>(shape, host::in<T>(operand, 0), host::out<T>(operand, 1));
      });
    });
  });
}

std::vector<Algorithm> ResizeBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = host::PlaneSums(operands[1].tensor, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> ResizeBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  return std::make_unique<ResizeBackwardKernel>(attrs, operands);
}

}  // namespace plimsoll
