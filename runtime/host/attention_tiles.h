// What the kernels of attention on the host share: where a tile of scores lies, which of its keys are hidden, and the
// dropout of probabilities.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/attention.h"
#include "runtime/attrs/bf16.h"
#include "runtime/host/dropout_mask.h"
#include "runtime/kernels.h"

namespace plimsoll::host {

constexpr float kHidden = -std::numeric_limits<float>::infinity();  // the score of a hidden key

// Some queries and keys of one head: where their scores are.
struct ScoreTile {
  int64_t sample, head, query, queries, key, keys;
  float* at;
  int64_t by_query, by_key;  // strides
};

// The factors of the dropout of probabilities, if there is one in this run.
class AttentionDropout {
 public:
  AttentionDropout(const AttentionAttrs& attrs, const AttentionShape& shape, const RunContext& context)
      : on_(context.training && attrs.dropped > 0),
        keys_(shape.keys),
        mask_(attrs.dropped, attrs.dropout_key, shape.scores(), context) {}

  bool on() const { return on_; }
  // Of `count` adjacent keys of a query, or of one key and `count` adjacent queries. `row` counts the queries of all
  // heads.
  void of_keys(int64_t row, int64_t key, int64_t count, float* factors) const {
    draw(row * keys_ + key, 1, count, factors);
  }
  void of_queries(int64_t row, int64_t key, int64_t count, float* factors) const {
    draw(row * keys_ + key, keys_, count, factors);
  }

 private:
  void draw(int64_t first, int64_t stride, int64_t count, float* factors) const {
    const DropoutMask mask = mask_;
    for (int64_t i = 0; i < count; ++i) factors[i] = mask.at(first + i * stride);
  }

  bool on_;
  int64_t keys_;
  DropoutMask mask_;
};

// One AttentionShape with the operations on tiles that both kernels need.
struct AttentionTiles : AttentionShape {
  using AttentionShape::AttentionShape;

  int64_t key_head(int64_t head) const { return head / (heads / key_heads); }
  template <class T>
  const T* key_row(const T* k, int64_t sample, int64_t head, int64_t j, int64_t row) const {
    return k + ((sample * key_heads + head) * keys + j) * row;
  }

  // The keys that some of the queries [first, end) see.
  int64_t first_key(int64_t first) const { return left < 0 ? 0 : std::max<int64_t>(0, first - left); }
  int64_t end_key(int64_t end) const { return right < 0 ? keys : std::min(keys, end + right); }
  // The queries that see some of the keys [first, end).
  int64_t first_query(int64_t first) const { return right < 0 ? 0 : std::max<int64_t>(0, first - right); }
  int64_t end_query(int64_t end) const { return left < 0 ? queries : std::min(queries, end + left); }

  // Adds the mask, and sets the scores of hidden keys to -∞.
  void hide(const ScoreTile& tile, const std::byte* mask) const {
    const bool all_right = right < 0 || tile.key + tile.keys - 1 - tile.query <= right;
    const bool all_left = left < 0 || tile.query + tile.queries - 1 - tile.key <= left;
    if (!all_right || !all_left) {
      for (int64_t i = 0; i < tile.queries; ++i) {
        for (int64_t j = 0; j < tile.keys; ++j) {
          const int64_t ahead = tile.key + j - tile.query - i;
          if ((right >= 0 && ahead > right) || (left >= 0 && -ahead > left))
            tile.at[i * tile.by_query + j * tile.by_key] = kHidden;
        }
      }
    }
    if (mask == nullptr) return;
    const int64_t start = tile.sample * mask_strides[0] + tile.head * mask_strides[1] + tile.query * mask_strides[2] +
                          tile.key * mask_strides[3];
    const auto* added = reinterpret_cast<const float*>(mask) + start;
    const auto* added_bf16 = reinterpret_cast<const Bf16*>(mask) + start;
    const auto* seen = reinterpret_cast<const uint8_t*>(mask) + start;
    for (int64_t i = 0; i < tile.queries; ++i) {
      for (int64_t j = 0; j < tile.keys; ++j) {
        float& score = tile.at[i * tile.by_query + j * tile.by_key];
        const int64_t at = i * mask_strides[2] + j * mask_strides[3];
        if (additive) score += mask_type == DataType::bf16 ? static_cast<float>(added_bf16[at]) : added[at];
        else if (seen[at] == 0) score = kHidden;
      }
    }
  }
};

}  // namespace plimsoll::host
