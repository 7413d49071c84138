// Attributes of the activations' kernels.
#pragma once

#include <limits>

namespace plimsoll {

// LeakyRelu, Elu: what is left of negative values.
struct SlopeAttrs {
  double alpha = 1;

  template <class Visitor>
  void visit(Visitor&& v) { v("alpha", alpha); }
};

struct ClipAttrs {
  double min = std::numeric_limits<float>::lowest();
  double max = std::numeric_limits<float>::max();

  template <class Visitor>
  void visit(Visitor&& v) {
    v("min", min);
    v("max", max);
  }
};

// HardSigmoid: alpha · x + beta within [0, 1].
struct LineAttrs {
  double alpha = 0.2;
  double beta = 0.5;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("alpha", alpha);
    v("beta", beta);
  }
};

struct GeluAttrs {
  bool by_tanh = false;  // else by the error function

  template <class Visitor>
  void visit(Visitor&& v) { v("by_tanh", by_tanh); }
};

}  // namespace plimsoll
