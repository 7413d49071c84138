// Shared by the Inception networks.
#pragma once

#include <string>
#include <vector>

#include "models/graph_writer.h"

namespace plimsoll {

// Convolution without bias, batch normalization, ReLU: `module`.conv, `module`.bn.
inline GraphWriter::Value conv_bn_relu(GraphWriter& graph, const std::string& module, const GraphWriter::Value& x,
                                       ConvLayer layer) {
  layer.bias = false;
  return graph.relu(module, graph.batch_norm(module + ".bn", graph.conv(module + ".conv", x, layer), 1e-3));
}

// Layers in sequence: `module`.0, `module`.1, …
inline GraphWriter::Value chain(GraphWriter& graph, const std::string& module, GraphWriter::Value x,
                                const std::vector<ConvLayer>& layers, int64_t first = 0) {
  for (const ConvLayer& layer : layers) x = conv_bn_relu(graph, module + "." + std::to_string(first++), x, layer);
  return x;
}

// "Same" convolutions of one row and of one column.
inline ConvLayer row(int64_t channels, int64_t kernel) {
  return {.channels = channels, .kernel = {1, kernel}, .pad = {0, kernel / 2}};
}
inline ConvLayer column(int64_t channels, int64_t kernel) {
  return {.channels = channels, .kernel = {kernel, 1}, .pad = {kernel / 2, 0}};
}
inline ConvLayer square(int64_t channels, int64_t kernel) {
  return {.channels = channels, .kernel = kernel, .pad = kernel / 2};
}
// Halves the size: stride 2, no padding.
inline ConvLayer halving(int64_t channels, int64_t kernel) {
  return {.channels = channels, .kernel = kernel, .stride = 2};
}

}  // namespace plimsoll
