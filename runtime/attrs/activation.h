// Attributes of the activation kernels.
#pragma once

#include <limits>

namespace plimsoll {

// LeakyRelu, Elu: the factor of negative values. ThresholdedRelu: the threshold. Swish: the factor of x in the sigmoid.
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

// HardSigmoid: alpha · x + beta, clipped to [0, 1].
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
  bool by_tanh = false;  // otherwise by the error function

  template <class Visitor>
  void visit(Visitor&& v) { v("by_tanh", by_tanh); }
};

// The activation of a gated product: a Gelu or a Swish.
struct GatedProductAttrs {
  bool gelu = false;
  bool by_tanh = false;  // of a Gelu
  double alpha = 1;      // of a Swish

  template <class Visitor>
  void visit(Visitor&& v) {
    v("gelu", gelu);
    v("by_tanh", by_tanh);
    v("alpha", alpha);
  }
};

}  // namespace plimsoll
