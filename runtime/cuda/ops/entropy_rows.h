// The kernel of cross entropy without class weights and smoothing, for rows whose classes follow each other.
#pragma once

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/loss_share.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/cuda/ops/weighed_entropy.h"

namespace plimsoll::cuda {

// One block per sample, with contiguous classes. A label that is not a class makes the loss NaN: the error is visible,
// and no memory outside the arrays is accessed.
template <Step kStep, class T, class Total>
static __global__ void __launch_bounds__(kThreads, 6)
    loss_rows_kernel(int64_t classes, EntropyScale given_scale, ClassLabels labels, const T* logits, T* gradient,
                     Total total) {
  const float scale = static_cast<float>(given_scale.slope());
  const int64_t n = blockIdx.x, label = labels[n];
  const RowOf<kStep> row(n, classes);
  const T* const x = logits + row.base;
  T* const dx = gradient ? gradient + row.base : nullptr;
  if (!labels.counts(label)) {
    if (dx) for_parts<kThreads>(row, [&](const auto& part) { part.template put<false>(dx, {}); });
    total.settle({0, 0}, given_scale);
    return;
  }
  BestClass best{0, -1};
  for_parts<kThreads>(row, [&](const auto& part) {
    const auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k)
      best = better_class(best, {few.of[k], part.has(k) ? part.at + k - row.begin : -1});
  });
  __shared__ BestClass of_all;
  best = block_reduce<kThreads>(best, better_class);
  if (threadIdx.x == 0) of_all = best;
  __syncthreads();
  const float largest = of_all.value;
  const bool known = label < classes;
  const float mine = known ? load_one(x + row.begin + label) : nanf("");
  double sum = 0;
  for_parts<kThreads>(row, [&](const auto& part) {
    const auto few = part.load(x);
    for (int k = 0; k < part.kAtOnce; ++k) sum += part.has(k) ? static_cast<double>(expf(few.of[k] - largest)) : 0;
  });
  sum = block_sum_for_all<kThreads>(sum);  // all threads have read `mine`
  const float factor = static_cast<float>(static_cast<double>(scale) / sum);
  if (dx)
    for_parts<kThreads>(row, [&](const auto& part) {
      auto few = part.load(x);
      for (int k = 0; k < part.kAtOnce; ++k) {
        const float p = expf(few.of[k] - largest) * factor;
        few.of[k] = part.at + k - row.begin == label ? p - scale : p;
      }
      part.template put<false>(dx, few);
    });
  LossShare share{0, 0};  // of thread 0
  if (threadIdx.x == 0)
    share = {log(sum) + static_cast<double>(largest) - static_cast<double>(mine), of_all.at == label ? 1.0 : 0.0};
  total.settle(share, given_scale);
}

}  // namespace plimsoll::cuda
