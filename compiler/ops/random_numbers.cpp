#include "compiler/ops/random_numbers.h"

#include "compiler/ir/model.h"
#include "compiler/ops/random_key.h"
#include "runtime/attrs/dropout.h"

namespace plimsoll {

Result<std::vector<TensorType>> infer_random(const NodeView& node) {
  if (!node.has("shape")) return node.invalid("has no shape");
  if (const int64_t type = node.integer("dtype", 1); type != 1)
    return node.unsupported("draws numbers in " + element_name(static_cast<ElementType>(type)) +
                            "; supported is f32: export the model in float32");
  TensorType y{DataType::f32, {}};
  for (const int64_t entry : node.integers("shape")) {
    if (entry < 1 && entry != -1)
      return node.invalid("draws numbers of a shape with the dimension " + std::to_string(entry));
    y.dims.push_back(entry == -1 ? kBatch : Dim{entry});
  }
  return std::vector{y};
}

void forward_random(TaskBuilder& build, bool normal, double first, double second) {
  const NodeView& node = build.node();
  build.task({.kernel = "RandomNumbers",
              .attributes = to_attributes(
                  RandomNumbersAttrs{.normal = normal, .first = first, .second = second, .key = random_key(node)}),
              .operands = {build.write_output(0)},
              .flops = flops_per_element(node.output_type(0), normal ? 20 : 2)});
}

std::vector<Sample> random_samples(std::map<std::string, NodeAttribute> attributes) {
  attributes["shape"] = std::vector<int64_t>{-1, 1, 7};
  Sample given{.name = "given", .attributes = attributes};
  return {{.name = "noise", .attributes = {{"shape", std::vector<int64_t>{-1, 5}}}}, given};
}

}  // namespace plimsoll
