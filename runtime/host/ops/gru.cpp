// GruForward  {x, r, h0, b, y, yh, gates, recurrent}                                     compiler/ops/grusequence.cpp
// GruBackward {r, h0, y, gates, recurrent, dy, dyh, slopes, fresh_slopes, dh0}
// GruInputs   {slopes, fresh_slopes, dx}
//
// A result may lie where an operand of its shape was: element i is read before it is written.
#include "runtime/host/math.h"
#include "runtime/host/recurrence.h"

namespace plimsoll {
namespace {

class GruForwardKernel final : public Kernel {
 public:
  GruForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, operands[1].tensor),
        product_({.rows = s_.samples, .columns = s_.rows, .inner = s_.size, .transpose_b = true, .packs = true}),
        keeps_states_(host::present(operands[4])) {}

  // sums [N, 3H]; a state [N, H], if no operand has those of all steps
  int64_t workspace_bytes() const {
    return host::Parts::bytes_of(s_.gates()) + (keeps_states_ ? 0 : host::Parts::bytes_of(s_.state())) +
           product_.workspace_bytes();
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = host::in(operands, 0), *const bias = host::in(operands, 3);
    const float* h = host::in(operands, 2);
    float *const states = host::out(operands, 4), *const gates = host::out(operands, 6),
                 *const recurrent = host::out(operands, 7);
    host::Parts parts(workspace);
    float *const sums = parts.take(s_.gates()), *const state = keeps_states_ ? nullptr : parts.take(s_.state());
    product_.begin(host::in(operands, 1), parts.rest());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      if (h) product_.run(h, sums);
      float* const to = states ? states + t * s_.state() : state;
      step(x + t * s_.gates(), bias, h ? sums : nullptr, h, to, gates ? gates + t * s_.gates() : nullptr,
           recurrent ? recurrent + t * s_.state() : nullptr);
      h = to;
    }
    host::copy_state(h, host::out(operands, 5), s_.state());
  }

 private:
  // A loop for each combination, because gcc does not vectorize one loop with four conditions.
  void step(const float* x, const float* bias, const float* sums, const float* h, float* to, float* gates,
            float* recurrent) const {
    host::by_flag(h, [&](auto has_h) {
      host::by_flag(bias, [&](auto has_bias) {
        host::by_flag(gates, [&](auto keeps_gates) {
          step<has_h, has_bias, keeps_gates>(x, bias, sums, h, to, gates, recurrent);
        });
      });
    });
  }

  template <bool kHasH, bool kHasBias, bool kKeepsGates>
  void step(const float* x, const float* bias, const float* sums, const float* h, float* to, float* gates,
            float* recurrent) const {
    const int64_t size = s_.size, update = s_.gate[0], reset = s_.gate[1], fresh = s_.gate[2];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        float of_update = 0, of_reset = 0, s = 0, before = 0;
        if constexpr (kHasH)
          of_update = sums[row + update + j], of_reset = sums[row + reset + j], s = sums[row + fresh + j],
          before = h[state + j];
        if constexpr (kHasBias) of_update += bias[update + j], of_reset += bias[reset + j], s += bias[fresh + j];
        const float z = host::sigmoid_of(x[row + update + j] + of_update),
                    r = host::sigmoid_of(x[row + reset + j] + of_reset), n = host::tanh_of(x[row + fresh + j] + r * s);
        to[state + j] = n + z * (before - n);
        if constexpr (kKeepsGates) {
          gates[row + update + j] = z, gates[row + reset + j] = r, gates[row + fresh + j] = n;
          recurrent[state + j] = s;
        }
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct product_;
  const bool keeps_states_;
};

class GruBackwardKernel final : public Kernel {
 public:
  GruBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[3].tensor, operands[0].tensor),
        product_({.rows = s_.samples, .columns = s_.size, .inner = s_.rows, .accumulates = true, .packs = true}) {}

  // the gradient of a state [N, H]
  int64_t workspace_bytes() const { return host::Parts::bytes_of(s_.state()) + product_.workspace_bytes(); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const h0 = host::in(operands, 1), *const states = host::in(operands, 2),
                       *const gates = host::in(operands, 3), *const recurrent = host::in(operands, 4),
                       *const dy = host::in(operands, 5);
    const float* dh = host::in(operands, 6);
    float *const slopes = host::out(operands, 7), *const fresh_slopes = host::out(operands, 8),
                 *const dh0 = host::out(operands, 9);
    host::Parts parts(workspace);
    float* const dh_before = parts.take(s_.state());
    product_.begin(host::in(operands, 0), parts.rest());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      float* const to = i > 0 ? dh_before : dh0;
      step(gates + t * s_.gates(), recurrent + t * s_.state(), i > 0 ? states + s_.before(i) * s_.state() : h0,
           dy ? dy + t * s_.state() : nullptr, dh, slopes + t * s_.gates(),
           fresh_slopes ? fresh_slopes + t * s_.state() : nullptr, to);
      if (to) product_.run(slopes + t * s_.gates(), to);
      dh = to;
    }
  }

 private:
  void step(const float* gates, const float* recurrent, const float* h_before, const float* dy, const float* dh,
            float* slopes, float* fresh_slopes, float* dh_before) const {
    const int64_t size = s_.size, update = s_.gate[0], reset = s_.gate[1], fresh = s_.gate[2];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        const float z = gates[row + update + j], r = gates[row + reset + j], n = gates[row + fresh + j],
                    s = recurrent[state + j];
        const float slope = (dy ? dy[state + j] : 0.0F) + (dh ? dh[state + j] : 0.0F);
        const float of_fresh = slope * (1.0F - z) * (1.0F - n * n);
        slopes[row + update + j] = slope * ((h_before ? h_before[state + j] : 0.0F) - n) * z * (1.0F - z);
        slopes[row + reset + j] = of_fresh * s * r * (1.0F - r);
        slopes[row + fresh + j] = of_fresh * r;
        if (fresh_slopes) fresh_slopes[state + j] = of_fresh;
        if (dh_before) dh_before[state + j] = slope * z;
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct product_;
};

// The slopes of the inputs are those of the products with r, but for the gate n.
class GruInputsKernel final : public Kernel {
 public:
  GruInputsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, f32({operands[0].tensor.dim(2), operands[1].tensor.dim(2)})) {}

  int64_t workspace_bytes() const { return 0; }

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    const float *const slopes = host::in(operands, 0), *const fresh_slopes = host::in(operands, 1);
    float* const dx = host::out(operands, 2);
    const size_t of_gates = static_cast<size_t>(s_.rows) * sizeof(float),
                 of_state = static_cast<size_t>(s_.size) * sizeof(float);
    const int64_t fresh = s_.gate[2];
    host::for_states(s_, s_.steps * s_.samples, [=](int64_t state, int64_t row) {
      if (dx != slopes) std::memcpy(dx + row, slopes + row, of_gates);
      std::memcpy(dx + row + fresh, fresh_slopes + state, of_state);
    });
  }

 private:
  const RecurrentShape s_;
};

}  // namespace

PLIMSOLL_RECURRENT(GruForward)
PLIMSOLL_RECURRENT(GruBackward)
PLIMSOLL_RECURRENT(GruInputs)

}  // namespace plimsoll
