// The key that distinguishes the random numbers of one node from those of another.
#pragma once

#include "compiler/ops/node_view.h"

namespace plimsoll {

// The FNV-1a hash of the name, truncated so that every text form keeps it exactly. Stable when other nodes are added or
// removed.
inline int64_t random_key(const NodeView& node) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : node.node().name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<int64_t>(hash >> 32);
}

}  // namespace plimsoll
