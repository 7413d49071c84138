// For kernels without attributes.
#pragma once

namespace plimsoll {

struct NoAttrs {
  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace plimsoll
