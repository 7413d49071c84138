// Transposes inputs whose samples are not on the first axis, as in models with steps first.
//
//   x [T,N,D] ─ …        x [N,T,D] ─ Transpose ─ x [T,N,D] ─ …
//
// Why: files store one sample after another, and shards and sub-batches split samples, so inputs are fed samples first.
//
// Before: types are inferred.
// After:  the samples are the first axis of every input that has any. All other values keep their types. `notes` gets a
// line for each transposed input.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

Status put_samples_first(Network& network, std::vector<std::string>& notes);

}  // namespace plimsoll
