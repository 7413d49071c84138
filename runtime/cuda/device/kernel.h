// Creates a Kernel from a function; all of this backend's own kernels are built this way.
//
//   return kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) { launch(…); });
#pragma once

#include <type_traits>
#include <utility>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/compiled_types.h"
#include "runtime/cuda/device/launch.h"

namespace plimsoll::cuda {

template <class Body>
class LaunchingKernel final : public Kernel {
 public:
  explicit LaunchingKernel(Body body) : body_(std::move(body)) {}
  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    body_(context, operands, workspace);
  }

 private:
  Body body_;
};

template <class Body>
std::unique_ptr<Kernel> kernel(Body body) {
  return std::make_unique<LaunchingKernel<Body>>(std::move(body));
}

template <class T = float>
const T* in(std::byte* const* operands, size_t slot) {
  return reinterpret_cast<const T*>(operands[slot]);
}
template <class T = float>
T* out(std::byte* const* operands, size_t slot) {
  return reinterpret_cast<T*>(operands[slot]);
}

inline bool adds(const OperandDesc& operand) { return operand.access == Access::update; }

// body(std::bool_constant), for a choice for which a kernel is compiled both ways.
template <class Body>
decltype(auto) by_flag(bool flag, Body body) {
  return flag ? body(std::true_type{}) : body(std::false_type{});
}

// body(T{}): the type of a narrow operand, Bf16 or F16.
template <class Body>
decltype(auto) by_narrow(DataType type, Body body) {
  require_compiled(type);
  if constexpr (kHasBf16 && kHasF16) return type == DataType::bf16 ? body(Bf16{}) : body(F16{});
  else return body(std::conditional_t<kHasF16, F16, Bf16>{});
}

// body(T{}): the type of an operand of real numbers, float, Bf16 or F16.
template <class Body>
decltype(auto) by_real(DataType type, Body body) {
  require_compiled(type);
  if constexpr (kHasBf16 || kHasF16) {
    if (is_narrow(type)) return by_narrow(type, body);
  }
  return body(float{});
}

// The same for an operand of a kernel whose narrow operands are of type Narrow: float or Narrow.
template <class Narrow, class Body>
decltype(auto) by_width_of(DataType type, Body body) {
  return is_narrow(type) ? body(Narrow{}) : body(float{});
}

// by_flag(adds(operand)) for a result of T: no kernel accumulates in a narrow type (runtime/precision.h).
template <class T, class Body>
decltype(auto) by_adding(const OperandDesc& operand, Body body) {
  if constexpr (!std::is_same_v<T, float>) return body(std::false_type{});
  else return by_flag(adds(operand), body);
}

// body(std::integral_constant<int, kAtOnce>): the number of adjacent elements of a row per thread (vector.h).
template <class Body>
decltype(auto) by_row(int64_t columns, Body body) {
  return columns % 4 == 0 ? body(std::integral_constant<int, 4>{}) : body(std::integral_constant<int, 1>{});
}

// Defines the two functions of a kernel that has one algorithm and needs no workspace.
#define PLIMSOLL_CUDA_KERNEL(name, ...)                                                                          \
  std::vector<Algorithm> name::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }           \
  std::unique_ptr<Kernel> name::make([[maybe_unused]] const Attrs& attrs, std::span<const OperandDesc> operands, \
                                     std::string_view) {                                                         \
    __VA_ARGS__                                                                                                  \
  }

}  // namespace plimsoll::cuda
