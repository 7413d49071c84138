// Inception v3 without its auxiliary classifier. Szegedy et al., Rethinking the Inception architecture for computer
// vision, 2016; torchvision's names.
#include "models/inception.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

constexpr PoolLayer kHalve{.kernel = 3, .stride = 2};
constexpr PoolLayer kAverage{.kernel = 3, .stride = 1, .pad = 1, .count_include_pad = true};

// The modules A to E of torchvision, each a set of branches concatenated along the channels.
class Module {
 public:
  Module(GraphWriter& graph, std::string name, Value x) : graph_(graph), name_(std::move(name)), x_(std::move(x)) {}

  // `branch`_1, `branch`_2, …
  Value chain(const std::string& branch, const std::vector<ConvLayer>& layers) {
    Value y = x_;
    for (size_t i = 0; i < layers.size(); ++i) y = conv(branch + "_" + std::to_string(i + 1), y, layers[i]);
    return y;
  }
  Value conv(const std::string& branch, const Value& x, const ConvLayer& layer) {
    return conv_bn_relu(graph_, name_ + "." + branch, x, layer);
  }
  Value one(const std::string& branch, int64_t channels) { return conv(branch, x_, square(channels, 1)); }
  Value average(int64_t channels) {
    return conv("branch_pool", graph_.average_pool(name_, x_, kAverage), square(channels, 1));
  }
  Value halved() { return graph_.max_pool(name_, x_, kHalve); }
  Value join(const std::vector<Value>& parts) { return graph_.concat(name_, parts); }

 private:
  GraphWriter& graph_;
  std::string name_;
  Value x_;
};

Value module_a(Module m, int64_t pool) {
  const Value one = m.one("branch1x1", 64);
  const Value five = m.chain("branch5x5", {square(48, 1), square(64, 5)});
  const Value three = m.chain("branch3x3dbl", {square(64, 1), square(96, 3), square(96, 3)});
  return m.join({one, five, three, m.average(pool)});
}

Value module_b(Module m, const Value& x) {
  const Value three = m.conv("branch3x3", x, halving(384, 3));
  const Value twice = m.chain("branch3x3dbl", {square(64, 1), square(96, 3), halving(96, 3)});
  return m.join({three, twice, m.halved()});
}

Value module_c(Module m, int64_t inner) {
  const Value one = m.one("branch1x1", 192);
  const Value seven = m.chain("branch7x7", {square(inner, 1), row(inner, 7), column(192, 7)});
  const Value twice = m.chain("branch7x7dbl",
                              {square(inner, 1), column(inner, 7), row(inner, 7), column(inner, 7), row(192, 7)});
  return m.join({one, seven, twice, m.average(192)});
}

Value module_d(Module m) {
  const Value three = m.chain("branch3x3", {square(192, 1), halving(320, 3)});
  const Value seven = m.chain("branch7x7x3", {square(192, 1), row(192, 7), column(192, 7), halving(192, 3)});
  return m.join({three, seven, m.halved()});
}

Value module_e(Module m) {
  const Value one = m.one("branch1x1", 320);
  const auto fork = [&](const std::string& branch, const Value& x) {
    return m.join({m.conv(branch + "a", x, row(384, 3)), m.conv(branch + "b", x, column(384, 3))});
  };
  const Value three = fork("branch3x3_2", m.chain("branch3x3", {square(384, 1)}));
  const Value twice = fork("branch3x3dbl_3", m.chain("branch3x3dbl", {square(448, 1), square(384, 3)}));
  return m.join({one, three, twice, m.average(192)});
}

void build_inception_v3(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  const auto conv = [&](const std::string& name, const ConvLayer& layer) { x = conv_bn_relu(graph, name, x, layer); };
  conv("Conv2d_1a_3x3", halving(32, 3));
  conv("Conv2d_2a_3x3", {.channels = 32, .kernel = 3});
  conv("Conv2d_2b_3x3", square(64, 3));
  x = graph.max_pool("maxpool1", x, kHalve);
  conv("Conv2d_3b_1x1", square(80, 1));
  conv("Conv2d_4a_3x3", {.channels = 192, .kernel = 3});
  x = graph.max_pool("maxpool2", x, kHalve);
  const auto module = [&](const std::string& name) { return Module(graph, name, x); };
  x = module_a(module("Mixed_5b"), 32);
  x = module_a(module("Mixed_5c"), 64);
  x = module_a(module("Mixed_5d"), 64);
  x = module_b(module("Mixed_6a"), x);
  x = module_c(module("Mixed_6b"), 128);
  x = module_c(module("Mixed_6c"), 160);
  x = module_c(module("Mixed_6d"), 160);
  x = module_c(module("Mixed_6e"), 192);
  x = module_d(module("Mixed_7a"));
  x = module_e(module("Mixed_7b"));
  x = module_e(module("Mixed_7c"));
  x = graph.global_average_pool("avgpool", x);
  if (arguments.flag("dropout")) x = graph.dropout("dropout", x, 0.5);
  graph.output(graph.linear("fc", graph.flatten("", x), arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> inception_v3_entries() {
  return {{{"inception_v3", "Inception v3 without its auxiliary classifier",
            image_parameters(299) +
                std::vector{flag_parameter("dropout", true, "dropout before the classifier")}},
           build_inception_v3}};
}

}  // namespace plimsoll
