// Optimizers: {w, g, state…, factor?}, in one pass over all of them, which also clears the gradient in the same access
// if it must be zero for the next iteration. The gradient is multiplied by the factor if gradients are clipped
// (ClipFactor). A discarded update only clears. One launch handles many parameters.
//
// An optimizer is a struct constructed from the attributes, with the run's numbers substituted, and from the ratio of
// its group's learning rate to the run's. It has `__device__ Step at(const Changing&) const`, which computes what all
// elements share, once per block. A Step updates one weight and its state: `__device__ void operator()(float& w, float
// g, float& s0, float& s1)`.
#pragma once

#include "runtime/cuda/device/combined.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/tensors.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/update_numbers.h"

namespace plimsoll::cuda {

template <int kStates, bool kClear, class Optimizer>
__global__ void update_kernel(const __grid_constant__ Tensors<kStates + 2> tensors, const float* factor,
                              Optimizer optimizer, ChangingArgument changing) {
  __shared__ typename Optimizer::Step step;
  __shared__ float scale;
  __shared__ bool discard;
  if (threadIdx.x == 0) {
    const Changing now = changing.get();
    step = optimizer.at(now);
    scale = factor != nullptr ? *factor : 1.0F;
    discard = now.discard;
  }
  __syncthreads();
  const StretchOfTensor stretch = stretch_of_block(tensors);
  float *const w = tensors.of[0][stretch.tensor], *const g = tensors.of[1][stretch.tensor];
  float* const s0 = kStates > 0 ? tensors.of[kStates > 0 ? 2 : 0][stretch.tensor] : nullptr;
  float* const s1 = kStates > 1 ? tensors.of[kStates > 1 ? 3 : 0][stretch.tensor] : nullptr;
  const int64_t first = stretch.begin + 4 * static_cast<int64_t>(threadIdx.x);
  const auto clear = [=](int64_t i) {
    if (i + 4 <= stretch.end) store_few(g + i, few_of<4>(0.0F));
    else
      for (; i < stretch.end; ++i) g[i] = 0;
  };
  if (discard) {
    for (int k = 0; kClear && k < kFoursOfThread; ++k) clear(first + 4 * k * kThreads);
    return;
  }
  Few<4> weight[kFoursOfThread], gradient[kFoursOfThread], a[kFoursOfThread], b[kFoursOfThread];
#pragma unroll
  for (int k = 0; k < kFoursOfThread; ++k) {
    const int64_t i = first + 4 * k * kThreads;
    if (i + 4 > stretch.end) continue;
    weight[k] = load_few<4>(w + i);
    gradient[k] = load_few<4>(g + i);
    a[k] = kStates > 0 ? load_few<4>(s0 + i) : few_of<4>(0.0F);
    b[k] = kStates > 1 ? load_few<4>(s1 + i) : few_of<4>(0.0F);
  }
#pragma unroll
  for (int k = 0; k < kFoursOfThread; ++k) {
    const int64_t i = first + 4 * k * kThreads;
    if (i + 4 <= stretch.end) {
      for (int j = 0; j < 4; ++j) step(weight[k].of[j], scale * gradient[k].of[j], a[k].of[j], b[k].of[j]);
      store_few(w + i, weight[k]);
      if (kStates > 0) store_few(s0 + i, a[k]);
      if (kStates > 1) store_few(s1 + i, b[k]);
    } else {
      for (int64_t j = i; j < stretch.end; ++j) {
        float first_state = kStates > 0 ? s0[j] : 0, second_state = kStates > 1 ? s1[j] : 0;
        step(w[j], scale * g[j], first_state, second_state);
        if (kStates > 0) s0[j] = first_state;
        if (kStates > 1) s1[j] = second_state;
      }
    }
    if (kClear) clear(i);
  }
}

template <int kStates, class Optimizer, class Attrs>
class UpdateKernel final : public Kernel, public Combinable {
 public:
  UpdateKernel(std::span<const OperandDesc> operands, const Attrs& attrs)
      : attrs_(attrs),
        elements_(operands[0].tensor.padded_elements()),
        clears_(adds(operands[1])),
        scaled_(operands.size() > kFactor) {}

  void run(const RunContext& context, std::byte* const* operands, std::byte*) override {
    const Member alone{this, operands};
    run_combined(context, {&alone, 1});
  }

  bool combines_with(const Kernel& other) const override {
    const auto* const same = dynamic_cast<const UpdateKernel*>(&other);
    return same && same->clears_ == clears_ && same->scaled_ == scaled_ && same->with({}) == with({});
  }

  // One factor clips all gradients.
  void run_combined(const RunContext& context, std::span<const Member> members) const override {
    const Optimizer optimizer = with(context);
    const float* const factor = scaled_ ? in(members.front().operands, kFactor) : nullptr;
    const auto entry = [&](size_t i) {
      std::array<float*, kTensors> addresses;
      for (size_t k = 0; k < kTensors; ++k) addresses[k] = out(members[i].operands, k);
      return std::pair{addresses, static_cast<const UpdateKernel*>(members[i].kernel)->elements_};
    };
    by_flag(clears_, [&](auto clear) {
      for_tensors<kTensors>(members.size(), entry, [&](const Tensors<kTensors>& tensors) {
        launch("optimizer kernel", update_kernel<kStates, decltype(clear)::value, Optimizer>, tensors.blocks(),
               kThreads, context, tensors, factor, optimizer, changing(context));
      });
    });
  }

 private:
  static constexpr size_t kTensors = kStates + 2, kFactor = kTensors;

  Optimizer with(const RunContext& context) const {
    return Optimizer(with_numbers(attrs_, context.numbers), rate_scale_of(context));
  }

  Attrs attrs_;
  int64_t elements_;
  bool clears_, scaled_;
};

template <int kStates, class Optimizer, class Attrs>
std::unique_ptr<Kernel> update(std::span<const OperandDesc> operands, const Attrs& attrs) {
  return std::make_unique<UpdateKernel<kStates, Optimizer, Attrs>>(operands, attrs);
}

}  // namespace plimsoll::cuda
