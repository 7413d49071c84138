// LayerNormForward  {x, scale, bias, y, mean, deviation}                            x [rows, columns]
// LayerNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// RmsNormForward, RmsNormBackward: the same slots and formulas with a mean of 0 and without Σg; slot `mean` is absent.
//
// Each row is processed by one block, which reads and writes 16 bytes at a time, whatever the row's length
// (plane_steps.h). dscale and dbias are sums over rows (device/column_sum.h), computed before dx,
// because dx may overwrite dy or x.
#include "runtime/attrs/layer_norm.h"

#include "runtime/cuda/device/column_sum.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/cuda/ops/row_statistics.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kNormThreads = 128;

// One value per column, or the same for all.
template <class Part>
__device__ cuda::Few<Part::kAtOnce> columns_or(const Part& part, const float* values, int64_t begin, float otherwise) {
  return values ? part.load_of_columns(values, begin) : cuda::few_of<Part::kAtOnce>(otherwise);
}

template <cuda::Step kStep, bool kCentered, class T>
__global__ void layer_norm_kernel(int64_t n, double epsilon, const T* from, const float* scale, const float* bias,
                                  T* to, float* means, float* deviations) {
  const cuda::RowOf<kStep> row(blockIdx.x, n);
  const T* const x = from + row.base;
  T* const y = to + row.base;
  const auto [mean, d] = cuda::row_statistics<kNormThreads, kCentered>(x, row, epsilon);
  cuda::for_parts<kNormThreads>(row, [&, mean = mean, d = d](const auto& part) {
    const auto a = columns_or(part, scale, row.begin, 1), b = columns_or(part, bias, row.begin, 0);
    auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) few.of[k] = (few.of[k] - mean) * d * a.of[k] + b.of[k];
    part.template put<false>(y, few);
  });
  if (threadIdx.x != 0) return;
  if (means) means[blockIdx.x] = mean;
  if (deviations) deviations[blockIdx.x] = d;
}

// dscale and dbias: the sums of g · h and of g = dy over the rows.
template <int kColumns, class T>
struct ScaleSums {
  static constexpr int kAtOnce = kColumns, kAhead = 4;
  using Partial = cuda::Sums<2>;
  struct Row {
    cuda::Few<kAtOnce> x, dy;
    float mean, deviation;
  };

  const T *x, *dy;
  const float *means, *deviations;
  int64_t columns;
  bool add_scale, add_bias;
  float *dscale, *dbias;

  struct Column {
    const T *x, *dy;
    const float *means, *deviations;
    int64_t step;
    __device__ Row load(int64_t row) const {
      return {cuda::load_few<kAtOnce>(x + row * step), cuda::load_few<kAtOnce>(dy + row * step),
              means ? means[row] : 0.0F, deviations[row]};
    }
  };
  __device__ Column at(int64_t group) const {
    return {x + kAtOnce * group, dy + kAtOnce * group, means, deviations, columns};
  }

  struct Running {
    double along[kAtOnce] = {}, sum[kAtOnce] = {};
    __device__ void add(const Row* rows, int there, const Column&) {
      for (int c = 0; c < kAtOnce; ++c) {
        float of_products = 0, of_rows = 0;
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          const float g = k < there ? rows[k].dy.of[c] : 0;
          of_products += g * ((rows[k].x.of[c] - rows[k].mean) * rows[k].deviation);
          of_rows += g;
        }
        along[c] += static_cast<double>(of_products);
        sum[c] += static_cast<double>(of_rows);
      }
    }
    __device__ Partial partial(int c) const { return {{along[c], sum[c]}}; }
  };

  __device__ void finish(int64_t column, const Partial& sums) const {
    if (dscale) dscale[column] = static_cast<float>(sums.of[0]) + (add_scale ? dscale[column] : 0.0F);
    if (dbias) dbias[column] = static_cast<float>(sums.of[1]) + (add_bias ? dbias[column] : 0.0F);
  }
};

template <cuda::Step kStep, bool kCentered, class T>
__global__ void layer_norm_backward_kernel(int64_t n, const T* from, const T* slope, const float* scale,
                                           const float* means, const float* deviations, T* to) {
  const cuda::RowOf<kStep> row(blockIdx.x, n);
  const T *const x = from + row.base, *const dy = slope + row.base;
  T* const dx = to + row.base;
  const float mean = kCentered ? means[blockIdx.x] : 0.0F, d = deviations[blockIdx.x];
  double sum = 0, along = 0;
  cuda::for_parts<kNormThreads>(row, [&](const auto& part) {
    const auto a = columns_or(part, scale, row.begin, 1), u = part.load(x), v = part.load(dy);
    for (int k = 0; k < part.kAtOnce; ++k) {
      const float g = part.has(k) ? v.of[k] * a.of[k] : 0;
      if (kCentered) sum += static_cast<double>(g);
      along += static_cast<double>(g * ((u.of[k] - mean) * d));
    }
  });
  const float middle =
      kCentered ? static_cast<float>(cuda::block_sum_for_all<kNormThreads>(sum) / static_cast<double>(n)) : 0.0F;
  const float tilt = static_cast<float>(cuda::block_sum_for_all<kNormThreads>(along) / static_cast<double>(n));
  cuda::for_parts<kNormThreads>(row, [&](const auto& part) {
    const auto a = columns_or(part, scale, row.begin, 1), u = part.load(x);
    auto few = part.load(dy);
    for (int k = 0; k < part.kAtOnce; ++k) few.of[k] = d * (few.of[k] * a.of[k] - middle - (u.of[k] - mean) * d * tilt);
    part.template put<false>(dx, few);
  });
}

// Of the sums over rows; no rows: neither gradient is wanted.
cuda::ColumnParts sums_of(std::span<const OperandDesc> operands) {
  const int64_t rows = operands[0].tensor.dim(0), columns = operands[0].tensor.dim(1);
  const bool wanted = operands[6].access != Access::absent || operands[7].access != Access::absent;
  return wanted ? cuda::ColumnParts(rows, columns, columns % 4 == 0 ? 4 : 1) : cuda::ColumnParts();
}

template <bool kCentered>
std::unique_ptr<Kernel> row_norm_forward(const LayerNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  const int64_t rows = operands[0].tensor.dim(0), columns = operands[0].tensor.dim(1);
  const double epsilon = attrs.epsilon;
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::by_step_of_plane(cuda::step_of_plane(columns), [&](auto step) {
        cuda::launch("normalization of rows", layer_norm_kernel<decltype(step)::value, kCentered, T>, rows,
                     kNormThreads, context, columns, epsilon, cuda::in<T>(operand, 0), cuda::in(operand, 1),
                     cuda::in(operand, 2), cuda::out<T>(operand, 3), cuda::out(operand, 4), cuda::out(operand, 5));
      });
    });
  });
}

std::vector<Algorithm> row_norm_backward_algorithms(std::span<const OperandDesc> operands) {
  const cuda::ColumnParts sums = sums_of(operands);
  return {{.workspace_bytes = operands[0].tensor.dim(1) % 4 == 0
                                  ? cuda::column_sum_workspace<ScaleSums<4, float>>(sums)
                                  : cuda::column_sum_workspace<ScaleSums<1, float>>(sums)}};
}

template <bool kCentered>
std::unique_ptr<Kernel> row_norm_backward(std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  const cuda::ColumnParts sums = sums_of(operands);
  const int64_t rows = operands[0].tensor.dim(0), columns = operands[0].tensor.dim(1);
  const bool add_scale = cuda::adds(operands[6]), add_bias = cuda::adds(operands[7]);
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      const T *const x = cuda::in<T>(operand, 0), *const dy = cuda::in<T>(operand, 1);
      const float *const means = cuda::in(operand, 3), *const deviations = cuda::in(operand, 4);
      cuda::by_row(columns, [&](auto at_once) {
        constexpr int kAtOnce = decltype(at_once)::value;
        cuda::sum_columns("sums of a normalization of rows", context, sums,
                          ScaleSums<kAtOnce, T>{x, dy, means, deviations, columns, add_scale, add_bias,
                                                cuda::out(operand, 6), cuda::out(operand, 7)},
                          workspace);
      });
      if (operand[5])
        cuda::by_step_of_plane(cuda::step_of_plane(columns), [&](auto step) {
          cuda::launch("gradient of a normalization of rows",
                       layer_norm_backward_kernel<decltype(step)::value, kCentered, T>, rows, kNormThreads, context,
                       columns, x, dy, cuda::in(operand, 2), means, deviations, cuda::out<T>(operand, 5));
        });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(LayerNormForward, return row_norm_forward<true>(attrs, operands);)
PLIMSOLL_CUDA_KERNEL(RmsNormForward, return row_norm_forward<false>(attrs, operands);)

std::vector<Algorithm> LayerNormBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return row_norm_backward_algorithms(operands);
}

std::unique_ptr<Kernel> LayerNormBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return row_norm_backward<true>(operands);
}

std::vector<Algorithm> RmsNormBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return row_norm_backward_algorithms(operands);
}

std::unique_ptr<Kernel> RmsNormBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return row_norm_backward<false>(operands);
}

}  // namespace plimsoll
