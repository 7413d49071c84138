#include "runtime/selection.h"

#include "runtime/kernels.h"
#include "runtime/linear_cross_entropy.h"

namespace plimsoll {
namespace {

constexpr size_t kIndices = 1, kTable = 0, kScattered = 3;  // slots of all kernels with indices in the forward pass

Selection among(int64_t size) { return {.slot = kIndices, .first = -size, .last = size - 1}; }

Selection among_classes(size_t slot, int64_t classes, int64_t ignored) {
  return {.slot = slot, .first = 0, .last = classes - 1, .of_classes = true, .ignored = ignored};
}

}  // namespace

std::optional<Selection> selection_of(const KernelMaker& maker, std::span<const OperandDesc> operands) {
  const auto is_one_of = [&](auto... names) { return ((maker.name == names) || ...); };
  const auto along_axis = [&](size_t slot) {
    const auto& attrs = *static_cast<const ElementsAttrs*>(maker.attrs);
    return among(operands[slot].tensor.dim(static_cast<size_t>(attrs.axis)));
  };
  if (is_one_of(GatherForward::kName, GatherWhole::kName)) {
    const TensorDesc& table = operands[kTable].tensor;
    return among(table.dim(table.rank() - 2));
  }
  if (is_one_of(GatherElementsForward::kName)) return along_axis(kTable);
  if (is_one_of(ScatterElements::kName)) return along_axis(kScattered);
  if (is_one_of(SoftmaxCrossEntropy::kName, NegativeLogLikelihood::kName)) {
    const auto& attrs = *static_cast<const SoftmaxCrossEntropyAttrs*>(maker.attrs);
    return among_classes(1, operands[0].tensor.dim(1), attrs.ignore_index);
  }
  if (is_one_of(SoftmaxCrossEntropyEach::kName, NegativeLogLikelihoodEach::kName)) {
    const auto& attrs = *static_cast<const CrossEntropyEachAttrs*>(maker.attrs);
    return among_classes(1, operands[0].tensor.dim(1), attrs.ignore_index);
  }
  if (is_one_of(LinearCrossEntropy::kName)) {
    const auto& attrs = *static_cast<const LinearCrossEntropyAttrs*>(maker.attrs);
    return among_classes(LinearLossSlots::labels, LinearLossShape(attrs, operands).classes, attrs.ignore_index);
  }
  return std::nullopt;
}

}  // namespace plimsoll
