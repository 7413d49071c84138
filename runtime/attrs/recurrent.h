// Attributes of the kernels that compute all steps of a recurrent network.
#pragma once

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// `gates`: the position of each of ONNX's gates (LSTM: i, o, f, c; GRU: z, r, h) among the gates of the operands.
struct RecurrentAttrs {
  bool reverse = false;  // begins with the last step
  IntList gates = {0, 1, 2, 3};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("reverse", reverse);
    v("gates", gates);
  }
};

}  // namespace plimsoll
