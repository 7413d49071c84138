// Attributes of the update kernels. The trainer provides learning rate and step count at run time (RunContext), and may
// override the other numbers, too (runtime/update_numbers.h). If gradients are clipped or scaled, an update has one
// more operand, the last: the factor of the gradient, which ClipFactor or UnscaleFactor computes. With a negative
// factor it changes nothing.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

struct SgdAttrs {
  double weight_decay = 0;
  template <class Visitor>
  void visit(Visitor&& v) { v("weight_decay", weight_decay); }
};

// v = momentum * v + g;  w -= lr * v   (PyTorch's convention, without dampening)
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

// Chen et al. 2023: every element moves by the same step size, in the direction of the sign of a mean. Weight decay is
// decoupled.
//   u = sign(beta1 * m + (1 - beta1) * g);  w = (1 - lr * decay) * w - lr * u;  m = beta2 * m + (1 - beta2) * g
struct LionAttrs {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("beta1", beta1);
    v("beta2", beta2);
    v("weight_decay", weight_decay);
  }
};

// You et al. 2020: AdamW's direction u, scaled to the norm of the weight. A weight without decay uses u unscaled, as in
// apex and timm.
//   u = m' / (sqrt(v') + epsilon) + decay * w;  w -= lr * |w| / |u| * u
struct LambAttrs {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("beta1", beta1);
    v("beta2", beta2);
    v("epsilon", epsilon);
    v("weight_decay", weight_decay);
  }
};

// The maximum norm of all gradients together.
struct ClipFactorAttrs {
  double max_norm = 1;
  template <class Visitor>
  void visit(Visitor&& v) { v("max_norm", max_norm); }
};

// In fp16: gradients are larger than they are by RunContext::gradient_scale.
struct UnscaleFactorAttrs {
  double max_norm = 0;  // of all gradients together, without the scale; 0: no clipping
  template <class Visitor>
  void visit(Visitor&& v) {
    v("max_norm", max_norm);
  }
};

}  // namespace plimsoll
