// Attributes of the attention kernels.
#pragma once

#include <cstdint>

namespace plimsoll {

// Query i attends to key j if i - left <= j <= i + right; -1: no limit. Causal attention has right = 0.
struct AttentionAttrs {
  double scale = 1;
  int64_t left = -1;
  int64_t right = -1;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("scale", scale);
    v("left", left);
    v("right", right);
  }
};

}  // namespace plimsoll
