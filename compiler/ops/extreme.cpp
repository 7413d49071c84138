#include "compiler/ops/extreme.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_extreme(const NodeView& node) {
  if (node.input_count() != 2) return node.unsupported("has kernels for two operands");
  return infer_binary(node);
}

void backward_extreme(TaskBuilder& build, std::string_view kernel) {
  const NodeView& node = build.node();
  const TensorType& y = node.output_type(0);
  for (size_t i = 0; i < 2; ++i) {
    if (!build.wants_gradient(i)) continue;
    const bool whole = node.input_type(i).dims == y.dims;
    const bool parameter = node.input(i).kind == ValueKind::parameter;
    const Operand share = whole ? build.write_gradient(i) : build.write_scratch("share", y);
    TaskSpec task{.kernel = std::string(kernel),
                  .kind = whole && parameter ? TaskKind::backward_weights : TaskKind::backward_data,
                  .operands = {build.read_input(i), build.read_input(1 - i), build.read_gradient(0), share},
                  .in_place = {{2, 3}},
                  .flops = flops_per_element(y, 2)};
    for (int slot = 0; slot < 2; ++slot)
      if (task.operands[static_cast<size_t>(slot)].type.dims == y.dims) task.in_place.push_back({slot, 3});
    build.task(std::move(task));
    if (!whole) give_summed_gradient(build, i, share);
  }
}

std::vector<Sample> extreme_samples() {
  // A wide range keeps ties farther apart than the steps of finite differences.
  std::vector<Sample> samples = binary_samples(-30, 30);
  samples.resize(samples.size() -
                 2);  // these operators take no numbers as attributes: a number is a tensor of one element
  return samples;
}

}  // namespace plimsoll
