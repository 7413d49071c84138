// Bernoulli: 1 with a fixed probability, else 0. These are the masks of stochastic depth, one element per sample.
//   RandomMask {y}
// As with Dropout, the mask is a function of seed, iteration, round, the node's key and the element's position, so a
// recomputed mask is identical. In evaluation the output is the mean. No input is read: the import
// (compiler/network/simplify/random_mask.h) stores the shape in attribute `shape`, where -1 is the number of samples,
// and the probability in `probability`.
#include "compiler/ops/op.h"
#include "compiler/ops/random_key.h"
#include "runtime/attrs/dropout.h"

namespace plimsoll {
namespace bernoulli {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has("probability") || !node.has("shape"))
    return node.unsupported("its probability is not a single number known at compile time");
  const double probability = node.real("probability", 0);
  if (!(probability >= 0 && probability <= 1)) return node.invalid("the probability is " + std::to_string(probability));
  TensorType y{DataType::f32, {}};
  for (const int64_t entry : node.integers("shape")) y.dims.push_back(entry == -1 ? kBatch : Dim{entry});
  return std::vector{y};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.task({.kernel = "RandomMask",
              .attributes =
                  to_attributes(RandomMaskAttrs{.probability = node.real("probability", 0), .key = random_key(node)}),
              .operands = {build.write_output(0)},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, std::vector<int64_t> shape, double probability) {
    return Sample{.name = std::move(name), .attributes = {{"shape", std::move(shape)}, {"probability", probability}}};
  };
  return {sample("of_samples", {-1, 1, 1, 1}, 0.8), sample("of_elements", {-1, 3, 5}, 0.3),
          sample("by_four", {-1, 3, 8}, 0.3), sample("always", {-1, 4}, 1)};
}

}  // namespace bernoulli

const Op op_Bernoulli{.name = "Bernoulli",
                      .first_opset = 15,
                      .attributes = {attribute::integer("dtype").since(15), attribute::real("seed").since(15),
                                     attribute::real("probability").of_import(),
                                     attribute::integers("shape").of_import()},
                      .infer = bernoulli::infer,
                      .forward = bernoulli::forward,
                      .samples = bernoulli::samples};

}  // namespace plimsoll
