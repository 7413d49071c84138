// Attributes of MaskedFill: what stands where the operand does not.
#pragma once

namespace plimsoll {

struct MaskedFillAttrs {
  double value = 0;  // finite: minus infinity is the lowest float, which a softmax makes 0 as well
  bool keep = true;  // the operand stays where the mask is not zero; false: where it is

  template <class Visitor>
  void visit(Visitor&& v) {
    v("value", value);
    v("keep", keep);
  }
};

}  // namespace plimsoll
