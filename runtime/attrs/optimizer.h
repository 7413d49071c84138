// Attributes of the update kernels. Learning rate and step count are the trainer's, given at run time (RunContext).
// Where gradients are clipped, an update has one operand more, the last: the factor that ClipFactor made.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct SgdAttrs {
  double weight_decay = 0;
  template <class Visitor>
  void visit(Visitor&& v) { v("weight_decay", weight_decay); }
};

// v = momentum * v + g;  w -= lr * v   (PyTorch's convention, no dampening)
struct MomentumAttrs {
  double momentum = 0.9;
  double weight_decay = 0;
  bool nesterov = false;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("momentum", momentum);
    v("weight_decay", weight_decay);
    v("nesterov", nesterov);
  }
};

// decoupled = false: Adam (decay is added to the gradient); true: AdamW.
struct AdamAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("beta1", beta1);
    v("beta2", beta2);
    v("epsilon", epsilon);
    v("weight_decay", weight_decay);
    v("decoupled", decoupled);
  }
};

// Of all gradients together: how long they may be.
struct ClipFactorAttrs {
  double max_norm = 1;
  template <class Visitor>
  void visit(Visitor&& v) { v("max_norm", max_norm); }
};

}  // namespace plimsoll
