// The gradient of one of two operands that broadcast to dy, which has the dimensions of the result. dx has them, too.
//   MaxShare, MinShare {x, other, dy, dx}: dx = dy where x is larger (smaller), dy / 2 where both are equal, else 0
//   PowBaseSlope {base, exponent, dy, dx}: dx = dy · exponent · base^(exponent - 1), and 0 where the exponent is 0
//   PowExponentSlope {exponent, base, dy, dx}: dx = dy · base^exponent · ln(base), and 0 where the base is 0 and the
//   exponent is not negative
#include <cmath>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/rows.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

template <class F>
std::unique_ptr<Kernel> gradient_of_operand(std::span<const OperandDesc> operands, F f) {
  const Loops<4> loops =
      loops_over<4>({operands[3].tensor, operands[0].tensor, operands[1].tensor, operands[2].tensor});
  if (loops.count(0) != operands[3].tensor.padded_elements()) throw KernelError("operands larger than the result");
  const bool adds = operands[3].access == Access::update;
  return host::by_real(operands[3].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([loops, adds, f](const RunContext&, std::byte* const* operand) {
      const T *x = host::in<T>(operand, 0), *other = host::in<T>(operand, 1), *dy = host::in<T>(operand, 2);
      T* dx = host::out<T>(operand, 3);
      const int64_t length = loops.counts[0];
      const int64_t x_step = loops.strides[1][0], other_step = loops.strides[2][0], dy_step = loops.strides[3][0];
      if (loops.depth() == 1) {
        host::for_elements(length, [=](int64_t j) {
          const float slope = dy[j * dy_step] * f(x[j * x_step], other[j * other_step]);
          dx[j] = adds ? dx[j] + slope : slope;
        });
        return;
      }
      host::for_rows(loops, [=](const auto& offsets) {
        T* to = dx + offsets[0];
        const T *a = x + offsets[1], *b = other + offsets[2], *from = dy + offsets[3];
        for (int64_t j = 0; j < length; ++j) {
          const float slope = from[j * dy_step] * f(a[j * x_step], b[j * other_step]);
          to[j] = adds ? to[j] + slope : slope;
        }
      });
    });
  });
}

}  // namespace

std::vector<Algorithm> MaxShare::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MaxShare::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return gradient_of_operand(operands, [](float x, float other) {
    return x > other ? 1.0F : x == other ? 0.5F : 0.0F;
  });
}

std::vector<Algorithm> MinShare::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> MinShare::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return gradient_of_operand(operands, [](float x, float other) {
    return x < other ? 1.0F : x == other ? 0.5F : 0.0F;
  });
}

std::vector<Algorithm> PowBaseSlope::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PowBaseSlope::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return gradient_of_operand(operands, [](float base, float exponent) {
    return exponent == 0 ? 0.0F : exponent * std::pow(base, exponent - 1.0F);
  });
}

std::vector<Algorithm> PowExponentSlope::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PowExponentSlope::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return gradient_of_operand(operands, [](float exponent, float base) {
    return base == 0 && exponent >= 0 ? 0.0F : std::pow(base, exponent) * std::log(base);
  });
}

}  // namespace plimsoll
