// RecurrentWeights {dx, states, h0, reset_states, dr}                                     compiler/ops/recurrent.h
#include "runtime/cuda/ops/recurrent.h"

namespace plimsoll {
namespace {

// Two products: of all steps but the first, whose previous states are adjacent, and of the first, whose previous state
// is h0. With reset states they make all rows of dr but those of the last gate, which a third product makes.
class RecurrentWeightsKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_a = true};

  RecurrentWeightsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[4].tensor),
        resets_(cuda::present(operands[3])),
        accumulates_(cuda::adds(operands[4])) {
    const Access access = operands[4].access;
    const int64_t of_states = rows_of_states(s_, resets_);
    if (s_.steps > 1)
      later_ = made(of_states, (s_.steps - 1) * s_.samples, access, algorithm,
                    {s_.later() * s_.gates(), s_.before_later() * s_.state()});
    if (cuda::present(operands[2]))
      first_ =
          made(of_states, s_.samples, s_.steps > 1 ? Access::update : access, algorithm, {s_.step(0) * s_.gates(), 0});
    if (resets_ && (later_ || first_))
      reset_ = made(s_.size, s_.steps * s_.samples, access, algorithm, {of_states, of_states * s_.size});
  }

  static int64_t rows_of_states(const RecurrentShape& s, bool resets) { return s.rows - (resets ? s.size : 0); }

  // For `rows` of dr. The algorithms of every number of `samples` have the same names and workspaces.
  static cuda::ProductOperands product(const RecurrentShape& s, int64_t rows, int64_t samples, Access access) {
    return {cuda::matrix(samples, rows), cuda::matrix(samples, s.size), OperandDesc{},
            cuda::matrix(rows, s.size, access)};
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    constexpr int64_t kBytes = sizeof(float);
    if (later_) {
      std::byte* const factors[] = {operands[0] + s_.later() * s_.gates() * kBytes,
                                    operands[1] + s_.before_later() * s_.state() * kBytes, nullptr, operands[4]};
      later_->run(context, factors, workspace);
    }
    if (first_) {
      std::byte* const factors[] = {operands[0] + s_.step(0) * s_.gates() * kBytes, operands[2], nullptr, operands[4]};
      first_->run(context, factors, workspace);
    }
    if (reset_) {
      const int64_t row = rows_of_states(s_, resets_);
      std::byte* const factors[] = {operands[0] + row * kBytes, operands[3], nullptr,
                                    operands[4] + row * s_.size * kBytes};
      reset_->run(context, factors, workspace);
    }
    if (!later_ && !first_ && !accumulates_)
      cuda::copy_state(context, nullptr, cuda::out(operands, 4), s_.rows * s_.size);
  }

 private:
  // `offsets`: where the factors begin in their operands, in elements.
  std::unique_ptr<Kernel> made(int64_t rows, int64_t samples, Access access, std::string_view algorithm,
                               std::initializer_list<int64_t> offsets) const {
    return cuda::product_of_parts(kProduct, product(s_, rows, samples, access), algorithm, cuda::alignment_of(offsets),
                                  s_.rows);
  }

  const RecurrentShape s_;
  const bool resets_, accumulates_;
  std::unique_ptr<Kernel> later_ = {}, first_ = {}, reset_ = {};
};

}  // namespace

std::vector<Algorithm> RecurrentWeights::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[4].tensor);
  if (s.steps == 1 && !cuda::present(operands[2])) return {{}};
  using K = RecurrentWeightsKernel;
  const auto product = [&](int64_t rows) { return K::product(s, rows, s.steps * s.samples, operands[4].access); };
  if (!cuda::present(operands[3])) return cuda::algorithms_around(K::kProduct, product(s.rows), 0);
  return cuda::algorithms_around(K::kProduct, product(s.size), product(K::rows_of_states(s, true)), 0);
}

std::unique_ptr<Kernel> RecurrentWeights::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  return std::make_unique<RecurrentWeightsKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
