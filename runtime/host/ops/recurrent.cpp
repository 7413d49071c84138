// RecurrentWeights {dx, states, h0, reset_states, dr}                                     compiler/ops/recurrent.h
#include <algorithm>
#include <optional>

#include "runtime/host/recurrence.h"

namespace plimsoll {
namespace {

// Some rows of dr, which are columns of dx. oneDNN's fast products want adjacent rows, so unless these are all rows,
// the columns are copied to the workspace, for some samples at a time.
class RowsOfWeights {
 public:
  static constexpr int64_t kSamplesAtOnce = 256;

  // Rows [first, first + rows), summed over `samples`, of all steps together.
  RowsOfWeights(const RecurrentShape& s, int64_t first, int64_t rows, int64_t samples, bool accumulates)
      : s_(s),
        first_(first),
        rows_(rows),
        samples_(samples),
        at_once_(rows == s.rows ? samples : std::min(samples, kSamplesAtOnce)),
        clears_(!accumulates && at_once_ < samples),
        product_({.rows = rows,
                  .columns = s.size,
                  .inner = at_once_,
                  .transpose_a = true,
                  .accumulates = accumulates || at_once_ < samples}) {}

  int64_t workspace_bytes() const { return host::Parts::bytes_of(copied()) + product_.workspace_bytes(); }

  void run(const float* dx, const float* states, float* dr, std::byte* workspace) {
    host::Parts parts(workspace);
    float* const copy = parts.take(copied());
    float* const to = dr + first_ * s_.size;
    if (clears_) std::memset(to, 0, static_cast<size_t>(rows_ * s_.size) * sizeof(float));
    for (int64_t done = 0; done < samples_; done += at_once_) {
      // The last time as many samples, too: those that were added before count as zeros.
      const int64_t begin = std::min(done, samples_ - at_once_);
      const float* slopes = dx + begin * s_.rows + first_;
      if (copied() > 0) {
        copy_columns(slopes, done - begin, copy);
        slopes = copy;
      }
      product_.begin(states + begin * s_.size, parts.rest());
      product_.run(slopes, to);
    }
  }

 private:
  int64_t copied() const { return rows_ == s_.rows ? 0 : at_once_ * rows_; }

  void copy_columns(const float* from, int64_t zeros, float* to) const {
    const int64_t row = rows_, row_of_dx = s_.rows;
    const size_t bytes = static_cast<size_t>(row) * sizeof(float);
#pragma omp parallel for schedule(static) if (at_once_ * row > 2048)
    for (int64_t n = 0; n < at_once_; ++n) {
      if (n < zeros) std::memset(to + n * row, 0, bytes);
      else std::memcpy(to + n * row, from + n * row_of_dx, bytes);
    }
  }

  const RecurrentShape s_;
  const int64_t first_, rows_, samples_, at_once_;
  const bool clears_;
  host::RepeatedProduct product_;
};

// Two products: of all steps but the first, whose previous states are adjacent, and of the first, whose previous state
// is h0. With reset states they make all rows of dr but those of the last gate, which a third product makes.
class RecurrentWeightsKernel final : public Kernel {
 public:
  RecurrentWeightsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands)
      : s_(attrs, operands[0].tensor, operands[4].tensor), accumulates_(operands[4].access == Access::update) {
    const bool resets = host::present(operands[3]);
    const int64_t rows = s_.rows - (resets ? s_.size : 0);
    if (s_.steps > 1) later_.emplace(s_, 0, rows, (s_.steps - 1) * s_.samples, accumulates_);
    if (host::present(operands[2])) first_.emplace(s_, 0, rows, s_.samples, accumulates_ || s_.steps > 1);
    if (resets && (later_ || first_)) reset_.emplace(s_, rows, s_.size, s_.steps * s_.samples, accumulates_);
  }

  int64_t workspace_bytes() const {
    int64_t most = 0;
    for (const auto* rows : {&later_, &first_, &reset_})
      if (*rows) most = std::max(most, (*rows)->workspace_bytes());
    return most;
  }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    const float *const dx = host::in(operands, 0), *const states = host::in(operands, 1);
    float* const dr = host::out(operands, 4);
    if (later_) later_->run(dx + s_.later() * s_.gates(), states + s_.before_later() * s_.state(), dr, workspace);
    if (first_) first_->run(dx + s_.step(0) * s_.gates(), host::in(operands, 2), dr, workspace);
    if (reset_) reset_->run(dx, host::in(operands, 3), dr, workspace);
    if (!later_ && !first_ && !accumulates_) std::memset(dr, 0, static_cast<size_t>(s_.rows * s_.size) * sizeof(float));
  }

 private:
  const RecurrentShape s_;
  const bool accumulates_;
  std::optional<RowsOfWeights> later_, first_, reset_;
};

}  // namespace

PLIMSOLL_RECURRENT(RecurrentWeights)

}  // namespace plimsoll
