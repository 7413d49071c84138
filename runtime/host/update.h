// Shared by all update kernels: {w, g, states…, factor?}. The gradient is multiplied by the factor if gradients are
// clipped (ClipFactor) or scaled (UnscaleFactor), and cleared afterwards if it accumulates. An update that is
// discarded, or skipped by a negative factor, only clears. State is in f32, or stored in fewer bytes
// (runtime/reduced_state.h).
#pragma once

#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/reduced_state.h"

namespace plimsoll::host {

// The weight, the gradient and the state of an update, from one element on.
struct Updated {
  float* w;
  const float* g;
  std::byte* state[2];
  float factor;    // of the gradient
  uint32_t noise;  // reduced::noise_key()
};

// step(w, g, s0, s1) for every element; there are `kStates` states.
template <int kStates, class Step>
void step_in_f32(const Updated& of, int64_t n, Step step) {
  float* const w = of.w;
  const float* const g = of.g;
  const float factor = of.factor;
  float* const s0 = reinterpret_cast<float*>(of.state[0]);
  float* const s1 = reinterpret_cast<float*>(of.state[1]);
  for_elements(n, [=](int64_t i) {
    float weight = w[i], first = kStates > 0 ? s0[i] : 0, second = kStates > 1 ? s1[i] : 0;
    step(weight, factor * g[i], first, second);
    w[i] = weight;
    if (kStates > 0) s0[i] = first;
    if (kStates > 1) s1[i] = second;
  });
}

template <int kStates, class Step>
void step_in_bf16(const Updated& of, int64_t n, Step step) {
  float* const w = of.w;
  const float* const g = of.g;
  const float factor = of.factor;
  const uint32_t key = of.noise;
  uint16_t* const s0 = reinterpret_cast<uint16_t*>(of.state[0]);
  uint16_t* const s1 = reinterpret_cast<uint16_t*>(of.state[1]);
  for_elements(n, [=](int64_t i) {
    const float gradient = factor * g[i];
    float weight = w[i], first = reduced::from_bf16(s0[i]), second = kStates > 1 ? reduced::from_bf16(s1[i]) : 0;
    const uint32_t noise = reduced::noise(key, weight, gradient);
    step(weight, gradient, first, second);
    w[i] = weight;
    s0[i] = reduced::to_bf16(first, noise & 0xFFFF);
    if (kStates > 1) s1[i] = reduced::to_bf16(second, noise >> 16);
  });
}

// Block by block. The first state has a sign, the second has none.
template <int kStates, class Step>
void step_in_blocks(const Updated& of, int64_t n, Step step) {
  const int64_t blocks = (n + kBlockElements - 1) / kBlockElements;
#pragma omp parallel for schedule(static) if (n > 16384)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = b * kBlockElements, here = std::min(kBlockElements, n - begin);
    float first[kBlockElements], second[kBlockElements] = {};
    uint32_t noise[kBlockElements];
    std::byte* const s0 = of.state[0] + b * (kBlockElements + kScaleBytes);
    std::byte* const s1 = kStates > 1 ? of.state[1] + b * (kBlockElements + kScaleBytes) : nullptr;
    reduced::read_block<true>(s0, here, first);
    if (kStates > 1) reduced::read_block<false>(s1, here, second);
    const Step own = step;  // as in for_elements()
    const float factor = of.factor;
    const uint32_t key = of.noise;
    float* const w = of.w + begin;
    const float* const g = of.g + begin;
#pragma omp simd
    for (int64_t i = 0; i < here; ++i) {
      const float gradient = factor * g[i];
      float weight = w[i], one = first[i], two = second[i];
      noise[i] = reduced::noise(key, weight, gradient);
      own(weight, gradient, one, two);
      w[i] = weight;
      first[i] = one;
      second[i] = two;
    }
    reduced::write_block<true>(first, here, [&](int64_t i) { return reduced::share_of(noise[i] & 0xFFFF); }, s0);
    if (kStates > 1)
      reduced::write_block<false>(second, here, [&](int64_t i) { return reduced::share_of(noise[i] >> 16); }, s1);
  }
}

// prepare(context) gives the step of an element: step(float& w, float g, float& s0, float& s1).
template <int kStates, class Prepare>
std::unique_ptr<Kernel> update_kernel(std::span<const OperandDesc> operands, Prepare prepare) {
  constexpr size_t kFactor = 2 + static_cast<size_t>(kStates);
  const int64_t n = operands[0].tensor.padded_elements();
  const bool clear = operands[1].access == Access::update, scaled = operands.size() > kFactor;
  const DataType stored = kStates > 0 ? operands[2].tensor.type : DataType::f32;
  return flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    float* g = out(operand, 1);
    const float factor = scaled ? *in(operand, kFactor) : 1;
    if (!context.discard && !(factor < 0)) {
      const Updated updated{.w = out(operand, 0),
                            .g = g,
                            .state = {kStates > 0 ? operand[2] : nullptr, kStates > 1 ? operand[3] : nullptr},
                            .factor = factor,
                            .noise = reduced::noise_key(context.seed, context.iteration)};
      const auto step = prepare(context);
      if (stored == DataType::f32) step_in_f32<kStates>(updated, n, step);
      else if (stored == DataType::bf16) step_in_bf16<kStates>(updated, n, step);
      else step_in_blocks<kStates>(updated, n, step);
    }
    if (clear) for_elements(n, [=](int64_t i) { g[i] = 0; });
  });
}

}  // namespace plimsoll::host
