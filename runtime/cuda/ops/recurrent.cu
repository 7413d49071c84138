// LstmForward      {x, r, h0, c0, y, yh, yc, gates, cells}                         compiler/ops/lstmsequence.cpp
// LstmBackward     {r, c0, gates, cells, dy, dyh, dyc, dx, dh0, dc0}
// RecurrentWeights {dx, states, h0, dr}                                            compiler/ops/recurrent.h
//
// A step is a product of the state with r by cuBLASLt, whose algorithms are those of MatMul, then a kernel with a
// thread for each element of the state. A step of an operand need not begin where cuBLASLt's fastest algorithms want
// it, so the products read and write the workspace.
#include "runtime/recurrent.h"

#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/matmul.h"

namespace plimsoll {
namespace {

bool present(const OperandDesc& operand) { return operand.access != Access::absent; }

OperandDesc matrix(int64_t rows, int64_t columns, Access access = Access::read) {
  return {.tensor = f32({rows, columns}), .access = access};
}
using ProductOperands = std::array<OperandDesc, 4>;

// On the boundaries that cuBLASLt's fastest algorithms want.
int64_t part_bytes(int64_t floats) { return (floats * 4 + 255) / 256 * 256; }

// Hands out parts of the workspace.
class Parts {
 public:
  explicit Parts(std::byte* workspace) : free_(workspace) {}
  float* take(int64_t floats) {
    float* const part = reinterpret_cast<float*>(free_);
    free_ += part_bytes(floats);
    return part;
  }
  std::byte* rest() const { return free_; }

 private:
  std::byte* free_;
};

float* at_step(float* all, int64_t offset) { return all ? all + offset : nullptr; }
const float* at_step(const float* all, int64_t offset) { return all ? all + offset : nullptr; }

void copy_state(const RunContext& context, const float* from, float* to, int64_t elements) {
  if (!to) return;
  if (!from) {
    cuda::check(cudaMemsetAsync(to, 0, static_cast<size_t>(elements) * 4, cuda::stream_of(context)), "cudaMemsetAsync");
    return;
  }
  cuda::check(cudaMemcpyAsync(to, from, static_cast<size_t>(elements) * 4, cudaMemcpyDeviceToDevice,
                              cuda::stream_of(context)),
              "cudaMemcpyAsync of a state");
}

// Where a thread's element is in a row of gates.
struct GatePlaces {
  int64_t size, rows, in, out, forget, fresh;

  explicit GatePlaces(const RecurrentShape& s)
      : size(s.size), rows(s.rows), in(s.gate[0]), out(s.gate[1]), forget(s.gate[2]), fresh(s.gate[3]) {}
  __device__ int64_t row(int64_t i) const { return i / size * rows + i % size; }
};

__device__ float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

__global__ void lstm_step_kernel(int64_t n, GatePlaces at, const float* x, const float* sums, const float* c,
                                 float* state, float* h, float* cell, float* gates) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t row = at.row(i);
  const auto sum = [&](int64_t gate) { return x[row + gate] + (sums != nullptr ? sums[row + gate] : 0.0F); };
  const float in = sigmoid(sum(at.in)), out = sigmoid(sum(at.out)), forget = sigmoid(sum(at.forget)),
              fresh = tanhf(sum(at.fresh));
  const float made = in * fresh + (c != nullptr ? forget * c[i] : 0.0F);
  const float next = out * tanhf(made);
  cell[i] = made;
  h[i] = next;
  if (state != nullptr) state[i] = next;
  if (gates == nullptr) return;
  gates[row + at.in] = in;
  gates[row + at.out] = out;
  gates[row + at.forget] = forget;
  gates[row + at.fresh] = fresh;
}

__global__ void lstm_slope_kernel(int64_t n, GatePlaces at, const float* gates, const float* cells, const float* c,
                                  const float* dy, const float* dh, const float* dc, float* dx, float* slopes,
                                  float* dc_before) {
  const int64_t i = cuda::thread_number();
  if (i >= n) return;
  const int64_t row = at.row(i);
  const float in = gates[row + at.in], out = gates[row + at.out], forget = gates[row + at.forget],
              fresh = gates[row + at.fresh], tanh_c = tanhf(cells[i]);
  const float slope = (dy != nullptr ? dy[i] : 0.0F) + (dh != nullptr ? dh[i] : 0.0F);
  const float of_cell = (dc != nullptr ? dc[i] : 0.0F) + slope * out * (1.0F - tanh_c * tanh_c);
  const auto put = [&](int64_t gate, float value) { dx[row + gate] = slopes[row + gate] = value; };
  put(at.in, of_cell * fresh * in * (1.0F - in));
  put(at.out, slope * tanh_c * out * (1.0F - out));
  put(at.forget, c != nullptr ? of_cell * c[i] * forget * (1.0F - forget) : 0.0F);
  put(at.fresh, of_cell * in * (1.0F - fresh * fresh));
  dc_before[i] = of_cell * forget;
}

class LstmForwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_b = true};

  LstmForwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[1].tensor),
        product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  static ProductOperands product(const RecurrentShape& s) {
    return {matrix(s.samples, s.size), matrix(s.rows, s.size), OperandDesc{},
            matrix(s.samples, s.rows, Access::write)};
  }
  // sums [N, 4H], a state and a cell [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) { return part_bytes(s.gates()) + 2 * part_bytes(s.state()); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const x = cuda::in(operands, 0), *const r = cuda::in(operands, 1);
    const float *h = cuda::in(operands, 2), *c = cuda::in(operands, 3);
    float *const states = cuda::out(operands, 4), *const gates = cuda::out(operands, 7),
                *const cells = cuda::out(operands, 8);
    Parts parts(workspace);
    float *const sums = parts.take(s_.gates()), *const state = parts.take(s_.state()),
                *const cell = parts.take(s_.state());
    for (int64_t i = 0; i < s_.steps; ++i) {
      const int64_t t = s_.step(i);
      if (h) {
        std::byte* const factors[] = {bytes(h), bytes(r), nullptr, bytes(sums)};
        product_->run(context, factors, parts.rest());
      }
      float* const to_c = cells ? cells + t * s_.state() : cell;
      cuda::launch("step of an LSTM", lstm_step_kernel, cuda::blocks_for(s_.state()), cuda::kThreads, context,
                   s_.state(), GatePlaces(s_), x + t * s_.gates(), h ? sums : nullptr, c,
                   at_step(states, t * s_.state()), state, to_c, at_step(gates, t * s_.gates()));
      h = state, c = to_c;
    }
    copy_state(context, h, cuda::out(operands, 5), s_.state());
    copy_state(context, c, cuda::out(operands, 6), s_.state());
  }

 private:
  static std::byte* bytes(const float* at) { return reinterpret_cast<std::byte*>(const_cast<float*>(at)); }

  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

class LstmBackwardKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{};

  LstmBackwardKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[2].tensor, operands[0].tensor),
        product_(MatMul::make(kProduct, product(s_), algorithm)) {}

  static ProductOperands product(const RecurrentShape& s) {
    return {matrix(s.samples, s.rows), matrix(s.rows, s.size), OperandDesc{},
            matrix(s.samples, s.size, Access::write)};
  }
  // dx of a step [N, 4H], the gradients of a state and of a cell [N, H]
  static int64_t workspace_bytes(const RecurrentShape& s) { return part_bytes(s.gates()) + 2 * part_bytes(s.state()); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const float *const c0 = cuda::in(operands, 1), *const gates = cuda::in(operands, 2),
                *const cells = cuda::in(operands, 3), *const dy = cuda::in(operands, 4);
    const float *dh = cuda::in(operands, 5), *dc = cuda::in(operands, 6);
    float *const dx = cuda::out(operands, 7), *const dh0 = cuda::out(operands, 8);
    Parts parts(workspace);
    float *const slopes = parts.take(s_.gates()), *const dh_before = parts.take(s_.state()),
                *const dc_before = parts.take(s_.state());
    for (int64_t i = s_.steps - 1; i >= 0; --i) {
      const int64_t t = s_.step(i);
      cuda::launch("gradient of a step of an LSTM", lstm_slope_kernel, cuda::blocks_for(s_.state()), cuda::kThreads,
                   context, s_.state(), GatePlaces(s_), gates + t * s_.gates(), cells + t * s_.state(),
                   i > 0 ? cells + s_.before(i) * s_.state() : c0, at_step(dy, t * s_.state()), dh, dc,
                   dx + t * s_.gates(), slopes, dc_before);
      float* const to = i > 0 ? dh_before : dh0;
      if (to) {
        std::byte* const factors[] = {reinterpret_cast<std::byte*>(slopes), operands[0], nullptr,
                                      reinterpret_cast<std::byte*>(to)};
        product_->run(context, factors, parts.rest());
      }
      dh = dh_before, dc = dc_before;
    }
    copy_state(context, dc_before, cuda::out(operands, 9), s_.state());
  }

 private:
  const RecurrentShape s_;
  const std::unique_ptr<Kernel> product_;
};

// Two products: of all steps but the first, whose previous states are adjacent, and of the first, whose previous state
// is h0.
class RecurrentWeightsKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_a = true};

  RecurrentWeightsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[3].tensor), accumulates_(cuda::adds(operands[3])) {
    if (s_.steps > 1)
      later_ = made((s_.steps - 1) * s_.samples, operands[3].access, algorithm,
                    {s_.later() * s_.gates(), s_.before_later() * s_.state()});
    if (present(operands[2]))
      first_ = made(s_.samples, s_.steps > 1 ? Access::update : operands[3].access, algorithm,
                    {s_.step(0) * s_.gates(), 0});
  }

  // The algorithms of every number of rows have the same names and workspaces.
  static ProductOperands product(const RecurrentShape& s, int64_t rows, Access access) {
    return {matrix(rows, s.rows), matrix(rows, s.size), OperandDesc{}, matrix(s.rows, s.size, access)};
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    constexpr int64_t kBytes = sizeof(float);
    if (later_) {
      std::byte* const factors[] = {operands[0] + s_.later() * s_.gates() * kBytes,
                                    operands[1] + s_.before_later() * s_.state() * kBytes, nullptr, operands[3]};
      later_->run(context, factors, workspace);
    }
    if (first_) {
      std::byte* const factors[] = {operands[0] + s_.step(0) * s_.gates() * kBytes, operands[2], nullptr, operands[3]};
      first_->run(context, factors, workspace);
    }
    if (!later_ && !first_ && !accumulates_) copy_state(context, nullptr, cuda::out(operands, 3), s_.rows * s_.size);
  }

 private:
  // `offsets`: where the factors begin in their operands, in elements.
  std::unique_ptr<Kernel> made(int64_t rows, Access access, std::string_view algorithm,
                               std::initializer_list<int64_t> offsets) const {
    int64_t alignment = 256;
    for (const int64_t offset : offsets)
      while (offset * 4 % alignment != 0) alignment /= 2;
    return cuda::product_of_parts(kProduct, product(s_, rows, access), algorithm, alignment);
  }

  const RecurrentShape s_;
  const bool accumulates_;
  std::unique_ptr<Kernel> later_ = {}, first_ = {};
};

// The algorithms of a product, with the workspace of the kernel around it.
std::vector<Algorithm> algorithms_of(const MatMulAttrs& attrs, const ProductOperands& product, int64_t bytes) {
  std::vector<Algorithm> all = MatMul::algorithms(attrs, product);
  for (Algorithm& one : all) one.workspace_bytes += bytes;
  return all;
}

}  // namespace

std::vector<Algorithm> LstmForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[1].tensor);
  return algorithms_of(LstmForwardKernel::kProduct, LstmForwardKernel::product(s),
                       LstmForwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> LstmForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                          std::string_view algorithm) {
  return std::make_unique<LstmForwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> LstmBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[2].tensor, operands[0].tensor);
  return algorithms_of(LstmBackwardKernel::kProduct, LstmBackwardKernel::product(s),
                       LstmBackwardKernel::workspace_bytes(s));
}

std::unique_ptr<Kernel> LstmBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                           std::string_view algorithm) {
  return std::make_unique<LstmBackwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> RecurrentWeights::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[3].tensor);
  if (s.steps == 1 && !present(operands[2])) return {{}};
  return algorithms_of(RecurrentWeightsKernel::kProduct,
                       RecurrentWeightsKernel::product(s, s.steps * s.samples, operands[3].access), 0);
}

std::unique_ptr<Kernel> RecurrentWeights::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  return std::make_unique<RecurrentWeightsKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
