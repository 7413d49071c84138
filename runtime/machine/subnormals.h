// Subnormal numbers, in f32 those below 1.2e-38, take a processor up to a hundred times as long as others. Training
// meets them: where the softmax of attention is nearly one-hot, most probabilities and their gradients are that small.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace plimsoll {

// The calling thread, and threads that it starts later, read and write subnormal numbers as 0. bf16 products of
// processors do so in any case.
inline void flush_subnormals() {
#if defined(__SSE__)
  constexpr unsigned kFlushToZero = 1u << 15, kDenormalsAreZeros = 1u << 6;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZeros);
#elif defined(__aarch64__)
  constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

}  // namespace plimsoll
