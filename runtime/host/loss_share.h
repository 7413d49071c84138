// The contribution of a part of a batch to a loss. Parts are added in order, so the bits do not depend on the number of
// threads.
#pragma once

#include <cstdint>

namespace plimsoll {

struct LossShare {
  double loss = 0;
  double hits = 0;
};

inline LossShare total(const LossShare* shares, int64_t count) {
  LossShare sum;
  for (int64_t i = 0; i < count; ++i) {
    sum.loss += shares[i].loss;
    sum.hits += shares[i].hits;
  }
  return sum;
}

}  // namespace plimsoll
