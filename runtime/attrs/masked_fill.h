// Attributes of MaskedFill: the value for elements that are not taken from the operand.
#pragma once

namespace plimsoll {

struct MaskedFillAttrs {
  double value = 0;  // finite; a value beyond the range of float means infinity
  bool keep = true;  // keeps the operand where the mask is nonzero; false: where it is zero

  template <class Visitor>
  void visit(Visitor&& v) {
    v("value", value);
    v("keep", keep);
  }
};

}  // namespace plimsoll
