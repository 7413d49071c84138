// ReluForward {x, y}   ReluBackward {y, dy, dx}
#include "runtime/host/elementwise.h"
#include "runtime/kernels.h"

namespace plimsoll {

std::vector<Algorithm> ReluForward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ReluForward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return host::map(operands, [](float x) { return x > 0 ? x : 0.0F; });
}

std::vector<Algorithm> ReluBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> ReluBackward::make(const Attrs&, std::span<const OperandDesc> operands, std::string_view) {
  return host::map2(operands, [](float y, float dy) { return y > 0 ? dy : 0.0F; });
}

}  // namespace plimsoll
