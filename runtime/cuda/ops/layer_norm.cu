// LayerNormForward  {x, scale, bias, y, mean, deviation}                            x [rows, columns]
// LayerNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// RmsNormForward, RmsNormBackward: the same slots and formulas with a mean of 0 and without Σg; slot `mean` is absent.
//
// Each row is processed by one block. dscale and dbias are sums over rows: a thread has a column of a chunk of rows;
// the shares of the chunks are in the workspace and are added in order. They are computed before dx, because dx may
// overwrite dy or x.
#include "runtime/attrs/layer_norm.h"

#include <algorithm>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/reduce.h"
#include "runtime/cuda/row_statistics.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kNormThreads = 128;
constexpr int64_t kMostChunks = 64;

// One value per column, or the same for all.
template <int kAtOnce>
__device__ cuda::Few<kAtOnce> columns_or(const float* values, int64_t j, float otherwise) {
  return values ? cuda::load_few<kAtOnce>(values + j) : cuda::few_of<kAtOnce>(otherwise);
}

template <int kAtOnce, bool kCentered>
__global__ void layer_norm_kernel(int64_t n, double epsilon, const float* from, const float* scale, const float* bias,
                                  float* to, float* means, float* deviations) {
  const float* const x = from + blockIdx.x * n;
  float* const y = to + blockIdx.x * n;
  const cuda::RowStatistics row = cuda::row_statistics<kNormThreads, kAtOnce, kCentered>(x, n, epsilon);
  const float mean = row.mean, d = row.inverse_deviation;
  cuda::for_columns<kNormThreads, kAtOnce>(n, [&](int64_t j) {
    const cuda::Few<kAtOnce> a = columns_or<kAtOnce>(scale, j, 1), b = columns_or<kAtOnce>(bias, j, 0);
    cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(x + j);
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = (few.of[k] - mean) * d * a.of[k] + b.of[k];
    cuda::store_few(y + j, few);
  });
  if (threadIdx.x != 0) return;
  if (means) means[blockIdx.x] = mean;
  if (deviations) deviations[blockIdx.x] = d;
}

struct Chunks {
  int64_t rows, columns, count;
  int64_t floats() const { return count * 2 * columns; }
};

// The shares of dscale and dbias, for one column of one chunk.
__global__ void shares_kernel(Chunks c, const float* x, const float* dy, const float* means, const float* deviations,
                              float* shares) {
  const int64_t number = cuda::thread_number();
  if (number >= c.count * c.columns) return;
  const int64_t chunk = number / c.columns, column = number % c.columns;
  float along = 0, sum = 0;
  for (int64_t i = chunk * c.rows / c.count; i < (chunk + 1) * c.rows / c.count; ++i) {
    const float g = dy[i * c.columns + column];
    along += g * ((x[i * c.columns + column] - (means ? means[i] : 0.0F)) * deviations[i]);
    sum += g;
  }
  shares[chunk * 2 * c.columns + column] = along;
  shares[(chunk * 2 + 1) * c.columns + column] = sum;
}

__global__ void layer_norm_sums_kernel(Chunks c, const float* shares, bool add_scale, bool add_bias, float* dscale,
                                       float* dbias) {
  const int64_t column = cuda::thread_number();
  if (column >= c.columns) return;
  double along = 0, sum = 0;
  for (int64_t chunk = 0; chunk < c.count; ++chunk) {
    along += static_cast<double>(shares[chunk * 2 * c.columns + column]);
    sum += static_cast<double>(shares[(chunk * 2 + 1) * c.columns + column]);
  }
  if (dscale) dscale[column] = static_cast<float>(along) + (add_scale ? dscale[column] : 0.0F);
  if (dbias) dbias[column] = static_cast<float>(sum) + (add_bias ? dbias[column] : 0.0F);
}

template <int kAtOnce, bool kCentered>
__global__ void layer_norm_backward_kernel(int64_t n, const float* from, const float* slope, const float* scale,
                                           const float* means, const float* deviations, float* to) {
  const float *const x = from + blockIdx.x * n, *const dy = slope + blockIdx.x * n;
  float* const dx = to + blockIdx.x * n;
  const float mean = kCentered ? means[blockIdx.x] : 0.0F, d = deviations[blockIdx.x];
  double sum = 0, along = 0;
  cuda::for_columns<kNormThreads, kAtOnce>(n, [&](int64_t j) {
    const cuda::Few<kAtOnce> a = columns_or<kAtOnce>(scale, j, 1), u = cuda::load_few<kAtOnce>(x + j),
                             v = cuda::load_few<kAtOnce>(dy + j);
    for (int k = 0; k < kAtOnce; ++k) {
      const float g = v.of[k] * a.of[k];
      if (kCentered) sum += static_cast<double>(g);
      along += static_cast<double>(g * ((u.of[k] - mean) * d));
    }
  });
  const float middle =
      kCentered ? static_cast<float>(cuda::block_sum_for_all<kNormThreads>(sum) / static_cast<double>(n)) : 0.0F;
  const float tilt = static_cast<float>(cuda::block_sum_for_all<kNormThreads>(along) / static_cast<double>(n));
  cuda::for_columns<kNormThreads, kAtOnce>(n, [&](int64_t j) {
    const cuda::Few<kAtOnce> a = columns_or<kAtOnce>(scale, j, 1), u = cuda::load_few<kAtOnce>(x + j);
    cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(dy + j);
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = d * (few.of[k] * a.of[k] - middle - (u.of[k] - mean) * d * tilt);
    cuda::store_few(dx + j, few);
  });
}

Chunks chunks_of(std::span<const OperandDesc> operands) {
  const int64_t rows = operands[0].tensor.dim(0), columns = operands[0].tensor.dim(1);
  const bool sums = operands[6].access != Access::absent || operands[7].access != Access::absent;
  return {rows, columns, sums ? std::min(rows, kMostChunks) : 0};
}

template <bool kCentered>
std::unique_ptr<Kernel> row_norm_forward(const LayerNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  const int64_t rows = operands[0].tensor.dim(0), columns = operands[0].tensor.dim(1);
  const double epsilon = attrs.epsilon;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::by_row(columns, [&](auto at_once) {
      cuda::launch("normalization of rows", layer_norm_kernel<decltype(at_once)::value, kCentered>, rows, kNormThreads,
                   context, columns, epsilon, cuda::in(operand, 0), cuda::in(operand, 1), cuda::in(operand, 2),
                   cuda::out(operand, 3), cuda::out(operand, 4), cuda::out(operand, 5));
    });
  });
}

std::vector<Algorithm> row_norm_backward_algorithms(std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = chunks_of(operands).floats() * static_cast<int64_t>(sizeof(float))}};
}

template <bool kCentered>
std::unique_ptr<Kernel> row_norm_backward(std::span<const OperandDesc> operands) {
  cuda::need_plain(operands);
  const Chunks chunks = chunks_of(operands);
  const bool add_scale = cuda::adds(operands[6]), add_bias = cuda::adds(operands[7]);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const float *const x = cuda::in(operand, 0), *const dy = cuda::in(operand, 1);
    const float *const means = cuda::in(operand, 3), *const deviations = cuda::in(operand, 4);
    float* const shares = reinterpret_cast<float*>(workspace);
    cuda::launch("shares of a normalization of rows", shares_kernel, cuda::blocks_for(chunks.count * chunks.columns),
                 cuda::kThreads, context, chunks, x, dy, means, deviations, shares);
    if (chunks.count > 0)
      cuda::launch("sums of a normalization of rows", layer_norm_sums_kernel, cuda::blocks_for(chunks.columns),
                   cuda::kThreads, context, chunks, shares, add_scale, add_bias, cuda::out(operand, 6),
                   cuda::out(operand, 7));
    if (!operand[5]) return;
    cuda::by_row(chunks.columns, [&](auto at_once) {
      cuda::launch("gradient of a normalization of rows",
                   layer_norm_backward_kernel<decltype(at_once)::value, kCentered>, chunks.rows, kNormThreads, context,
                   chunks.columns, x, dy, cuda::in(operand, 2), means, deviations, cuda::out(operand, 5));
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
