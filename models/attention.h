// Shared by the transformers: Vaswani et al., Attention is all you need, 2017.
#pragma once

#include <cmath>
#include <string>

#include "models/graph_writer.h"

namespace plimsoll {

// softmax(q kᵀ / √d) v, where `qkv` [tokens, 3 · width] holds queries, keys and values next to each other, each in
// `heads` of d numbers.
inline GraphWriter::Value attention(GraphWriter& graph, const std::string& module, const GraphWriter::Value& qkv,
                                    int64_t heads, bool causal) {
  const int64_t tokens = qkv.dims.at(0), width = qkv.dims.at(1) / 3, each = width / heads;
  std::vector<GraphWriter::Value> parts = graph.split(module, qkv, 3, 1);
  for (GraphWriter::Value& part : parts)
    part = graph.transpose(module, graph.reshape(module, part, {tokens, heads, each}), {1, 0, 2});
  GraphWriter::Value scores = graph.matmul(module, parts[0], graph.transpose(module, parts[1], {0, 2, 1}));
  scores = graph.scale(module, scores, 1 / std::sqrt(static_cast<double>(each)));
  if (causal) scores = graph.causal(module, scores);
  const GraphWriter::Value mixed = graph.matmul(module, graph.softmax(module, scores), parts[2]);
  return graph.reshape(module, graph.transpose(module, mixed, {1, 0, 2}), {tokens, width});
}

}  // namespace plimsoll
