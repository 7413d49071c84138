// Shared by all update kernels: {w, g, states…, low?, factor?}. `low` is the lower half of a weight in bf16
// (runtime/split_weight.h), whose gradient is in f32 or bf16. The gradient is multiplied by the factor if gradients are
// clipped (ClipFactor) or scaled (UnscaleFactor), and cleared afterwards if it accumulates, in f32. An update that is
// discarded, or skipped by a negative factor, only clears. State is in f32, or stored in fewer bytes
// (runtime/reduced_state.h).
#pragma once

#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/reduced_state.h"
#include "runtime/split_weight.h"

namespace plimsoll::host {

// The values of a weight in f32, or in two halves, and of its gradient.
struct WholeWeight {
  using Gradient = float;
  float* of;
  float value(int64_t i) const { return of[i]; }
  void set(int64_t i, float to) const { of[i] = to; }
  WholeWeight from(int64_t i) const { return {of + i}; }
};
template <class G>  // float, or uint16_t: in bf16
struct SplitWeight {
  using Gradient = G;
  uint16_t* high;
  int16_t* low;
  float value(int64_t i) const { return split::joined(high[i], low[i]); }
  void set(int64_t i, float to) const {
    const uint32_t bits = split::bits_to_split(to);
    high[i] = split::high_of(bits);
    low[i] = split::low_of(bits);
  }
  SplitWeight from(int64_t i) const { return {high + i, low + i}; }
};

inline bool is_split(std::span<const OperandDesc> operands) { return operands[0].tensor.type == DataType::bf16; }

inline float gradient_of(float stored) { return stored; }
inline float gradient_of(uint16_t stored) { return reduced::from_bf16(stored); }

// body(weight): `low` is the slot of the lower half, if there is one.
template <class Body>
void by_weight(bool is_split, DataType gradient, std::byte* const* operand, size_t low, Body body) {
  if (!is_split) return body(WholeWeight{out(operand, 0)});
  uint16_t* const high = out<uint16_t>(operand, 0);
  int16_t* const lower = out<int16_t>(operand, low);
  if (gradient == DataType::bf16) body(SplitWeight<uint16_t>{high, lower});
  else body(SplitWeight<float>{high, lower});
}

// The weight, the gradient and the state of an update, from one element on.
template <class Weight>
struct Updated {
  Weight w;
  const typename Weight::Gradient* g;
  std::byte* state[2];
  float factor;    // of the gradient
  uint32_t noise;  // reduced::noise_key()
};

// step(w, g, s0, s1) for every element; there are `kStates` states.
template <int kStates, class Weight, class Step>
void step_in_f32(const Updated<Weight>& of, int64_t n, Step step) {
  const Weight w = of.w;
  const auto* const g = of.g;
  const float factor = of.factor;
  float* const s0 = reinterpret_cast<float*>(of.state[0]);
  float* const s1 = reinterpret_cast<float*>(of.state[1]);
  for_elements(n, [=](int64_t i) {
    float weight = w.value(i), first = kStates > 0 ? s0[i] : 0, second = kStates > 1 ? s1[i] : 0;
    step(weight, factor * gradient_of(g[i]), first, second);
    w.set(i, weight);
    if (kStates > 0) s0[i] = first;
    if (kStates > 1) s1[i] = second;
  });
}

template <int kStates, class Weight, class Step>
void step_in_bf16(const Updated<Weight>& of, int64_t n, Step step) {
  const Weight w = of.w;
  const auto* const g = of.g;
  const float factor = of.factor;
  const uint32_t key = of.noise;
  uint16_t* const s0 = reinterpret_cast<uint16_t*>(of.state[0]);
  uint16_t* const s1 = reinterpret_cast<uint16_t*>(of.state[1]);
  for_elements(n, [=](int64_t i) {
    const float gradient = factor * gradient_of(g[i]);
    float weight = w.value(i), first = reduced::from_bf16(s0[i]), second = kStates > 1 ? reduced::from_bf16(s1[i]) : 0;
    const uint32_t noise = reduced::noise(key, weight, gradient);
    step(weight, gradient, first, second);
    w.set(i, weight);
    s0[i] = reduced::to_bf16(first, noise & 0xFFFF);
    if (kStates > 1) s1[i] = reduced::to_bf16(second, noise >> 16);
  });
}

// Block by block. The first state has a sign, the second has none.
template <int kStates, class Weight, class Step>
void step_in_blocks(const Updated<Weight>& of, int64_t n, Step step) {
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
    const Weight w = of.w.from(begin);
    const auto* const g = of.g + begin;
#pragma omp simd
    for (int64_t i = 0; i < here; ++i) {
      const float gradient = factor * gradient_of(g[i]);
      float weight = w.value(i), one = first[i], two = second[i];
      noise[i] = reduced::noise(key, weight, gradient);
      own(weight, gradient, one, two);
      w.set(i, weight);
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
  constexpr size_t kLow = 2 + static_cast<size_t>(kStates);
  const int64_t n = operands[0].tensor.padded_elements();
  const bool halves = is_split(operands), clear = operands[1].access == Access::update;
  const DataType gradient = operands[1].tensor.type;
  const size_t factor_at = kLow + (halves ? 1 : 0);
  const bool scaled = operands.size() > factor_at;
  const DataType stored = kStates > 0 ? operands[2].tensor.type : DataType::f32;
  return flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    const float factor = scaled ? *in(operand, factor_at) : 1;
    if (!context.discard && !(factor < 0))
      by_weight(halves, gradient, operand, kLow, [&](auto weight) {
        const Updated<decltype(weight)> updated{
            .w = weight,
            .g = in<typename decltype(weight)::Gradient>(operand, 1),
            .state = {kStates > 0 ? operand[2] : nullptr, kStates > 1 ? operand[3] : nullptr},
            .factor = factor,
            .noise = reduced::noise_key(context.seed, context.iteration)};
        const auto step = prepare(context);
        if (stored == DataType::f32) step_in_f32<kStates>(updated, n, step);
        else if (stored == DataType::bf16) step_in_bf16<kStates>(updated, n, step);
        else step_in_blocks<kStates>(updated, n, step);
      });
    if (clear) for_elements(n, [g = out(operand, 1)](int64_t i) { g[i] = 0; });
  });
}

}  // namespace plimsoll::host
