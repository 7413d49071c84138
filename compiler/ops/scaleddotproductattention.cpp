// ScaledDotProductAttention: y = Softmax(scale · q kᵀ + mask) · v, computed in tiles. In no model file: ONNX's
// Attention (network/simplify/spellings_attention.cpp) and attention that is spelled out (network/attention.h) become
// it.
//   AttentionForward  {q, k, v, mask, y, statistics}
//   AttentionBackward {q, k, v, mask, y, statistics, dy, dq, dk, dv, dscores}
//   q [N, H, T, D], k [N, G, S, D], v [N, G, S, E], y [N, H, T, E], statistics [N, H, T, 2], dscores [N, H, T, S]
//   q [B, T, D], k [B, S, D], v [B, S, E], … as torch.bmm has it: B counts the heads of all samples
//
// Why: spelled out, the scores and probabilities are tensors of N · H · T · S elements, and the probabilities are saved
// for the backward. The tiled kernels (Dao et al., FlashAttention, 2022) save two numbers per query instead, and the
// backward recomputes the probabilities from them.
//
// Groups of H / G queries share a head of keys; nothing is expanded. The mask broadcasts to the scores, [N, H, T, S] or
// [B, T, S]: f32 is added to them, of u8 a 0 hides the key. A query that sees no key has an output of zeros, as Softmax
// here.
//
// The statistics of a query are the largest score and the reciprocal of the sum of exponentials: the log-sum-exp in two
// parts. In one float, the second part would vanish next to the -3.4e38 by which exporters hide keys.
//
// Attribute `dropped`: in training, probabilities are dropped as by a Dropout between the softmax and the product with
// the values, with the mask that a Dropout of the key `dropout_key` draws (dropout.cpp). It is not stored; the backward
// draws it again.
//
// Attribute `turned`: y is [N, T, H, D], as the projection after the heads reads it (network/attention.h). The forward
// is two tasks then, AttentionForward and Transpose, and the backward reads the y that the projection keeps, instead of
// one that nothing else keeps:
//   Transpose {heads, y}   Transpose {dy, dheads}
//
// The gradient of a mask has as many elements as the scores. If a mask needs one, the backward writes it (dscores), and
// it is summed over the broadcast axes.
#include <algorithm>
#include <cmath>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/attention.h"
#include "runtime/attrs/shape.h"

namespace plimsoll {
namespace scaled_dot_product_attention {

constexpr int64_t kMostSize = 256;  // of a head: the kernels of cuda hold a row of results in registers

// The number of queries or keys.
Dim length(const NodeView& node, size_t input) {
  const Dims& dims = node.input_type(input).dims;
  return dims[dims.size() - 2];
}

Dims scores_of(const NodeView& node) {
  Dims scores = node.input_type(0).dims;
  scores.back() = length(node, 1);
  return scores;
}

bool is_turned(const NodeView& node) { return node.integer("turned", 0) != 0; }

// The results, by heads.
TensorType of_heads(const NodeView& node) {
  Dims dims = node.input_type(0).dims;
  dims.back() = node.input_type(2).dims.back();
  return {DataType::f32, std::move(dims)};
}

void turn(TaskBuilder& build, TaskKind kind, const Operand& from, const Operand& to) {
  build.task({.kernel = "Transpose",
              .kind = kind,
              .attributes = to_attributes(TransposeAttrs{.perm = {0, 2, 1, 3}}),
              .operands = {from, to}});
}

bool same_heads(const Dims& q, const Dims& k, const Dims& v) {
  if (q[0] != k[0] || q[0] != v[0]) return false;
  return q.size() == 3 || (k[1] == v[1] && k[1].value > 0 && q[1].value % k[1].value == 0);
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i)
    if (!node.has_input(i)) return node.invalid("needs queries, keys and values");
  const TensorType &q = node.input_type(0), &k = node.input_type(1), &v = node.input_type(2);
  const std::string all = to_string(q) + ", keys " + to_string(k) + " and values " + to_string(v);
  for (const TensorType* type : {&q, &k, &v}) {
    if (type->type != DataType::f32) return node.unsupported("only f32 has kernels: queries " + all);
    if ((type->rank() != 3 && type->rank() != 4) || type->rank() != q.rank())
      return node.invalid("needs four dimensions each, or three: queries " + all);
    for (size_t axis = 1; axis < type->rank(); ++axis)
      if (type->dims[axis].batch) return node.unsupported("the first dimension must be the samples: queries " + all);
  }
  if (!same_heads(q.dims, k.dims, v.dims) || length(node, 1) != length(node, 2) || q.dims.back() != k.dims.back())
    return node.invalid("they do not match: queries " + all);
  if (q.dims.back().value > kMostSize || v.dims.back().value > kMostSize)
    return node.unsupported("a head may have " + std::to_string(kMostSize) + " elements: queries " + all);
  if (node.has_input(3)) {
    const TensorType& mask = node.input_type(3);
    if (mask.type != DataType::f32 && mask.type != DataType::u8)
      return node.unsupported("the mask is " + to_string(mask) + ", not f32 or of booleans");
    PLIMSOLL_ASSIGN(const Dims both, broadcast(node, scores_of(node), mask.dims));
    if (both != scores_of(node))
      return node.invalid("the mask " + to_string(mask) + " does not broadcast to the scores " +
                          to_string(scores_of(node)));
  }
  if (is_turned(node) && q.rank() != 4) return node.invalid("its heads are no axis: queries " + all);
  Dims y = of_heads(node).dims;
  if (is_turned(node)) std::swap(y[1], y[2]);
  return std::vector{TensorType{DataType::f32, std::move(y)}};
}

// A window that hides nothing is none, so that equal computations have equal attributes.
AttentionAttrs attributes(const NodeView& node) {
  const int64_t queries = length(node, 0).value, keys = length(node, 1).value;
  const int64_t left = node.integer("left", -1), right = node.integer("right", -1);
  return {.scale = node.real("scale", 1 / std::sqrt(static_cast<double>(node.input_type(0).dims.back().value))),
          .left = left >= queries - 1 ? -1 : std::max<int64_t>(left, -1),
          .right = right >= keys - 1 ? -1 : std::max<int64_t>(right, -1),
          .dropped = node.real("dropped", 0),
          .dropout_key = node.integer("dropout_key", 0),
          .turned = is_turned(node)};
}

// `flops` for each pair of a query and a key that it sees.
Affine flops_per_pair(const NodeView& node, int64_t flops) {
  const int64_t queries = length(node, 0).value, keys = length(node, 1).value;
  const AttentionAttrs window = attributes(node);
  int64_t pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t first = window.left < 0 ? 0 : std::max<int64_t>(0, i - window.left);
    const int64_t end = window.right < 0 ? keys : std::min(keys, i + window.right + 1);
    pairs += std::max<int64_t>(0, end - first);
  }
  Dims heads = node.input_type(0).dims;
  heads.resize(heads.size() - 2);
  return flops_per_element({.dims = std::move(heads)}, pairs * flops);
}

TensorType statistics(const NodeView& node) {
  Dims dims = node.input_type(0).dims;
  dims.back() = {2};
  return {DataType::f32, std::move(dims)};
}

// Adds the pair if both operands have the same size: a kernel reads a tile of the one before it writes it to the other.
// Not if another slot reads the same tensor (queries that are also the keys): other tiles still need it.
void may_share(TaskSpec& task, int read, int written) {
  const Operand &from = task.operands[static_cast<size_t>(read)], &to = task.operands[static_cast<size_t>(written)];
  const auto reads = std::count_if(task.operands.begin(), task.operands.end(), [&](const Operand& operand) {
    return operand.access == Access::read && operand.tensor == from.tensor;
  });
  if (reads == 1 && to.access == Access::write && from.type == to.type) task.in_place.push_back({read, written});
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool trained =
      build.wants_gradient(0) || build.wants_gradient(1) || build.wants_gradient(2) || build.wants_gradient(3);
  const int64_t size = node.input_type(0).dims.back().value, value_size = node.input_type(2).dims.back().value;
  AttentionAttrs attrs = attributes(node);
  attrs.turned = false;  // the kernel writes by heads
  const Operand y = is_turned(node) ? build.write_between("heads", of_heads(node)) : build.write_output(0);
  TaskSpec task{
      .kernel = "AttentionForward",
      .attributes = to_attributes(attrs),
      .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.read_input(3), y,
                   trained ? build.write_stash("statistics", statistics(node)) : Operand{}},
      .flops = flops_per_pair(node, 2 * (size + value_size) + 10)};
  may_share(task, 0, 4);
  build.task(std::move(task));
  if (is_turned(node)) turn(build, TaskKind::forward, as_read(y), build.write_output(0));
}

// First dk and dv, by tiles of keys, then dq and dscores, by tiles of queries. So dq may replace q or dy. y is read
// before both.
void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const int64_t size = node.input_type(0).dims.back().value, value_size = node.input_type(2).dims.back().value;
  const Operand dscores =
      build.wants_gradient(3) ? build.write_scratch("dscores", {DataType::f32, scores_of(node)}) : Operand{};
  Operand dy = build.read_gradient(0);
  if (is_turned(node)) {
    const Operand by_heads = build.write_scratch("dheads", of_heads(node));
    turn(build, TaskKind::backward_data, dy, by_heads);
    dy = as_read(by_heads);
  }
  TaskSpec task{.kernel = "AttentionBackward",
                .kind = TaskKind::backward_data,
                .attributes = to_attributes(attributes(node)),
                .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.read_input(3),
                             build.read_output(0), build.read_stash("statistics"), dy,
                             build.write_gradient(0), build.write_gradient(1), build.write_gradient(2), dscores},
                .flops = flops_per_pair(node, 2 * (4 * size + 3 * value_size) + 30)};
  may_share(task, 0, 7);
  may_share(task, 6, 7);
  for (int written = 7; written < 10; ++written) may_share(task, 4, written);
  build.task(std::move(task));
  if (build.wants_gradient(3)) give_summed_gradient(build, 3, dscores);
}

std::vector<Sample> samples() {
  const auto data = [](int64_t heads, int64_t length, int64_t size) {
    return SampleInput{.dims = {kBatch, {heads}, {length}, {size}}};
  };
  const auto seen = [](Dims dims) {
    return SampleInput{.dims = std::move(dims), .type = DataType::u8, .low = 0, .high = 2};
  };
  const auto window = [](int64_t left, int64_t right) {
    return std::map<std::string, NodeAttribute>{{"left", left}, {"right", right}};
  };
  const auto counted = [](int64_t length, int64_t size) {  // the heads, with the samples
    return SampleInput{.dims = {{2, true}, {length}, {size}}};
  };
  return {
      {.name = "plain", .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 6)}},
      {.name = "causal", .inputs = {data(2, 7, 8), data(2, 7, 8), data(2, 7, 8)}, .attributes = window(-1, 0)},
      {.name = "several_tiles",
       .inputs = {data(1, 70, 3), data(1, 67, 3), data(1, 67, 3)},
       .attributes = window(-1, 0)},
      {.name = "sliding_window",
       .inputs = {data(1, 130, 2), data(1, 130, 2), data(1, 130, 2)},
       .attributes = {{"left", int64_t{2}}, {"right", int64_t{0}}, {"scale", 0.5}}},
      {.name = "window_beyond_the_keys",
       .inputs = {data(1, 9, 4), data(1, 3, 4), data(1, 3, 4)},
       .attributes = window(1, 1)},
      {.name = "grouped", .inputs = {data(6, 5, 4), data(2, 6, 4), data(2, 6, 4)}, .attributes = window(-1, 0)},
      {.name = "hidden_keys", .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 4), seen({kBatch, {1}, {1}, {7}})}},
      {.name = "hidden_by_head", .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 4), seen({{2}, {5}, {7}})}},
      {.name = "added", .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 4), {.dims = {kBatch, {2}, {5}, {7}}}}},
      {.name = "position_bias",
       .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 4), {.dims = {{2}, {5}, {7}}, .kind = ValueKind::parameter}},
       .attributes = window(3, -1)},
      {.name = "heads_with_samples",
       .inputs = {counted(5, 4), counted(7, 4), counted(7, 6)},
       .attributes = window(-1, 1)},
      {.name = "heads_with_samples_added", .inputs = {counted(5, 4), counted(7, 4), counted(7, 4), counted(1, 7)}},
      {.name = "dropped",
       .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 6)},
       .attributes = {{"dropped", 0.4}, {"dropout_key", int64_t{5}}, {"right", int64_t{1}}}},
      {.name = "dropped_in_several_tiles",
       .inputs = {data(2, 70, 3), data(1, 67, 3), data(1, 67, 3)},
       .attributes = {{"dropped", 0.1}, {"dropout_key", int64_t{6}}}},
      {.name = "turned",
       .inputs = {data(2, 5, 4), data(2, 7, 4), data(2, 7, 6)},
       .attributes = {{"turned", int64_t{1}}}},
      {.name = "turned_square",
       .inputs = {data(4, 4, 8), data(2, 70, 8), data(2, 70, 8)},
       .attributes = {{"turned", int64_t{1}}, {"right", int64_t{0}}}},
      {.name = "large_head", .inputs = {data(1, 3, 200), data(1, 4, 200), data(1, 4, 33)}}};
}

}  // namespace scaled_dot_product_attention

const Op op_ScaledDotProductAttention{.name = "ScaledDotProductAttention",
                                      .last_opset = 0,
                                      .required_inputs = 3,
                                      .infer = scaled_dot_product_attention::infer,
                                      .forward = scaled_dot_product_attention::forward,
                                      .backward = scaled_dot_product_attention::backward,
                                      .any_type = true,
                                      .precision = PrecisionRule::products,
                                      .factors = {0, 1, 2},
                                      .samples = scaled_dot_product_attention::samples};

}  // namespace plimsoll
