// ClipFactor {gradients…, factor}
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

[[noreturn]] void refuse() {
  throw KernelError("clipping by the gradients' norm has no CUDA kernel in this version; compile without --clip-norm");
}

}  // namespace

std::vector<Algorithm> ClipFactor::algorithms(const Attrs&, std::span<const OperandDesc>) { refuse(); }
std::unique_ptr<Kernel> ClipFactor::make(const Attrs&, std::span<const OperandDesc>, std::string_view) { refuse(); }

}  // namespace plimsoll
