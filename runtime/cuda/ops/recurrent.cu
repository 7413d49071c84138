// RecurrentWeights {dx, states, h0, dr}                                                   compiler/ops/recurrent.h
#include "runtime/cuda/ops/recurrent.h"

namespace plimsoll {
namespace {

// Two products: of all steps but the first, whose previous states are adjacent, and of the first, whose previous state
// is h0.
class RecurrentWeightsKernel final : public Kernel {
 public:
  static constexpr MatMulAttrs kProduct{.transpose_a = true};

  RecurrentWeightsKernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands, std::string_view algorithm)
      : s_(attrs, operands[0].tensor, operands[3].tensor), accumulates_(cuda::adds(operands[3])) {
    if (s_.steps > 1)
      later_ = made((s_.steps - 1) * s_.samples, operands[3].access, algorithm,
                    {s_.later() * s_.gates(), s_.before_later() * s_.state()});
    if (cuda::present(operands[2]))
      first_ =
          made(s_.samples, s_.steps > 1 ? Access::update : operands[3].access, algorithm, {s_.step(0) * s_.gates(), 0});
  }

  // The algorithms of every number of rows have the same names and workspaces.
  static cuda::ProductOperands product(const RecurrentShape& s, int64_t rows, Access access) {
    return {cuda::matrix(rows, s.rows), cuda::matrix(rows, s.size), OperandDesc{},
            cuda::matrix(s.rows, s.size, access)};
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    constexpr int64_t kBytes = sizeof(float);
    if (later_) {
      std::byte* const factors[] = {operands[0] + s_.later() * s_.gates() * kBytes,
                                    operands[1] + s_.before_later() * s_.state() * kBytes, nullptr, operands[3]};
      later_->run(context, factors, workspace);
    }
    if (first_) {
      std::byte* const factors[] = {operands[0] + s_.step(0) * s_.gates() * kBytes, operands[2], nullptr, operands[3]};
      first_->run(context, factors, workspace);
    }
    if (!later_ && !first_ && !accumulates_)
      cuda::copy_state(context, nullptr, cuda::out(operands, 3), s_.rows * s_.size);
  }

 private:
  // `offsets`: where the factors begin in their operands, in elements.
  std::unique_ptr<Kernel> made(int64_t rows, Access access, std::string_view algorithm,
                               std::initializer_list<int64_t> offsets) const {
    int64_t alignment = 256;
    for (const int64_t offset : offsets)
      while (offset * 4 % alignment != 0) alignment /= 2;
    return cuda::product_of_parts(kProduct, product(s_, rows, access), algorithm, alignment);
  }

  const RecurrentShape s_;
  const bool accumulates_;
  std::unique_ptr<Kernel> later_ = {}, first_ = {};
};

}  // namespace

std::vector<Algorithm> RecurrentWeights::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const RecurrentShape s(attrs, operands[0].tensor, operands[3].tensor);
  if (s.steps == 1 && !cuda::present(operands[2])) return {{}};
  return cuda::algorithms_around(RecurrentWeightsKernel::kProduct,
                                 RecurrentWeightsKernel::product(s, s.steps * s.samples, operands[3].access), 0);
}

std::unique_ptr<Kernel> RecurrentWeights::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm) {
  return std::make_unique<RecurrentWeightsKernel>(attrs, operands, algorithm);
}

}  // namespace plimsoll
