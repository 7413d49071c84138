// BinaryAdd, BinarySub, BinaryMul, BinaryDiv, BinaryMax, BinaryMin, BinaryPow {a, b, y}: y = a op b; a and b broadcast
// to y. Any layout. BinaryAdd may apply a Relu to its result. If y is bf16, a and b may be either. ScaleShift {x,
// y}: y = scale · x + shift
#include "runtime/host/elementwise.h"
#include "runtime/loops.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// Two inner loops, so that a short innermost loop (a block of channels) needs no division per iteration.
template <class F>
class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(std::span<const OperandDesc> operands, F f)
      : f_(f),
        accumulates_(operands[2].access == Access::update),
        types_{operands[0].tensor.type, operands[1].tensor.type, operands[2].tensor.type},
        loops_(loops_over<3>({operands[2].tensor, operands[0].tensor, operands[1].tensor})) {
    if (loops_.count(0) != operands[2].tensor.padded_elements()) throw KernelError("operands larger than the result");
    rows_ = loops_.depth() > 1 ? loops_.counts[1] : 1;
    chunk_ = std::max<int64_t>(1, 8192 / loops_.counts[0]);
  }

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    if (types_[2] == DataType::f32)
      return accumulates_ ? run<float, float, float, true>(operands) : run<float, float, float, false>(operands);
    host::by_real(types_[0], [&](auto a) {
      host::by_real(types_[1], [&](auto b) { run<decltype(a), decltype(b), Bf16, false>(operands); });
    });
  }

 private:
  template <class Left, class Right, class Y, bool Accumulate>
  void run(std::byte* const* operands) const {
    const int64_t a = loops_.strides[1][0], b = loops_.strides[2][0];
    if (a != 0 && b != 0) return walk<Left, Right, Y, Accumulate, 1, 1>(operands);
    if (a != 0) return walk<Left, Right, Y, Accumulate, 1, 0>(operands);
    if (b != 0) return walk<Left, Right, Y, Accumulate, 0, 1>(operands);
    walk<Left, Right, Y, Accumulate, 0, 0>(operands);
  }

  template <class Left, class Right, class Y, bool Accumulate, int64_t A, int64_t B>
  void walk(std::byte* const* operands) const {
    const Left* a = host::in<Left>(operands, 0);
    const Right* b = host::in<Right>(operands, 1);
    Y* y = host::out<Y>(operands, 2);
    const int64_t length = loops_.counts[0];
    if (loops_.depth() == 1) {
      host::for_elements(length, [=, this](int64_t i) { put<Accumulate>(y[i], f_(a[i * A], b[i * B])); });
      return;
    }
    const int64_t chunks = (rows_ + chunk_ - 1) / chunk_, units = loops_.count(2) * chunks;
#pragma omp parallel for schedule(static) if (units > 1)
    for (int64_t i = 0; i < units; ++i) {
      const int64_t first = i % chunks * chunk_, end = std::min(rows_, first + chunk_);
      Y* to = y + loops_.offset(0, i / chunks, 2);
      const Left* left = a + loops_.offset(1, i / chunks, 2);
      const Right* right = b + loops_.offset(2, i / chunks, 2);
      for (int64_t row = first; row < end; ++row) {
        Y* at = to + row * loops_.strides[0][1];
        const Left* l = left + row * loops_.strides[1][1];
        const Right* r = right + row * loops_.strides[2][1];
#pragma omp simd
        for (int64_t j = 0; j < length; ++j) put<Accumulate>(at[j], f_(l[j * A], r[j * B]));
      }
    }
  }

  template <bool Accumulate, class Y>
  static void put(Y& to, float value) {
    if constexpr (Accumulate) to = to + value;
    else to = value;
  }

  F f_;
  bool accumulates_;
  DataType types_[3];
  Loops<3> loops_;  // y, a, b
  int64_t rows_ = 1, chunk_ = 1;
};

template <class F>
std::unique_ptr<Kernel> binary(std::span<const OperandDesc> operands, F f) {
  return std::make_unique<BinaryKernel<F>>(operands, f);
}

}  // namespace

std::vector<Algorithm> BinaryAdd::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryAdd::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  if (attrs.relu) return binary(operands, [](float a, float b) { return a + b > 0 ? a + b : 0; });
  return binary(operands, [](float a, float b) { return a + b; });
}

std::vector<Algorithm> BinarySub::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinarySub::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return a - b; });
}

std::vector<Algorithm> BinaryMul::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryMul::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return a * b; });
}

std::vector<Algorithm> BinaryDiv::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryDiv::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return a / b; });
}

// NaN if an operand is NaN.
std::vector<Algorithm> BinaryMax::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryMax::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return a > b || a != a ? a : b; });
}

std::vector<Algorithm> BinaryMin::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryMin::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return a < b || a != a ? a : b; });
}

std::vector<Algorithm> BinaryPow::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryPow::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float a, float b) { return std::pow(a, b); });
}

std::vector<Algorithm> ScaleShift::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ScaleShift::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const float scale = static_cast<float>(attrs.scale), shift = static_cast<float>(attrs.shift);
  return host::map(operands, [=](float x) { return scale * x + shift; });
}

}  // namespace plimsoll
