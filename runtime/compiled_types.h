// The types and sizes of operands that kernels are compiled for. A build of Plimsoll has kernels for all of them. A
// trainer that compiles its own runtime has kernels only for the operands of its program (runtime/train/project.cmake).
// Kernels choose a form by the type or the number of elements of an operand, and by nothing else. So a program finds
// every form that it needs.
#pragma once

#include <string>

#include "runtime/kernel.h"

// The narrow types: 1, bf16; 2, f16; 3, both; 0, neither.
#ifndef PLIMSOLL_NARROW_TYPES
#define PLIMSOLL_NARROW_TYPES 3
#endif

// The bits of an index, on cuda: 32, for operands of fewer than 2^31 elements; 64; 0: both, and the operands decide.
#ifndef PLIMSOLL_INDEX_BITS
#define PLIMSOLL_INDEX_BITS 0
#endif

namespace plimsoll {

constexpr bool has_bf16(int narrow_types) { return narrow_types % 2 == 1; }
constexpr bool has_f16(int narrow_types) { return narrow_types >= 2; }

constexpr bool kHasBf16 = has_bf16(PLIMSOLL_NARROW_TYPES), kHasF16 = has_f16(PLIMSOLL_NARROW_TYPES);
constexpr int kIndexBits = PLIMSOLL_INDEX_BITS;

// Throws KernelError if `type` is a narrow type that is omitted.
template <int kNarrowTypes = PLIMSOLL_NARROW_TYPES>
void require_compiled(DataType type) {
  if ((type == DataType::bf16 && !has_bf16(kNarrowTypes)) || (type == DataType::f16 && !has_f16(kNarrowTypes)))
    throw KernelError("this build has no kernels for " + std::string(name_of(type)) + " (PLIMSOLL_NARROW_TYPES)");
}

}  // namespace plimsoll
