// Cross entropy with class weights and label smoothing, as one loss or as a loss per label; also the parts that the
// unweighted kernels of ops/cross_entropy.cu share with it.
#pragma once

#include "runtime/attrs/loss.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/class_weighing.h"
#include "runtime/cuda/ops/loss_share.h"

namespace plimsoll::cuda {

struct ClassLabels {
  const void* data;
  bool wide;
  int64_t ignored;

  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
  __device__ bool counts(int64_t label) const { return label >= 0 && label != ignored; }
};

// The factor of the sum over labels: the mean's factor times the trainer's for an incomplete batch, or one over the
// total weight of the labels, which a kernel has computed. A sum needs no correction, but must signal a bad batch: its
// factor is then NaN.
struct EntropyScale {
  SoftmaxCrossEntropyAttrs attrs;
  ChangingArgument changing;
  const double* counted;  // null: the trainer provides it

  __device__ double exact() const {
    const double of_batch = changing.loss_scale(), bad = of_batch != of_batch ? of_batch : 1;
    if (counted) return *counted == 0 ? 0 : bad / *counted;
    if (attrs.sum || bad != bad) return attrs.scale * bad;
    return attrs.scale * (attrs.fed < 0 ? of_batch : changing.label_scale(attrs.fed));
  }
  // Of the gradient, which may be scaled.
  __device__ double slope() const { return attrs.term ? exact() : exact() * changing.gradient_scale(); }
};

// Where the loss of a row is stored, and the source of the gradient's factor: a share of one loss, or a loss per label.
struct EachLoss {
  float* losses;
  const float* slopes;
};

// The divisor of a mean over the labels that count. A launch of its own: each block of the loss multiplies its part of
// the gradient by the result, so it must be known before the first of them writes. The block that arrives last could
// compute it for the loss, but not for the gradient, unless it reads and writes all of that once more.
static __global__ void count_labels_kernel(int64_t rows, Weighing weighing, ClassLabels labels, double* counted) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads)
    if (const int64_t label = labels[i]; labels.counts(label)) sum += weighing.of(label);
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) *counted = sum;
}

inline constexpr int64_t kBytesOfCount = 256;  // in a workspace: for the divisor of a mean over the labels that count

// Computes the divisor into `counted`, if the kernel has to.
inline EntropyScale entropy_scale(const SoftmaxCrossEntropyAttrs& attrs, const RunContext& context, int64_t rows,
                                  const Weighing& weighing, const ClassLabels& labels, double* counted) {
  if (attrs.counts)
    launch("labels that count", count_labels_kernel, 1, kThreads, context, rows, weighing, labels, counted);
  return {attrs, cuda::changing(context), attrs.counts ? counted : nullptr};
}

// One block per sample, with contiguous classes. A label that is not a class makes the loss NaN: the error is visible,
// and no memory outside the arrays is accessed.
template <class T, class Total>
static __global__ void weighed_rows_kernel(int64_t classes, EntropyScale given_scale, Weighing weighing,
                                           ClassLabels labels, const T* logits, T* gradient, Total total,
                                           EachLoss each) {
  const int64_t n = blockIdx.x, label = labels[n];
  const double scale = each.slopes ? static_cast<double>(each.slopes[n]) : given_scale.slope();
  const auto x = [row = logits + n * classes](int64_t c) { return load_one(row + c); };
  T* const dx = gradient ? gradient + n * classes : nullptr;
  if (!labels.counts(label)) {
    for (int64_t c = threadIdx.x; dx && c < classes; c += kThreads) store_one(dx + c, 0.0F);
    if (threadIdx.x == 0 && each.losses) each.losses[n] = 0;
    if (total.shares) total.settle({0, 0}, given_scale);
    return;
  }
  BestClass best{0, -1};
  for (int64_t c = threadIdx.x; c < classes; c += kThreads) best = better_class(best, {x(c), c});
  __shared__ BestClass of_all;
  best = block_reduce<kThreads>(best, better_class);
  if (threadIdx.x == 0) of_all = best;
  __syncthreads();
  const float largest = of_all.value;
  const double mine = label < classes ? static_cast<double>(x(label) - largest) : static_cast<double>(nanf(""));
  double sum = 0, off = 0, all = 0;
  for (int64_t c = threadIdx.x; c < classes; c += kThreads) {
    sum += static_cast<double>(expf(x(c) - largest));
    off += weighing.smoothing != 0 ? weighing.of(c) * static_cast<double>(x(c) - largest) : 0;
    all += weighing.of(c);
  }
  sum = block_sum_for_all<kThreads>(sum);  // all threads have read `mine`
  off = block_sum_for_all<kThreads>(off);
  all = block_sum_for_all<kThreads>(all);
  const double of_label = (1 - weighing.smoothing) * weighing.of(label);
  const LossShare share{weighing.loss(label, sum, mine, off, all), of_all.at == label ? 1.0 : 0.0};
  if (threadIdx.x == 0 && each.losses) each.losses[n] = static_cast<float>(share.loss);
  for (int64_t c = threadIdx.x; dx && c < classes; c += kThreads)
    store_one(dx + c,
              static_cast<float>(scale) *
                  weighing.slope(c == label, c, static_cast<double>(expf(x(c) - largest)) / sum, all, of_label));
  if (total.shares) total.settle(share, given_scale);
}

}  // namespace plimsoll::cuda
