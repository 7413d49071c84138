// Attributes of BinaryAdd, shared by compiler/ops/add.cpp and every backend.
#pragma once

namespace plimsoll {

struct AddAttrs {
  bool relu = false;  // y = relu(a + b)
  template <class Visitor>
  void visit(Visitor&& v) { v("relu", relu); }
};

}  // namespace plimsoll
