// Which host kernels take operands in bf16 as they are (runtime/precision.h).
#include "runtime/precision.h"

#include <algorithm>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/host/engine.h"
#include "runtime/host/flat_kernel.h"

namespace plimsoll {
namespace {

constexpr uint32_t kAll = ~0U;

// A kernel may have several lines.
constexpr NarrowForm kNarrowKernels[] = {
    {"AdamUpdate", slots({2, 3}), 0, false, true},
    {"AdamUpdate", slots({0}), slots({1, 2, 3}), false, true},
    {"AttentionBackward", slots({0, 1, 2, 4, 6, 7, 8, 9}), slots({3, 10})},
    {"AttentionForward", slots({0, 1, 2, 4}), slots({3})},
    {"AveragePoolBackward", slots({0, 1})},
    {"AveragePoolForward", slots({0, 1})},
    {"BatchNormBackward", slots({0, 1, 5, 6})},
    {"BatchNormForward", slots({0, 5, 8})},
    {"BinaryCrossEntropy", slots({0, 4})},
    {"BinaryAdd", slots({2}), slots({0, 1})},
    {"BinaryDiv", slots({2}), slots({0, 1})},
    {"BinaryMax", slots({2}), slots({0, 1})},
    {"BinaryMin", slots({2}), slots({0, 1})},
    {"BinaryMul", slots({2}), slots({0, 1})},
    {"BinaryPow", slots({2}), slots({0, 1})},
    {"BinaryPRelu", slots({2}), slots({0, 1})},
    {"BinarySub", slots({2}), slots({0, 1})},
    {"BroadcastTo", 0, slots({0, 1})},
    {"CastTo", 0, slots({0, 1})},
    {"ClipFactor", 0, kAll},
    {"Concat", 0, kAll},
    {"ConvBackwardData", slots({0, 1}), slots({2}), true},
    {"ConvBackwardWeights", slots({0, 1}), slots({2}), true},
    {"ConvForward", slots({0, 1}), slots({3}), true},
    {"ConvTransposeForward", slots({0, 1, 3}), 0, true},
    {"CumulativeSum", 0, slots({0, 1})},
    {"Dropout", slots({0, 1})},
    {"GatedProductBackward", slots({0, 1, 2, 3, 4})},
    {"GatedProductForward", 0, slots({0, 1, 2})},
    {"GatherBackward", slots({1})},
    {"GatherElementsForward", slots({0, 2})},
    {"GatherForward", slots({2}), slots({0})},
    {"GlobalAveragePoolBackward", slots({0, 1})},
    {"GlobalAveragePoolForward", slots({0, 1})},
    {"GroupNormBackward", slots({0, 1, 5})},
    {"GroupNormForward", slots({0, 3})},
    {"Join", kAll},
    {"LambUpdate", slots({2, 3}), 0, false, true},
    {"LambUpdate", slots({0}), slots({1, 2, 3}), false, true},
    {"LayerNormBackward", slots({0, 1, 5})},
    {"LayerNormForward", slots({0, 3})},
    {"LogSoftmaxBackward", slots({2})},
    {"LogSoftmaxForward", slots({0})},
    {"LrnBackward", slots({0, 1, 2})},
    {"LrnForward", slots({0, 1})},
    {"LinearCrossEntropy", slots({0, 1}), slots({5}), true},
    {"LionUpdate", slots({2}), 0, false, true},
    {"LionUpdate", slots({0}), slots({1, 2}), false, true},
    {"MaskedFill", slots({0, 2})},
    {"MatMul", slots({0, 1}), slots({2, 3}), true},
    {"MaxPoolBackward", slots({1, 2})},
    {"MaxPoolForward", slots({0, 1})},
    {"MaxShare", slots({0, 1, 2, 3})},
    {"MinShare", slots({0, 1, 2, 3})},
    {"MixedCrossEntropy", slots({0, 4})},
    {"MomentumUpdate", slots({2}), 0, false, true},
    {"MomentumUpdate", slots({0}), slots({1, 2}), false, true},
    {"Move", slots({0, 1})},
    {"Mse", slots({0, 3})},
    {"Pad", slots({0, 1})},
    {"PadAxis", slots({0, 1})},
    {"PadAxisBackward", slots({0, 1})},
    {"PaddedGatherBackward", slots({1})},
    {"PowBaseSlope", slots({0, 1, 2, 3})},
    {"PowExponentSlope", slots({0, 1, 2, 3})},
    {"PReluBackward", slots({0, 2, 3}), slots({1})},
    {"ProductSum", slots({0, 1}), slots({2})},
    {"ReduceLogSumExpBackward", slots({0, 1, 2, 3})},
    {"ReduceLogSumExpBackward", slots({0, 3})},
    {"ReduceLogSumExpBackward", slots({1, 2})},
    {"ReduceLogSumExpForward", 0, slots({0, 1})},
    {"ReduceMaxBackward", slots({0, 1, 2, 3})},
    {"ReduceMaxBackward", slots({0, 3})},
    {"ReduceMaxBackward", slots({1, 2})},
    {"ReduceMaxForward", 0, slots({0, 1})},
    {"ReduceMinBackward", slots({0, 1, 2, 3})},
    {"ReduceMinBackward", slots({0, 3})},
    {"ReduceMinBackward", slots({1, 2})},
    {"ReduceMinForward", 0, slots({0, 1})},
    {"ReduceProdBackward", slots({0, 1, 2, 3})},
    {"ReduceProdBackward", slots({0, 3})},
    {"ReduceProdBackward", slots({1, 2})},
    {"ReduceProdForward", 0, slots({0, 1})},
    {"Reorder", slots({0, 1}), 0, true},
    {"ResizeBackward", slots({0, 1})},
    {"ResizeForward", slots({0, 1})},
    {"RmsNormBackward", slots({0, 1, 5})},
    {"RmsNormForward", slots({0, 3})},
    {"Rotary", slots({0, 3})},
    {"ScaleShift", 0, slots({0, 1})},
    {"Select", slots({1, 2, 3})},
    {"SgdUpdate", slots({0}), slots({1}), false, true},
    {"Slice", 0, slots({0, 1})},
    {"SliceBackward", 0, slots({0, 1})},
    {"SoftmaxBackward", slots({0, 1, 2})},
    {"SoftmaxCrossEntropy", slots({0, 4})},
    {"SoftmaxCrossEntropyEach", slots({0})},
    {"SoftmaxCrossEntropyEachBackward", slots({0, 3})},
    {"SoftmaxForward", slots({0, 1})},
    {"Split", 0, kAll},
    {"SpreadSamples", 0, slots({0, 1})},
    {"SumSamples", 0, slots({0, 1})},
    {"SumToShape", 0, slots({0, 1})},
    {"Transpose", slots({0, 1})},
    {"Zero", slots({0})},
};

bool library_has_bf16() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core; }

// Kernels that spend their time in products of oneDNN.
constexpr std::string_view kProducts[] = {"ConvBackwardData",     "ConvBackwardWeights", "ConvForward",
                                          "ConvTransposeForward", "LinearCrossEntropy",  "MatMul"};

}  // namespace

bool has_narrow_kernel(std::string_view name, std::span<const OperandDesc> operands) {
  if (narrow_type(operands) == DataType::f16) return false;  // trainers of the host do not compute in f16
  if (is_elementwise(name)) return takes({name, 0, slots({0, 1, 2})}, operands);
  const auto matches = [&](const NarrowForm& one) {
    // oneDNN has bf16 from AVX-512 on
    return one.kernel == name && (!one.in_library || library_has_bf16()) && takes(one, operands);
  };
  return std::any_of(std::begin(kNarrowKernels), std::end(kNarrowKernels), matches);
}

bool may_be_slower_than_widened(std::string_view name) {
  return !host::multiplies_bf16_faster() &&
         std::find(std::begin(kProducts), std::end(kProducts), name) != std::end(kProducts);
}

// Both multiply what they widen in blocks (runtime/host/widened_product.h).
bool widens_itself(std::string_view name, std::span<const OperandDesc> operands) {
  if (name != "LinearCrossEntropy" && name != "MatMul") return false;
  const auto matches = [&](const NarrowForm& one) { return one.kernel == name && takes(one, operands); };
  return narrow_type(operands) == DataType::bf16 &&
         std::any_of(std::begin(kNarrowKernels), std::end(kNarrowKernels), matches);
}

void widen_elements(const RunContext&, DataType narrow, const std::byte* from, std::byte* to, int64_t elements) {
  const auto* const x = reinterpret_cast<const uint16_t*>(from);
  auto* const y = reinterpret_cast<float*>(to);
  if (narrow == DataType::bf16) return host::for_elements(elements, [=](int64_t i) { y[i] = widened(x[i]); });
  host::for_elements(elements, [=](int64_t i) { y[i] = widened_f16(x[i]); });
}

void narrow_elements(const RunContext&, DataType narrow, const std::byte* from, std::byte* to, int64_t elements) {
  const auto* const x = reinterpret_cast<const float*>(from);
  auto* const y = reinterpret_cast<uint16_t*>(to);
  if (narrow == DataType::bf16) return host::for_elements(elements, [=](int64_t i) { y[i] = narrowed(x[i]); });
  host::for_elements(elements, [=](int64_t i) { y[i] = narrowed_f16(x[i]); });
}

}  // namespace plimsoll
