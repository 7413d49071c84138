// For kernels that need to be told nothing but their operands.
#pragma once

namespace plimsoll {

struct NoAttrs {
  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace plimsoll
