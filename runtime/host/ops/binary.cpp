// BinaryAdd, BinarySub, BinaryMul, BinaryDiv, BinaryMax, BinaryMin, BinaryPow {a, b, y}: y = a op b; a and b broadcast
// to y. Any layout. BinaryAdd may apply a Relu to its result. If y is bf16, a and b may be either.
// BinaryPRelu {x, slope, y}: y = x for x > 0, else slope · x   ScaleShift {x, y}: y = scale · x + shift
#include "runtime/host/elementwise.h"
#include "runtime/loops.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// A part of the result: rows of elements that are contiguous in y. In a and b, the elements of a row are contiguous
// too, or one stands for all of them.
struct Rows {
  int64_t count = 1, length = 0;
  int64_t a = 0, b = 0, y = 0;  // elements from one row to the next
};

using ComputeRows = void (*)(const std::byte* a, const std::byte* b, std::byte* y, const Rows& rows);

template <bool kAccumulate, class Y>
void put(Y& to, float value) {
  if constexpr (kAccumulate) to = to + value;
  else to = value;
}

// kA, kB: the steps in a and b, 0 or 1.
template <class F, class A, class B, class Y, bool kAccumulate, int64_t kA, int64_t kB>
void compute_rows(const std::byte* a_rows, const std::byte* b_rows, std::byte* y_rows, const Rows& rows) {
  const A* a = reinterpret_cast<const A*>(a_rows);
  const B* b = reinterpret_cast<const B*>(b_rows);
  Y* y = reinterpret_cast<Y*>(y_rows);
  for (int64_t row = 0, n = rows.length; row < rows.count; ++row, a += rows.a, b += rows.b, y += rows.y) {
    if constexpr (kA == 0 && kB == 0) {
      const float value = F{}(*a, *b);
      for (int64_t i = 0; i < n; ++i) put<kAccumulate>(y[i], value);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) put<kAccumulate>(y[i], F{}(a[i * kA], b[i * kB]));
    }
  }
}

template <class F, class A, class B, class Y, bool kAccumulate>
ComputeRows rows_by_steps(int64_t a, int64_t b) {
  if (a != 0 && b != 0) return compute_rows<F, A, B, Y, kAccumulate, 1, 1>;
  if (a != 0) return compute_rows<F, A, B, Y, kAccumulate, 1, 0>;
  if (b != 0) return compute_rows<F, A, B, Y, kAccumulate, 0, 1>;
  return compute_rows<F, A, B, Y, kAccumulate, 0, 0>;
}

template <class F>
ComputeRows rows_by_types(std::span<const OperandDesc> operands, int64_t a, int64_t b) {
  if (operands[2].tensor.type == DataType::f32)
    return operands[2].access == Access::update ? rows_by_steps<F, float, float, float, true>(a, b)
                                                : rows_by_steps<F, float, float, float, false>(a, b);
  return host::by_real(operands[0].tensor.type, [&](auto left) {
    return host::by_real(operands[1].tensor.type, [&](auto right) {
      return rows_by_steps<F, decltype(left), decltype(right), Bf16, false>(a, b);
    });
  });
}

// The outer loops are the same for all functions and types, so only the inner ones are compiled for each.
class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(std::span<const OperandDesc> operands, Loops<3> loops, ComputeRows compute)
      : loops_(std::move(loops)),
        compute_(compute),
        bytes_{bytes_of(operands[2].tensor.type), bytes_of(operands[0].tensor.type),
               bytes_of(operands[1].tensor.type)} {
    if (loops_.count(0) != operands[2].tensor.padded_elements()) throw KernelError("operands larger than the result");
  }

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    if (loops_.depth() == 1) run_row(operands);
    else run_rows(operands);
  }

 private:
  static constexpr int64_t kPart = 8192;  // elements that a thread takes at a time, or one row if that is longer

  // Computes a part that begins at these places, in elements.
  void compute(std::byte* const* operands, int64_t y, int64_t a, int64_t b, const Rows& rows) const {
    compute_(operands[0] + a * bytes_[1], operands[1] + b * bytes_[2], operands[2] + y * bytes_[0], rows);
  }

  void run_row(std::byte* const* operands) const {
    const int64_t length = loops_.counts[0], parts = (length + kPart - 1) / kPart;
#pragma omp parallel for schedule(static) if (parts > 2)
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t at = i * kPart;
      compute(operands, at, at * loops_.strides[1][0], at * loops_.strides[2][0],
              {.length = std::min(kPart, length - at)});
    }
  }

  // Over the two innermost loops at once, so that a short innermost loop (a block of channels) needs no division.
  void run_rows(std::byte* const* operands) const {
    const int64_t rows = loops_.counts[1], at_once = std::max<int64_t>(1, kPart / loops_.counts[0]),
                  parts = (rows + at_once - 1) / at_once, units = loops_.count(2) * parts;
    const int64_t y = loops_.strides[0][1], a = loops_.strides[1][1], b = loops_.strides[2][1];
#pragma omp parallel for schedule(static) if (units > 1)
    for (int64_t i = 0; i < units; ++i) {
      const int64_t first = i % parts * at_once, around = i / parts;
      compute(operands, loops_.offset(0, around, 2) + first * y, loops_.offset(1, around, 2) + first * a,
              loops_.offset(2, around, 2) + first * b,
              {.count = std::min(at_once, rows - first), .length = loops_.counts[0], .a = a, .b = b, .y = y});
    }
  }

  Loops<3> loops_;  // y, a, b
  ComputeRows compute_;
  int64_t bytes_[3];  // of an element of y, a, b
};

template <class F>
std::unique_ptr<Kernel> binary(std::span<const OperandDesc> operands, F) {
  Loops<3> loops = loops_over<3>({operands[2].tensor, operands[0].tensor, operands[1].tensor});
  const ComputeRows compute = rows_by_types<F>(operands, loops.strides[1][0], loops.strides[2][0]);
  return std::make_unique<BinaryKernel>(operands, std::move(loops), compute);
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

std::vector<Algorithm> BinaryPRelu::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BinaryPRelu::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return binary(operands, [](float x, float slope) { return x > 0 ? x : slope * x; });
}

std::vector<Algorithm> ScaleShift::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ScaleShift::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const float scale = static_cast<float>(attrs.scale), shift = static_cast<float>(attrs.shift);
  return host::map(operands, [=](float x) { return scale * x + shift; });
}

}  // namespace plimsoll
