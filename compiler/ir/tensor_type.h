// Tensor types whose dimensions may depend on the batch. Sizes are functions of the batch, so one graph serves every
// sub-batch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// `value`, or `value` times the samples of the round.  8 is Dim{8}, N is Dim{1, true}, 64·N is Dim{64, true}.
struct Dim {
  int64_t value = 0;
  bool batch = false;
  constexpr int64_t at(int64_t samples) const { return batch ? value * samples : value; }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

inline constexpr Dim kBatch{1, true};

using Dims = std::vector<Dim>;

// fixed + per_sample · N; for bytes and flops.
struct Affine {
  int64_t fixed = 0;
  int64_t per_sample = 0;
  constexpr int64_t at(int64_t samples) const { return fixed + per_sample * samples; }
  friend constexpr bool operator==(const Affine&, const Affine&) = default;
};

struct TensorType {
  DataType type = DataType::f32;
  Dims dims = {};
  Layout layout = Layout::plain;

  size_t rank() const { return dims.size(); }
  // The concrete type for a round of `samples`.
  TensorDesc at(int64_t samples) const;
  // at(samples).bytes()
  int64_t bytes(int64_t samples) const;
  // True if a dimension depends on the batch.
  bool depends_on_batch() const;
  // The number of elements as {fixed, per_sample}; exactly one is non-zero. At most one dimension may depend on the
  // batch.
  Affine elements() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// The types that a plan states (PlanTensor::reduced): of numbers with fewer bytes than in f32, and of lower halves of
// weights.
inline constexpr auto kStatedTypes = [] {
  std::array<DataType, kReducedTypes.size() + 1> all = {};
  std::copy(kReducedTypes.begin(), kReducedTypes.end(), all.begin());
  all.back() = DataType::i16;
  return all;
}();
constexpr bool is_stated_type(DataType type) { return is_reduced(type) || type == DataType::i16; }

// The same tensor with elements of another type.
inline TensorType stored_as(TensorType type, DataType element) {
  type.type = element;
  return type;
}

// "f32[N,64,56,56]:nChw16c"; ":plain" is omitted. 64·N prints as "64N".
std::string to_string(const TensorType& type);
std::string to_string(const Dims& dims);  // "[N,64,56,56]"
std::string to_string(const TensorDesc& desc);
void append(std::string& text, const TensorDesc& desc);  // the same, at the end of a text

}  // namespace plimsoll
