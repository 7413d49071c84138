// AttentionForward  {q, k, v, mask, y, statistics}                          compiler/ops/scaleddotproductattention.cpp
// AttentionBackward {q, k, v, mask, y, statistics, dy, dq, dk, dv, dscores}
//
//   s = scale · q kᵀ + mask    p = exp(s - largest) · inverse_sum    y = (m · p) v
//   dv = (m · p)ᵀ dy    ds = p · (m · (dy vᵀ) - Σ y dy)    dq = scale · ds k    dk = scale · dsᵀ q
//   m: the factors of a dropout, 0 or 1 / (1 - dropped); without one, 1
//
// Tiles of 64 queries by 64 keys (Dao et al., FlashAttention, 2022; the running largest score and sum are those of
// Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). The forward and dq have a work item per
// tile of queries, dk and dv one per tile of keys; each element of a result is written by one work item, in a fixed
// order, so the bits do not depend on the number of threads. Scores are computed twice in the backward for that.
//
// A product of tiles reads its right factor along the rows, and broadcasts single elements of its left factor. So only
// the work item's own tile must be transposed, once. In a work item of queries, a tile of scores
// is therefore stored by key, with adjacent queries; in one of keys, by query.
//
// In bf16, results are added up in f32 in the workspace and rounded once. Operands are multiplied in pairs, or
// converted to f32 in the workspace (attention_products.h).
//
// The work items run in lanes, each with its part of the workspace (runtime/host/work_items.h). A lane takes the next
// work item when it is free: with causal attention later tiles take longer.
#include "runtime/attention.h"

#include <algorithm>
#include <utility>

#include "runtime/host/attention_products.h"
#include "runtime/host/attention_tiles.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/math.h"
#include "runtime/host/planes.h"
#include "runtime/host/product_of_tiles.h"
#include "runtime/host/real.h"
#include "runtime/host/row_statistics.h"
#include "runtime/host/work_items.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using host::kAttentionTile;
constexpr int64_t kAttentionVector = 16;  // the scores of a tile are computed for a multiple of these

int64_t attention_tiles(int64_t length) { return (length + kAttentionTile - 1) / kAttentionTile; }

// Where the elements of a result are added up; put_result() then stores them.
float* result_in_f32(float* to, float*) { return to; }
float* result_in_f32(Bf16* to, float* space) { return to ? space : nullptr; }
void put_result(const float*, int64_t, float*) {}
void put_result(const float* made, int64_t n, Bf16* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = made[i];
}

template <class T>
int64_t result_floats(int64_t size) {
  return std::is_same_v<T, float> ? 0 : size * kAttentionTile;
}

// Hands out the parts of a workspace of floats one after another. An element has the size of a float.
struct Parts {
  float* next;

  template <class Element>
  Element* take(int64_t count) {
    static_assert(sizeof(Element) == sizeof(float));
    return reinterpret_cast<Element*>(std::exchange(next, next + count));
  }
};

int64_t whole_vectors(int64_t count) { return (count + kAttentionVector - 1) / kAttentionVector * kAttentionVector; }

template <class Products>
class AttentionForwardKernel final : public Kernel {
  using T = typename Products::Operand;
  using Element = typename Products::Element;

 public:
  AttentionForwardKernel(const AttentionAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        s_(attrs, operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3]),
        tiles_(attention_tiles(s_.queries)),
        items_(s_.samples * s_.heads * tiles_),
        lanes_(host::lanes_of(items_, lane_bytes(), host::bytes_of(operands))) {}

  int64_t workspace_bytes() const { return lanes_ * lane_bytes(); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    float* const space = reinterpret_cast<float*>(workspace);
    const host::AttentionDropout dropout(attrs_, s_, context);
    host::for_work_items(items_, lanes_, [&](int64_t item, int64_t lane) {
      tile(operands, dropout, item, space + lane * floats());
    });
  }

 private:
  // queries, scores, and the left factor made of them; tiles of k and v; in bf16 also one of y
  int64_t floats() const {
    return Products::turned_elements(s_.size) + kAttentionTile * kAttentionTile + Products::scores_elements() +
           Products::rows_elements(s_.size) + Products::rows_elements(s_.value_size) + result_floats<T>(s_.value_size);
  }
  int64_t lane_bytes() const { return floats() * static_cast<int64_t>(sizeof(float)); }

  void tile(std::byte* const* operands, const host::AttentionDropout& dropout, int64_t item, float* space) const {
    const int64_t tile = item % tiles_, head = item / tiles_ % s_.heads, sample = item / tiles_ / s_.heads;
    const int64_t first = tile * kAttentionTile, count = std::min(kAttentionTile, s_.queries - first);
    const int64_t width = whole_vectors(count), value_size = s_.value_size;
    const T* const k = s_.key_row(host::in<T>(operands, 1), sample, s_.key_head(head), 0, s_.size);
    const T* const v = s_.key_row(host::in<T>(operands, 2), sample, s_.key_head(head), 0, value_size);
    const int64_t row = (sample * s_.heads + head) * s_.queries + first;
    Parts parts{space};
    auto* const queries = parts.take<Element>(Products::turned_elements(s_.size));
    auto* const scores = parts.take<float>(kAttentionTile * kAttentionTile);
    auto* const factors_of_v = parts.take<Element>(Products::scores_elements());
    auto* const tile_of_k = parts.take<Element>(Products::rows_elements(s_.size));
    auto* const tile_of_v = parts.take<Element>(Products::rows_elements(value_size));
    Products::turn(host::in<T>(operands, 0) + row * s_.size, count, s_.size, Products::factor_of_turned(s_.scale),
                   queries);
    // y may have the bytes of q, of which this tile is read now.
    T* const target = host::out<T>(operands, 4) + row * value_size;
    float* const y = result_in_f32(target, parts.take<float>(result_floats<T>(value_size)));
    std::fill_n(y, count * value_size, 0.0F);

    float largest[kAttentionTile], base[kAttentionTile], sum[kAttentionTile] = {}, factor[kAttentionTile];
    std::fill_n(largest, kAttentionTile, host::kHidden);
    std::fill_n(base, kAttentionTile, 0.0F);
    const int64_t end = s_.end_key(first + count);
    for (int64_t key = s_.first_key(first) / kAttentionTile * kAttentionTile; key < end; key += kAttentionTile) {
      const int64_t keys = std::min(kAttentionTile, s_.keys - key);
      host::product_of_tiles<false>(keys, Products::left(k + key * s_.size, keys, s_.size, tile_of_k), queries,
                                    kAttentionTile, scores, kAttentionTile, Products::depth(s_.size), width);
      Products::scale(scores, keys, width, s_.scale);
      s_.hide({sample, head, first, count, key, keys, scores, 1, kAttentionTile}, operands[3]);
      for (int64_t i = 0; i < width; ++i) factor[i] = largest[i];
      for (int64_t j = 0; j < keys; ++j) {
        const float* const of_key = scores + j * kAttentionTile;
        for (int64_t i = 0; i < width; ++i) largest[i] = of_key[i] > largest[i] ? of_key[i] : largest[i];
      }
      // Subtracting -∞ from itself would give NaN; subtracting 0 gives e^-∞ = 0.
      for (int64_t i = 0; i < width; ++i) {
        base[i] = largest[i] == host::kHidden ? 0.0F : largest[i];
        factor[i] = host::exp_of(factor[i] - base[i]);
        sum[i] *= factor[i];
      }
      for (int64_t j = 0; j < keys; ++j) {
        float* const of_key = scores + j * kAttentionTile;
        for (int64_t i = 0; i < width; ++i) {
          of_key[i] = host::exp_of(of_key[i] - base[i]);
          sum[i] += of_key[i];
        }
        if (!dropout.on()) continue;
        float factors[kAttentionTile];
        dropout.of_queries(row, key + j, width, factors);
        for (int64_t i = 0; i < width; ++i) of_key[i] *= factors[i];
      }
      for (int64_t i = 0; i < count; ++i)
        if (factor[i] != 1)
          for (int64_t e = 0; e < value_size; ++e) y[i * value_size + e] *= factor[i];
      host::product_of_tiles<true>(count, Products::of_scores(scores, keys, width, factors_of_v),
                                   Products::right(v + key * value_size, keys, value_size, tile_of_v), value_size, y,
                                   value_size, Products::depth(keys), value_size);
    }
    float* const statistics = host::out(operands, 5);
    for (int64_t i = 0; i < count; ++i) {
      const float inverse = sum[i] == 0 ? 0 : 1 / sum[i];
      for (int64_t e = 0; e < value_size; ++e) y[i * value_size + e] *= inverse;
      if (statistics == nullptr) continue;
      statistics[2 * (row + i)] = base[i];
      statistics[2 * (row + i) + 1] = inverse;
    }
    put_result(y, count * value_size, target);
  }

  AttentionAttrs attrs_;
  host::AttentionTiles s_;
  int64_t tiles_, items_, lanes_;
};

template <class Products>
class AttentionBackwardKernel final : public Kernel {
  using T = typename Products::Operand;
  using Element = typename Products::Element;

 public:
  AttentionBackwardKernel(const AttentionAttrs& attrs, std::span<const OperandDesc> operands)
      : attrs_(attrs),
        s_(attrs, operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3]),
        query_tiles_(attention_tiles(s_.queries)),
        key_tiles_(attention_tiles(s_.keys)),
        scores_in_bf16_(operands[10].tensor.type == DataType::bf16) {
    const auto written = [&](size_t slot) { return operands[slot].access != Access::absent; };
    if (written(7) || written(10)) query_items_ = s_.samples * s_.heads * query_tiles_;
    if (written(8) || written(9)) key_items_ = s_.samples * s_.key_heads * key_tiles_;
    lanes_ = host::lanes_of(std::max(query_items_, key_items_), lane_bytes(), host::bytes_of(operands));
  }

  int64_t workspace_bytes() const {
    return whole_vectors(s_.rows()) * static_cast<int64_t>(sizeof(float)) + lanes_ * lane_bytes();
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    float* const along = reinterpret_cast<float*>(workspace);  // Σ y · dy of each query
    float* const space = along + whole_vectors(s_.rows());
    const T *y = host::in<T>(operands, 4), *dy = host::in<T>(operands, 6);
    const int64_t n = s_.value_size, rows = s_.rows();
#pragma omp parallel for schedule(static) if (rows * n > 8192)
    for (int64_t i = 0; i < rows; ++i) {
      const T* const of_row = y + s_.row_of_y(i) * n;
      along[i] = static_cast<float>(host::row_sum(n, [=](int64_t j) { return of_row[j] * dy[i * n + j]; }));
    }
    const host::AttentionDropout dropout(attrs_, s_, context);
    host::for_work_items(key_items_, std::min(key_items_, lanes_), [&](int64_t item, int64_t lane) {
      keys(operands, dropout, along, item, space + lane * floats());
    });
    host::for_work_items(query_items_, std::min(query_items_, lanes_), [&](int64_t item, int64_t lane) {
      queries(operands, dropout, along, item, space + lane * floats());
    });
  }

 private:
  // Two transposed tiles, two of scores, and a left factor made of one; two tiles of operands; in bf16 also up to two
  // of results.
  int64_t floats() const {
    const auto tiles = [](int64_t size) {
      return Products::turned_elements(size) + Products::rows_elements(size) + result_floats<T>(size);
    };
    return tiles(s_.size) + tiles(s_.value_size) + 2 * kAttentionTile * kAttentionTile + Products::scores_elements();
  }
  int64_t lane_bytes() const { return floats() * static_cast<int64_t>(sizeof(float)); }

  // dk and dv of a tile of keys, over all queries that see some of them.
  void keys(std::byte* const* operands, const host::AttentionDropout& dropout, const float* along, int64_t item,
            float* space) const {
    const int64_t tile = item % key_tiles_, group = item / key_tiles_ % s_.key_heads,
                  sample = item / key_tiles_ / s_.key_heads;
    const int64_t key = tile * kAttentionTile, count = std::min(kAttentionTile, s_.keys - key);
    const int64_t size = s_.size, value_size = s_.value_size, width = whole_vectors(count);
    Parts parts{space};
    auto* const turned_k = parts.take<Element>(Products::turned_elements(size));
    auto* const turned_v = parts.take<Element>(Products::turned_elements(value_size));
    auto* const p = parts.take<float>(kAttentionTile * kAttentionTile);
    auto* const ds = parts.take<float>(kAttentionTile * kAttentionTile);
    auto* const factors = parts.take<Element>(Products::scores_elements());
    auto* const tile_of_q = parts.take<Element>(Products::rows_elements(size));
    auto* const tile_of_dy = parts.take<Element>(Products::rows_elements(value_size));
    auto* const tile_of_dk = parts.take<float>(result_floats<T>(size));
    auto* const tile_of_dv = parts.take<float>(result_floats<T>(value_size));
    Products::turn(s_.key_row(host::in<T>(operands, 1), sample, group, key, size), count, size,
                   Products::factor_of_turned(s_.scale), turned_k);
    Products::turn(s_.key_row(host::in<T>(operands, 2), sample, group, key, value_size), count, value_size, 1,
                   turned_v);
    const int64_t row = (sample * s_.key_heads + group) * s_.keys + key;
    T* const to_dk = operands[8] ? host::out<T>(operands, 8) + row * size : nullptr;
    T* const to_dv = operands[9] ? host::out<T>(operands, 9) + row * value_size : nullptr;
    float *const dk = result_in_f32(to_dk, tile_of_dk), *const dv = result_in_f32(to_dv, tile_of_dv);
    if (dk) std::fill_n(dk, count * size, 0.0F);
    if (dv) std::fill_n(dv, count * value_size, 0.0F);

    const int64_t shared = s_.heads / s_.key_heads, end = s_.end_query(key + count);
    for (int64_t head = group * shared; head < (group + 1) * shared; ++head) {
      for (int64_t i = s_.first_query(key) / kAttentionTile * kAttentionTile; i < end; i += kAttentionTile) {
        const int64_t rows = std::min(kAttentionTile, s_.queries - i);
        const int64_t at = (sample * s_.heads + head) * s_.queries + i;
        const auto q = Products::both(host::in<T>(operands, 0) + at * size, rows, size, tile_of_q);
        const auto dy = Products::both(host::in<T>(operands, 6) + at * value_size, rows, value_size, tile_of_dy);
        const float* const statistics = host::in(operands, 5) + 2 * at;
        host::product_of_tiles<false>(rows, q.left, turned_k, kAttentionTile, p, kAttentionTile,
                                      Products::depth(size), width);
        Products::scale(p, rows, width, s_.scale);
        s_.hide({sample, head, i, rows, key, count, p, kAttentionTile, 1}, operands[3]);
        for (int64_t r = 0; r < rows; ++r) {
          const float base = statistics[2 * r], inverse = statistics[2 * r + 1];
          float* const of_query = p + r * kAttentionTile;
          for (int64_t j = 0; j < width; ++j) of_query[j] = host::exp_of(of_query[j] - base) * inverse;
        }
        if (dk)
          host::product_of_tiles<false>(rows, dy.left, turned_v, kAttentionTile, ds, kAttentionTile,
                                        Products::depth(value_size), width);
        for (int64_t r = 0; r < rows; ++r) {
          const float sum = along[at + r];
          float* const of_query = p + r * kAttentionTile;
          float* const slope = ds + r * kAttentionTile;
          float kept[kAttentionTile];
          if (dropout.on()) dropout.of_keys(at + r, key, width, kept);
          if (dk && dropout.on())
            for (int64_t j = 0; j < width; ++j) slope[j] *= kept[j];
          if (dk)
            for (int64_t j = 0; j < width; ++j) slope[j] = of_query[j] * (slope[j] - sum);
          if (dropout.on())
            for (int64_t j = 0; j < width; ++j) of_query[j] *= kept[j];
        }
        if (dv)
          host::product_of_tiles<true>(count, Products::of_scores(p, rows, width, factors), dy.right, value_size, dv,
                                       value_size, Products::depth(rows), value_size);
        if (dk)
          host::product_of_tiles<true>(count, Products::of_scores(ds, rows, width, factors), q.right, size, dk, size,
                                       Products::depth(rows), size);
      }
    }
    if (dk)
      for (int64_t i = 0; i < count * size; ++i) dk[i] *= s_.scale;
    if (dk) put_result(dk, count * size, to_dk);
    if (dv) put_result(dv, count * value_size, to_dv);
  }

  // dq and dscores of a tile of queries, over all keys that some of them see. dq may have the bytes of q, dy or y.
  void queries(std::byte* const* operands, const host::AttentionDropout& dropout, const float* along, int64_t item,
               float* space) const {
    const int64_t tile = item % query_tiles_, head = item / query_tiles_ % s_.heads,
                  sample = item / query_tiles_ / s_.heads;
    const int64_t first = tile * kAttentionTile, count = std::min(kAttentionTile, s_.queries - first);
    const int64_t size = s_.size, value_size = s_.value_size, width = whole_vectors(count);
    Parts parts{space};
    auto* const turned_q = parts.take<Element>(Products::turned_elements(size));
    auto* const turned_dy = parts.take<Element>(Products::turned_elements(value_size));
    auto* const p = parts.take<float>(kAttentionTile * kAttentionTile);
    auto* const ds = parts.take<float>(kAttentionTile * kAttentionTile);
    auto* const factors = parts.take<Element>(Products::scores_elements());
    auto* const tile_of_k = parts.take<Element>(Products::rows_elements(size));
    auto* const tile_of_v = parts.take<Element>(Products::rows_elements(value_size));
    auto* const tile_of_dq = parts.take<float>(result_floats<T>(size));
    const int64_t row = (sample * s_.heads + head) * s_.queries + first;
    Products::turn(host::in<T>(operands, 0) + row * size, count, size, Products::factor_of_turned(s_.scale), turned_q);
    Products::turn(host::in<T>(operands, 6) + row * value_size, count, value_size, 1, turned_dy);
    T* const to_dq = operands[7] ? host::out<T>(operands, 7) + row * size : nullptr;
    float* const dq = result_in_f32(to_dq, tile_of_dq);
    if (dq) std::fill_n(dq, count * size, 0.0F);
    if (operands[10]) clear_scores(operands[10], row, count);
    float base[kAttentionTile] = {}, inverse[kAttentionTile] = {}, sum[kAttentionTile] = {};
    for (int64_t i = 0; i < count; ++i) {
      base[i] = host::in(operands, 5)[2 * (row + i)];
      inverse[i] = host::in(operands, 5)[2 * (row + i) + 1];
      sum[i] = along[row + i];
    }
    const T* const all_k = s_.key_row(host::in<T>(operands, 1), sample, s_.key_head(head), 0, size);
    const T* const all_v = s_.key_row(host::in<T>(operands, 2), sample, s_.key_head(head), 0, value_size);
    const int64_t end = s_.end_key(first + count);
    for (int64_t key = s_.first_key(first) / kAttentionTile * kAttentionTile; key < end; key += kAttentionTile) {
      const int64_t keys = std::min(kAttentionTile, s_.keys - key);
      const auto k = Products::both(all_k + key * size, keys, size, tile_of_k);
      const auto v = Products::left(all_v + key * value_size, keys, value_size, tile_of_v);
      host::product_of_tiles<false>(keys, k.left, turned_q, kAttentionTile, p, kAttentionTile, Products::depth(size),
                                    width);
      Products::scale(p, keys, width, s_.scale);
      s_.hide({sample, head, first, count, key, keys, p, 1, kAttentionTile}, operands[3]);
      host::product_of_tiles<false>(keys, v, turned_dy, kAttentionTile, ds, kAttentionTile,
                                    Products::depth(value_size), width);
      for (int64_t j = 0; j < keys; ++j) {
        const float* const of_key = p + j * kAttentionTile;
        float* const slope = ds + j * kAttentionTile;
        if (dropout.on()) {
          float kept[kAttentionTile];
          dropout.of_queries(row, key + j, width, kept);
          for (int64_t i = 0; i < width; ++i) slope[i] *= kept[i];
        }
        for (int64_t i = 0; i < width; ++i)
          slope[i] = host::exp_of(of_key[i] - base[i]) * inverse[i] * (slope[i] - sum[i]);
      }
      if (operands[10]) put_scores(operands[10], row, count, key, keys, ds);
      if (dq)
        host::product_of_tiles<true>(count, Products::of_scores(ds, keys, width, factors), k.right, size, dq, size,
                                     Products::depth(keys), size);
    }
    if (dq)
      for (int64_t i = 0; i < count * size; ++i) dq[i] *= s_.scale;
    if (dq) put_result(dq, count * size, to_dq);
  }

  // The gradient of the scores of `count` queries from `row` on.
  void clear_scores(std::byte* dscores, int64_t row, int64_t count) const {
    const int64_t width = scores_in_bf16_ ? 2 : 4;
    std::memset(dscores + row * s_.keys * width, 0, static_cast<size_t>(count * s_.keys * width));
  }
  void put_scores(std::byte* dscores, int64_t row, int64_t count, int64_t key, int64_t keys, const float* ds) const {
    host::by_real(scores_in_bf16_ ? DataType::bf16 : DataType::f32, [&](auto zero) {
      auto* const to = reinterpret_cast<decltype(zero)*>(dscores) + row * s_.keys + key;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < keys; ++j) to[i * s_.keys + j] = ds[j * kAttentionTile + i];
    });
  }

  AttentionAttrs attrs_;
  host::AttentionTiles s_;
  int64_t query_tiles_, key_tiles_, query_items_ = 0, key_items_ = 0, lanes_ = 0;
  bool scores_in_bf16_;
};

template <template <class> class OfProducts>
std::vector<Algorithm> attention_kernels(const AttentionAttrs& attrs, std::span<const OperandDesc> operands) {
  const TensorDesc &q = operands[0].tensor, &v = operands[2].tensor;
  std::vector<Algorithm> all;
  for (const std::string_view name : host::attention_algorithms(q, v))
    host::by_products(q, v, name, [&](auto products) {
      all.push_back({.name = std::string(name),
                     .workspace_bytes = OfProducts<decltype(products)>(attrs, operands).workspace_bytes()});
    });
  return all;
}

template <template <class> class OfProducts>
std::unique_ptr<Kernel> attention_kernel(const AttentionAttrs& attrs, std::span<const OperandDesc> operands,
                                         std::string_view algorithm) {
  return host::by_products(operands[0].tensor, operands[2].tensor, algorithm,
                           [&](auto products) -> std::unique_ptr<Kernel> {
                             return std::make_unique<OfProducts<decltype(products)>>(attrs, operands);
                           });
}

}  // namespace

std::vector<Algorithm> AttentionForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return attention_kernels<AttentionForwardKernel>(attrs, operands);
}

std::unique_ptr<Kernel> AttentionForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  return attention_kernel<AttentionForwardKernel>(attrs, operands, algorithm);
}

std::vector<Algorithm> AttentionBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return attention_kernels<AttentionBackwardKernel>(attrs, operands);
}

std::unique_ptr<Kernel> AttentionBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view algorithm) {
  return attention_kernel<AttentionBackwardKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
