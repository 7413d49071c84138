// Attributes of CumulativeSum.
#pragma once

namespace plimsoll {

struct CumulativeSumAttrs {
  bool exclusive = false;  // an element is not part of its own sum
  bool reverse = false;    // from the last on

  template <class Visitor>
  void visit(Visitor&& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

}  // namespace plimsoll
