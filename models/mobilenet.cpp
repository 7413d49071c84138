// MobileNet V2. Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, 2018; torchvision's names.
//
//   x ─ 1x1 (t times the channels) ─ bn ─ relu6 ─ 3x3 depthwise ─ bn ─ relu6 ─ 1x1 ─ bn ─(+ x, if shapes agree)
#include <algorithm>

#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

// Rounded to a multiple of 8, and down by at most a tenth.
int64_t scaled(int64_t channels, int64_t percent) {
  const int64_t exact = channels * percent;
  const int64_t rounded = std::max<int64_t>(8, (exact + 400) / 800 * 8);
  return rounded * 1000 < exact * 9 ? rounded + 8 : rounded;
}

Value conv_bn_relu6(GraphWriter& graph, const std::string& module, const Value& x, ConvLayer layer) {
  layer.bias = false;
  const Value y = graph.batch_norm(module + ".1", graph.conv(module + ".0", x, layer));
  return graph.relu6(module + ".2", y);
}

void build_mobilenet_v2(GraphWriter& graph, const Arguments& arguments) {
  struct Stage {
    int64_t expand, channels, blocks, stride;
  };
  constexpr Stage stages[] = {{1, 16, 1, 1},  {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  const int64_t size = arguments.integer("input"), percent = arguments.integer("percent");
  const bool small = arguments.word("stem") == "cifar";
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  x = conv_bn_relu6(graph, "features.0", x,
                   {.channels = scaled(32, percent), .kernel = 3, .stride = small ? 1 : 2, .pad = 1});
  int64_t index = 1;
  for (const Stage& stage : stages) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      const std::string module = "features." + std::to_string(index++);
      const int64_t inner = x.dims[0] * stage.expand, channels = scaled(stage.channels, percent);
      const int64_t stride = i == 0 && !(small && stage.channels == 24) ? stage.stride : 1;
      Value y = x;
      int64_t part = 0;
      const auto next = [&] { return module + ".conv." + std::to_string(part++); };
      if (stage.expand != 1) y = conv_bn_relu6(graph, next(), y, {.channels = inner});
      y = conv_bn_relu6(graph, next(), y,
                       {.channels = inner, .kernel = 3, .stride = stride, .pad = 1, .group = inner});
      y = graph.conv(next(), y, {.channels = channels, .bias = false});
      y = graph.batch_norm(next(), y);
      x = y.dims == x.dims && stride == 1 ? graph.add(module, x, y) : y;
    }
  }
  x = conv_bn_relu6(graph, "features." + std::to_string(index), x,
                   {.channels = std::max<int64_t>(1280, scaled(1280, percent))});
  x = graph.flatten("", graph.global_average_pool("", x));
  if (arguments.flag("dropout")) x = graph.dropout("classifier.0", x, 0.2);
  graph.output(graph.linear("classifier.1", x, arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> mobilenet_entries() {
  return {{{"mobilenet_v2", "MobileNet V2: depthwise convolutions, inverted residuals",
            image_parameters(224) +
                std::vector{integer_parameter("percent", 100, "channels, as a percentage of the usual", 10, 1000),
                            flag_parameter("dropout", true, "dropout before the classifier"),
                            word_parameter("stem", {"imagenet", "cifar"},
                                           "cifar: the first two strides are 1, for 32x32 images")}},
           build_mobilenet_v2}};
}

}  // namespace plimsoll
