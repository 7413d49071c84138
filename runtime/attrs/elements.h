// Attributes of kernels that pick elements by numbers, and of those that make such numbers.
#pragma once

#include <cstdint>

namespace plimsoll {

// GatherElements, ScatterElements: indices count along this axis.
struct ElementsAttrs {
  int64_t axis = 0;
  bool add = false;  // ScatterElements: adds to what is there

  template <class Visitor>
  void visit(Visitor&& v) {
    v("axis", axis);
    v("add", add);
  }
};

// ArgPick, TopK: which is picked. Not a number counts as the largest.
struct PickAttrs {
  bool least = false;
  bool last = false;  // ArgPick: of those that are equal

  template <class Visitor>
  void visit(Visitor&& v) {
    v("least", least);
    v("last", last);
  }
};

struct OneHotAttrs {
  double off = 0, on = 1;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("off", off);
    v("on", on);
  }
};

}  // namespace plimsoll
