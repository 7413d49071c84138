// What tells one node's random numbers from another's.
#pragma once

#include "compiler/ops/node_view.h"

namespace plimsoll {

// The name's FNV-1a hash, cut to what every text form keeps exactly: stable when other nodes come and go.
inline int64_t random_key(const NodeView& node) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : node.node().name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<int64_t>(hash >> 32);
}

}  // namespace plimsoll
