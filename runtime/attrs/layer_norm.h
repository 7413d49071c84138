// Attributes of the layer normalization kernels.
#pragma once

namespace plimsoll {

struct LayerNormAttrs {
  double epsilon = 1e-5;

  template <class Visitor>
  void visit(Visitor&& v) { v("epsilon", epsilon); }
};

}  // namespace plimsoll
