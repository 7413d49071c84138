// Attributes of PowForward and PowBackward.
#pragma once

namespace plimsoll {

struct PowAttrs {
  double exponent = 2;

  template <class Visitor>
  void visit(Visitor&& v) { v("exponent", exponent); }
};

}  // namespace plimsoll
