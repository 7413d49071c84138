// ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx}   ConvBackwardWeights {x, dy, dw, db}
// ConvTransposeForward {x, w, b, y}
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

[[noreturn]] void refuse() { throw KernelError("convolutions have no CUDA kernel in this version; compile with --target host"); }

}  // namespace

std::vector<Algorithm> ConvForward::algorithms(const Attrs&, std::span<const OperandDesc>) { refuse(); }
std::unique_ptr<Kernel> ConvForward::make(const Attrs&, std::span<const OperandDesc>, std::string_view) { refuse(); }
std::vector<Algorithm> ConvBackwardData::algorithms(const Attrs&, std::span<const OperandDesc>) { refuse(); }
std::unique_ptr<Kernel> ConvBackwardData::make(const Attrs&, std::span<const OperandDesc>, std::string_view) { refuse(); }
std::vector<Algorithm> ConvBackwardWeights::algorithms(const Attrs&, std::span<const OperandDesc>) { refuse(); }
std::unique_ptr<Kernel> ConvBackwardWeights::make(const Attrs&, std::span<const OperandDesc>, std::string_view) { refuse(); }
std::vector<Algorithm> ConvTransposeForward::algorithms(const Attrs&, std::span<const OperandDesc>) { refuse(); }
std::unique_ptr<Kernel> ConvTransposeForward::make(const Attrs&, std::span<const OperandDesc>, std::string_view) { refuse(); }

}  // namespace plimsoll
