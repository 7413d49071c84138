// The sequence of operations is that of NVIDIA's cudnn-frontend (scaled_dot_product_flash_attention.h): cuDNN
// recognizes it as a whole, and has no engine for many other sequences with the same meaning.
#include "runtime/cuda/cudnn/attention.h"

#include <limits>

namespace plimsoll::cudnn {
namespace {

// The tensors of one task.
struct Attention {
  const AttentionShape& s;
  DataType type;
  Graph graph = {};

  Attention(const AttentionShape& shape, DataType narrow) : s(shape), type(narrow) { graph.factors = narrow; }

  IntList of_queries(int64_t columns) const { return {s.samples, s.heads, s.queries, columns}; }
  IntList of_keys(int64_t columns) const { return {s.samples, s.key_heads, s.keys, columns}; }

  const Descriptor& given(AttentionUid uid, const IntList& dims) { return of(uid, type, dims, {}); }
  // y, in the backward.
  const Descriptor& results() {
    const int64_t of_query = s.turned ? s.heads * s.value_size : s.value_size;
    const int64_t of_head = s.turned ? s.value_size : s.queries * s.value_size;
    return of(AttentionUid::y, type, of_queries(s.value_size),
              {s.heads * s.queries * s.value_size, of_head, of_query, 1});
  }
  const Descriptor& of_row(AttentionUid uid) { return of(uid, DataType::f32, of_queries(1), {}); }
  const Descriptor& transposed(AttentionUid uid, IntList dims) {
    IntList strides = dense_strides(dims);
    std::swap(dims[2], dims[3]);
    std::swap(strides[2], strides[3]);
    return of(uid, type, dims, strides);
  }
  const Descriptor& inner(const IntList& dims, DataType of_type = DataType::f32, const IntList& strides = {}) {
    return graph.intermediate({of_type, dims, strides});
  }
  const Descriptor& pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const IntList& dims,
                              const Descriptor* b = nullptr) {
    const Descriptor& y = inner(dims);
    graph.pointwise(mode, x, y, {.b = b});
    return y;
  }
  const Descriptor& product(const Descriptor& a, const Descriptor& b, const IntList& dims) {
    const Descriptor& c = inner(dims);
    graph.multiply(a, b, c);
    return c;
  }

  // scores → the scores, -∞ where the key comes after the query
  const Descriptor& causal(const Descriptor& scores, const IntList& dims) {
    if (s.right < 0) return scores;
    const Descriptor &row = graph.index(dims), &column = graph.index(dims), &seen = graph.truth(dims);
    graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, row, {.axis = 2});
    graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, column, {.axis = 3});
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, row, seen, {.b = &column, .arithmetic = CUDNN_DATA_BOOLEAN});
    const Descriptor& hidden = graph.number(-std::numeric_limits<float>::infinity());
    const Descriptor& masked = inner(dims);
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, masked, {.b = &hidden, .truth = &seen});
    return masked;
  }

  // A gradient of keys or values, [N, H, S, columns], summed over the heads that share a head of keys.
  void gradient_of_keys(const Descriptor& weights, const Descriptor& factor, AttentionUid uid, int64_t columns) {
    const Descriptor& result = given(uid, of_keys(columns));
    if (s.heads == s.key_heads) return graph.multiply(weights, factor, result);
    const Descriptor& of_heads = inner({s.samples, s.heads, s.keys, columns}, type);
    graph.multiply(weights, factor, of_heads);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_heads, result);
  }

  // [N, H, T, S] → [N, H, S, T], without moving an element
  const Descriptor& turned(const Descriptor& x) {
    const IntList strides = dense_strides(of_queries(s.keys));
    const Descriptor& y =
        inner({s.samples, s.heads, s.keys, s.queries}, type, {strides[0], strides[1], strides[3], strides[2]});
    graph.reshape(x, y);
    return y;
  }

 private:
  const Descriptor& of(AttentionUid uid, DataType of_type, const IntList& dims, const IntList& strides) {
    return graph.tensor(static_cast<int64_t>(uid), {of_type, dims, strides});
  }
};

}  // namespace

bool expresses(const AttentionShape& s, const AttentionAttrs& attrs, DataType type) {
  return is_narrow(type) && attrs.dropped == 0 && s.left < 0 && s.right <= 0;
}

Graph attention_forward(const AttentionShape& s, DataType type) {
  Attention a(s, type);
  Graph& graph = a.graph;
  const IntList of_scores = a.of_queries(s.keys);
  const Descriptor& q = a.given(AttentionUid::q, a.of_queries(s.size));
  const Descriptor& k = a.transposed(AttentionUid::k, a.of_keys(s.size));
  const Descriptor& products = a.product(q, k, of_scores);
  const Descriptor& scale = graph.number(s.scale);
  const Descriptor& scores = a.causal(a.pointwise(CUDNN_POINTWISE_MUL, products, of_scores, &scale), of_scores);

  const Descriptor& largest = a.of_row(AttentionUid::largest);
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const Descriptor& below = a.pointwise(CUDNN_POINTWISE_SUB, scores, of_scores, &largest);
  const Descriptor& exponentials = a.pointwise(CUDNN_POINTWISE_EXP, below, of_scores);
  const Descriptor& sum = a.of_row(AttentionUid::sum);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
  const Descriptor& probabilities = a.inner(of_scores, type);
  graph.pointwise(CUDNN_POINTWISE_DIV, exponentials, probabilities, {.b = &sum});

  const Descriptor& v = a.given(AttentionUid::v, a.of_keys(s.value_size));
  graph.multiply(probabilities, v, a.given(AttentionUid::y, a.of_queries(s.value_size)));
  graph.finish("the graph of attention");
  return std::move(graph);
}

Graph attention_backward(const AttentionShape& s, DataType type) {
  Attention a(s, type);
  Graph& graph = a.graph;
  const IntList of_scores = a.of_queries(s.keys), of_rows = a.of_queries(1), of_values = a.of_queries(s.value_size);
  const Descriptor& q = a.given(AttentionUid::q, a.of_queries(s.size));
  const Descriptor& k = a.transposed(AttentionUid::k, a.of_keys(s.size));
  const Descriptor& v = a.transposed(AttentionUid::v, a.of_keys(s.value_size));
  const Descriptor& dy = a.given(AttentionUid::dy, of_values);
  const Descriptor& scale = graph.number(s.scale);

  const Descriptor& y = a.results();
  const Descriptor& weighed = a.pointwise(CUDNN_POINTWISE_MUL, dy, of_values, &y);
  const Descriptor& sum = a.inner(of_rows);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weighed, sum);
  const Descriptor& one = graph.number(1);
  const Descriptor& along = a.of_row(AttentionUid::along);
  graph.pointwise(CUDNN_POINTWISE_MUL, sum, along, {.b = &one});

  const Descriptor& products = a.product(q, k, of_scores);
  const Descriptor& scaled = a.pointwise(CUDNN_POINTWISE_MUL, products, of_scores, &scale);
  const Descriptor& lse = a.of_row(AttentionUid::lse);
  const Descriptor& below = a.causal(a.pointwise(CUDNN_POINTWISE_SUB, scaled, of_scores, &lse), of_scores);
  const Descriptor& p = a.pointwise(CUDNN_POINTWISE_EXP, below, of_scores);
  a.gradient_of_keys(a.turned(p), dy, AttentionUid::dv, s.value_size);

  const Descriptor& dp = a.product(dy, v, of_scores);
  const Descriptor& apart = a.pointwise(CUDNN_POINTWISE_SUB, dp, of_scores, &along);
  const Descriptor& unscaled = a.pointwise(CUDNN_POINTWISE_MUL, apart, of_scores, &p);
  const Descriptor& ds = a.pointwise(CUDNN_POINTWISE_MUL, unscaled, of_scores, &scale);
  a.gradient_of_keys(a.turned(ds), q, AttentionUid::dk, s.size);

  const Descriptor& keys = a.inner(a.of_keys(s.size), type);
  graph.reshape(k, keys);
  graph.multiply(ds, keys, a.given(AttentionUid::dq, a.of_queries(s.size)));
  graph.finish("the graph of attention's gradients");
  return std::move(graph);
}

}  // namespace plimsoll::cudnn
