// Vectors of floats, and arithmetic on a float or on a vector of them.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace plimsoll::host {

// Vectors of floats that the compiler maps to the machine's registers, and of their bits.
template <int kLanes>
struct VectorOf;
template <>
struct VectorOf<8> {
  typedef float Type __attribute__((vector_size(32)));
  typedef uint32_t Bits __attribute__((vector_size(32)));
  typedef uint16_t Upper __attribute__((vector_size(16)));
};
template <>
struct VectorOf<16> {
  typedef float Type __attribute__((vector_size(64)));
  typedef uint32_t Bits __attribute__((vector_size(64)));
  typedef uint16_t Upper __attribute__((vector_size(32)));
};

#ifdef __AVX512F__
inline constexpr int kWidest = 16;
#else
inline constexpr int kWidest = 8;
#endif

using Widest = VectorOf<kWidest>::Type;

// A vector with x in all lanes; if V is float, x. V{} + x would be an addition, because 0 + -0 is not -0, and compilers
// would not load x from memory into all lanes in one instruction. x - 0 is always x.
template <class V>
inline V all_lanes(float x) {
  return x - V{};
}

// a · b + c, rounded once where the processor can. Stated, because contraction is off for the whole backend.
inline float multiply_add(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
// A template, so that files that use no vector can be compiled for processors without them.
template <std::same_as<Widest> V>
inline V multiply_add(V a, V b, V c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// The bits of a float or of a vector, as unsigned numbers, and back.
inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
template <std::same_as<Widest> V>
inline auto bits_of(V x) {
  return reinterpret_cast<VectorOf<kWidest>::Bits>(x);
}
template <std::same_as<VectorOf<kWidest>::Bits> B>
inline auto float_of(B bits) {
  return reinterpret_cast<Widest>(bits);
}

}  // namespace plimsoll::host
