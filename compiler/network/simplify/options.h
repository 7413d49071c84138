// What the user specifies about a model because its file does not.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/network/recurrence.h"

namespace plimsoll {

// The size of a dimension that the user says is the batch: --dim state:1=batch.
inline constexpr int64_t kIsBatch = -1;

struct SimplifyOptions {
  int64_t batch = 1;                         // samples in one iteration; also used to check sizes for overflow
  std::map<std::string, int64_t> dims = {};  // symbolic dimensions other than the batch: --dim seq=128
  std::map<std::string, int64_t> inputs = {};  // inputs that are always this number: --input sr=16000
  // If the model is valid only for a fixed number of samples, that number is `batch`: products of samples with each
  // other.
  bool may_fix_batch = false;
  bool strict = false;                 // warnings become invalid_model errors
  std::string output = {};             // the one that is trained, if the user chose one of several
  Recurrence recurrence = Recurrence::unrolled;
  bool require_normalization = false;  // a model without batch normalizations in training mode is invalid
  bool modes_are_given = false;        // --modes or --frozen-statistics: an export for evaluation is no surprise
};

}  // namespace plimsoll
