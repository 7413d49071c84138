// Indices that select the same elements of each sample, from evenly spaced integers (compiler/ops/progression.h).
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/known_value.h"

namespace plimsoll {

// Indices into the first of `dims`, the sample dimension: the same numbers within each of `groups` equal parts.
struct PicksOfEachSample {
  Dim groups = {};
  int64_t length = 1;  // of a group
  Dims dims = {};      // of the numbers, without the dimension of the groups
  std::vector<int64_t> at = {};
  bool all() const;  // every element of a group, in order
};
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices);
// The same for indices that were written for the samples of an exporter's example.
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices, int64_t exported_batch);

}  // namespace plimsoll
