// Attributes of CumulativeSum.
#pragma once

namespace plimsoll {

struct CumulativeSumAttrs {
  bool exclusive = false;  // an element is excluded from its own sum
  bool reverse = false;    // starting at the last element

  template <class Visitor>
  void visit(Visitor&& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

}  // namespace plimsoll
