// Integers that are evenly spaced along each dimension, where one dimension is the samples':
//
//   element (i, j, …) = first + i·steps[0] + j·steps[1] + …
//
// A Range up to the number of samples is one, and so are the indices that exporters compute from it (torch's
// as_strided). They cannot be listed one by one, because their number depends on the batch, but they are fully known.
#pragma once

#include <optional>
#include <vector>

#include "compiler/network/simplify/fold.h"

namespace plimsoll {

// The first output of a node with an input that is a progression, or depends on the batch as one may; nullopt if the
// output is none.
std::optional<KnownValue> fold_progression(const ModelNode& node, const std::vector<KnownInput>& inputs);

// Indices into the first of `dims`, the sample dimension: the same numbers within each of `groups` equal parts.
struct PicksOfEachSample {
  Dim groups = {};
  int64_t length = 1;  // of a group
  Dims dims = {};      // of the numbers, without the dimension of the groups
  std::vector<int64_t> at = {};
  bool all() const;    // every element of a group, in order
};
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices);
// The same for indices that were written for the samples of an exporter's example.
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices, int64_t exported_batch);

}  // namespace plimsoll
