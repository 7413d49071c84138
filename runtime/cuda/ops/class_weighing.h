// What the kernels of cross entropy share: class weights with label smoothing, and the class with the largest logit.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/cuda/device/kernel.h"

namespace plimsoll::cuda {

// Class weights and label smoothing, as in PyTorch's CrossEntropyLoss:
//
//   loss = w[y] (1 - s) (lse - x[y]) + Σ s/C w[c] (lse - x[c])      lse: the logarithm of Σ exp(x[c]); s: smoothing
struct Weighing {
  const float* weights;  // null: 1 for each class
  int64_t classes;
  double smoothing;

  __device__ double of(int64_t label) const {
    return label >= classes ? static_cast<double>(nanf("")) : weights ? static_cast<double>(weights[label]) : 1;
  }
  __device__ double each() const { return smoothing / static_cast<double>(classes); }
  // `below`: the label's logit minus the largest; `off`: Σ w[c] (x[c] - largest); `all`: Σ w[c].
  __device__ double loss(int64_t label, double sum, double below, double off, double all) const {
    const double of_label = (1 - smoothing) * of(label);
    return (of_label + each() * all) * log(sum) - of_label * below - (smoothing != 0 ? each() * off : 0);
  }
  __device__ float slope(bool is_label, int64_t c, double p, double all, double of_label) const {
    return static_cast<float>(p * (of_label + each() * all) - (smoothing != 0 ? each() * of(c) : 0) -
                              (is_label ? of_label : 0));
  }
};

// The largest logit and the first class that has it.
struct BestClass {
  float value;
  int64_t at;

  __device__ BestClass from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, value, distance),
            static_cast<int64_t>(__shfl_down_sync(0xFFFFFFFFU, static_cast<long long>(at), distance))};
  }
};

__device__ inline BestClass better_class(BestClass a, BestClass b) {
  if (b.at < 0) return a;
  if (a.at < 0 || b.value > a.value || (b.value == a.value && b.at < a.at)) return b;
  return a;
}

}  // namespace plimsoll::cuda
