// Attributes of the attention kernels.
#pragma once

#include <cstdint>

namespace plimsoll {

// Query i attends to key j if i - left <= j <= i + right; -1: no limit. Causal attention has right = 0. In training, a
// fraction of the probabilities becomes zero, by the mask of a Dropout with this key (attrs/dropout.h).
struct AttentionAttrs {
  double scale = 1;
  int64_t left = -1;
  int64_t right = -1;
  double dropped = 0;  // in [0, 1]
  int64_t dropout_key = 0;
  bool turned = false;  // of the backward: y is [N, T, H, E]

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("left", left);
    v("right", right);
    v("dropped", dropped);
    v("dropout_key", dropout_key);
    v("turned", turned);
  }
};

}  // namespace plimsoll
