// Attributes of kernels that select elements by index, and of kernels that compute such indices.
#pragma once

#include <cstdint>

namespace plimsoll {

// GatherElements, ScatterElements: the axis to which the indices apply.
struct ElementsAttrs {
  int64_t axis = 0;
  bool add = false;  // ScatterElements: adds to the existing element

  template <class Visitor>
  void visit(Visitor&& v) {
    v("axis", axis);
    v("add", add);
  }
};

// ArgPick, TopK: which elements are selected. NaN counts as the largest.
struct PickAttrs {
  bool least = false;
  bool last = false;  // ArgPick: the last of equal elements

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
