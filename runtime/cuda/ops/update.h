// Optimizers: {w, g, state…, low?, factor?}, in one pass over all of them, which also clears the gradient in the same
// access if it must be zero for the next iteration. The gradient is multiplied by the factor if gradients are clipped
// (ClipFactor) or scaled (UnscaleFactor). An update that is discarded, or skipped by a negative factor, only clears.
// One launch handles many parameters.
//
// An optimizer is a struct constructed from the attributes, with the run's numbers substituted, and from the ratio of
// its group's learning rate to the run's. It has `__device__ Step at(const Changing&) const`, which computes what all
// elements share, once per block. A Step updates one weight and its state: `__device__ void operator()(float& w, float
// g, float& s0, float& s1)`. State is in f32, or stored in fewer bytes (runtime/reduced_state.h). `low` is the lower
// half of a weight in bf16 (runtime/split_weight.h), whose gradient is in f32 or bf16.
#pragma once

#include "runtime/cuda/device/combined.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/tensors.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/reduced_state.h"
#include "runtime/split_weight.h"
#include "runtime/update_numbers.h"

namespace plimsoll::cuda {

// Of 32 random bits, the lower half is for the first state, the upper half for the second.
template <int kHalf>
__device__ void store_state(float* to, const Few<4>& state, const Few<4, uint32_t>&) {
  store_few(to, state);
}
template <int kHalf>
__device__ void store_state(Bf16* to, const Few<4>& state, const Few<4, uint32_t>& noise) {
  Few<4, uint16_t> stored;
  for (int j = 0; j < 4; ++j)
    stored.of[j] = reduced::to_bf16(state.of[j], (noise.of[j] >> (16 * kHalf)) & 0xFFFFU);
  *reinterpret_cast<Few<4, uint16_t>*>(to) = stored;
}

// The values of a weight in f32, or in two halves, and the type of its gradient.
struct WholeWeight {
  using Gradient = float;
  static constexpr int kTensors = 1;
  float* of;
  __device__ float load(int64_t i) const { return of[i]; }
  __device__ void store(int64_t i, float value) const { of[i] = value; }
  __device__ Few<4> load_four(int64_t i) const { return load_few<4>(of + i); }
  __device__ void store_four(int64_t i, const Few<4>& values) const { store_few(of + i, values); }
};
template <class G>  // float, Bf16
struct SplitWeight {
  using Gradient = G;
  static constexpr int kTensors = 2;
  uint16_t* high;
  int16_t* low;
  __device__ float load(int64_t i) const { return split::joined(high[i], low[i]); }
  __device__ void store(int64_t i, float value) const {
    const uint32_t bits = split::bits_to_split(value);
    high[i] = split::high_of(bits);
    low[i] = split::low_of(bits);
  }
  __device__ Few<4> load_four(int64_t i) const {
    const auto above = *reinterpret_cast<const Few<4, uint16_t>*>(high + i);
    const auto below = *reinterpret_cast<const Few<4, int16_t>*>(low + i);
    Few<4> values;
    for (int j = 0; j < 4; ++j) values.of[j] = split::joined(above.of[j], below.of[j]);
    return values;
  }
  __device__ void store_four(int64_t i, const Few<4>& values) const {
    Few<4, uint16_t> above;
    Few<4, int16_t> below;
    for (int j = 0; j < 4; ++j) {
      const uint32_t bits = split::bits_to_split(values.of[j]);
      above.of[j] = split::high_of(bits);
      below.of[j] = split::low_of(bits);
    }
    *reinterpret_cast<Few<4, uint16_t>*>(high + i) = above;
    *reinterpret_cast<Few<4, int16_t>*>(low + i) = below;
  }
};

// Of a tensor in the list of an update: {w, g, state…, low?}.
template <class Weight, size_t kTensors>
__device__ Weight weight_of(const Tensors<kTensors>& tensors, int tensor) {
  if constexpr (Weight::kTensors == 1) return {tensors.of[0][tensor]};
  else
    return {reinterpret_cast<uint16_t*>(tensors.of[0][tensor]),
            reinterpret_cast<int16_t*>(tensors.of[kTensors - 1][tensor])};
}

// State in f32 or bf16, as `State` says.
template <int kStates, bool kClear, class Optimizer, class State, class Weight>
__global__ void update_kernel(const __grid_constant__ Tensors<kStates + 1 + Weight::kTensors> tensors,
                              const float* factor, Optimizer optimizer, ChangingArgument changing) {
  __shared__ typename Optimizer::Step step;
  __shared__ float scale;
  __shared__ bool discard;
  __shared__ uint32_t noise_key;
  if (threadIdx.x == 0) {
    const Changing now = changing.get();
    step = optimizer.at(now);
    scale = factor != nullptr ? *factor : 1.0F;
    discard = now.discard || scale < 0;
    noise_key = reduced::noise_key(now.seed, now.iteration);
  }
  __syncthreads();
  const StretchOfTensor stretch = stretch_of_block(tensors);
  const Weight w = weight_of<Weight>(tensors, stretch.tensor);
  auto* const g = reinterpret_cast<typename Weight::Gradient*>(tensors.of[1][stretch.tensor]);
  State* const s0 = reinterpret_cast<State*>(kStates > 0 ? tensors.of[kStates > 0 ? 2 : 0][stretch.tensor] : nullptr);
  State* const s1 = reinterpret_cast<State*>(kStates > 1 ? tensors.of[kStates > 1 ? 3 : 0][stretch.tensor] : nullptr);
  const int64_t first = stretch.begin + 4 * static_cast<int64_t>(threadIdx.x);
  [[maybe_unused]] const auto clear = [=](int64_t i) {
    if (i + 4 <= stretch.end) store_few(g + i, few_of<4>(0.0F));
    else
      for (; i < stretch.end; ++i) store_one(g + i, 0.0F);
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
    weight[k] = w.load_four(i);
    gradient[k] = load_few<4>(g + i);
    a[k] = kStates > 0 ? load_few<4>(s0 + i) : few_of<4>(0.0F);
    b[k] = kStates > 1 ? load_few<4>(s1 + i) : few_of<4>(0.0F);
  }
#pragma unroll
  for (int k = 0; k < kFoursOfThread; ++k) {
    const int64_t i = first + 4 * k * kThreads;
    if (i + 4 <= stretch.end) {
      Few<4, uint32_t> noise{};
      for (int j = 0; j < 4; ++j) {
        const float of_weight = scale * gradient[k].of[j];
        if constexpr (!std::is_same_v<State, float>)
          noise.of[j] = reduced::noise(noise_key, weight[k].of[j], of_weight);
        step(weight[k].of[j], of_weight, a[k].of[j], b[k].of[j]);
      }
      w.store_four(i, weight[k]);
      if (kStates > 0) store_state<0>(s0 + i, a[k], noise);
      if (kStates > 1) store_state<1>(s1 + i, b[k], noise);
    } else {
      for (int64_t j = i; j < stretch.end; ++j) {
        const float of_weight = scale * load_one(g + j);
        float first_state = kStates > 0 ? load_one(s0 + j) : 0, second_state = kStates > 1 ? load_one(s1 + j) : 0;
        float value = w.load(j);
        const uint32_t noise = reduced::noise(noise_key, value, of_weight);
        step(value, of_weight, first_state, second_state);
        w.store(j, value);
        if constexpr (std::is_same_v<State, float>) {
          if (kStates > 0) s0[j] = first_state;
          if (kStates > 1) s1[j] = second_state;
        } else {
          if (kStates > 0) s0[j].bits = reduced::to_bf16(first_state, noise & 0xFFFFU);
          if (kStates > 1) s1[j].bits = reduced::to_bf16(second_state, noise >> 16);
        }
      }
    }
    if (kClear) clear(i);
  }
}

// A thread's element of a block of state in 8 bits. Every thread must call both.
template <bool kSigned>
__device__ float load_of_block(const std::byte* block, bool there) {
  if (!there) return 0;
  float scale;
  memcpy(&scale, block, sizeof scale);
  const uint32_t code = static_cast<uint32_t>(block[kScaleBytes + threadIdx.x]);
  const float magnitude = scale * reduced::magnitude_of<kSigned>(kSigned ? code & 127U : code);
  return kSigned && code > 127U ? -magnitude : magnitude;
}
template <bool kSigned>
__device__ void store_of_block(std::byte* block, bool there, float state, uint32_t sixteen_random_bits) {
  const float magnitude = there ? fabsf(state) : 0.0F, scale = block_max<kThreads>(magnitude);
  if (!there) return;
  if (threadIdx.x == 0) memcpy(block, &scale, sizeof scale);
  const uint32_t code = reduced::code_of<kSigned>(magnitude / (scale > 0 ? scale : 1.0F),
                                                  reduced::share_of(sixteen_random_bits));
  block[kScaleBytes + threadIdx.x] = static_cast<std::byte>(code | (kSigned && code > 0 && state < 0 ? 128U : 0U));
}

// State in 8 bits, the first with a sign, the second without: a thread for each element of a block.
template <int kStates, bool kClear, class Optimizer, class Weight>
__global__ void update_in_blocks_kernel(const __grid_constant__ Tensors<kStates + 1 + Weight::kTensors> tensors,
                                        const float* factor, Optimizer optimizer, ChangingArgument changing) {
  static_assert(kThreads == kBlockElements && kElementsOfBlock % kBlockElements == 0);
  const Changing now = changing.get();
  const typename Optimizer::Step step = optimizer.at(now);
  const float scale = factor != nullptr ? *factor : 1.0F;
  const uint32_t noise_key = reduced::noise_key(now.seed, now.iteration);
  const StretchOfTensor stretch = stretch_of_block(tensors);
  const Weight w = weight_of<Weight>(tensors, stretch.tensor);
  auto* const g = reinterpret_cast<typename Weight::Gradient*>(tensors.of[1][stretch.tensor]);
  for (int64_t begin = stretch.begin; begin < stretch.end; begin += kBlockElements) {
    const int64_t i = begin + static_cast<int64_t>(threadIdx.x);
    const bool there = i < stretch.end;
    if (!now.discard && !(scale < 0)) {
      const int64_t at = begin / kBlockElements * (kBlockElements + kScaleBytes);
      std::byte* const s0 = reinterpret_cast<std::byte*>(tensors.of[2][stretch.tensor]) + at;
      std::byte* const s1 = reinterpret_cast<std::byte*>(tensors.of[kStates > 1 ? 3 : 2][stretch.tensor]) + at;
      float weight = there ? w.load(i) : 0;
      const float gradient = there ? scale * load_one(g + i) : 0;
      float first = load_of_block<true>(s0, there), second = kStates > 1 ? load_of_block<false>(s1, there) : 0;
      const uint32_t noise = reduced::noise(noise_key, weight, gradient);
      step(weight, gradient, first, second);
      if (there) w.store(i, weight);
      store_of_block<true>(s0, there, first, noise & 0xFFFFU);  // all threads have read the scale: it waits for them
      if (kStates > 1) store_of_block<false>(s1, there, second, noise >> 16);
    }
    if (kClear && there) store_one(g + i, 0.0F);
  }
}

template <int kStates, class Optimizer, class Attrs>
class UpdateKernel final : public Kernel, public Combinable {
 public:
  UpdateKernel(std::span<const OperandDesc> operands, const Attrs& attrs)
      : attrs_(attrs),
        elements_(operands[0].tensor.padded_elements()),
        stored_(kStates > 0 ? operands[2].tensor.type : DataType::f32),
        clears_(adds(operands[1])),
        split_(operands[0].tensor.type == DataType::bf16),
        narrow_gradient_(operands[1].tensor.type == DataType::bf16),
        scaled_(operands.size() > factor_at()) {}

  void run(const RunContext& context, std::byte* const* operands, std::byte*) override {
    const Member alone{this, operands};
    run_combined(context, {&alone, 1});
  }

  bool combines_with(const Kernel& other) const override {
    const auto* const same = dynamic_cast<const UpdateKernel*>(&other);
    return same && same->clears_ == clears_ && same->scaled_ == scaled_ && same->split_ == split_ &&
           same->narrow_gradient_ == narrow_gradient_ && same->stored_ == stored_ && same->with({}) == with({});
  }

  void run_combined(const RunContext& context, std::span<const Member> members) const override {
    if (!split_) run_all<WholeWeight>(context, members);
    else if (narrow_gradient_) run_all<SplitWeight<Bf16>>(context, members);
    else run_all<SplitWeight<float>>(context, members);
  }

 private:
  size_t factor_at() const { return kStates + (split_ ? 3 : 2); }

  // One factor clips all gradients.
  template <class Weight>
  void run_all(const RunContext& context, std::span<const Member> members) const {
    constexpr size_t kTensors = kStates + 1 + Weight::kTensors;
    const Optimizer optimizer = with(context);
    const float* const factor = scaled_ ? in(members.front().operands, factor_at()) : nullptr;
    const auto entry = [&](size_t i) {
      std::array<float*, kTensors> addresses;
      for (size_t k = 0; k < kTensors; ++k) addresses[k] = out(members[i].operands, k);
      return std::pair{addresses, static_cast<const UpdateKernel*>(members[i].kernel)->elements_};
    };
    by_flag(clears_, [&](auto clear) {
      for_tensors<kTensors>(members.size(), entry, [&](const Tensors<kTensors>& tensors) {
        // What accumulates, and so must be zero again, is in f32.
        constexpr bool kClear = decltype(clear)::value && std::is_same_v<typename Weight::Gradient, float>;
        const auto run = [&](auto kernel) {
          launch("optimizer kernel", kernel, tensors.blocks(), kThreads, context, tensors, factor, optimizer,
                 changing(context));
        };
        if constexpr (kStates > 0) {
          if (stored_ == DataType::bf16) return run(update_kernel<kStates, kClear, Optimizer, Bf16, Weight>);
          if (is_in_blocks(stored_)) return run(update_in_blocks_kernel<kStates, kClear, Optimizer, Weight>);
        }
        run(update_kernel<kStates, kClear, Optimizer, float, Weight>);
      });
    });
  }

  Optimizer with(const RunContext& context) const {
    return Optimizer(with_numbers(attrs_, context.numbers), rate_scale_of(context));
  }

  Attrs attrs_;
  int64_t elements_;
  DataType stored_;
  bool clears_, split_, narrow_gradient_, scaled_;
};

template <int kStates, class Optimizer, class Attrs>
std::unique_ptr<Kernel> update(std::span<const OperandDesc> operands, const Attrs& attrs) {
  return std::make_unique<UpdateKernel<kStates, Optimizer, Attrs>>(operands, attrs);
}

}  // namespace plimsoll::cuda
