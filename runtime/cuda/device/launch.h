// Kernel launches, and the values that kernels read because they change between rounds.
//
//   launch("relu", relu_kernel<false>, blocks_for(n), kThreads, context, n, x, y);
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/cuda/device/check.h"
#include "runtime/kernel.h"

namespace plimsoll::cuda {

inline constexpr int kThreads = 256;  // default number of threads per block

inline int64_t divided_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// One thread per work item, for `n` items.
inline int64_t blocks_for(int64_t n, int threads = kThreads) { return divided_up(n, threads); }

inline cudaStream_t stream_of(const RunContext& context) { return static_cast<cudaStream_t>(context.stream); }

// The part of launch() that is the same for all kernels, of which there are hundreds. Throws if a grid cannot have that
// many blocks.
cudaLaunchConfig_t launch_config(const char* name, int64_t blocks, int threads, const RunContext& context);

// Arguments are converted to the kernel's parameters here, on the host. Without work (no blocks) nothing is launched.
template <class... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), int64_t blocks, int threads, const RunContext& context,
            std::type_identity_t<Parameters>... arguments) {
  if (blocks == 0) return;
  const cudaLaunchConfig_t config = launch_config(name, blocks, threads, context);
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

// A round is recorded once and replayed many times, so values that change between replays must reach the kernels
// through memory. Without a recording they are passed with the launch.
struct Changing {
  uint64_t seed = 0;
  int64_t iteration = 0, round = 0, skipped = 0;
  double learning_rate = 0, loss_scale = 1, gradient_scale = 1;
  double label_scales[kLabelScales] = {};
  bool guarded = false;  // a loss that is not finite causes the round's updates to be discarded
  bool discard = false;
};

struct ChangingArgument {
  Changing values;
  const Changing* at;  // on the device; null: the values apply

  __host__ __device__ Changing get() const { return at != nullptr ? *at : values; }
  // One value alone: a copy of all of them would take local memory where label_scales is indexed.
  __device__ double loss_scale() const { return at != nullptr ? at->loss_scale : values.loss_scale; }
  __device__ double gradient_scale() const { return at != nullptr ? at->gradient_scale : values.gradient_scale; }
  __device__ double label_scale(int64_t i) const {
    if (at != nullptr) return at->label_scales[i];
    double scale = values.label_scales[0];  // an argument's array is indexed by constants only
    for (int64_t k = 1; k < static_cast<int64_t>(kLabelScales); ++k)
      if (k == i) scale = values.label_scales[k];
    return scale;
  }
};

inline Changing changing_values(const RunContext& context) {
  Changing values{.seed = context.seed,
                  .iteration = context.iteration,
                  .round = context.round,
                  .skipped = context.skipped,
                  .learning_rate = context.learning_rate,
                  .loss_scale = context.loss_scale,
                  .gradient_scale = context.gradient_scale,
                  .discard = context.discard};
  for (size_t i = 0; i < kLabelScales; ++i) values.label_scales[i] = context.label_scales[i];
  return values;
}

inline ChangingArgument changing(const RunContext& context) {
  return {changing_values(context), static_cast<const Changing*>(context.changing)};
}

}  // namespace plimsoll::cuda
