// Which kernels of a GPU take operands in bf16 or f16 as they are (runtime/precision.h).
#include "runtime/precision.h"

#include <algorithm>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll {
namespace {

template <class From, class To>
__global__ void convert_kernel(int64_t n, const From* x, To* y) {
  const int64_t first = 8 * cuda::thread_number();
  if (first + 8 <= n) {
    cuda::store_few(y + first, cuda::load_few<8>(x + first));
  } else {
    for (int64_t i = first; i < n; ++i) cuda::store_one(y + i, cuda::load_one(x + i));
  }
}

constexpr uint32_t kAll = ~0U;

// A kernel may have several lines. A kernel without one runs on widened operands.
constexpr NarrowForm kNarrowKernels[] = {
    {"AdamUpdate", slots({2, 3}), 0, false, true},
    {"AdamUpdate", slots({0}), slots({1, 2, 3}), false, true},
    {"AttentionBackward", slots({0, 1, 2, 4, 6, 7, 8, 9})},
    {"AttentionForward", slots({0, 1, 2, 4})},
    {"BatchNormBackward", slots({0, 1, 5, 6})},
    {"BatchNormForward", slots({0, 5, 8})},
    {"BinaryAdd", slots({2}), slots({0, 1})},
    {"BinaryDiv", slots({2}), slots({0, 1})},
    {"BinaryMax", slots({2}), slots({0, 1})},
    {"BinaryMin", slots({2}), slots({0, 1})},
    {"BinaryMul", slots({2}), slots({0, 1})},
    {"BinaryPow", slots({2}), slots({0, 1})},
    {"BinaryPRelu", slots({2}), slots({0, 1})},
    {"BinarySub", slots({2}), slots({0, 1})},
    {"BroadcastTo", slots({1}), slots({0})},
    {"CastTo", 0, slots({0, 1})},
    {"ClipFactor", 0, kAll},
    {"Concat", kAll},
    {"ConvBackwardData", slots({0, 1}), slots({2, 3}), true},
    {"ConvBackwardWeights", slots({0, 1}), slots({2}), true},
    {"ConvForward", slots({0, 1}), slots({3}), true},
    {"ConvTransposeForward", slots({0, 1}), slots({3}), true},
    {"Dropout", slots({0, 1})},
    {"GatedProductBackward", slots({0, 1, 2, 3, 4})},
    {"GatedProductForward", slots({0, 1, 2})},
    {"GatherBackward", slots({1})},
    {"GatherForward", slots({2}), slots({0})},
    {"GlobalAveragePoolBackward", slots({0, 1})},
    {"GlobalAveragePoolForward", slots({0, 1})},
    {"Join", kAll},
    {"LambUpdate", slots({2, 3}), 0, false, true},
    {"LambUpdate", slots({0}), slots({1, 2, 3}), false, true},
    {"LayerNormBackward", slots({0, 1, 5})},
    {"LayerNormForward", slots({0, 3})},
    {"LinearCrossEntropy", slots({0, 1}), slots({5})},
    {"LionUpdate", slots({2}), 0, false, true},
    {"LionUpdate", slots({0}), slots({1, 2}), false, true},
    {"MaskedFill", slots({0, 2})},
    {"MatMul", slots({0, 1}), slots({2, 3}), true},
    {"MaxPoolBackward", slots({1, 2})},
    {"MaxPoolForward", slots({0, 1})},
    {"MomentumUpdate", slots({2}), 0, false, true},
    {"MomentumUpdate", slots({0}), slots({1, 2}), false, true},
    {"Move", slots({0, 1})},
    {"PaddedGatherBackward", slots({1})},
    {"PReluBackward", slots({0, 2, 3}), slots({1})},
    {"ProductSum", slots({0, 1}), slots({2})},
    {"Reorder", slots({0, 1})},
    {"RmsNormBackward", slots({0, 1, 5})},
    {"RmsNormForward", slots({0, 3})},
    {"Rotary", slots({0, 3})},
    {"ScaleShift", slots({0, 1})},
    {"SgdUpdate", slots({0}), slots({1}), false, true},
    {"Slice", slots({0, 1})},
    {"SliceBackward", slots({0, 1})},
    {"SoftmaxBackward", slots({0, 1, 2})},
    {"SoftmaxCrossEntropy", slots({0, 4})},
    {"SoftmaxForward", slots({0, 1})},
    {"Split", kAll},
    {"SpreadSamples", slots({1}), slots({0})},
    {"SumSamples", slots({0}), slots({1})},
    {"SumToShape", slots({0}), slots({1})},
    {"Transpose", slots({0, 1})},
    {"Zero", slots({0})},
};

}  // namespace

bool has_narrow_kernel(std::string_view name, std::span<const OperandDesc> operands) {
  if (is_elementwise(name)) return takes({name, slots({0, 1, 2})}, operands);
  const auto matches = [&](const NarrowForm& one) { return one.kernel == name && takes(one, operands); };
  return std::any_of(std::begin(kNarrowKernels), std::end(kNarrowKernels), matches);
}

bool may_be_slower_than_widened(std::string_view) { return false; }
bool widens_itself(std::string_view, std::span<const OperandDesc>) { return false; }

void widen_elements(const RunContext& context, DataType narrow, const std::byte* from, std::byte* to,
                    int64_t elements) {
  cuda::by_narrow(narrow, [&](auto zero) {
    using T = decltype(zero);
    cuda::launch("widening", convert_kernel<T, float>, cuda::blocks_for(cuda::divided_up(elements, 8)), cuda::kThreads,
                 context, elements, reinterpret_cast<const T*>(from), reinterpret_cast<float*>(to));
  });
}

void narrow_elements(const RunContext& context, DataType narrow, const std::byte* from, std::byte* to,
                     int64_t elements) {
  cuda::by_narrow(narrow, [&](auto zero) {
    using T = decltype(zero);
    cuda::launch("rounding", convert_kernel<float, T>, cuda::blocks_for(cuda::divided_up(elements, 8)), cuda::kThreads,
                 context, elements, reinterpret_cast<const float*>(from), reinterpret_cast<T*>(to));
  });
}

}  // namespace plimsoll
