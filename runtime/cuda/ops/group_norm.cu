// GroupNormForward  {x, scale, bias, y, mean, deviation}                 x [groups of all samples, elements of a group]
// GroupNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// Each row is processed by one block. It consists of runs of elements with the same scale and bias: the pixels of a
// channel, or the whole row. The sums of dy and of dy · h over each run are in the workspace, computed by one block per
// run. The sums over a row are computed from them; so are dscale and dbias, which add up the samples in order. They are
// computed before dx, because dx may overwrite dy or x.
#include "runtime/attrs/group_norm.h"

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/row_statistics.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kGroupThreads = 256;

struct GroupRuns {
  int64_t rows, columns;
  int64_t factors;         // number of elements of the scale
  int64_t groups, length;  // groups per sample; elements per run
  int64_t of_row;          // runs per row
};

GroupRuns group_runs(const TensorDesc& x, const TensorDesc& scale, int64_t groups) {
  const int64_t of_row = scale.dim(0) / groups;
  return {x.dim(0), x.dim(1), scale.dim(0), groups, x.dim(1) / of_row, of_row};
}

template <int kAtOnce>
__global__ void group_norm_kernel(GroupRuns runs, double epsilon, const float* from, const float* scale,
                                  const float* bias, float* to, float* means, float* deviations) {
  const int64_t i = blockIdx.x;
  const float* const x = from + i * runs.columns;
  float* const y = to + i * runs.columns;
  const cuda::RowStatistics row = cuda::row_statistics<kGroupThreads, kAtOnce, true>(x, runs.columns, epsilon);
  const int64_t first = i % runs.groups * runs.of_row;
  cuda::for_columns<kGroupThreads, kAtOnce>(runs.columns, [&](int64_t j) {
    const int64_t factor = first + j / runs.length;
    const float a = scale[factor], b = bias[factor];
    cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(x + j);
    for (float& v : few.of) v = (v - row.mean) * row.inverse_deviation * a + b;
    cuda::store_few(y + j, few);
  });
  if (threadIdx.x != 0) return;
  if (means) means[i] = row.mean;
  if (deviations) deviations[i] = row.inverse_deviation;
}

// {Σ dy · h, Σ dy} of this block's run.
template <cuda::Step kStep>
__global__ void group_norm_runs_kernel(GroupRuns runs, const float* from, const float* slope, const float* means,
                                       const float* deviations, float* sums) {
  const int64_t run = blockIdx.x, row = run / runs.of_row;
  const float mean = means[row], d = deviations[row];
  double along = 0, sum = 0;
  for (int64_t i = threadIdx.x; i < cuda::parts_of_plane(kStep, runs.length); i += kGroupThreads) {
    const cuda::PlanePart<kStep, int64_t> part(run * runs.length, (run + 1) * runs.length, i);
    const auto u = part.load(from), v = part.load(slope);
    for (int k = 0; k < part.kAtOnce; ++k) {
      along += part.has(k) ? static_cast<double>(v.of[k] * ((u.of[k] - mean) * d)) : 0;
      sum += static_cast<double>(v.of[k]);
    }
  }
  along = cuda::block_sum<kGroupThreads>(along);
  sum = cuda::block_sum<kGroupThreads>(sum);
  if (threadIdx.x != 0) return;
  sums[2 * run] = static_cast<float>(along);
  sums[2 * run + 1] = static_cast<float>(sum);
}

// dscale and dbias of one scale element, summed over the samples.
__global__ void group_norm_factors_kernel(GroupRuns runs, const float* sums, bool add_scale, bool add_bias,
                                          float* dscale, float* dbias) {
  const int64_t factor = cuda::thread_number();
  if (factor >= runs.factors) return;
  double along = 0, sum = 0;
  for (int64_t sample = 0; sample < runs.rows / runs.groups; ++sample) {
    along += static_cast<double>(sums[2 * (sample * runs.factors + factor)]);
    sum += static_cast<double>(sums[2 * (sample * runs.factors + factor) + 1]);
  }
  if (dscale) dscale[factor] = static_cast<float>(along) + (add_scale ? dscale[factor] : 0.0F);
  if (dbias) dbias[factor] = static_cast<float>(sum) + (add_bias ? dbias[factor] : 0.0F);
}

template <int kAtOnce>
__global__ void group_norm_backward_kernel(GroupRuns runs, const float* from, const float* slope, const float* scale,
                                           const float* means, const float* deviations, const float* sums, float* to) {
  const int64_t i = blockIdx.x, n = runs.columns, first = i % runs.groups * runs.of_row;
  const float *const x = from + i * n, *const dy = slope + i * n;
  float* const dx = to + i * n;
  const float mean = means[i], d = deviations[i];
  double along = 0, sum = 0;
  for (int64_t r = threadIdx.x; r < runs.of_row; r += kGroupThreads) {
    const double a = static_cast<double>(scale[first + r]);
    along += a * static_cast<double>(sums[2 * (i * runs.of_row + r)]);
    sum += a * static_cast<double>(sums[2 * (i * runs.of_row + r) + 1]);
  }
  const float tilt = static_cast<float>(cuda::block_sum_for_all<kGroupThreads>(along) / static_cast<double>(n));
  const float middle = static_cast<float>(cuda::block_sum_for_all<kGroupThreads>(sum) / static_cast<double>(n));
  cuda::for_columns<kGroupThreads, kAtOnce>(n, [&](int64_t j) {
    const float a = scale[first + j / runs.length];
    const cuda::Few<kAtOnce> u = cuda::load_few<kAtOnce>(x + j);
    cuda::Few<kAtOnce> few = cuda::load_few<kAtOnce>(dy + j);
    for (int k = 0; k < kAtOnce; ++k) few.of[k] = d * (few.of[k] * a - middle - (u.of[k] - mean) * d * tilt);
    cuda::store_few(dx + j, few);
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GroupNormForward, {
  cuda::need_plain(operands);
  const GroupRuns runs = group_runs(operands[0].tensor, operands[1].tensor, attrs.groups);
  const double epsilon = attrs.epsilon;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::by_row(runs.length, [&](auto at_once) {
      cuda::launch("group normalization", group_norm_kernel<decltype(at_once)::value>, runs.rows, kGroupThreads,
                   context, runs, epsilon, cuda::in(operand, 0), cuda::in(operand, 1), cuda::in(operand, 2),
                   cuda::out(operand, 3), cuda::out(operand, 4), cuda::out(operand, 5));
    });
  });
})

std::vector<Algorithm> GroupNormBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const GroupRuns runs = group_runs(operands[0].tensor, operands[2].tensor, attrs.groups);
  return {{.workspace_bytes = runs.rows * runs.of_row * 2 * static_cast<int64_t>(sizeof(float))}};
}

std::unique_ptr<Kernel> GroupNormBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  cuda::need_plain(operands);
  const GroupRuns runs = group_runs(operands[0].tensor, operands[2].tensor, attrs.groups);
  const bool add_scale = cuda::adds(operands[6]), add_bias = cuda::adds(operands[7]);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const float *const x = cuda::in(operand, 0), *const dy = cuda::in(operand, 1);
    const float *const means = cuda::in(operand, 3), *const deviations = cuda::in(operand, 4);
    float* const sums = reinterpret_cast<float*>(workspace);
    cuda::by_step_of_plane(cuda::step_of_plane(runs.length), [&](auto step) {
      cuda::launch("sums of group normalization", group_norm_runs_kernel<decltype(step)::value>,
                   runs.rows * runs.of_row, kGroupThreads, context, runs, x, dy, means, deviations, sums);
    });
    cuda::by_row(runs.length, [&](auto at_once) {
      constexpr int kAtOnce = decltype(at_once)::value;
      if (operand[6] || operand[7])
        cuda::launch("group normalization's factors", group_norm_factors_kernel, cuda::blocks_for(runs.factors),
                     cuda::kThreads, context, runs, sums, add_scale, add_bias, cuda::out(operand, 6),
                     cuda::out(operand, 7));
      if (operand[5])
        cuda::launch("gradient of group normalization", group_norm_backward_kernel<kAtOnce>, runs.rows, kGroupThreads,
                     context, runs, x, dy, cuda::in(operand, 2), means, deviations, sums, cuda::out(operand, 5));
    });
  });
}

}  // namespace plimsoll
