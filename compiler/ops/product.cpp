#include "compiler/ops/product.h"

#include "compiler/ops/broadcast.h"

namespace plimsoll {
namespace {

Dim contracted(const Product& p) { return turned(p.a, p.transpose_a).back(); }

struct Factor {
  Operand operand;
  bool transpose;
};

// The gradient of `input`, viewed as `dims`: alpha · op(left) · op(right), [..., rows, columns] in the order of `dims`.
void gradient(TaskBuilder& build, const Product& p, size_t input, const Dims& dims, const Factor& left,
              const Factor& right) {
  const bool parameter = build.node().input(input).kind == ValueKind::parameter;
  Dims full(p.y.begin(), p.y.end() - 2);
  full.insert(full.end(), dims.end() - 2, dims.end());
  const bool stretched = full != dims;
  const Operand made = stretched ? build.write_scratch("d" + std::to_string(input), {.dims = full})
                                 : viewed(build.write_gradient_of_product(input), dims);
  build.task({.kernel = "MatMul",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(MatMulAttrs{
                  .transpose_a = left.transpose, .transpose_b = right.transpose, .alpha = p.alpha}),
              .operands = {left.operand, right.operand, Operand{}, made},
              .flops = p.flops()});
  if (!stretched) return;
  build.task({.kernel = "SumToShape",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .operands = {as_read(made), viewed(build.write_gradient(input), dims)},
              .flops = flops_per_element(made.type, 1)});
}

}  // namespace

Dims turned(Dims dims, bool transpose) {
  if (transpose) std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
  return dims;
}

Affine Product::flops() const {
  Dims all = y;
  all.push_back(contracted(*this));
  return flops_per_element({.dims = all}, 2);
}

bool Product::mixes_samples() const { return contracted(*this).batch; }

void forward_product(TaskBuilder& build, const Product& p, const Operand& c, double beta) {
  build.task({.kernel = "MatMul",
              .attributes = to_attributes(MatMulAttrs{
                  .transpose_a = p.transpose_a, .transpose_b = p.transpose_b, .alpha = p.alpha, .beta = beta}),
              .operands = {viewed(build.read_input(0), p.a), viewed(build.read_input(1), p.b), c,
                           viewed(build.write_output(0), p.y)},
              .flops = p.flops(),
              .mixes_samples = p.mixes_samples()});
}

void backward_product(TaskBuilder& build, const Product& p) {
  const Operand dy = viewed(build.read_gradient(0), p.y);
  if (build.wants_gradient(1)) {
    const Operand a = viewed(build.read_input(0), p.a);
    if (p.transpose_b) {
      gradient(build, p, 1, p.b, {dy, true}, {a, p.transpose_a});
    } else {
      gradient(build, p, 1, p.b, {a, !p.transpose_a}, {dy, false});
    }
  }
  if (build.wants_gradient(0)) {
    const Operand b = viewed(build.read_input(1), p.b);
    if (p.transpose_a) {
      gradient(build, p, 0, p.a, {b, p.transpose_b}, {dy, true});
    } else {
      gradient(build, p, 0, p.a, {dy, false}, {b, !p.transpose_b});
    }
  }
}

}  // namespace plimsoll
