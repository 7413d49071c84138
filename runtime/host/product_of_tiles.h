// Products of small matrices that lie in the cache, with sums in registers: the tiles of attention.
#pragma once

#ifdef __FMA__
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/host/planes.h"

namespace plimsoll::host {

using TileVector = Widest;

// Two adjacent elements along the depth of a product, in bf16; the first one has the lower bits. Tensors in bf16 are
// read as pairs.
struct __attribute__((may_alias)) Bf16Pair {
  uint32_t bits;
};

// A vector of elements of a right factor: numbers in f32, or pairs.
template <class Element>
using TileElements = std::conditional_t<std::is_same_v<Element, float>, TileVector, VectorOf<kWidest>::Bits>;

// The left factor of a product: element (i, l) is at[i * row + l * column].
template <class Element>
struct LeftFactor {
  const Element* at;
  int64_t row, column;
};

// Rows, and vectors of columns, whose sums a product keeps in registers. They hide the latency of the additions, and
// each loaded vector is used kProductRows times, each broadcast element kProductVectors times: the multipliers are busy
// 93 % of the time with AVX-512 (two units of 16 lanes, 32 registers) and all of it with AVX2 (16 registers).
#ifdef __AVX512F__
constexpr int kProductRows = 8, kProductVectors = 2;
#else
constexpr int kProductRows = 6, kProductVectors = 2;
#endif

// sum += a · b
inline void add_product(const TileVector& a, const TileVector& b, TileVector& sum) { sum = multiply_add(a, b, sum); }
inline void add_product(float one, const TileVector& vector, TileVector& sum) {
  add_product(all_lanes<TileVector>(one), vector, sum);
}

#ifdef __AVX512BF16__
// sum += one's lower half · the lower halves + one's upper half · the upper halves.
inline void add_product(Bf16Pair one, const VectorOf<16>::Bits& pairs, TileVector& sum) {
  const VectorOf<16>::Bits each = VectorOf<16>::Bits{} + one.bits;
  sum = _mm512_dpbf16_ps(sum, std::bit_cast<__m512bh>(each), std::bit_cast<__m512bh>(pairs));
}
#endif

// c[i, j] (+)= Σ left(i, l) · b[l, j] for kRows rows and kVectors vectors of columns. With pairs, `depth` counts those.
template <int kRows, int kVectors, bool kAdd, class Element>
void product_in_registers(const LeftFactor<Element>& left, const Element* b, int64_t b_row, float* c, int64_t c_row,
                          int64_t depth) {
  TileVector sums[kRows][kVectors] = {};
  for (int64_t l = 0; l < depth; ++l) {
    TileElements<Element> right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) std::memcpy(&right[v], b + l * b_row + v * kWidest, sizeof right[v]);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Element one = left.at[r * left.row + l * left.column];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) add_product(one, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* const to = c + r * c_row + v * kWidest;
      if (kAdd) {
        TileVector there;
        std::memcpy(&there, to, sizeof there);
        sums[r][v] += there;
      }
      std::memcpy(to, &sums[r][v], sizeof sums[r][v]);
    }
  }
}

// The same for kRows rows and all columns. b and c have contiguous rows. With pairs, columns are a multiple of 16.
template <int kRows, bool kAdd, class Element>
void product_rows(const LeftFactor<Element>& left, const Element* b, int64_t b_row, float* c, int64_t c_row,
                  int64_t depth, int64_t columns) {
  constexpr int64_t kColumns = kProductVectors * kWidest;
  int64_t j = 0;
  for (; j + kColumns <= columns; j += kColumns)
    product_in_registers<kRows, kProductVectors, kAdd>(left, b + j, b_row, c + j, c_row, depth);
  for (; j + kWidest <= columns; j += kWidest)
    product_in_registers<kRows, 1, kAdd>(left, b + j, b_row, c + j, c_row, depth);
  if constexpr (std::is_same_v<Element, float>) {
    for (; j < columns; ++j) {
      for (int r = 0; r < kRows; ++r) {
        float sum = 0;
        for (int64_t l = 0; l < depth; ++l) sum += left.at[r * left.row + l * left.column] * b[l * b_row + j];
        c[r * c_row + j] = kAdd ? c[r * c_row + j] + sum : sum;
      }
    }
  }
}

template <bool kAdd, class Element>
void product_of_tiles(int64_t rows, LeftFactor<Element> left, const Element* b, int64_t b_row, float* c, int64_t c_row,
                      int64_t depth, int64_t columns) {
  const auto some = [&]<int kRows>(std::integral_constant<int, kRows>) {
    for (; rows >= kRows; rows -= kRows, left.at += kRows * left.row, c += kRows * c_row)
      product_rows<kRows, kAdd>(left, b, b_row, c, c_row, depth, columns);
  };
  some(std::integral_constant<int, kProductRows>());
  some(std::integral_constant<int, 4>());
  some(std::integral_constant<int, 1>());
}

}  // namespace plimsoll::host
