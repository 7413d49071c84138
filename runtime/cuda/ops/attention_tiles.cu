// Attention on tensor cores (Dao, FlashAttention-2, 2023): the products of attention.cu, whose formulas and loops these
// are. Operands in f32 are multiplied in TF32, and operands in bf16 or f16 in their type: the probabilities and the
// gradients of the scores are rounded to that before they are multiplied. Sums and the softmax are in f32.
//
// A block has 4 warps and a tile of 64 queries (forward, dq) or keys (dk and dv). A warp has 16 of these rows: their
// elements in registers as the left factor of every product, and their results. Tiles of the other rows pass through
// shared memory. A product's result is the next product's left factor without leaving the registers
// (device/tensor_cores.h). So scores are computed the other way around for dk and dv: keys by queries.
//
//   rows of a tile in shared memory | kSize elements | 16 bytes unused |   lanes of a warp access different banks
#include "runtime/cuda/device/tensor_cores.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/attention.h"

#include <algorithm>
#include <type_traits>

namespace plimsoll::cuda {
namespace {

constexpr int kTensorCoreThreads = 128;
constexpr int kTensorCoreRows = 64;  // of a block: 16 of each warp

template <class T>
constexpr bool kIsNarrow = !std::is_same_v<T, float>;

__device__ int row_of_warp() { return static_cast<int>(threadIdx.x) / 32 * 16; }

// Over the four lanes that have the same rows; each has the result.
template <class F>
__device__ float over_row(float value, F f) {
  value = f(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
  return f(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}

// Of rows of T, as the elements that its tensor cores take.
template <int kRows, int kSize, class T>
struct SharedTile {
  using Element = typename Cores<T>::Element;
  static constexpr int kStride = kSize + 16 / static_cast<int>(sizeof(Element));
  alignas(16) Element of[kRows][kStride];

  // `count` rows of `size` elements, a multiple of four; zeros beyond.
  __device__ void load(const T* from, int64_t count, int64_t size) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kSize / 4; i += kTensorCoreThreads) {
      const int row = i / (kSize / 4), column = i % (kSize / 4) * 4;
      Few<4, Element> elements{};
      if (row < count && column < size) elements = Cores<T>::load(from + row * size + column);
      store_few(&of[row][column], elements);
    }
  }
};

// The left factor of the warp's rows: `count` rows of the block's tile are there, of `size` elements.
template <int kSize, class T>
__device__ void load_left(Left (&left)[kSize / Cores<T>::kDepth], const T* from, int64_t count, int64_t size) {
  using C = Cores<T>;
  for (int k = 0; k < kSize / C::kDepth; ++k)
    for (int i = 0; i < 4; ++i) {
      const int row = row_of_warp() + lane_row() + i % 2 * 8;
      const int column = k * C::kDepth + C::kOfWord * lane_column() + i / 2 * (C::kDepth / 2);
      left[k][i] = row < count && column < size ? C::word(from + row * size + column) : 0;
    }
}

// products[n] = the warp's rows by rows 8n to 8n + 7 of the tile.
template <int kRows, int kSize, class T>
__device__ void multiply(const Left (&left)[kSize / Cores<T>::kDepth], const SharedTile<kRows, kSize, T>& tile,
                         Product (&products)[kRows / 8]) {
  using C = Cores<T>;
#pragma unroll
  for (int n = 0; n < kRows / 8; ++n) {
    for (float& element : products[n]) element = 0;
#pragma unroll
    for (int k = 0; k < kSize / C::kDepth; ++k) {
      Right right;
      C::turned(&tile.of[8 * n][k * C::kDepth], tile.kStride, right);
      C::add(products[n], left[k], right);
    }
  }
}

// results += weights · tile
template <int kRows, int kSize, class T>
__device__ void add_weighted_rows(const Product (&weights)[kRows / 8], const SharedTile<kRows, kSize, T>& tile,
                                  Product (&results)[kSize / 8]) {
  using C = Cores<T>;
#pragma unroll
  for (int n = 0; n < kRows / C::kDepth; ++n) {
    Left left;
    C::left(&weights[n * C::kDepth / 8], left);
#pragma unroll
    for (int k = 0; k < kSize / 8; ++k) {
      Right right;
      C::plain(&tile.of[n * C::kDepth][8 * k], tile.kStride, right);
      C::add(results[k], left, right);
    }
  }
}

template <int kSize, class T>
__device__ void store_products(const Product (&results)[kSize / 8], float first_factor, float second_factor, T* to,
                               int64_t count, int64_t size) {
  for (int k = 0; k < kSize / 8; ++k)
    for (int i = 0; i < 4; ++i) {
      const int row = row_of_warp() + lane_row() + i / 2 * 8, column = 8 * k + 2 * lane_column() + i % 2;
      if (row < count && column < size)
        store_one(to + row * size + column, results[k][i] * (i < 2 ? first_factor : second_factor));
    }
}

// The tile of a block. With a causal mask the last queries see the most keys, and the first keys are seen by the most
// queries: `last_first` begins with the longest of these blocks.
struct TilePlace {
  int64_t sample, head, first, count;
};
__device__ TilePlace tile_place(int64_t heads, int64_t length, bool last_first) {
  const int64_t tiles = (length + kTensorCoreRows - 1) / kTensorCoreRows, block = blockIdx.x;
  const int64_t tile = last_first ? tiles - 1 - block % tiles : block % tiles, first = tile * kTensorCoreRows;
  return {block / tiles / heads, block / tiles % heads, first, min(int64_t{kTensorCoreRows}, length - first)};
}

// Whether no key of a tile is hidden from any query of a tile: a score is then the product times the scale.
__device__ bool all_seen(const AttentionShape& s, const unsigned char* mask, int64_t query, int64_t queries,
                         int64_t key, int64_t keys) {
  return mask == nullptr && query + queries <= s.queries && key + keys <= s.keys &&
         (s.right < 0 || key + keys - 1 - query <= s.right) && (s.left < 0 || query + queries - 1 - key <= s.left);
}

template <int kSize, int kKeys, class T, class Dropout>
__global__ void __launch_bounds__(kTensorCoreThreads)
    attention_tiles_kernel(AttentionShape s, const T* q, const T* k, const T* v, const unsigned char* mask,
                           Dropout dropout, T* y, float* statistics) {
  __shared__ SharedTile<kKeys, kSize, T> of_keys, of_values;
  const TilePlace at = tile_place(s.heads, s.queries, true);
  const int64_t row = (at.sample * s.heads + at.head) * s.queries + at.first;
  const int64_t key_row = (at.sample * s.key_heads + at.head / (s.heads / s.key_heads)) * s.keys;
  Left queries[kSize / Cores<T>::kDepth];
  load_left<kSize>(queries, q + row * s.size, at.count, s.size);
  const uint64_t stream = dropout.stream();
  // Of the lane's two rows. The sums are those of the lane's columns.
  float largest[2] = {-INFINITY, -INFINITY}, base[2] = {}, sum[2] = {};
  Product results[kSize / 8] = {};
  const int64_t end = end_key(s, at.first + at.count);
  for (int64_t key = first_key<kKeys>(s, at.first); key < end; key += kKeys) {
    __syncthreads();
    of_keys.load(k + (key_row + key) * s.size, s.keys - key, s.size);
    of_values.load(v + (key_row + key) * s.value_size, s.keys - key, s.value_size);
    __syncthreads();
    Product scores[kKeys / 8];
    multiply(queries, of_keys, scores);
    const bool all = all_seen(s, mask, at.first, kTensorCoreRows, key, kKeys);
    float most[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
      for (int i = 0; i < 4; ++i) {
        const int64_t query = at.first + row_of_warp() + lane_row() + i / 2 * 8;
        float& score = scores[n][i];
        score = all ? score * s.scale
                    : score_of(s, mask, at.sample, at.head, query, key + 8 * n + 2 * lane_column() + i % 2, score);
        most[i / 2] = score > most[i / 2] ? score : most[i / 2];
      }
    for (int r = 0; r < 2; ++r) {
      most[r] = over_row(most[r], [](float a, float b) { return a > b ? a : b; });
      const float before = largest[r];
      if (most[r] > before) largest[r] = most[r];
      // Subtracting -∞ from itself would give NaN; subtracting 0 gives e^-∞ = 0.
      base[r] = largest[r] == -INFINITY ? 0.0F : largest[r];
      const float factor = expf(before - base[r]);
      sum[r] *= factor;
      for (int c = 0; c < kSize / 8; ++c) {
        results[c][2 * r] *= factor;
        results[c][2 * r + 1] *= factor;
      }
    }
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
      for (int i = 0; i < 4; ++i) {
        scores[n][i] = expf(scores[n][i] - base[i / 2]);
        sum[i / 2] += scores[n][i];
        scores[n][i] *= dropout.factor(stream, s, row + row_of_warp() + lane_row() + i / 2 * 8,
                                       key + 8 * n + 2 * lane_column() + i % 2);
      }
    add_weighted_rows(scores, of_values, results);
  }
  float inverse[2];
  for (int r = 0; r < 2; ++r) {
    sum[r] = over_row(sum[r], [](float a, float b) { return a + b; });
    inverse[r] = sum[r] == 0 ? 0 : 1 / sum[r];
    const int of_tile = row_of_warp() + lane_row() + 8 * r;
    if (statistics == nullptr || lane_column() != 0 || of_tile >= at.count) continue;
    statistics[2 * (row + of_tile)] = base[r];
    statistics[2 * (row + of_tile) + 1] = inverse[r];
  }
  store_products<kSize>(results, inverse[0], inverse[1], y + row * s.value_size, at.count, s.value_size);
}

// In place of products: the probabilities, times the factors of the dropout, and the gradients of the scores. `base`,
// `inverse` and `along` are those of the query.
__device__ void slopes_of_scores(float score, float base, float inverse, float along, float factor, float& p,
                                 float& slope) {
  p = expf(score - base) * inverse;
  slope = p * (factor * slope - along);
  p *= factor;
}

// Which of the two results a launch computes.
enum class Wanted { both, dk, dv };

// Tiles of 32 queries: the rows of a warp, two results and two products take 160 registers for heads of 64 elements in
// TF32. In bf16 factors take half of that; heads of 128 elements have a launch for each result.
template <int kSize, Wanted kWanted, class T, class Dropout>
__global__ void __launch_bounds__(kTensorCoreThreads)
    attention_keys_tiles_kernel(AttentionShape s, AttentionGiven<T> g, Dropout dropout, T* dk, T* dv) {
  constexpr int kQueries = 32;
  __shared__ SharedTile<kQueries, kSize, T> of_queries, of_dy;
  __shared__ float of_rows[3][kQueries];  // base, inverse, along
  const TilePlace place = tile_place(s.key_heads, s.keys, false);
  const int64_t key_row = (place.sample * s.key_heads + place.head) * s.keys + place.first;
  Left keys[kSize / Cores<T>::kDepth], values[kSize / Cores<T>::kDepth];
  load_left<kSize>(keys, g.k + key_row * s.size, place.count, s.size);
  if constexpr (kWanted != Wanted::dv)
    load_left<kSize>(values, g.v + key_row * s.value_size, place.count, s.value_size);
  Product to_dk[kSize / 8] = {}, to_dv[kSize / 8] = {};
  const uint64_t stream = dropout.stream();
  const int64_t shared = s.heads / s.key_heads, end = end_query(s, place.first + place.count);
  for (int64_t head = place.head * shared; head < (place.head + 1) * shared; ++head) {
    for (int64_t i = first_query<kQueries>(s, place.first); i < end; i += kQueries) {
      const int64_t row = (place.sample * s.heads + head) * s.queries + i;
      __syncthreads();
      of_queries.load(g.q + row * s.size, s.queries - i, s.size);
      of_dy.load(g.dy + row * s.value_size, s.queries - i, s.value_size);
      if (threadIdx.x < kQueries) {
        const bool inside = i + threadIdx.x < s.queries;
        of_rows[0][threadIdx.x] = inside ? g.statistics[2 * (row + threadIdx.x)] : 0;
        of_rows[1][threadIdx.x] = inside ? g.statistics[2 * (row + threadIdx.x) + 1] : 0;
        of_rows[2][threadIdx.x] = inside ? g.along[row + threadIdx.x] : 0;
      }
      __syncthreads();
      Product p[kQueries / 8], slopes[kQueries / 8] = {};
      multiply(keys, of_queries, p);
      if constexpr (kWanted != Wanted::dv) multiply(values, of_dy, slopes);
      const bool all = all_seen(s, g.mask, i, kQueries, place.first, kTensorCoreRows);
#pragma unroll
      for (int n = 0; n < kQueries / 8; ++n)
        for (int e = 0; e < 4; ++e) {
          const int query = 8 * n + 2 * lane_column() + e % 2;
          const int64_t key = place.first + row_of_warp() + lane_row() + e / 2 * 8;
          const float score =
              all ? p[n][e] * s.scale : score_of(s, g.mask, place.sample, head, i + query, key, p[n][e]);
          slopes_of_scores(score, of_rows[0][query], of_rows[1][query], of_rows[2][query],
                           dropout.factor(stream, s, row + query, key), p[n][e], slopes[n][e]);
        }
      if constexpr (kWanted != Wanted::dk)
        if (dv) add_weighted_rows(p, of_dy, to_dv);
      if constexpr (kWanted != Wanted::dv)
        if (dk) add_weighted_rows(slopes, of_queries, to_dk);
    }
  }
  if constexpr (kWanted != Wanted::dk)
    if (dv) store_products<kSize>(to_dv, 1, 1, dv + key_row * s.value_size, place.count, s.value_size);
  if constexpr (kWanted != Wanted::dv)
    if (dk) store_products<kSize>(to_dk, s.scale, s.scale, dk + key_row * s.size, place.count, s.size);
}

// dq may have the bytes of q, dy or y: it is written after the block's last barrier, when all of its rows are read.
template <int kSize, class T, class Dropout>
__global__ void __launch_bounds__(kTensorCoreThreads)
    attention_queries_tiles_kernel(AttentionShape s, AttentionGiven<T> g, Dropout dropout, T* dq) {
  constexpr int kKeys = 32;
  __shared__ SharedTile<kKeys, kSize, T> of_keys, of_values;
  const TilePlace at = tile_place(s.heads, s.queries, true);
  const int64_t row = (at.sample * s.heads + at.head) * s.queries + at.first;
  const int64_t key_row = (at.sample * s.key_heads + at.head / (s.heads / s.key_heads)) * s.keys;
  Left queries[kSize / Cores<T>::kDepth], dy[kSize / Cores<T>::kDepth];
  load_left<kSize>(queries, g.q + row * s.size, at.count, s.size);
  load_left<kSize>(dy, g.dy + row * s.value_size, at.count, s.value_size);
  float base[2] = {}, inverse[2] = {}, along[2] = {};
  for (int r = 0; r < 2; ++r) {
    const int of_tile = row_of_warp() + lane_row() + 8 * r;
    if (of_tile >= at.count) continue;
    base[r] = g.statistics[2 * (row + of_tile)];
    inverse[r] = g.statistics[2 * (row + of_tile) + 1];
    along[r] = g.along[row + of_tile];
  }
  const uint64_t stream = dropout.stream();
  Product results[kSize / 8] = {};
  const int64_t end = end_key(s, at.first + at.count);
  for (int64_t key = first_key<kKeys>(s, at.first); key < end; key += kKeys) {
    __syncthreads();
    of_keys.load(g.k + (key_row + key) * s.size, s.keys - key, s.size);
    of_values.load(g.v + (key_row + key) * s.value_size, s.keys - key, s.value_size);
    __syncthreads();
    Product p[kKeys / 8], slopes[kKeys / 8];
    multiply(queries, of_keys, p);
    multiply(dy, of_values, slopes);
    const bool all = all_seen(s, g.mask, at.first, kTensorCoreRows, key, kKeys);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
      for (int e = 0; e < 4; ++e) {
        const int64_t of_tile = row_of_warp() + lane_row() + e / 2 * 8, to = key + 8 * n + 2 * lane_column() + e % 2;
        const float score =
            all ? p[n][e] * s.scale : score_of(s, g.mask, at.sample, at.head, at.first + of_tile, to, p[n][e]);
        slopes_of_scores(score, base[e / 2], inverse[e / 2], along[e / 2], dropout.factor(stream, s, row + of_tile, to),
                         p[n][e], slopes[n][e]);
      }
    add_weighted_rows(slopes, of_keys, results);
  }
  __syncthreads();
  store_products<kSize>(results, s.scale, s.scale, dq + row * s.size, at.count, s.size);
}

// body(std::integral_constant<int, kSize>): the elements of a head, rounded up.
template <class Body>
void by_padded_size(const AttentionShape& s, Body body) {
  const int64_t size = std::max(s.size, s.value_size);
  if (size <= 32) return body(std::integral_constant<int, 32>{});
  if (size <= 64) return body(std::integral_constant<int, 64>{});
  return body(std::integral_constant<int, 128>{});
}

}  // namespace

template <class T>
void launch_attention_tiles(const RunContext& context, const AttentionShape& s, const T* q, const T* k, const T* v,
                            const unsigned char* mask, const AttentionDropout& dropout, T* y, float* statistics) {
  by_padded_size(s, [&](auto size) {
    by_dropout(dropout, [&](auto drop) {
      constexpr int kSize = decltype(size)::value, kKeys = kSize <= 64 || kIsNarrow<T> ? 64 : 32;
      launch("attention on tensor cores", attention_tiles_kernel<kSize, kKeys, T, decltype(drop)>,
             s.samples * s.heads * divided_up(s.queries, kTensorCoreRows), kTensorCoreThreads, context, s, q, k, v,
             mask, drop, y, statistics);
    });
  });
}

template <class T>
void launch_attention_keys_tiles(const RunContext& context, const AttentionShape& s, const AttentionGiven<T>& given,
                                 const AttentionDropout& dropout, T* dk, T* dv) {
  by_padded_size(s, [&](auto size) {
    by_dropout(dropout, [&](auto drop) {
      constexpr int kSize = decltype(size)::value;
      const auto launch_for = [&]<Wanted kWanted>(std::integral_constant<Wanted, kWanted>) {
        launch("attention's gradient of keys and values on tensor cores",
               attention_keys_tiles_kernel<kSize, kWanted, T, decltype(drop)>,
               s.samples * s.key_heads * divided_up(s.keys, kTensorCoreRows), kTensorCoreThreads, context, s, given,
               drop, dk, dv);
      };
      if constexpr (kSize <= 64) {
        launch_for(std::integral_constant<Wanted, Wanted::both>{});
      } else if constexpr (kIsNarrow<T>) {
        if (dk) launch_for(std::integral_constant<Wanted, Wanted::dk>{});
        if (dv) launch_for(std::integral_constant<Wanted, Wanted::dv>{});
      }
    });
  });
}

template <class T>
void launch_attention_queries_tiles(const RunContext& context, const AttentionShape& s, const AttentionGiven<T>& given,
                                    const AttentionDropout& dropout, T* dq) {
  by_padded_size(s, [&](auto size) {
    by_dropout(dropout, [&](auto drop) {
      constexpr int kSize = decltype(size)::value;
      if constexpr (kSize <= 64 || kIsNarrow<T>)
        launch("attention's gradient of queries on tensor cores",
               attention_queries_tiles_kernel<kSize, T, decltype(drop)>,
               s.samples * s.heads * divided_up(s.queries, kTensorCoreRows), kTensorCoreThreads, context, s, given,
               drop, dq);
    });
  });
}

#define PLIMSOLL_ATTENTION_TILES(T)                                                                                   \
  template void launch_attention_tiles<T>(const RunContext&, const AttentionShape&, const T*, const T*, const T*,     \
                                          const unsigned char*, const AttentionDropout&, T*, float*);                 \
  template void launch_attention_keys_tiles<T>(const RunContext&, const AttentionShape&, const AttentionGiven<T>&,    \
                                               const AttentionDropout&, T*, T*);                                      \
  template void launch_attention_queries_tiles<T>(const RunContext&, const AttentionShape&, const AttentionGiven<T>&, \
                                                  const AttentionDropout&, T*);
PLIMSOLL_ATTENTION_TILES(float)
PLIMSOLL_ATTENTION_TILES(Bf16)
PLIMSOLL_ATTENTION_TILES(F16)
#undef PLIMSOLL_ATTENTION_TILES

}  // namespace plimsoll::cuda
