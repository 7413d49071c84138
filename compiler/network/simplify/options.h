// What a user says of a model that its file does not.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plimsoll {

struct SimplifyOptions {
  int64_t batch = 1;                         // samples in one iteration; sizes are checked against overflow with it
  std::map<std::string, int64_t> dims = {};  // symbolic dimensions other than the batch: --dim seq=128
  // Where the model is none with any number of samples, its number of samples is `batch`: products of samples with each
  // other.
  bool may_fix_batch = false;
  bool strict = false;                 // what is a warning otherwise is an invalid model
  bool require_normalization = false;  // a model without batch normalizations in training mode is invalid
};

}  // namespace plimsoll
