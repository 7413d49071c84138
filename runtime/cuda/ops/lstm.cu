// LstmForward  {x, r, h0, c0, y, yh, yc, gates, cells}                                 compiler/ops/lstmsequence.cpp
// LstmBackward {r, c0, gates, cells, dy, dyh, dyc, dx, dh0, dc0}
#include "runtime/cuda/ops/recurrent.h"

namespace plimsoll {
namespace {

__global__ void lstm_step_kernel(int64_t n, cuda::GatePlaces at, const float* x, const float* sums, const float* c,
                                 float* state, float* h, float* cell, float* gates) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t in_at = at.of(0, i), out_at = at.of(1, i), forget_at = at.of(2, i), fresh_at = at.of(3, i);
  const auto sum = [&](int64_t gate) { return x[gate] + (sums != nullptr ? sums[gate] : 0.0F); };
  const float in = cuda::sigmoid(sum(in_at)), out = cuda::sigmoid(sum(out_at)), forget = cuda::sigmoid(sum(forget_at)),
              fresh = tanhf(sum(fresh_at));
  const float made = in * fresh + (c != nullptr ? forget * c[i] : 0.0F);
  const float next = out * tanhf(made);
  cell[i] = made;
  h[i] = next;
  if (state != nullptr) state[i] = next;
  if (gates == nullptr) return;
  gates[in_at] = in;
  gates[out_at] = out;
  gates[forget_at] = forget;
  gates[fresh_at] = fresh;
}

__global__ void lstm_slope_kernel(int64_t n, cuda::GatePlaces at, const float* gates, const float* cells,
                                  const float* c, const float* dy, const float* dh, const float* dc, float* dx,
                                  float* slopes, float* dc_before) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t in_at = at.of(0, i), out_at = at.of(1, i), forget_at = at.of(2, i), fresh_at = at.of(3, i);
  const float in = gates[in_at], out = gates[out_at], forget = gates[forget_at], fresh = gates[fresh_at],
              tanh_c = tanhf(cells[i]);
  const float slope = (dy != nullptr ? dy[i] : 0.0F) + (dh != nullptr ? dh[i] : 0.0F);
  const float of_cell = (dc != nullptr ? dc[i] : 0.0F) + slope * out * (1.0F - tanh_c * tanh_c);
  const auto put = [&](int64_t gate, float value) { dx[gate] = slopes[gate] = value; };
  put(in_at, of_cell * fresh * in * (1.0F - in));
  put(out_at, slope * tanh_c * out * (1.0F - out));
  put(forget_at, c != nullptr ? of_cell * c[i] * forget * (1.0F - forget) : 0.0F);
  put(fresh_at, of_cell * in * (1.0F - fresh * fresh));
  dc_before[i] = of_cell * forget;
}

class LstmForwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_b = true};

  LstmForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[1].tensor), product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  static cuda::ProductOperands product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.size), cuda::matrix(s.rows, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.rows, Access::write)};
  }
  // sums [N, 4H], a state and a cell [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(s.gates()) + 2 * cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = cuda::in(operands, 0), *const r = cuda::in(operands, 1);
    const float *h = cuda::in(operands, 2), *c = cuda::in(operands, 3);
    float *const states = cuda::out(operands, 4), *const gates = cuda::out(operands, 7),
                 *const cells = cuda::out(operands, 8);
    cuda::Parts parts(workspace);
    float *const sums = parts.take(s_.gates()), *const state = parts.take(s_.state()),
                 *const cell = parts.take(s_.state());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      if (h) {
        std::byte* const factors[] = {cuda::bytes(h), cuda::bytes(r), nullptr, cuda::bytes(sums)};
        product_->run(context, factors, parts.rest());
      }
      float* const to_c = cells ? cells + t * s_.state() : cell;
      cuda::launch("step of an LSTM", lstm_step_kernel, cuda::blocks_for(s_.state()), cuda::kThreads, context,
                   s_.state(), cuda::GatePlaces(s_), x + t * s_.gates(), h ? sums : nullptr, c,
                   cuda::at_step(states, t * s_.state()), state, to_c, cuda::at_step(gates, t * s_.gates()));
      h = state, c = to_c;
    }
    cuda::copy_state(context, h, cuda::out(operands, 5), s_.state());
    cuda::copy_state(context, c, cuda::out(operands, 6), s_.state());
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

class LstmBackwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{};

  LstmBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[2].tensor, operands[0].tensor), product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  static cuda::ProductOperands product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.rows), cuda::matrix(s.rows, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.size, Access::write)};
  }
  // dx of a step [N, 4H], the gradients of a state and of a cell [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(s.gates()) + 2 * cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const c0 = cuda::in(operands, 1), *const gates = cuda::in(operands, 2),
                       *const cells = cuda::in(operands, 3), *const dy = cuda::in(operands, 4);
    const float *dh = cuda::in(operands, 5), *dc = cuda::in(operands, 6);
    float *const dx = cuda::out(operands, 7), *const dh0 = cuda::out(operands, 8);
    cuda::Parts parts(workspace);
    float *const slopes = parts.take(s_.gates()), *const dh_before = parts.take(s_.state()),
                 *const dc_before = parts.take(s_.state());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      cuda::launch("gradient of a step of an LSTM", lstm_slope_kernel, cuda::blocks_for(s_.state()), cuda::kThreads,
                   context, s_.state(), cuda::GatePlaces(s_), gates + t * s_.gates(), cells + t * s_.state(),
                   i > 0 ? cells + s_.before(i) * s_.state() : c0, cuda::at_step(dy, t * s_.state()), dh, dc,
                   dx + t * s_.gates(), slopes, dc_before);
      float* const to = i > 0 ? dh_before : dh0;
      if (to) {
        std::byte* const factors[] = {cuda::bytes(slopes), operands[0], nullptr, cuda::bytes(to)};
        product_->run(context, factors, parts.rest());
      }
      dh = dh_before, dc = dc_before;
    }
    cuda::copy_state(context, dc_before, cuda::out(operands, 9), s_.state());
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

}  // namespace

std::vector<Algorithm> LstmForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::algorithms_around(LstmForwardKernel::kProduct, LstmForwardKernel::product(s),
                                 LstmForwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> LstmForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                          std::string_view algorithm) {
  return std::make_unique<LstmForwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> LstmBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[2].tensor, operands[0].tensor);
  return cuda::algorithms_around(LstmBackwardKernel::kProduct, LstmBackwardKernel::product(s),
                                 LstmBackwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> LstmBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                           std::string_view algorithm) {
  return std::make_unique<LstmBackwardKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
