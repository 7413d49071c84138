// Attributes of Rotary: which elements of a row are a pair, and which way it turns.
#pragma once

namespace plimsoll {

struct RotaryAttrs {
  bool interleaved = false;  // pairs are neighbours; otherwise an element of the first half and one of the second
  bool backward = false;     // the gradient: pairs are turned back

  template <class Visitor>
  void visit(Visitor&& v) {
    v("interleaved", interleaved);
    v("backward", backward);
  }
};

}  // namespace plimsoll
