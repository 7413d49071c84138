// Kernels for real operands in f32 or bf16: instantiates code for the type. bf16 is converted on every load and store,
// and computed with in f32.
#pragma once

#include "runtime/attrs/tensor.h"
#include "runtime/attrs/bf16.h"
#include "runtime/compiled_types.h"
#include "runtime/typed.h"

namespace plimsoll::host {

// Calls body(T{}), where T is float or Bf16.
template <class Body>
decltype(auto) by_real(DataType type, Body body) {
  if constexpr (kHasBf16) return type == DataType::bf16 ? body(Bf16{}) : body(float{});
  else return require_compiled(type), body(float{});
}

// by_type(), and Bf16.
template <class Body>
decltype(auto) by_any_type(DataType type, Body body) {
  if constexpr (kHasBf16) return type == DataType::bf16 ? body(Bf16{}) : by_type(type, body);
  else return require_compiled(type), by_type(type, body);
}

}  // namespace plimsoll::host
