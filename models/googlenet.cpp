// GoogLeNet without its auxiliary classifiers. Szegedy et al., Going deeper with convolutions, 2015. Torchvision's
// version has batch normalization, and 3x3 kernels where the paper has 5x5; paper=1 builds the published one.
#include "models/inception.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

// Output channels of the branches, and of the 1x1 reductions before two of them.
struct Widths {
  int64_t one, reduce3, three, reduce5, five, pool;
};

class GoogLeNet {
 public:
  GoogLeNet(GraphWriter& graph, bool paper) : graph_(graph), paper_(paper) {}

  Value conv(const std::string& module, const Value& x, const ConvLayer& layer) {
    if (!paper_) return conv_bn_relu(graph_, module, x, layer);
    return graph_.relu(module, graph_.conv(module + ".conv", x, layer));
  }

  Value inception(const std::string& module, const Value& x, const Widths& widths) {
    const Value one = conv(module + ".branch1", x, square(widths.one, 1));
    Value three = conv(module + ".branch2.0", x, square(widths.reduce3, 1));
    three = conv(module + ".branch2.1", three, square(widths.three, 3));
    Value five = conv(module + ".branch3.0", x, square(widths.reduce5, 1));
    five = conv(module + ".branch3.1", five, square(widths.five, paper_ ? 5 : 3));
    Value pool = graph_.max_pool(module + ".branch4.0", x, {.kernel = 3, .stride = 1, .pad = 1, .ceil = true});
    pool = conv(module + ".branch4.1", pool, square(widths.pool, 1));
    return graph_.concat(module, {one, three, five, pool});
  }

 private:
  GraphWriter& graph_;
  bool paper_;
};

void build_googlenet(GraphWriter& graph, const Arguments& arguments) {
  const bool paper = arguments.flag("paper");
  const int64_t size = arguments.integer("input");
  const PoolLayer halve{.kernel = 3, .stride = 2, .ceil = true};
  GoogLeNet net(graph, paper);
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  x = net.conv("conv1", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = graph.max_pool("maxpool1", x, halve);
  if (paper) x = graph.local_response_norm("norm1", x);
  x = net.conv("conv2", x, square(64, 1));
  x = net.conv("conv3", x, square(192, 3));
  if (paper) x = graph.local_response_norm("norm2", x);
  x = graph.max_pool("maxpool2", x, halve);
  x = net.inception("inception3a", x, {64, 96, 128, 16, 32, 32});
  x = net.inception("inception3b", x, {128, 128, 192, 32, 96, 64});
  x = graph.max_pool("maxpool3", x, halve);
  x = net.inception("inception4a", x, {192, 96, 208, 16, 48, 64});
  x = net.inception("inception4b", x, {160, 112, 224, 24, 64, 64});
  x = net.inception("inception4c", x, {128, 128, 256, 24, 64, 64});
  x = net.inception("inception4d", x, {112, 144, 288, 32, 64, 64});
  x = net.inception("inception4e", x, {256, 160, 320, 32, 128, 128});
  x = graph.max_pool("maxpool4", x, {.kernel = paper ? 3 : 2, .stride = 2, .ceil = true});
  x = net.inception("inception5a", x, {256, 160, 320, 32, 128, 128});
  x = net.inception("inception5b", x, {384, 192, 384, 48, 128, 128});
  x = graph.flatten("", graph.global_average_pool("avgpool", x));
  if (arguments.flag("dropout")) x = graph.dropout("dropout", x, paper ? 0.4 : 0.2);
  graph.output(graph.linear("fc", x, arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> googlenet_entries() {
  return {{{"googlenet", "GoogLeNet (Inception v1) without auxiliary classifiers",
            image_parameters(224) +
                std::vector{flag_parameter("paper", false,
                                           "as published: 5x5 kernels, local response and no batch normalization"),
                            flag_parameter("dropout", true, "dropout before the classifier")}},
           build_googlenet}};
}

}  // namespace plimsoll
