// `plimsoll train --batch N` with a trainer of the cache that was planned for another batch. A plan with gradient
// accumulation allows any number of rounds, so such a trainer takes --batch N itself, and nothing is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/support/status.h"

namespace plimsoll {

struct PlannedBatch {
  int64_t batch = 0, sub_batch = 0, rounds = 0, ranks = 1;  // of all ranks together
};

// `family`: a key of all that a trainer depends on, except for its batch. Written into the trainer's directory.
// Error: unwritable_output.
Status write_family(const std::string& directory, const std::string& family, const PlannedBatch& planned);

struct TrainerOfFamily {
  std::string directory;
  PlannedBatch planned;
};

// A finished trainer below `kept` whose directory begins with `prefix`, of that family, whose plan allows the batch; of
// several, the one with the nearest batch.
std::optional<TrainerOfFamily> find_family(const std::string& kept, const std::string& prefix,
                                           const std::string& family, int64_t batch);

}  // namespace plimsoll
