// OutputLoss: Plimsoll's own operator, the end of a network that computes its own loss: a scalar → the loss. Its
// gradient is 1.
//   OutputLoss {x, loss, dx}
#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace outputloss {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("needs a number");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32 || x.elements() != Affine{.fixed = 1})
    return node.invalid("the loss is " + to_string(x) + "; expected one f32");
  return std::vector{TensorType{DataType::f32, {{1}}}};
}

void forward(TaskBuilder& build) {
  const Dims one = {{1}};
  build.task(
      {.kernel = "OutputLoss",
       .kind = TaskKind::loss,
       .operands = {viewed(build.read_input(0), one), build.write_output(0), viewed(build.write_gradient(0), one)}});
}

// Never called, because the loss itself receives no gradient. Defined so that the parameters upstream count as trained.
void backward(TaskBuilder&) {}

std::vector<Sample> samples() {
  return {{.name = "number", .inputs = {{.dims = {}}}}, {.name = "of_rank_two", .inputs = {{.dims = {{1}, {1}}}}}};
}

}  // namespace outputloss

const Op op_OutputLoss{.name = "OutputLoss",
                       .first_opset = 0,
                       .last_opset = 0,
                       .infer = outputloss::infer,
                       .forward = outputloss::forward,
                       .backward = outputloss::backward,
                       .adds_up = adds_up_first,
                       .precision = PrecisionRule::single,
                       .samples = outputloss::samples};

}  // namespace plimsoll
