// Attributes of MaskedFill: what stands where the operand does not.
#pragma once

namespace plimsoll {

struct MaskedFillAttrs {
  double value = 0;  // attributes are finite: what no float holds is infinity
  bool keep = true;  // the operand stays where the mask is not zero; false: where it is

  template <class Visitor>
  void visit(Visitor&& v) {
    v("value", value);
    v("keep", keep);
  }
};

}  // namespace plimsoll
