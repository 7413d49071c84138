// Inception v4. Szegedy et al., Inception-v4, Inception-ResNet and the impact of residual connections on learning,
// 2017. Torchvision does not have it: layers are named as in the usual PyTorch port, features.0 to features.21 and
// last_linear.
#include "models/inception.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

constexpr PoolLayer kV4Halve{.kernel = 3, .stride = 2};
constexpr PoolLayer kV4Average{.kernel = 3, .stride = 1, .pad = 1};

class InceptionV4 {
 public:
  explicit InceptionV4(GraphWriter& graph) : graph_(graph) {}

  Value conv(const std::string& module, const Value& x, const ConvLayer& layer) {
    return conv_bn_relu(graph_, module, x, layer);
  }

  Value stem(const Value& input) {
    Value x = conv("features.0", input, halving(32, 3));
    x = conv("features.1", x, {.channels = 32, .kernel = 3});
    x = conv("features.2", x, square(64, 3));
    x = graph_.concat("features.3", {graph_.max_pool("features.3.maxpool", x, kV4Halve),
                                     conv("features.3.conv", x, halving(96, 3))});
    const ConvLayer valid{.channels = 96, .kernel = 3};
    const Value short_branch = chain(graph_, "features.4.branch0", x, {square(64, 1), valid});
    const Value long_branch =
        chain(graph_, "features.4.branch1", x, {square(64, 1), row(64, 7), column(64, 7), valid});
    x = graph_.concat("features.4", {short_branch, long_branch});
    const Value halved = conv("features.5.conv", x, halving(192, 3));
    return graph_.concat("features.5", {halved, graph_.max_pool("features.5.maxpool", x, kV4Halve)});
  }

  Value module_a(const std::string& module, const Value& x) {
    return graph_.concat(module, {conv(module + ".branch0", x, square(96, 1)),
                                  chain(graph_, module + ".branch1", x, {square(64, 1), square(96, 3)}),
                                  chain(graph_, module + ".branch2", x, {square(64, 1), square(96, 3), square(96, 3)}),
                                  average(module, x, 96)});
  }

  Value reduction_a(const std::string& module, const Value& x) {
    return graph_.concat(module,
                         {conv(module + ".branch0", x, halving(384, 3)),
                          chain(graph_, module + ".branch1", x, {square(192, 1), square(224, 3), halving(256, 3)}),
                          graph_.max_pool(module + ".branch2", x, kV4Halve)});
  }

  Value module_b(const std::string& module, const Value& x) {
    return graph_.concat(
        module, {conv(module + ".branch0", x, square(384, 1)),
                 chain(graph_, module + ".branch1", x, {square(192, 1), row(224, 7), column(256, 7)}),
                 chain(graph_, module + ".branch2", x,
                       {square(192, 1), column(192, 7), row(224, 7), column(224, 7), row(256, 7)}),
                 average(module, x, 128)});
  }

  Value reduction_b(const std::string& module, const Value& x) {
    return graph_.concat(
        module, {chain(graph_, module + ".branch0", x, {square(192, 1), halving(192, 3)}),
                 chain(graph_, module + ".branch1", x, {square(256, 1), row(256, 7), column(320, 7), halving(320, 3)}),
                 graph_.max_pool(module + ".branch2", x, kV4Halve)});
  }

  Value module_c(const std::string& module, const Value& x) {
    const Value one = conv(module + ".branch0", x, square(256, 1));
    Value y = conv(module + ".branch1_0", x, square(384, 1));
    const Value wide = conv(module + ".branch1_1a", y, row(256, 3));
    const Value high = conv(module + ".branch1_1b", y, column(256, 3));
    y = conv(module + ".branch2_0", x, square(384, 1));
    y = conv(module + ".branch2_1", y, column(448, 3));
    y = conv(module + ".branch2_2", y, row(512, 3));
    const Value wide2 = conv(module + ".branch2_3a", y, row(256, 3));
    const Value high2 = conv(module + ".branch2_3b", y, column(256, 3));
    return graph_.concat(module, {one, wide, high, wide2, high2, average(module, x, 256)});
  }

 private:
  Value average(const std::string& module, const Value& x, int64_t channels) {
    return chain(graph_, module + ".branch3", graph_.average_pool(module + ".branch3.0", x, kV4Average),
                 {square(channels, 1)}, 1);
  }
  GraphWriter& graph_;
};

void build_inception_v4(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input");
  InceptionV4 net(graph);
  Value x = net.stem(graph.input("input", {arguments.integer("channels"), size, size}));
  int64_t index = 6;
  const auto next = [&index] { return "features." + std::to_string(index++); };
  for (int i = 0; i < 4; ++i) x = net.module_a(next(), x);
  x = net.reduction_a(next(), x);
  for (int i = 0; i < 7; ++i) x = net.module_b(next(), x);
  x = net.reduction_b(next(), x);
  for (int i = 0; i < 3; ++i) x = net.module_c(next(), x);
  x = graph.flatten("", graph.global_average_pool("avg_pool", x));
  if (arguments.flag("dropout")) x = graph.dropout("dropout", x, 0.2);
  graph.output(graph.linear("last_linear", x, arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> inception_v4_entries() {
  return {{{"inception_v4", "Inception v4",
            image_parameters(299) +
                std::vector{flag_parameter("dropout", true, "dropout before the classifier")}},
           build_inception_v4}};
}

}  // namespace plimsoll
