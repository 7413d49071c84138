// ResetFirstGruForward  {x, r, h0, y, yh, gates}                               compiler/ops/resetfirstgrusequence.cpp
// ResetFirstGruBackward {r, h0, y, gates, dy, dyh, dx, reset_states, dh0}
//
// A result may lie where an operand of its shape was: a thread reads its elements before it writes them. A step has two
// products, of the state for z and reset, and of the state that was reset for n.
#include "runtime/cuda/ops/recurrent.h"

namespace plimsoll {
namespace {

// z and reset of a step, side by side: [N, 2H].
cuda::GatePlaces open_places(const RecurrentShape& s) {
  cuda::GatePlaces at(s);
  at.rows = 2 * s.size;
  return at;
}

// Where the rows of r for n begin, in elements.
int64_t fresh_rows(const RecurrentShape& s) { return 2 * s.size * s.size; }

__global__ void gru_open_kernel(int64_t n, cuda::GatePlaces at, cuda::GatePlaces open, const float* x,
                                const float* sums, const float* h, float* updates, float* reset_state, float* gates) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const auto gate = [&](int which) {
    return cuda::sigmoid(x[at.of(which, i)] + (sums != nullptr ? sums[open.of(which, i)] : 0.0F));
  };
  const float update = gate(0), reset = gate(1);
  updates[i] = update;
  if (h != nullptr) reset_state[i] = reset * h[i];
  if (gates == nullptr) return;
  gates[at.of(0, i)] = update;
  gates[at.of(1, i)] = reset;
}

__global__ void gru_state_kernel(int64_t n, cuda::GatePlaces at, const float* x, const float* sums,
                                 const float* updates, const float* h, float* state, float* y, float* gates) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t fresh_at = at.of(2, i);
  const float fresh = tanhf(x[fresh_at] + (sums != nullptr ? sums[i] : 0.0F));
  const float next = fresh + updates[i] * ((h != nullptr ? h[i] : 0.0F) - fresh);
  state[i] = next;
  if (y != nullptr) y[i] = next;
  if (gates != nullptr) gates[fresh_at] = fresh;
}

// All gates but the reset, whose gradient needs a product of that of n; it is zero without a state before. The slopes
// are copied for the products: those of z and reset to `open_slopes`, those of n to `fresh_slopes`.
__global__ void gru_update_slope_kernel(int64_t n, cuda::GatePlaces at, cuda::GatePlaces open, const float* gates,
                                        const float* h, const float* dy, const float* dh, float* dx, float* open_slopes,
                                        float* fresh_slopes, float* reset_states, float* dh_before) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t update_at = at.of(0, i), reset_at = at.of(1, i), fresh_at = at.of(2, i);
  const float update = gates[update_at], reset = gates[reset_at], fresh = gates[fresh_at],
              before = h != nullptr ? h[i] : 0.0F;
  const float slope = (dy != nullptr ? dy[i] : 0.0F) + (dh != nullptr ? dh[i] : 0.0F);
  dx[update_at] = open_slopes[open.of(0, i)] = slope * (before - fresh) * update * (1.0F - update);
  dx[fresh_at] = fresh_slopes[i] = slope * (1.0F - update) * (1.0F - fresh * fresh);
  if (h == nullptr) dx[reset_at] = 0.0F;
  if (reset_states != nullptr) reset_states[i] = reset * before;
  if (dh_before != nullptr) dh_before[i] = slope * update;
}

__global__ void gru_reset_slope_kernel(int64_t n, cuda::GatePlaces at, cuda::GatePlaces open, const float* gates,
                                       const float* h, const float* of_reset_state, float* dx, float* open_slopes,
                                       float* dh_before) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t reset_at = at.of(1, i);
  const float reset = gates[reset_at], slope = of_reset_state[i] * reset;
  dx[reset_at] = open_slopes[open.of(1, i)] = slope * h[i] * (1.0F - reset);
  if (dh_before != nullptr) dh_before[i] += slope;
}

class ResetFirstGruForwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_b = true};

  ResetFirstGruForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands,
                             std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[1].tensor),
        open_(MatMul::make(kProduct, open_product(s_), algorithm)),
        fresh_(cuda::product_of_parts(kProduct, fresh_product(s_), algorithm, cuda::alignment_of({fresh_rows(s_)}))) {}

  static cuda::ProductOperands open_product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.size), cuda::matrix(2 * s.size, s.size), OperandDesc{},
            cuda::matrix(s.samples, 2 * s.size, Access::write)};
  }
  static cuda::ProductOperands fresh_product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.size), cuda::matrix(s.size, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.size, Access::write)};
  }
  // sums [N, 2H]; z, reset h', a state [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(2 * s.state()) + 3 * cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = cuda::in(operands, 0), *const r = cuda::in(operands, 1);
    const float* h = cuda::in(operands, 2);
    float *const states = cuda::out(operands, 3), *const gates = cuda::out(operands, 5);
    cuda::Parts parts(workspace);
    float *const sums = parts.take(2 * s_.state()), *const updates = parts.take(s_.state()),
                 *const reset_state = parts.take(s_.state()), *const state = parts.take(s_.state());
    const auto multiply = [&](Kernel& product, const float* factor, const float* rows) {
      std::byte* const factors[] = {cuda::bytes(factor), cuda::bytes(rows), nullptr, cuda::bytes(sums)};
      product.run(context, factors, parts.rest());
    };
    const cuda::GatePlaces at(s_), open = open_places(s_);
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      const float* const x_of_step = x + t * s_.gates();
      float* const gates_of_step = cuda::at_step(gates, t * s_.gates());
      if (h) multiply(*open_, h, r);
      cuda::launch("gates of a step of a GRU", gru_open_kernel, cuda::blocks_for(s_.state()), cuda::kThreads, context,
                   s_.state(), at, open, x_of_step, h ? sums : nullptr, h, updates, reset_state, gates_of_step);
      if (h) multiply(*fresh_, reset_state, r + fresh_rows(s_));
      cuda::launch("step of a GRU", gru_state_kernel, cuda::blocks_for(s_.state()), cuda::kThreads, context, s_.state(),
                   at, x_of_step, h ? sums : nullptr, updates, h, state, cuda::at_step(states, t * s_.state()),
                   gates_of_step);
      h = state;
    }
    cuda::copy_state(context, h, cuda::out(operands, 4), s_.state());
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> open_, fresh_;
};

class ResetFirstGruBackwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{};

  ResetFirstGruBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands,
                              std::string_view algorithm)
      : s_(attrs, operands[3].tensor, operands[0].tensor),
        open_(MatMul::make(kProduct, open_product(s_), algorithm)),
        fresh_(cuda::product_of_parts(kProduct, fresh_product(s_), algorithm, cuda::alignment_of({fresh_rows(s_)}))) {}

  // Is added to the gradient of the state before.
  static cuda::ProductOperands open_product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, 2 * s.size), cuda::matrix(2 * s.size, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.size, Access::update)};
  }
  static cuda::ProductOperands fresh_product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.size), cuda::matrix(s.size, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.size, Access::write)};
  }
  // slopes of a step, of z and reset [N, 2H] and of n [N, H]; the gradients of reset h' and of a state [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(2 * s.state()) + 3 * cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const r = cuda::in(operands, 0), *const h0 = cuda::in(operands, 1),
                       *const states = cuda::in(operands, 2), *const gates = cuda::in(operands, 3),
                       *const dy = cuda::in(operands, 4);
    const float* dh = cuda::in(operands, 5);
    float *const dx = cuda::out(operands, 6), *const reset_states = cuda::out(operands, 7),
                 *const dh0 = cuda::out(operands, 8);
    cuda::Parts parts(workspace);
    float *const open_slopes = parts.take(2 * s_.state()), *const fresh_slopes = parts.take(s_.state()),
                 *const of_reset_state = parts.take(s_.state()), *const dh_before = parts.take(s_.state());
    const auto multiply = [&](Kernel& product, const float* slopes, const float* rows, float* to) {
      std::byte* const factors[] = {cuda::bytes(slopes), cuda::bytes(rows), nullptr, cuda::bytes(to)};
      product.run(context, factors, parts.rest());
    };
    const cuda::GatePlaces at(s_), open = open_places(s_);
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      const float* const h_before = i > 0 ? states + s_.before(i) * s_.state() : h0;
      const float* const gates_of_step = gates + t * s_.gates();
      float* const dx_of_step = dx + t * s_.gates();
      float* const to = i > 0 ? dh_before : dh0;
      cuda::launch("gradient of a step of a GRU", gru_update_slope_kernel, cuda::blocks_for(s_.state()), cuda::kThreads,
                   context, s_.state(), at, open, gates_of_step, h_before, cuda::at_step(dy, t * s_.state()), dh,
                   dx_of_step, open_slopes, fresh_slopes, cuda::at_step(reset_states, t * s_.state()), to);
      if (h_before) {
        multiply(*fresh_, fresh_slopes, r + fresh_rows(s_), of_reset_state);
        cuda::launch("gradient of a GRU's reset", gru_reset_slope_kernel, cuda::blocks_for(s_.state()), cuda::kThreads,
                     context, s_.state(), at, open, gates_of_step, h_before, of_reset_state, dx_of_step, open_slopes,
                     to);
      }
      if (to) multiply(*open_, open_slopes, r, to);
      dh = to;
    }
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> open_, fresh_;
};

template <class K>
std::vector<Algorithm> algorithms_of(const RecurrentShape& s) {
  return cuda::algorithms_around(K::kProduct, K::fresh_product(s), K::open_product(s), K::workspace_bytes(s));
}

}  // namespace

std::vector<Algorithm> ResetFirstGruForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return algorithms_of<ResetFirstGruForwardKernel>(RecurrentShape(attrs, operands[0].tensor, operands[1].tensor));
}

std::unique_ptr<Kernel> ResetFirstGruForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                   std::string_view algorithm) {
  return std::make_unique<ResetFirstGruForwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> ResetFirstGruBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return algorithms_of<ResetFirstGruBackwardKernel>(RecurrentShape(attrs, operands[3].tensor, operands[0].tensor));
}

std::unique_ptr<Kernel> ResetFirstGruBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view algorithm) {
  return std::make_unique<ResetFirstGruBackwardKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
