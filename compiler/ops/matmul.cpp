// MatMul as in NumPy: matrices in the last two dimensions, leading dimensions broadcast, one-dimensional operands are
// vectors. The kernels are those of compiler/ops/product.h.
//
// If the right operand is a matrix (a linear layer over a sequence), the product is computed over all rows at once:
//   [N, S, K] · [K, M]  is seen as  [S·N, K] · [K, M],  so the matrix gradient needs no separate sum over samples.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/op.h"
#include "compiler/ops/product.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace matmul {

// The product of all dimensions but the last.
Dim rows_of(const Dims& dims) {
  Dim rows{1};
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows = {rows.value * dims[i].value, rows.batch || dims[i].batch};
  return rows;
}

struct Shapes {
  Product product;
  Dims result;  // as ONNX defines it
};

Result<Shapes> shapes_of(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires two operands");
  Dims a = node.input_type(0).dims, b = node.input_type(1).dims;
  if (a.empty() || b.empty()) return node.invalid("an operand is a scalar");
  const bool row = a.size() == 1, column = b.size() == 1;
  const bool ta = node.node().marks.transposed_a, tb = node.node().marks.transposed_b;
  if (row) a.insert(a.begin(), Dim{1});
  if (column) b.push_back(Dim{1});
  const Dims left = turned(a, ta), right = turned(b, tb);
  if (left.back() != right[right.size() - 2])
    return node.invalid(to_string(node.input_type(0).dims) + " times " + to_string(node.input_type(1).dims) +
                        ": the shapes do not match");
  PLIMSOLL_ASSIGN(const Dims leading, broadcast(node, Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)));
  Dims y = leading;
  y.push_back(left[left.size() - 2]);
  y.push_back(right.back());

  Shapes shapes;
  shapes.result = y;
  if (column) shapes.result.pop_back();
  if (row) shapes.result.erase(shapes.result.end() - (column ? 1 : 2));
  if (b.size() == 2 && !ta) {
    const Dim rows = rows_of(a);
    shapes.product = {.a = {rows, a.back()}, .b = b, .y = {rows, right.back()}, .transpose_b = tb};
  } else {
    shapes.product = {
        .a = with_rank(a, y.size()), .b = with_rank(b, y.size()), .y = y, .transpose_a = ta, .transpose_b = tb};
  }
  return shapes;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  PLIMSOLL_ASSIGN(const Shapes shapes, shapes_of(node));
  return std::vector{TensorType{node.input_type(0).type, shapes.result}};
}

Product product_of(const NodeView& node) { return shapes_of(node).value().product; }

void forward(TaskBuilder& build) { forward_product(build, product_of(build.node()), Operand{}, 1); }

void backward(TaskBuilder& build) { backward_product(build, product_of(build.node())); }

std::vector<Sample> samples() {
  const auto activation = [](Dims dims) { return SampleInput{.dims = std::move(dims)}; };
  const auto parameter = [](Dims dims) { return SampleInput{.dims = std::move(dims), .kind = ValueKind::parameter}; };
  return {
      {.name = "matrices", .inputs = {activation({kBatch, {7}}), parameter({{7}, {5}})}},
      {.name = "sequence", .inputs = {activation({kBatch, {3}, {7}}), parameter({{7}, {5}})}},
      {.name = "attention", .inputs = {activation({kBatch, {2}, {3}, {4}}), activation({kBatch, {2}, {4}, {5}})}},
      {.name = "tied_head",
       .inputs = {activation({kBatch, {3}, {7}}), parameter({{5}, {7}})},
       .marks = {.transposed_b = true}},
      {.name = "queries_by_keys",
       .inputs = {activation({kBatch, {2}, {3}, {4}}), activation({kBatch, {2}, {5}, {4}})},
       .marks = {.transposed_b = true}},
      {.name = "left_turned",
       .inputs = {activation({kBatch, {4}, {3}}), parameter({{4}, {5}})},
       .marks = {.transposed_a = true}},
      {.name = "stretched_left", .inputs = {parameter({{3}, {4}}), activation({kBatch, {4}, {5}})}},
      {.name = "stretched_both", .inputs = {activation({kBatch, {1}, {3}, {4}}), parameter({{2}, {4}, {5}})}},
      {.name = "vector_right", .inputs = {activation({kBatch, {3}, {4}}), parameter({{4}})}},
      {.name = "vector_left", .inputs = {parameter({{4}}), activation({kBatch, {4}, {5}})}},
  };
}

// For real numbers: the product of two constants, as exporters compute the angles of positional encodings.
Known evaluate(const KnownCall& call) {
  const KnownValue *a = call.known(0), *b = call.known(1);
  if (!a || !b || !a->real() || a->element != b->element || !a->elements() || !b->elements() || a->dims.size() < 2 ||
      b->dims.size() < 2)
    return std::nullopt;
  const Dims in_front_a(a->dims.begin(), a->dims.end() - 2), in_front_b(b->dims.begin(), b->dims.end() - 2);
  const size_t rows = static_cast<size_t>((a->dims.end() - 2)->value),
               inner = static_cast<size_t>(a->dims.back().value), columns = static_cast<size_t>(b->dims.back().value);
  const auto in_front = constants::broadcast({&in_front_a, &in_front_b});
  if (!in_front || (b->dims.end() - 2)->value != a->dims.back().value) return std::nullopt;
  Dims dims = *in_front;
  int64_t work = 1;
  for (const Dim dim : {Dim{static_cast<int64_t>(rows)}, Dim{static_cast<int64_t>(columns)}}) dims.push_back(dim);
  for (const Dim dim : dims) {
    const auto more = checked_mul(work, dim.value);
    if (!more || *more > kKnownLimit) return std::nullopt;
    work = *more;
  }
  if (inner > 0 && work > (int64_t{1} << 26) / static_cast<int64_t>(inner)) return std::nullopt;
  KnownValue known{.element = a->element, .dims = dims};
  const auto at_a = constants::broadcast_indices(in_front_a, *in_front),
             at_b = constants::broadcast_indices(in_front_b, *in_front);
  for (size_t of = 0; of < at_a.size(); ++of)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (size_t k = 0; k < inner; ++k)
          sum += a->number((at_a[of] * rows + row) * inner + k) * b->number((at_b[of] * inner + k) * columns + column);
        known.reals.push_back(constants::rounded(sum, known.element));
      }
  return known;
}

}  // namespace matmul

const Op op_MatMul{.name = "MatMul",
                   .inputs = {Slot::data, Slot::weight},
                   .required_inputs = 2,
                   .samples_rule = SamplesRule::first_input,
                   .axes = AxesRule::changed,
                   .evaluate = matmul::evaluate,
                   .infer = matmul::infer,
                   .forward = matmul::forward,
                   .backward = matmul::backward,
                   .marks = {.transposed_a = true, .transposed_b = true},
                   .precision = PrecisionRule::products,
                   .factors = {0, 1},
                   .samples = matmul::samples};

}  // namespace plimsoll
