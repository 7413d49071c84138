// Integers that grow evenly along each of their dimensions, of which one is the samples':
//
//   element (i, j, …) = first + i·steps[0] + j·steps[1] + …
//
// A Range up to the number of samples is one, and so are the indices that exporters compute of it (torch's as_strided). They
// cannot be written down one by one, for how many there are depends on the batch, and are known all the same.
#pragma once

#include <optional>
#include <vector>

#include "compiler/network/simplify/fold.h"

namespace plimsoll {

// The first output of a node some input of which is one, or depends on the batch as one may; nullopt: it is none.
std::optional<KnownValue> fold_progression(const ModelNode& node, const std::vector<KnownInput>& inputs);

// As indices into the first of `dims`, which is the samples': the same numbers within each of `groups` equal parts of it.
struct PicksOfEachSample {
  Dim groups = {};
  int64_t length = 1;  // of a group
  Dims dims = {};      // of the numbers, without the dimension of the groups
  std::vector<int64_t> at = {};
  bool all() const;    // every element of a group, in order
};
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices);
// The same of indices that were written down for the samples of an exporter's example.
std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices, int64_t exported_batch);

}  // namespace plimsoll
