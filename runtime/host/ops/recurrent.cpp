// RecurrentWeights {dx, states, h0, dr}                                                   compiler/ops/recurrent.h
#include <algorithm>
#include <optional>

#include "runtime/host/recurrence.h"

namespace plimsoll {
namespace {

// Two products: of all steps but the first, whose previous states are adjacent, and of the first, whose previous state
// is h0.
class RecurrentWeightsKernel final : public Kernel {
 public:
  RecurrentWeightsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, operands[3].tensor), accumulates_(operands[3].access == Access::update) {
    if (s_.steps > 1) later_.emplace(sizes((s_.steps - 1) * s_.samples, accumulates_));
    if (host::present(operands[2])) first_.emplace(sizes(s_.samples, accumulates_ || s_.steps > 1));
  }

  int64_t workspace_bytes() const {
    return std::max(later_ ? later_->workspace_bytes() : 0, first_ ? first_->workspace_bytes() : 0);
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const dx = host::in(operands, 0), *const states = host::in(operands, 1);
    float* const dr = host::out(operands, 3);
    if (later_) {
      later_->begin(states + s_.before_later() * s_.state(), workspace);
      later_->run(dx + s_.later() * s_.gates(), dr);
    }
    if (first_) {
      first_->begin(host::in(operands, 2), workspace);
      first_->run(dx + s_.step(0) * s_.gates(), dr);
    }
    if (!later_ && !first_ && !accumulates_) std::memset(dr, 0, static_cast<size_t>(s_.rows * s_.size) * sizeof(float));
  }

 private:
  host::RepeatedProduct::Sizes sizes(int64_t inner, bool accumulates) const {
    return {.rows = s_.rows, .columns = s_.size, .inner = inner, .transpose_a = true, .accumulates = accumulates};
  }

  const RecurrentShape s_;
  const bool accumulates_;
  std::optional<host::RepeatedProduct> later_, first_;
};

}  // namespace

PLIMSOLL_RECURRENT(RecurrentWeights)

}  // namespace plimsoll
