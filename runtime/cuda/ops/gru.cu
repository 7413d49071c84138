// GruForward  {x, r, h0, b, y, yh, gates, recurrent}                                     compiler/ops/grusequence.cpp
// GruBackward {r, h0, y, gates, recurrent, dy, dyh, slopes, fresh_slopes, dh0}
// GruInputs   {slopes, fresh_slopes, dx}
//
// A result may lie where an operand of its shape was: a thread reads its elements before it writes them.
#include "runtime/cuda/ops/recurrent.h"

namespace plimsoll {
namespace {

__global__ void gru_step_kernel(int64_t n, cuda::GatePlaces at, const float* x, const float* bias, const float* sums,
                                const float* h, float* state, float* y, float* gates, float* recurrent) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t update_at = at.of(0, i), reset_at = at.of(1, i), fresh_at = at.of(2, i);
  const auto of_state = [&](int gate) {
    return (sums != nullptr ? sums[at.of(gate, i)] : 0.0F) + (bias != nullptr ? bias[at.of_bias(gate, i)] : 0.0F);
  };
  const float update = cuda::sigmoid(x[update_at] + of_state(0)), reset = cuda::sigmoid(x[reset_at] + of_state(1)),
              added = of_state(2), fresh = tanhf(x[fresh_at] + reset * added);
  const float next = fresh + update * ((h != nullptr ? h[i] : 0.0F) - fresh);
  state[i] = next;
  if (y != nullptr) y[i] = next;
  if (gates == nullptr) return;
  gates[update_at] = update;
  gates[reset_at] = reset;
  gates[fresh_at] = fresh;
  recurrent[i] = added;
}

// `step_slopes`: a copy of `slopes` for the product.
__global__ void gru_slope_kernel(int64_t n, cuda::GatePlaces at, const float* gates, const float* recurrent,
                                 const float* h, const float* dy, const float* dh, float* slopes, float* step_slopes,
                                 float* fresh_slopes, float* dh_before) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t update_at = at.of(0, i), reset_at = at.of(1, i), fresh_at = at.of(2, i);
  const float update = gates[update_at], reset = gates[reset_at], fresh = gates[fresh_at], added = recurrent[i];
  const float slope = (dy != nullptr ? dy[i] : 0.0F) + (dh != nullptr ? dh[i] : 0.0F);
  const float of_fresh = slope * (1.0F - update) * (1.0F - fresh * fresh);
  const auto put = [&](int64_t gate, float value) { slopes[gate] = step_slopes[gate] = value; };
  put(update_at, slope * ((h != nullptr ? h[i] : 0.0F) - fresh) * update * (1.0F - update));
  put(reset_at, of_fresh * added * reset * (1.0F - reset));
  put(fresh_at, of_fresh * reset);
  if (fresh_slopes != nullptr) fresh_slopes[i] = of_fresh;
  if (dh_before != nullptr) dh_before[i] = slope * update;
}

__global__ void gru_inputs_kernel(int64_t n, cuda::GatePlaces at, const float* slopes, const float* fresh_slopes,
                                  float* dx) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  if (dx != slopes)
    for (int gate = 0; gate < 2; ++gate) dx[at.of(gate, i)] = slopes[at.of(gate, i)];
  dx[at.of(2, i)] = fresh_slopes[i];
}

class GruForwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_b = true};

  GruForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[1].tensor), product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  static cuda::ProductOperands product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.size), cuda::matrix(s.rows, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.rows, Access::write)};
  }
  // sums [N, 3H], a state [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(s.gates()) + cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = cuda::in(operands, 0), *const bias = cuda::in(operands, 3);
    const float* h = cuda::in(operands, 2);
    float *const states = cuda::out(operands, 4), *const gates = cuda::out(operands, 6),
                 *const recurrent = cuda::out(operands, 7);
    cuda::Parts parts(workspace);
    float *const sums = parts.take(s_.gates()), *const state = parts.take(s_.state());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      if (h) {
        std::byte* const factors[] = {cuda::bytes(h), operands[1], nullptr, cuda::bytes(sums)};
        product_->run(context, factors, parts.rest());
      }
      cuda::launch("step of a GRU", gru_step_kernel, cuda::blocks_for(s_.state()), cuda::kThreads, context, s_.state(),
                   cuda::GatePlaces(s_), x + t * s_.gates(), bias, h ? sums : nullptr, h, state,
                   cuda::at_step(states, t * s_.state()), cuda::at_step(gates, t * s_.gates()),
                   cuda::at_step(recurrent, t * s_.state()));
      h = state;
    }
    cuda::copy_state(context, h, cuda::out(operands, 5), s_.state());
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

class GruBackwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{};

  GruBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[3].tensor, operands[0].tensor), product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  // Is added to the gradient of the state before.
  static cuda::ProductOperands product(const RecurrentShape& s) {
    return {cuda::matrix(s.samples, s.rows), cuda::matrix(s.rows, s.size), OperandDesc{},
            cuda::matrix(s.samples, s.size, Access::update)};
  }
  // slopes of a step [N, 3H], the gradient of a state [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) {
    return cuda::Parts::bytes_of(s.gates()) + cuda::Parts::bytes_of(s.state());
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const h0 = cuda::in(operands, 1), *const states = cuda::in(operands, 2),
                       *const gates = cuda::in(operands, 3), *const recurrent = cuda::in(operands, 4),
                       *const dy = cuda::in(operands, 5);
    const float* dh = cuda::in(operands, 6);
    float *const slopes = cuda::out(operands, 7), *const fresh_slopes = cuda::out(operands, 8),
                 *const dh0 = cuda::out(operands, 9);
    cuda::Parts parts(workspace);
    float *const step_slopes = parts.take(s_.gates()), *const dh_before = parts.take(s_.state());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      float* const to = i > 0 ? dh_before : dh0;
      cuda::launch("gradient of a step of a GRU", gru_slope_kernel, cuda::blocks_for(s_.state()), cuda::kThreads,
                   context, s_.state(), cuda::GatePlaces(s_), gates + t * s_.gates(), recurrent + t * s_.state(),
                   i > 0 ? states + s_.before(i) * s_.state() : h0, cuda::at_step(dy, t * s_.state()), dh,
                   slopes + t * s_.gates(), step_slopes, cuda::at_step(fresh_slopes, t * s_.state()), to);
      if (to) {
        std::byte* const factors[] = {cuda::bytes(step_slopes), operands[0], nullptr, cuda::bytes(to)};
        product_->run(context, factors, parts.rest());
      }
      dh = to;
    }
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

}  // namespace

std::vector<Algorithm> GruForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[1].tensor);
  return cuda::algorithms_around(GruForwardKernel::kProduct, GruForwardKernel::product(s),
                                 GruForwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> GruForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                         std::string_view algorithm) {
  return std::make_unique<GruForwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> GruBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[3].tensor, operands[0].tensor);
  return cuda::algorithms_around(GruBackwardKernel::kProduct, GruBackwardKernel::product(s),
                                 GruBackwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> GruBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                          std::string_view algorithm) {
  return std::make_unique<GruBackwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> GruInputs::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> GruInputs::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const TensorDesc &all = operands[0].tensor, &one = operands[1].tensor;
  const RecurrentShape s(attrs, all, f32({all.dim(2), one.dim(2)}));
  return cuda::kernel([s](const RunContext& context, std::byte* const* operand, std::byte*) {
    const int64_t elements = s.steps * s.state();
    cuda::launch("gradient of a GRU's inputs", gru_inputs_kernel, cuda::blocks_for(elements), cuda::kThreads, context,
                 elements, cuda::GatePlaces(s), cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
  });
}

}  // namespace plimsoll
