// DenseNet. Huang et al., Densely connected convolutional networks, 2017; torchvision's names.
//
//   layer: concat of all previous layers ─ bn ─ relu ─ 1x1 (4 · growth) ─ bn ─ relu ─ 3x3 (growth)
//   transition between blocks: bn ─ relu ─ 1x1 (half the channels) ─ average pool
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

Value norm_relu_conv(GraphWriter& graph, const std::string& module, const std::string& index, const Value& x,
                     ConvLayer layer) {
  layer.bias = false;
  const Value y = graph.relu(module + ".relu" + index, graph.batch_norm(module + ".norm" + index, x));
  return graph.conv(module + ".conv" + index, y, layer);
}

void build_densenet(GraphWriter& graph, const Arguments& arguments, const std::vector<int64_t>& blocks, int64_t first) {
  const int64_t size = arguments.integer("input"), growth = arguments.integer("growth");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  if (arguments.word("stem") == "cifar") {
    x = graph.conv("features.conv0", x, {.channels = first, .kernel = 3, .pad = 1, .bias = false});
  } else {
    x = graph.conv("features.conv0", x, {.channels = first, .kernel = 7, .stride = 2, .pad = 3, .bias = false});
    x = graph.relu("features.relu0", graph.batch_norm("features.norm0", x));
    x = graph.max_pool("features.pool0", x, {.kernel = 3, .stride = 2, .pad = 1});
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    const std::string block = "features.denseblock" + std::to_string(b + 1);
    std::vector<Value> parts = {x};
    for (int64_t i = 0; i < blocks[b]; ++i) {
      const std::string layer = block + ".denselayer" + std::to_string(i + 1);
      Value y = parts.size() == 1 ? parts[0] : graph.concat(layer, parts);
      y = norm_relu_conv(graph, layer, "1", y, {.channels = 4 * growth});
      parts.push_back(norm_relu_conv(graph, layer, "2", y, {.channels = growth, .kernel = 3, .pad = 1}));
    }
    x = graph.concat(block, parts);
    if (b + 1 == blocks.size()) break;
    const std::string transition = "features.transition" + std::to_string(b + 1);
    x = norm_relu_conv(graph, transition, "", x, {.channels = x.dims[0] / 2});
    x = graph.average_pool(transition + ".pool", x, {.kernel = 2, .stride = 2});
  }
  x = graph.relu("", graph.batch_norm("features.norm5", x));
  x = graph.flatten("", graph.global_average_pool("", x));
  graph.output(graph.linear("classifier", x, arguments.integer("classes"), 1), "output");
}

ZooEntry entry(const std::string& name, const std::vector<int64_t>& blocks) {
  return {{name, "DenseNet with a growth of 32",
           image_parameters(224) + std::vector{integer_parameter("growth", 32, "channels that a layer adds", 1, 1024),
                                               word_parameter("stem", {"imagenet", "cifar"},
                                                              "cifar: one 3x3 convolution, for 32x32 images")}},
          [blocks](GraphWriter& graph, const Arguments& arguments) { build_densenet(graph, arguments, blocks, 64); }};
}

}  // namespace

std::vector<ZooEntry> densenet_entries() {
  return {entry("densenet121", {6, 12, 24, 16}), entry("densenet169", {6, 12, 32, 32}),
          entry("densenet201", {6, 12, 48, 32})};
}

}  // namespace plimsoll
