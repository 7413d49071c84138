// Networks that classify every pixel: logits are [N, classes, height, width].
//
// FCN-32s on VGG-16: Long, Shelhamer and Darrell, Fully convolutional networks for semantic segmentation, 2015.
// U-Net: Ronneberger, Fischer and Brox, 2015, with padded convolutions, as in the usual PyTorch port:
//
//   inc ─────────────────────────────── concat ─ up4 ─ outc
//     down1 ─────────────────── concat ─ up3
//         down2 ─────── concat ─ up2
//             down3 ─ concat ─ up1          down: pool, two convolutions
//                 down4                     up: transposed convolution, concat, two convolutions
#include "models/networks.h"
#include "models/vgg.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

void build_fcn(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input"), pad = arguments.integer("pad1");
  const int64_t hidden = arguments.integer("hidden"), classes = arguments.integer("classes");
  if (pad == 1 && size % 32 != 0)
    return graph.fail("upscore", "input=" + std::to_string(size) +
                                     " is not a multiple of 32; pad1=100, as published, takes any size");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  x = vgg_features(graph, x, {.groups = {2, 2, 3, 3, 3}, .width = arguments.integer("width"), .pad1 = pad});
  const auto layer = [&](const std::string& index, const ConvLayer& conv) {
    x = graph.relu("relu" + index, graph.conv("fc" + index, x, conv));
    if (arguments.flag("dropout")) x = graph.dropout("drop" + index, x, 0.5);
  };
  layer("6", {.channels = hidden, .kernel = 7, .pad = pad == 1 ? 3 : 0});
  layer("7", {.channels = hidden});
  x = graph.conv("score_fr", x, {.channels = classes});
  ConvLayer up{.channels = classes, .kernel = 64, .stride = 32, .pad = pad == 1 ? 16 : 0, .bias = false};
  x = graph.conv_transpose("upscore", x, up);
  if (pad == 100) x = graph.crop("", x, 19, size);  // the published offset
  graph.output(x, "output");
}

class UNet {
 public:
  UNet(GraphWriter& graph, bool batch_norm) : graph_(graph), batch_norm_(batch_norm) {}

  Value twice(const std::string& module, Value x, int64_t channels) {
    int64_t index = 0;
    const auto next = [&] { return module + ".double_conv." + std::to_string(index++); };
    for (int i = 0; i < 2; ++i) {
      x = graph_.conv(next(), x, {.channels = channels, .kernel = 3, .pad = 1, .bias = !batch_norm_});
      if (batch_norm_) x = graph_.batch_norm(next(), x);
      x = graph_.relu(next(), x);
    }
    return x;
  }

 private:
  GraphWriter& graph_;
  bool batch_norm_;
};

void build_unet(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input"), depth = arguments.integer("depth");
  const int64_t width = arguments.integer("width");
  if (size % (int64_t{1} << depth) != 0)
    return graph.fail("down" + std::to_string(depth), "input=" + std::to_string(size) + " is not a multiple of " +
                                                          std::to_string(int64_t{1} << depth) +
                                                          ", as the paths across need it to be");
  UNet net(graph, arguments.flag("batch_norm"));
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  std::vector<Value> across = {net.twice("inc", x, width)};
  for (int64_t i = 1; i <= depth; ++i) {
    const std::string module = "down" + std::to_string(i) + ".maxpool_conv.";
    x = graph.max_pool(module + "0", across.back(), {.kernel = 2, .stride = 2});
    across.push_back(net.twice(module + "1", x, width << i));
  }
  x = across.back();
  for (int64_t i = 1; i <= depth; ++i) {
    const std::string module = "up" + std::to_string(i);
    const int64_t channels = width << (depth - i);
    const Value up = graph.conv_transpose(module + ".up", x, {.channels = channels, .kernel = 2, .stride = 2});
    x = graph.concat(module, {across[static_cast<size_t>(depth - i)], up});
    x = net.twice(module + ".conv", x, channels);
  }
  graph.output(graph.conv("outc.conv", x, {.channels = arguments.integer("classes")}), "output");
}

}  // namespace

std::vector<ZooEntry> segmentation_entries() {
  ZooParameter pad = integer_parameter("pad1", 1, "padding of the first convolution; 100 as published, with a crop at "
                                                  "the end", 1, 100);
  return {{{"fcn", "FCN-32s on VGG-16: a class for every pixel",
            image_parameters(224, 3, 21) +
                std::vector{std::move(pad), integer_parameter("width", 64, "channels of the first group", 1, 4096),
                            integer_parameter("hidden", 4096, "channels of fc6 and fc7", 1, 1 << 16),
                            flag_parameter("dropout", true, "dropout after fc6 and fc7")}},
           build_fcn},
          {{"unet", "U-Net: a class for every pixel",
            image_parameters(256, 3, 2) +
                std::vector{integer_parameter("width", 64, "channels of the first level; each level doubles them", 1,
                                              4096),
                            integer_parameter("depth", 4, "levels below the first", 1, 8),
                            flag_parameter("batch_norm", true, "batch normalization after every convolution")}},
           build_unet}};
}

}  // namespace plimsoll
