// ResetFirstGruForward  {x, r, h0, y, yh, gates}                               compiler/ops/resetfirstgrusequence.cpp
// ResetFirstGruBackward {r, h0, y, gates, dy, dyh, dx, reset_states, dh0}
//
// A result may lie where an operand of its shape was: element i is read before it is written. A step has two products,
// of the state for z and reset, and of the state that was reset for n.
#include "runtime/host/math.h"
#include "runtime/host/recurrence.h"

namespace plimsoll {
namespace {

class ResetFirstGruForwardKernel final : public Kernel {
 public:
  ResetFirstGruForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, operands[1].tensor),
        open_({.rows = s_.samples, .columns = 2 * s_.size, .inner = s_.size, .transpose_b = true, .packs = true}),
        fresh_({.rows = s_.samples, .columns = s_.size, .inner = s_.size, .transpose_b = true, .packs = true}),
        keeps_states_(host::present(operands[3])) {}

  // z and reset [N, 2H], reset h' [N, H], sums of n [N, H]; a state [N, H], if no operand has those of all steps
  int64_t workspace_bytes() const {
    return host::Parts::bytes_of(2 * s_.state()) + (keeps_states_ ? 2 : 3) * host::Parts::bytes_of(s_.state()) +
           open_.workspace_bytes() + fresh_.workspace_bytes();
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = host::in(operands, 0), *const r = host::in(operands, 1);
    const float* h = host::in(operands, 2);
    float *const states = host::out(operands, 3), *const gates = host::out(operands, 5);
    host::Parts parts(workspace);
    float *const open = parts.take(2 * s_.state()), *const reset_state = parts.take(s_.state()),
                 *const sums = parts.take(s_.state()), *const state = keeps_states_ ? nullptr : parts.take(s_.state());
    open_.begin(r, parts.rest());
    fresh_.begin(r + 2 * s_.size * s_.size, parts.rest() + open_.workspace_bytes());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      const float* const x_of_step = x + t * s_.gates();
      float* const to = states ? states + t * s_.state() : state;
      float* const gates_of_step = gates ? gates + t * s_.gates() : nullptr;
      if (h) open_.run(h, open);
      // Loops for each combination, as in gru.cpp.
      host::by_flag(h, [&](auto has_h) {
        host::by_flag(gates, [&](auto keeps_gates) {
          open_gates<has_h, keeps_gates>(x_of_step, h, open, reset_state, gates_of_step);
          if (has_h) fresh_.run(reset_state, sums);
          next_state<has_h, keeps_gates>(x_of_step, h, open, sums, to, gates_of_step);
        });
      });
      h = to;
    }
    host::copy_state(h, host::out(operands, 4), s_.state());
  }

 private:
  // `open`: the products of the state; z and reset take their place.
  template <bool kHasH, bool kKeepsGates>
  void open_gates(const float* x, const float* h, float* open, float* reset_state, float* gates) const {
    const int64_t size = s_.size, update = s_.gate[0], reset = s_.gate[1];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
      float* const z_of_row = open + 2 * state + update;
      float* const r_of_row = open + 2 * state + reset;
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        float of_update = x[row + update + j], of_reset = x[row + reset + j];
        if constexpr (kHasH) of_update += z_of_row[j], of_reset += r_of_row[j];
        const float z = host::sigmoid_of(of_update), r = host::sigmoid_of(of_reset);
        z_of_row[j] = z, r_of_row[j] = r;
        if constexpr (kHasH) reset_state[state + j] = r * h[state + j];
        if constexpr (kKeepsGates) gates[row + update + j] = z, gates[row + reset + j] = r;
      }
    });
  }

  template <bool kHasH, bool kKeepsGates>
  void next_state(const float* x, const float* h, const float* open, const float* sums, float* to, float* gates) const {
    const int64_t size = s_.size, update = s_.gate[0], fresh = s_.gate[2];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
      const float* const z_of_row = open + 2 * state + update;
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        float of_fresh = x[row + fresh + j], before = 0;
        if constexpr (kHasH) of_fresh += sums[state + j], before = h[state + j];
        const float n = host::tanh_of(of_fresh);
        to[state + j] = n + z_of_row[j] * (before - n);
        if constexpr (kKeepsGates) gates[row + fresh + j] = n;
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct open_, fresh_;
  const bool keeps_states_;
};

class ResetFirstGruBackwardKernel final : public Kernel {
 public:
  ResetFirstGruBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[3].tensor, operands[0].tensor),
        open_({.rows = s_.samples, .columns = s_.size, .inner = 2 * s_.size, .accumulates = true, .packs = true}),
        fresh_({.rows = s_.samples, .columns = s_.size, .inner = s_.size, .packs = true}) {}

  // slopes of a step, of z and reset [N, 2H] and of n [N, H], because oneDNN's fast products want adjacent rows; the
  // gradients of a state and of reset h' [N, H]
  int64_t workspace_bytes() const {
    return host::Parts::bytes_of(2 * s_.state()) + 3 * host::Parts::bytes_of(s_.state()) + open_.workspace_bytes() +
           fresh_.workspace_bytes();
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const r = host::in(operands, 0), *const h0 = host::in(operands, 1),
                       *const states = host::in(operands, 2), *const gates = host::in(operands, 3),
                       *const dy = host::in(operands, 4);
    const float* dh = host::in(operands, 5);
    float *const dx = host::out(operands, 6), *const reset_states = host::out(operands, 7),
                 *const dh0 = host::out(operands, 8);
    host::Parts parts(workspace);
    float *const open_slopes = parts.take(2 * s_.state()), *const fresh_slopes = parts.take(s_.state()),
                 *const dh_before = parts.take(s_.state()), *const of_reset_state = parts.take(s_.state());
    open_.begin(r, parts.rest());
    fresh_.begin(r + 2 * s_.size * s_.size, parts.rest() + open_.workspace_bytes());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      const float* const h_before = i > 0 ? states + s_.before(i) * s_.state() : h0;
      const float* const gates_of_step = gates + t * s_.gates();
      float* const dx_of_step = dx + t * s_.gates();
      float* const to = i > 0 ? dh_before : dh0;
      update_slopes(gates_of_step, h_before, dy ? dy + t * s_.state() : nullptr, dh, dx_of_step, open_slopes,
                    fresh_slopes, reset_states ? reset_states + t * s_.state() : nullptr, to);
      if (h_before) {
        fresh_.run(fresh_slopes, of_reset_state);
        reset_slopes(gates_of_step, h_before, of_reset_state, dx_of_step, open_slopes, to);
      }
      if (to) open_.run(open_slopes, to);
      dh = to;
    }
  }

 private:
  // All but the gate reset, whose gradient needs a product of that of n; it is zero without a state before.
  void update_slopes(const float* gates, const float* h_before, const float* dy, const float* dh, float* dx,
                     float* open_slopes, float* fresh_slopes, float* reset_states, float* dh_before) const {
    const int64_t size = s_.size, update = s_.gate[0], reset = s_.gate[1], fresh = s_.gate[2];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        const float z = gates[row + update + j], r = gates[row + reset + j], n = gates[row + fresh + j],
                    before = h_before ? h_before[state + j] : 0.0F;
        const float slope = (dy ? dy[state + j] : 0.0F) + (dh ? dh[state + j] : 0.0F);
        dx[row + update + j] = open_slopes[2 * state + update + j] = slope * (before - n) * z * (1.0F - z);
        dx[row + fresh + j] = fresh_slopes[state + j] = slope * (1.0F - z) * (1.0F - n * n);
        if (!h_before) dx[row + reset + j] = 0.0F;
        if (reset_states) reset_states[state + j] = r * before;
        if (dh_before) dh_before[state + j] = slope * z;
      }
    });
  }

  void reset_slopes(const float* gates, const float* h_before, const float* of_reset_state, float* dx,
                    float* open_slopes, float* dh_before) const {
    const int64_t size = s_.size, reset = s_.gate[1];
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        const float r = gates[row + reset + j], slope = of_reset_state[state + j] * r;
        dx[row + reset + j] = open_slopes[2 * state + reset + j] = slope * h_before[state + j] * (1.0F - r);
        if (dh_before) dh_before[state + j] += slope;
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct open_, fresh_;
};

}  // namespace

PLIMSOLL_RECURRENT(ResetFirstGruForward)
PLIMSOLL_RECURRENT(ResetFirstGruBackward)

}  // namespace plimsoll
