// LstmForward  {x, r, h0, c0, y, yh, yc, gates, cells}                                 compiler/ops/lstmsequence.cpp
// LstmBackward {r, c0, gates, cells, dy, dyh, dyc, dx, dh0, dc0}
//
// The gates may lie where x was, and dx where the gates were: element i is read before it is written.
#include "runtime/host/math.h"
#include "runtime/host/recurrence.h"

namespace plimsoll {
namespace {

class LstmForwardKernel final : public Kernel {
 public:
  LstmForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, operands[1].tensor),
        product_({.rows = s_.samples, .columns = s_.rows, .inner = s_.size, .transpose_b = true, .packs = true}),
        keeps_states_(host::present(operands[4])),
        keeps_cells_(host::present(operands[8])) {}

  // sums [N, 4H]; a state and a cell [N, H], if no operand has those of all steps
  int64_t workspace_bytes() const {
    return host::Parts::bytes_of(s_.gates()) + (keeps_states_ ? 0 : host::Parts::bytes_of(s_.state())) +
           (keeps_cells_ ? 0 : host::Parts::bytes_of(s_.state())) + product_.workspace_bytes();
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *x = host::in(operands, 0), *h = host::in(operands, 2), *c = host::in(operands, 3);
    float *const states = host::out(operands, 4), *const gates = host::out(operands, 7),
                 *const cells = host::out(operands, 8);
    host::Parts parts(workspace);
    float* const sums = parts.take(s_.gates());
    float *const state = keeps_states_ ? nullptr : parts.take(s_.state()), *const cell = keeps_cells_
                                                                                             ? nullptr
                                                                                             : parts.take(s_.state());
    product_.begin(host::in(operands, 1), parts.rest());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      if (h) product_.run(h, sums);
      float* const to_h = states ? states + t * s_.state() : state;
      float* const to_c = cells ? cells + t * s_.state() : cell;
      step(x + t * s_.gates(), h ? sums : nullptr, c, to_h, to_c, gates ? gates + t * s_.gates() : nullptr);
      h = to_h, c = to_c;
    }
    host::copy_state(h, host::out(operands, 5), s_.state());
    host::copy_state(c, host::out(operands, 6), s_.state());
  }

 private:
  void step(const float* x, const float* sums, const float* c, float* to_h, float* to_c, float* gates) const {
    const auto [in, out, forget, fresh] = s_.gate;
    const int64_t size = s_.size;
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        const auto sum = [&](int64_t gate) { return x[row + gate + j] + (sums ? sums[row + gate + j] : 0.0F); };
        const float i = host::sigmoid_of(sum(in)), o = host::sigmoid_of(sum(out)), f = host::sigmoid_of(sum(forget)),
                    g = host::tanh_of(sum(fresh));
        const float cell = i * g + (c ? f * c[state + j] : 0.0F);
        to_c[state + j] = cell;
        to_h[state + j] = o * host::tanh_of(cell);
        if (!gates) continue;
        gates[row + in + j] = i, gates[row + out + j] = o;
        gates[row + forget + j] = f, gates[row + fresh + j] = g;
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct product_;
  const bool keeps_states_, keeps_cells_;
};

class LstmBackwardKernel final : public Kernel {
 public:
  LstmBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[2].tensor, operands[0].tensor),
        product_({.rows = s_.samples, .columns = s_.size, .inner = s_.rows, .packs = true}) {}

  // the gradients of a state and of a cell, [N, H] each
  int64_t workspace_bytes() const { return 2 * host::Parts::bytes_of(s_.state()) + product_.workspace_bytes(); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const c0 = host::in(operands, 1), *const gates = host::in(operands, 2),
                       *const cells = host::in(operands, 3), *const dy = host::in(operands, 4);
    const float *dh = host::in(operands, 5), *dc = host::in(operands, 6);
    float *const dx = host::out(operands, 7), *const dh0 = host::out(operands, 8), *const dc0 = host::out(operands, 9);
    host::Parts parts(workspace);
    float *const dh_before = parts.take(s_.state()), *const dc_before = parts.take(s_.state());
    product_.begin(host::in(operands, 0), parts.rest());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      const float* const c_before = i > 0 ? cells + s_.before(i) * s_.state() : c0;
      step(gates + t * s_.gates(), cells + t * s_.state(), c_before, dy ? dy + t * s_.state() : nullptr, dh, dc,
           dx + t * s_.gates(), dc_before);
      if (i > 0 || dh0) product_.run(dx + t * s_.gates(), i > 0 ? dh_before : dh0);
      dh = dh_before, dc = dc_before;
    }
    host::copy_state(dc_before, dc0, s_.state());
  }

 private:
  void step(const float* gates, const float* cells, const float* c_before, const float* dy, const float* dh,
            const float* dc, float* dx, float* dc_before) const {
    const auto [in, out, forget, fresh] = s_.gate;
    const int64_t size = s_.size;
    host::for_samples(s_, [=](int64_t state, int64_t row) {
#pragma omp simd
      for (int64_t j = 0; j < size; ++j) {
        const float i = gates[row + in + j], o = gates[row + out + j], f = gates[row + forget + j],
                    g = gates[row + fresh + j], tanh_c = host::tanh_of(cells[state + j]);
        const float slope = (dy ? dy[state + j] : 0.0F) + (dh ? dh[state + j] : 0.0F);
        const float of_cell = (dc ? dc[state + j] : 0.0F) + slope * o * (1.0F - tanh_c * tanh_c);
        dx[row + in + j] = of_cell * g * i * (1.0F - i);
        dx[row + out + j] = slope * tanh_c * o * (1.0F - o);
        dx[row + forget + j] = c_before ? of_cell * c_before[state + j] * f * (1.0F - f) : 0.0F;
        dx[row + fresh + j] = of_cell * i * (1.0F - g * g);
        dc_before[state + j] = of_cell * f;
      }
    });
  }

  const RecurrentShape s_;
  host::RepeatedProduct product_;
};

}  // namespace

PLIMSOLL_RECURRENT(LstmForward)
PLIMSOLL_RECURRENT(LstmBackward)

}  // namespace plimsoll
