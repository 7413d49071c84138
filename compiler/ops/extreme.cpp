#include "compiler/ops/extreme.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_extreme(const NodeView& node) {
  if (node.input_count() != 2) return node.unsupported("has kernels for two operands");
  return infer_binary(node);
}

void backward_extreme(TaskBuilder& build, std::string_view kernel) {
  for (size_t i = 0; i < 2; ++i) give_gradient_by_both(build, i, kernel);
}

std::vector<Sample> extreme_samples() {
  // A wide range keeps ties farther apart than the steps of finite differences.
  std::vector<Sample> samples = binary_samples(-30, 30);
  samples.resize(samples.size() -
                 2);  // these operators take no numbers as attributes: a number is a tensor of one element
  return samples;
}

}  // namespace plimsoll
