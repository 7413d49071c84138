// LinearCrossEntropy {x, weight, labels, loss, correct, dx, dweight, bias, dbias, class weights}
//   x [R, K], weight [K, C] or transposed [C, K], labels [R] i32 or i64
//
// Loss, hits and gradients of the cross entropy of x · weight + bias (compiler/ops/linearcrossentropyloss.cpp). From
// `correct` on, each operand may be absent; in evaluation no gradient is written. dx may overwrite x. x and weight are
// f32 or bf16, dx is f32 or has their type. The logits and their gradient, which have that type, are in the workspace:
//
//   workspace  | the share of each row in the loss | logits of some rows, then their gradient | scratchpad of oneDNN |
//
// The rows are taken in order, and the gradients of weight and bias are sums in f32 in that order. So the bits depend
// on the number of rows at a time, which is the algorithm. `widened_…`: bf16 is multiplied as f32, in blocks
// (runtime/host/widened_product.h).
#include <optional>

#include "runtime/host/cross_entropy_rows.h"
#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/repeated_product.h"
#include "runtime/host/widened_product.h"
#include "runtime/kernels.h"
#include "runtime/linear_cross_entropy.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

constexpr const char* kNoLinearLoss = "oneDNN has no product for a linear layer's cross entropy";

bool is_there(std::span<const OperandDesc> operands, LinearLossSlots::Slot slot) {
  return operands[slot].access != Access::absent;
}

// The products of some rows, by RepeatedProduct or WidenedProduct. `adds`: to the gradient of the weight.
template <class Product>
struct LinearLossProducts {
  Product logits;
  std::optional<Product> dx = {}, dweight = {};

  LinearLossProducts(const LinearLossShape& s, int64_t rows, bool adds, DataType type,
                     std::span<const OperandDesc> operands)
      : logits(host::RepeatedProduct::Sizes{.rows = rows,
                                            .columns = s.classes,
                                            .inner = s.inner,
                                            .transpose_b = s.transposed,
                                            .adds_row = is_there(operands, LinearLossSlots::bias),
                                            .factors = type,
                                            .result = type}) {
    if (is_there(operands, LinearLossSlots::dx))
      dx.emplace(host::RepeatedProduct::Sizes{.rows = rows,
                                              .columns = s.inner,
                                              .inner = s.classes,
                                              .transpose_b = !s.transposed,
                                              .factors = type,
                                              .result = operands[LinearLossSlots::dx].tensor.type});
    if (is_there(operands, LinearLossSlots::dweight))
      dweight.emplace(host::RepeatedProduct::Sizes{.rows = s.transposed ? s.classes : s.inner,
                                                   .columns = s.transposed ? s.inner : s.classes,
                                                   .inner = rows,
                                                   .transpose_a = true,
                                                   .accumulates = adds,
                                                   .factors = type});
  }

  int64_t workspace_bytes() const {
    return std::max(
        {logits.workspace_bytes(), dx ? dx->workspace_bytes() : 0, dweight ? dweight->workspace_bytes() : 0});
  }
};

// T: the type of x, the weight and the logits.
template <class T, class Product>
class LinearCrossEntropyKernel final : public Kernel {
 public:
  LinearCrossEntropyKernel(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands,
                           int64_t at_a_time)
      : attrs_(attrs.of_logits()),
        s_(attrs, operands),
        some_(std::min(at_a_time, s_.rows)),
        labels_{operands[LinearLossSlots::labels].tensor.type == DataType::i64, attrs.ignore_index},
        adds_to_bias_(operands[LinearLossSlots::dbias].access == Access::update),
        bytes_of_dx_(bytes_of(operands[LinearLossSlots::dx].tensor.type)) {
    const DataType type = operands[LinearLossSlots::x].tensor.type;
    const bool adds = operands[LinearLossSlots::dweight].access == Access::update;
    const int64_t left = s_.rows % some_;
    first_.emplace(s_, some_, adds, type, operands);
    if (s_.rows >= 2 * some_) next_.emplace(s_, some_, true, type, operands);
    if (left > 0) last_.emplace(s_, left, true, type, operands);
  }

  int64_t workspace_bytes() const {
    int64_t scratchpad = 0;
    for (const auto* products : {&first_, &next_, &last_})
      if (*products) scratchpad = std::max(scratchpad, (*products)->workspace_bytes());
    return shares_bytes() + logits_bytes() + scratchpad;
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    using Slots = LinearLossSlots;
    const host::CrossEntropyRows rows(host::ScoreShape(s_.rows, s_.classes), labels_,
                                      host::in(operands, Slots::class_weights), attrs_.smoothing);
    const host::LossScales scales(attrs_, context, rows, operands[Slots::labels], s_.rows);
    LossShare* const shares = reinterpret_cast<LossShare*>(workspace);
    T* const logits = reinterpret_cast<T*>(workspace + shares_bytes());
    std::byte* const scratchpad = workspace + shares_bytes() + logits_bytes();
    const T* const weight = host::in<T>(operands, Slots::weight);
    for (int64_t first = 0; first < s_.rows; first += some_) {
      const int64_t count = std::min(some_, s_.rows - first);
      LinearLossProducts<Product>& products = first == 0 ? *first_ : count == some_ ? *next_ : *last_;
      const T* const x = host::in<T>(operands, Slots::x) + first * s_.inner;
      products.logits.begin(weight, scratchpad, host::in(operands, Slots::bias));
      products.logits.run(x, logits);
      take_loss(rows, operands[Slots::labels], first, count, scales.of_gradient, logits, context.training,
                shares + first);
      if (!context.training) continue;
      if (float* const dbias = host::out(operands, Slots::dbias))
        add_rows(logits, count, first > 0 || adds_to_bias_, dbias);
      if (products.dweight) {  // before dx, which may be where x is
        products.dweight->begin(s_.transposed ? x : logits, scratchpad);
        products.dweight->run(s_.transposed ? logits : x, host::out(operands, Slots::dweight));
      }
      if (products.dx) {
        products.dx->begin(weight, scratchpad);
        products.dx->run(logits, operands[Slots::dx] + first * s_.inner * bytes_of_dx_);
      }
    }
    const LossShare sum = total(shares, s_.rows);
    *host::out(operands, Slots::loss) = static_cast<float>(sum.loss * scales.of_loss);
    if (operands[Slots::correct]) *host::out(operands, Slots::correct) = static_cast<float>(sum.hits);
  }

 private:
  int64_t shares_bytes() const { return host::cache_lines(static_cast<size_t>(s_.rows) * sizeof(LossShare)); }
  int64_t logits_bytes() const { return host::cache_lines(static_cast<size_t>(some_ * s_.classes) * sizeof(T)); }

  // Replaces the logits by their gradient, in training.
  void take_loss(const host::CrossEntropyRows& rows, const std::byte* labels, int64_t first, int64_t count,
                 double scale, T* logits, bool training, LossShare* shares) const {
    const bool is_plain = attrs_.smoothing == 0 && !rows.has_weights();
#pragma omp parallel for schedule(static) if (count * s_.classes > 4096)
    for (int64_t i = 0; i < count; ++i) {
      T* const x = logits + i * s_.classes;
      T* const dx = training ? x : nullptr;
      const int64_t label = labels_.at(labels, first + i);
      shares[i] = is_plain ? rows.plain_softmax(x, label, dx, static_cast<float>(scale))
                           : rows.softmax(x, label, dx, scale);
    }
  }

  // The sums of the columns.
  void add_rows(const T* gradient, int64_t count, bool adds, float* dbias) const {
    constexpr int64_t kColumns = 256;
    const int64_t parts = (s_.classes + kColumns - 1) / kColumns;
#pragma omp parallel for schedule(static) if (count * s_.classes > 4096)
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = part * kColumns, end = std::min(s_.classes, begin + kColumns);
      for (int64_t c = begin; !adds && c < end; ++c) dbias[c] = 0;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t c = begin; c < end; ++c) dbias[c] += gradient[i * s_.classes + c];
    }
  }

  const SoftmaxCrossEntropyAttrs attrs_;
  const LinearLossShape s_;
  const int64_t some_;
  const host::ClassLabels labels_;
  const bool adds_to_bias_;
  const int64_t bytes_of_dx_;  // of an element
  // Of the first rows; of as many; of what is left over.
  std::optional<LinearLossProducts<Product>> first_, next_, last_;
};

// Calls body(build), where build(rows at a time) makes the kernel of this form.
template <class Body>
auto by_form(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands, bool widened, Body body) {
  const auto form = [&]<class T, class Product>(T, const Product*) {
    return body([&](int64_t some) {
      return std::make_unique<LinearCrossEntropyKernel<T, Product>>(attrs, operands, some);
    });
  };
  return host::made(kNoLinearLoss, [&] {
    if (widened) return form(Bf16{}, static_cast<const host::WidenedProduct*>(nullptr));
    return host::by_real(operands[LinearLossSlots::x].tensor.type, [&](auto zero) {
      return form(zero, static_cast<const host::RepeatedProduct*>(nullptr));
    });
  });
}

}  // namespace

std::vector<Algorithm> LinearCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const std::vector<int64_t> rows = rows_at_a_time(LinearLossShape(attrs, operands).rows);
  const auto list = [&](bool widened) {
    return by_form(attrs, operands, widened, [&](auto build) {
      std::vector<Algorithm> all;
      for (const int64_t some : rows)
        all.push_back({.name = name_of_rows(some), .workspace_bytes = build(some)->workspace_bytes()});
      return all;
    });
  };
  return with_widened(kName, operands, [&] { return list(false); }, [&] { return named_widened(list(true)); });
}

std::unique_ptr<Kernel> LinearCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view algorithm) {
  const bool widened = algorithm.starts_with(kWidened) && uses_narrow(operands);
  const std::string_view named = widened ? without_widened(algorithm) : algorithm;
  for (const int64_t some : rows_at_a_time(LinearLossShape(attrs, operands).rows))
    if (named.empty() || named == name_of_rows(some))
      return by_form(attrs, operands, widened, [&](auto build) -> std::unique_ptr<Kernel> { return build(some); });
  throw KernelError("LinearCrossEntropy: no algorithm '" + std::string(algorithm) + "'");
}

}  // namespace plimsoll
