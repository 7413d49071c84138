// GroupNormForward  {x, scale, bias, y, mean, deviation}                 x [groups of all samples, elements of a group]
// GroupNormBackward {x, dy, scale, mean, deviation, dx, dscale, dbias, bias?}
//
//   y = h · scale + bias   with h = (x - mean) · d,  d = 1 / √(variance + epsilon)
//   dx = d · (g - Σg / n - h · Σ(g · h) / n)   with g = dy · scale
//
// With a fused Swish, y is the Swish of that, and dy below stands for dy times its slope.
//
// Each row is processed by one block. It consists of runs of elements with the same scale and bias: the pixels of a
// channel, or the whole row. The sums of dy and of dy · h over each run are in the workspace, computed by one block per
// run. The sums over a row are computed from them; so are dscale and dbias, which add up the samples in order, by the
// block that arrives last. They are computed before dx, because dx may overwrite dy or x.
#include "runtime/attrs/group_norm.h"

#include "runtime/cuda/device/arrival.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/ops/gates.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/cuda/ops/row_statistics.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kGroupThreads = 256;
constexpr size_t kGroupNormBias = 8;  // slot of the backward

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

// The run, of its row, of each element of a part of the row that begins at `begin`. kOneRun: all are of the same.
template <bool kOneRun, class Part>
struct RunsOfPart {
  int64_t of[Part::kAtOnce];

  __device__ RunsOfPart(const GroupRuns& runs, const Part& part, int64_t begin) {
    const int64_t column = part.at + part.first - begin;
    int64_t run = column / runs.length, left = runs.length - (column - run * runs.length);
    for (int k = 0; k < Part::kAtOnce; ++k) {
      of[k] = run;
      if (kOneRun || k < part.first || --left > 0) continue;
      left = runs.length;
      run = min(run + 1, runs.of_row - 1);  // elements after the row's last one have a run, too
    }
  }
};

// body(std::integral_constant<Step>, std::bool_constant<kOneRun>) for a pass over rows.
template <class Body>
void by_runs(const GroupRuns& runs, Body body) {
  using Four = std::integral_constant<cuda::Step, cuda::Step::four>;
  if (runs.length % 4 == 0) return body(Four{}, std::true_type{});
  cuda::by_step_of_plane(cuda::step_of_plane(runs.columns), [&](auto step) {
    body(step, std::bool_constant<decltype(step)::value == cuda::Step::one>{});
  });
}

template <cuda::Step kStep, bool kOneRun, bool kSwish>
__global__ void __launch_bounds__(kGroupThreads, 6)
    group_norm_kernel(GroupRuns runs, double epsilon, const float* from, const float* scale, const float* bias,
                      float* to, float* means, float* deviations) {
  const int64_t i = blockIdx.x, first = i % runs.groups * runs.of_row;
  const cuda::RowOf<kStep> row(i, runs.columns);
  const float* const x = from + row.base;
  float* const y = to + row.base;
  const cuda::RowStatistics of_row = cuda::row_statistics<kGroupThreads, true>(x, row, epsilon);
  cuda::for_parts<kGroupThreads>(row, [&](const auto& part) {
    const RunsOfPart<kOneRun, std::decay_t<decltype(part)>> run(runs, part, row.begin);
    auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) {
      const float a = scale[first + run.of[k]], b = bias[first + run.of[k]];
      const float normalized = (few.of[k] - of_row.mean) * of_row.inverse_deviation * a + b;
      few.of[k] = kSwish ? cuda::SwishGate{1}.value(normalized) : normalized;
    }
    part.template put<false>(y, few);
  });
  if (threadIdx.x != 0) return;
  if (means) means[i] = of_row.mean;
  if (deviations) deviations[i] = of_row.inverse_deviation;
}

// The gradients of the scale and the bias; null: not wanted.
struct FactorGradients {
  float *dscale, *dbias;
  bool add_scale, add_bias;

  __device__ bool wanted() const { return dscale != nullptr || dbias != nullptr; }
};

// Of one element of the scale, by all threads of a block: the sums of its runs, one per sample, are added in order.
__device__ void add_samples(const GroupRuns& runs, int64_t factor, const float* sums, const FactorGradients& to) {
  __shared__ float of_samples[2][kGroupThreads];
  const int64_t samples = runs.rows / runs.groups;
  double sum = 0;  // of thread 0 for the scale, of thread 1 for the bias
  for (int64_t first = 0; first < samples; first += kGroupThreads) {
    const int there = static_cast<int>(min(samples - first, int64_t{kGroupThreads}));
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < there)
      for (int k = 0; k < 2; ++k) of_samples[k][thread] = sums[2 * ((first + thread) * runs.factors + factor) + k];
    __syncthreads();
    if (thread < 2)
      for (int i = 0; i < there; ++i) sum += static_cast<double>(of_samples[thread][i]);
    __syncthreads();
  }
  const float value = static_cast<float>(sum);
  if (threadIdx.x == 0 && to.dscale) to.dscale[factor] = value + (to.add_scale ? to.dscale[factor] : 0.0F);
  if (threadIdx.x == 1 && to.dbias) to.dbias[factor] = value + (to.add_bias ? to.dbias[factor] : 0.0F);
}

// The gradient before a Swish of `input`.
__device__ float before_swish(float gradient, float input) { return gradient * cuda::SwishGate{1}.slope(input); }

// {Σ dy · h, Σ dy} of this block's run. The block that arrives last at a group of adjacent elements of the scale adds
// up their samples; the groups are single elements unless there are more than arrivals are counted for.
template <cuda::Step kStep, bool kSwish>
__global__ void group_norm_runs_kernel(GroupRuns runs, const float* from, const float* slope, const float* scale,
                                       const float* bias, const float* means, const float* deviations, float* sums,
                                       FactorGradients to) {
  const int64_t run = blockIdx.x, row = run / runs.of_row;
  const float mean = means[row], d = deviations[row];
  const float a = kSwish ? scale[run % runs.factors] : 0, b = kSwish ? bias[run % runs.factors] : 0;
  double along = 0, sum = 0;
  for (int64_t i = threadIdx.x; i < cuda::parts_of_plane(kStep, runs.length); i += kGroupThreads) {
    const cuda::PlanePart<kStep, int64_t> part(run * runs.length, (run + 1) * runs.length, i);
    const auto u = part.load(from);
    auto v = part.load(slope);
    for (int k = 0; k < part.kAtOnce; ++k) {
      if constexpr (kSwish) v.of[k] = part.has(k) ? before_swish(v.of[k], (u.of[k] - mean) * d * a + b) : 0;
      along += part.has(k) ? static_cast<double>(v.of[k] * ((u.of[k] - mean) * d)) : 0;
      sum += static_cast<double>(v.of[k]);
    }
  }
  along = cuda::block_sum<kGroupThreads>(along);
  sum = cuda::block_sum<kGroupThreads>(sum);
  if (threadIdx.x == 0) {
    sums[2 * run] = static_cast<float>(along);
    sums[2 * run + 1] = static_cast<float>(sum);
  }
  if (!to.wanted()) return;
  const int64_t width = (runs.factors + cuda::kArrivals - 1) / cuda::kArrivals, group = run % runs.factors / width;
  const int64_t first = group * width, end = min(first + width, runs.factors);
  if (!cuda::arrives_last(group, static_cast<unsigned>((end - first) * (runs.rows / runs.groups)))) return;
  for (int64_t factor = first; factor < end; ++factor) add_samples(runs, factor, sums, to);
}

template <cuda::Step kStep, bool kOneRun, bool kSwish>
__global__ void group_norm_backward_kernel(GroupRuns runs, const float* from, const float* slope, const float* scale,
                                           const float* bias, const float* means, const float* deviations,
                                           const float* sums, float* to) {
  const int64_t i = blockIdx.x, n = runs.columns, first = i % runs.groups * runs.of_row;
  const cuda::RowOf<kStep> row(i, n);
  const float *const x = from + row.base, *const dy = slope + row.base;
  float* const dx = to + row.base;
  const float mean = means[i], d = deviations[i];
  double along = 0, sum = 0;
  for (int64_t r = threadIdx.x; r < runs.of_row; r += kGroupThreads) {
    const double a = static_cast<double>(scale[first + r]);
    along += a * static_cast<double>(sums[2 * (i * runs.of_row + r)]);
    sum += a * static_cast<double>(sums[2 * (i * runs.of_row + r) + 1]);
  }
  const float tilt = static_cast<float>(cuda::block_sum_for_all<kGroupThreads>(along) / static_cast<double>(n));
  const float middle = static_cast<float>(cuda::block_sum_for_all<kGroupThreads>(sum) / static_cast<double>(n));
  cuda::for_parts<kGroupThreads>(row, [&](const auto& part) {
    const RunsOfPart<kOneRun, std::decay_t<decltype(part)>> run(runs, part, row.begin);
    const auto u = part.load(x);
    auto few = part.load(dy);
    for (int k = 0; k < part.kAtOnce; ++k) {
      const float a = scale[first + run.of[k]];
      if constexpr (kSwish)
        few.of[k] = before_swish(few.of[k], (u.of[k] - mean) * d * a + bias[first + run.of[k]]);
      few.of[k] = d * (few.of[k] * a - middle - (u.of[k] - mean) * d * tilt);
    }
    part.template put<false>(dx, few);
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(GroupNormForward, {
  cuda::need_plain(operands);
  const GroupRuns runs = group_runs(operands[0].tensor, operands[1].tensor, attrs.groups);
  const double epsilon = attrs.epsilon;
  const bool has_swish = attrs.swish;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    by_runs(runs, [&](auto step, auto one_run) {
      cuda::by_flag(has_swish, [&](auto swish) {
        cuda::launch("group normalization",
                     group_norm_kernel<decltype(step)::value, decltype(one_run)::value, decltype(swish)::value>,
                     runs.rows, kGroupThreads, context, runs, epsilon, cuda::in(operand, 0), cuda::in(operand, 1),
                     cuda::in(operand, 2), cuda::out(operand, 3), cuda::out(operand, 4), cuda::out(operand, 5));
      });
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
  const bool add_scale = cuda::adds(operands[6]), add_bias = cuda::adds(operands[7]), has_swish = attrs.swish;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const float *const x = cuda::in(operand, 0), *const dy = cuda::in(operand, 1), *const scale = cuda::in(operand, 2);
    const float* const bias = has_swish ? cuda::in(operand, kGroupNormBias) : nullptr;
    const float *const means = cuda::in(operand, 3), *const deviations = cuda::in(operand, 4);
    float* const sums = reinterpret_cast<float*>(workspace);
    cuda::by_flag(has_swish, [&](auto swish) {
      constexpr bool kSwish = decltype(swish)::value;
      cuda::by_step_of_plane(cuda::step_of_plane(runs.length), [&](auto step) {
        cuda::launch("sums of group normalization", group_norm_runs_kernel<decltype(step)::value, kSwish>,
                     runs.rows * runs.of_row, kGroupThreads, context, runs, x, dy, scale, bias, means, deviations, sums,
                     FactorGradients{cuda::out(operand, 6), cuda::out(operand, 7), add_scale, add_bias});
      });
      if (operand[5] == nullptr) return;
      by_runs(runs, [&](auto step, auto one_run) {
        cuda::launch("gradient of group normalization",
                     group_norm_backward_kernel<decltype(step)::value, decltype(one_run)::value, kSwish>, runs.rows,
                     kGroupThreads, context, runs, x, dy, scale, bias, means, deviations, sums, cuda::out(operand, 5));
      });
    });
  });
}

}  // namespace plimsoll
