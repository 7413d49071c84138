// LrnForward {x, y}   LrnBackward {x, dy, dx}
//
// The neighbours of a channel are far apart in memory in every layout. The channels of a pixel are gathered into a row
// of the workspace, with zeros around, and the window slides over that row:
//
//   squares  | 0 0 | x0² x1² x2² …            | 0 0 |
//                    └──── size ────┘
#include <algorithm>
#include <cmath>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/planes.h"
#include "runtime/host/real.h"
#include "runtime/host/work_items.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kPixelsOfItem = 64;

struct LrnGeometry {
  host::PlaneShape shape;
  int64_t block;          // number of adjacent channels
  int64_t before, after;  // neighbours of a channel within its window
  int64_t row;            // floats of one gathered row with its margins, in whole cache lines
  float alpha, beta, bias;  // alpha divided by size

  int64_t rows, items, lanes;  // rows of the workspace of a lane

  LrnGeometry(const LrnAttrs& attrs, std::span<const OperandDesc> operands, int64_t rows_of_lane)
      : LrnGeometry(attrs, operands, operands[0].tensor, rows_of_lane) {}

  LrnGeometry(const LrnAttrs& attrs, std::span<const OperandDesc> operands, const TensorDesc& x, int64_t rows_of_lane)
      : shape(x),
        block(host::by_block(x.layout, [](auto b) -> int64_t { return b; })),
        before((attrs.size - 1) / 2),
        after(attrs.size / 2),
        row((shape.channels + before + after + 15) / 16 * 16),
        alpha(static_cast<float>(attrs.alpha / static_cast<double>(attrs.size))),
        beta(static_cast<float>(attrs.beta)),
        bias(static_cast<float>(attrs.bias)),
        rows(rows_of_lane),
        items((pixels() + kPixelsOfItem - 1) / kPixelsOfItem),
        lanes(host::lanes_of(items, lane_bytes(), host::bytes_of(operands))) {}

  int64_t pixels() const { return shape.samples * shape.pixels; }
  int64_t lane_bytes() const { return rows * row * static_cast<int64_t>(sizeof(float)); }
  int64_t workspace_bytes() const { return lanes * lane_bytes(); }

  // body(offset of the pixel's channels in the tensor, workspace of the lane) for every pixel of every sample.
  template <class Body>
  void for_pixels(std::byte* workspace, Body body) const {
    host::for_work_items(items, lanes, [&](int64_t item, int64_t lane) {
      float* const scratch = reinterpret_cast<float*>(workspace) + lane * rows * row;
      std::fill_n(scratch, rows * row, 0.0F);
      for (int64_t i = item * kPixelsOfItem; i < std::min(pixels(), (item + 1) * kPixelsOfItem); ++i)
        body(i / shape.pixels * shape.channels * shape.pixels + i % shape.pixels * block, scratch);
    });
  }

  // visit(channel, offset in the tensor), one block of channels at a time.
  template <int kBlock, class Visit>
  void for_channels(int64_t pixel, Visit visit) const {
    for (int64_t c = 0; c < shape.channels; c += kBlock) {
      const int64_t place = pixel + c * shape.pixels;
#pragma omp simd
      for (int i = 0; i < kBlock; ++i) visit(c + i, place + i);
    }
  }

  // sums[c] = sum of values[c - left … c + right]; `values` includes its margins.
  void slide(const float* values, int64_t left, int64_t right, float* sums) const {
    std::fill_n(sums, shape.channels, 0.0F);
    for (int64_t k = -left; k <= right; ++k)
      for (int64_t c = 0; c < shape.channels; ++c) sums[c] += values[c + k];
  }

  // scale^-beta; for AlexNet's beta without a logarithm.
  float power(float scale) const {
    return beta == 0.75F ? 1.0F / (std::sqrt(scale) * std::sqrt(std::sqrt(scale))) : std::pow(scale, -beta);
  }
};

template <int kBlock, class T>
void forward(const LrnGeometry& g, const T* x, T* y, std::byte* workspace) {
  g.for_pixels(workspace, [&](int64_t pixel, float* scratch) {
    float *squares = scratch + g.before, *scale = scratch + g.row;
    g.for_channels<kBlock>(pixel, [=](int64_t c, int64_t at) { squares[c] = x[at] * x[at]; });
    g.slide(squares, g.before, g.after, scale);
    for (int64_t c = 0; c < g.shape.channels; ++c) scale[c] = g.power(g.bias + g.alpha * scale[c]);
    g.for_channels<kBlock>(pixel, [=](int64_t c, int64_t at) { y[at] = x[at] * scale[c]; });
  });
}

// With s the scale and t = s^-beta:  dx_c = dy_c t_c - 2 alpha beta x_c * sum of dy_j x_j t_j / s_j over the windows j
// that contain c; these extend in the opposite direction.
template <int kBlock, class T>
void backward(const LrnGeometry& g, const T* x, const T* dy, T* dx, std::byte* workspace) {
  g.for_pixels(workspace, [&](int64_t pixel, float* scratch) {
    float *squares = scratch + g.before, *scale = scratch + g.row;
    float *shares = scratch + 2 * g.row + g.after, *power = scratch + 3 * g.row;
    g.for_channels<kBlock>(pixel, [=](int64_t c, int64_t at) { squares[c] = x[at] * x[at]; });
    g.slide(squares, g.before, g.after, scale);
    for (int64_t c = 0; c < g.shape.channels; ++c) scale[c] = g.bias + g.alpha * scale[c];
    for (int64_t c = 0; c < g.shape.channels; ++c) power[c] = g.power(scale[c]);
    g.for_channels<kBlock>(pixel, [=](int64_t c, int64_t at) { shares[c] = dy[at] * x[at] * power[c] / scale[c]; });
    g.slide(shares, g.after, g.before, scale);
    const float factor = 2 * g.alpha * g.beta;
    g.for_channels<kBlock>(pixel,
                           [=](int64_t c, int64_t at) { dx[at] = dy[at] * power[c] - factor * x[at] * scale[c]; });
  });
}

class LrnKernel final : public Kernel {
 public:
  LrnKernel(const LrnAttrs& attrs, std::span<const OperandDesc> operands, bool is_forward)
      : geometry_(attrs, operands, is_forward ? 2 : 4),
        layout_(operands[0].tensor.layout),
        type_(operands[0].tensor.type),
        forward_(is_forward) {}

  int64_t workspace_bytes() const { return geometry_.workspace_bytes(); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    host::by_block(layout_, [&](auto block) {
      host::by_real(type_, [&](auto zero) {
        using T = decltype(zero);
        const T *x = host::in<T>(operands, 0), *dy = host::in<T>(operands, 1);
        if (forward_) forward<decltype(block)::value>(geometry_, x, host::out<T>(operands, 1), workspace);
        else backward<decltype(block)::value>(geometry_, x, dy, host::out<T>(operands, 2), workspace);
      });
    });
  }

 private:
  const LrnGeometry geometry_;
  const Layout layout_;
  const DataType type_;
  const bool forward_;
};

}  // namespace

std::vector<Algorithm> LrnForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = LrnKernel(attrs, operands, true).workspace_bytes()}};
}

std::unique_ptr<Kernel> LrnForward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<LrnKernel>(attrs, operands, true);
}

std::vector<Algorithm> LrnBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = LrnKernel(attrs, operands, false).workspace_bytes()}};
}

std::unique_ptr<Kernel> LrnBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                          std::string_view) {
  return std::make_unique<LrnKernel>(attrs, operands, false);
}

}  // namespace plimsoll
