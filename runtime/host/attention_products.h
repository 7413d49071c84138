// How attention multiplies tiles (product_of_tiles.h): in f32, or in pairs of bf16 where the processor adds the
// products of pairs in f32 (AVX512-BF16). AMD's does so at twice the rate of f32, Intel's at half. The operands of a
// product in pairs are bf16 as they are in memory, and probabilities and their slopes are rounded to bf16, as in the
// kernels of GPUs. Sums are in f32.
//
// A left factor is read by rows, so a tile of q, k, v or dy is one where it lies: two adjacent elements are a pair. The
// rows of a right factor are the depth of the product:
//
//   turned   [size, 64] from [64, size]: the rows as columns; in pairs [size / 2, 64]
//   rows     [64, size] as they are; in pairs [32, size], the elements of two adjacent rows
//   scores   [64, 64] as a left factor: element (i, l) is scores[l, i]; in pairs [32, 64]
#pragma once

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/tensor.h"
#include "runtime/host/engine.h"
#include "runtime/host/product_of_tiles.h"

namespace plimsoll::host {

constexpr int64_t kAttentionTile = 64;

// Some rows of q, k, v or dy as either factor of a product.
template <class Element>
struct TileRows {
  LeftFactor<Element> left;
  const Element* right;
};

// Operands in f32, or converted to f32.
template <class T>
struct ProductsInF32 {
  using Operand = T;
  using Element = float;
  static constexpr bool kConverts = !std::is_same_v<T, float>;

  static int64_t depth(int64_t count) { return count; }
  // Elements of a tile, each of four bytes.
  static int64_t turned_elements(int64_t size) { return size * kAttentionTile; }
  static int64_t rows_elements(int64_t size) { return kConverts ? size * kAttentionTile : 0; }
  static int64_t scores_elements() { return 0; }

  // Multiplied by a factor, and zeros up to 64.
  static void turn(const T* from, int64_t rows, int64_t size, float factor, float* to) {
    for (int64_t d = 0; d < size; ++d) {
      for (int64_t i = 0; i < rows; ++i) to[d * kAttentionTile + i] = from[i * size + d] * factor;
      for (int64_t i = rows; i < kAttentionTile; ++i) to[d * kAttentionTile + i] = 0;
    }
  }
  static float factor_of_turned(float scale) { return scale; }
  static void scale(float*, int64_t, int64_t, float) {}

  // `space` is used for conversion.
  static LeftFactor<float> left(const T* from, int64_t count, int64_t size, float* space) {
    return {in_f32(from, count * size, space), size, 1};
  }
  static const float* right(const T* from, int64_t count, int64_t size, float* space) {
    return in_f32(from, count * size, space);
  }
  static TileRows<float> both(const T* from, int64_t count, int64_t size, float* space) {
    const LeftFactor<float> rows = left(from, count, size, space);
    return {rows, rows.at};
  }
  static LeftFactor<float> of_scores(const float* scores, int64_t, int64_t, float*) {
    return {scores, 1, kAttentionTile};
  }

 private:
  static const float* in_f32(const float* from, int64_t, float*) { return from; }
  static const float* in_f32(const Bf16* from, int64_t n, float* space) {
    for (int64_t i = 0; i < n; ++i) space[i] = from[i];
    return space;
  }
};

#ifdef __AVX512BF16__
// Before: sizes are multiples of 16.
struct ProductsInPairs {
  using Operand = Bf16;
  using Element = Bf16Pair;

  static bool supports(int64_t size, int64_t value_size) { return size % 16 == 0 && value_size % 16 == 0; }

  static int64_t depth(int64_t count) { return (count + 1) / 2; }
  static int64_t turned_elements(int64_t size) { return size / 2 * kAttentionTile; }
  static int64_t rows_elements(int64_t size) { return size * kAttentionTile / 2; }
  static int64_t scores_elements() { return kAttentionTile / 2 * kAttentionTile; }

  // The scale would be rounded: the scores are multiplied by it instead.
  static float factor_of_turned(float) { return 1; }
  static void scale(float* scores, int64_t rows, int64_t width, float scale) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < width; ++i) scores[r * kAttentionTile + i] *= scale;
  }
  static void turn(const Bf16* from, int64_t rows, int64_t size, float, Bf16Pair* to) {
    const auto* const pairs = reinterpret_cast<const Bf16Pair*>(from);
    for (int64_t d = 0; d < size / 2; ++d) {
      for (int64_t i = 0; i < rows; ++i) to[d * kAttentionTile + i] = pairs[i * size / 2 + d];
      for (int64_t i = rows; i < kAttentionTile; ++i) to[d * kAttentionTile + i] = {0};
    }
  }

  static LeftFactor<Bf16Pair> left(const Bf16* from, int64_t, int64_t size, Bf16Pair*) {
    return {reinterpret_cast<const Bf16Pair*>(from), size / 2, 1};
  }
  static const Bf16Pair* right(const Bf16* from, int64_t count, int64_t size, Bf16Pair* space) {
    for (int64_t l = 0; l < count / 2; ++l)
      for (int64_t j = 0; j < size; ++j) {
        const uint32_t first = from[2 * l * size + j].bits, second = from[(2 * l + 1) * size + j].bits;
        space[l * size + j] = {first | second << 16};
      }
    if (count % 2 == 1)
      for (int64_t j = 0; j < size; ++j) space[count / 2 * size + j] = {from[(count - 1) * size + j].bits};
    return space;
  }
  static TileRows<Bf16Pair> both(const Bf16* from, int64_t count, int64_t size, Bf16Pair* space) {
    return {left(from, count, size, space), right(from, count, size, space)};
  }
  static LeftFactor<Bf16Pair> of_scores(const float* scores, int64_t rows, int64_t width, Bf16Pair* space) {
    for (int64_t l = 0; l < depth(rows); ++l) {
      const float *const first = scores + 2 * l * kAttentionTile, *const second = first + kAttentionTile;
      for (int64_t i = 0; i < width; i += 16) {
        Bits pairs = rounded(first + i);
        if (2 * l + 1 < rows) pairs |= rounded(second + i) << 16;
        std::memcpy(space + l * kAttentionTile + i, &pairs, sizeof pairs);
      }
    }
    return {space, 1, kAttentionTile};
  }

 private:
  using Bits = VectorOf<16>::Bits;

  static Bits rounded(const float* from) {
    TileVector numbers;
    std::memcpy(&numbers, from, sizeof numbers);
    return __builtin_convertvector(std::bit_cast<VectorOf<16>::Upper>(_mm512_cvtneps_pbh(numbers)), Bits);
  }
};
#endif

constexpr std::string_view kInPairs = "pairs", kInF32 = "default";

// The algorithms for these operands, the fastest first.
inline std::vector<std::string_view> attention_algorithms([[maybe_unused]] const TensorDesc& q,
                                                          [[maybe_unused]] const TensorDesc& v) {
#ifdef __AVX512BF16__
  if (q.type == DataType::bf16 && ProductsInPairs::supports(q.dim(q.rank() - 1), v.dim(v.rank() - 1)))
    return multiplies_bf16_faster() ? std::vector{kInPairs, kInF32} : std::vector{kInF32, kInPairs};
#endif
  return {kInF32};
}

// Calls body(products) for an algorithm; empty: the first.
template <class Body>
decltype(auto) by_products(const TensorDesc& q, const TensorDesc& v, std::string_view algorithm, Body body) {
  const std::vector<std::string_view> offered = attention_algorithms(q, v);
  if (algorithm.empty()) algorithm = offered.front();
  if (std::find(offered.begin(), offered.end(), algorithm) == offered.end())
    throw KernelError("attention: no algorithm '" + std::string(algorithm) + "'");
#ifdef __AVX512BF16__
  if (algorithm == kInPairs) return body(ProductsInPairs{});
#endif
  if (q.type != DataType::bf16) return body(ProductsInF32<float>{});
  return body(ProductsInF32<Bf16>{});
}

}  // namespace plimsoll::host
