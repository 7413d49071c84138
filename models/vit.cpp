// Vision Transformer: Dosovitskiy et al., An image is worth 16x16 words, 2020. Layers and weights are those of
// torchvision.
#include <cmath>

#include "models/attention.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

void build_vit(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input"), patch = arguments.integer("patch"),
                width = arguments.integer("width");
  const int64_t heads = arguments.integer("heads"), side = size / patch, tokens = side * side + 1;
  if (size % patch != 0 || width % heads != 0)
    return graph.fail("conv_proj", std::to_string(size) + " pixels in patches of " + std::to_string(patch) +
                                       " and a width of " + std::to_string(width) + " in " + std::to_string(heads) +
                                       " heads do not divide");
  const auto dense =
      [&](const std::string& module, const Value& x, int64_t out, const std::string& weight, const std::string& bias) {
    const double deviation = std::sqrt(1.0 / static_cast<double>(x.dims.back()));
    const InitialWeight matrix = graph.weight(weight, {out, x.dims.back()}, deviation);
    return graph.project(module, x, matrix, true, graph.weight(bias, {out}, 0));
  };
  const auto linear = [&](const std::string& module, const Value& x, int64_t out) {
    return dense(module, x, out, module + ".weight", module + ".bias");
  };

  const Value image = graph.input("input", {arguments.integer("channels"), size, size});
  Value x = graph.conv("conv_proj", image, {.channels = width, .kernel = patch, .stride = patch});
  if (!graph.status().ok()) return;
  x = graph.transpose("encoder", graph.reshape("encoder", x, {width, side * side}), {1, 0});
  const Value first = graph.for_every_sample("encoder", graph.weight("class_token", {1, 1, width}, 0.02), image);
  x = graph.concat("encoder", {first, x});
  x = graph.add_weight("encoder", x, graph.weight("encoder.pos_embedding", {1, tokens, width}, 0.02));
  for (int64_t l = 0; l < arguments.integer("layers"); ++l) {
    const std::string module = "encoder.layers.encoder_layer_" + std::to_string(l), self = module + ".self_attention";
    const Value qkv = dense(self, graph.layer_norm(module + ".ln_1", x, 1e-6), 3 * width, self + ".in_proj_weight",
                            self + ".in_proj_bias");
    x = graph.add(module, linear(self + ".out_proj", attention(graph, self, qkv, heads, false), width), x);
    const Value wide = linear(module + ".mlp.0", graph.layer_norm(module + ".ln_2", x, 1e-6), arguments.integer("mlp"));
    x = graph.add(module, x, linear(module + ".mlp.3", graph.gelu(module + ".mlp.1", wide, false), width));
  }
  x = graph.pick("encoder", graph.layer_norm("encoder.ln", x, 1e-6), 0);
  graph.output(graph.linear("heads.head", x, arguments.integer("classes"), 0.01), "output");
}

}  // namespace

std::vector<ZooEntry> vit_entries() {
  return {{{"vit", "Vision Transformer over patches of an image (the defaults are ViT-B/16)",
            std::vector{integer_parameter("patch", 16, "height and width of a patch; divides the input", 1, 1 << 10),
                        integer_parameter("layers", 12, "blocks of attention and perceptron", 1, 512),
                        integer_parameter("heads", 12, "of attention; they divide the width", 1, 512),
                        integer_parameter("width", 768, "of the stream", 1, 1 << 16),
                        integer_parameter("mlp", 3072, "width within a perceptron", 1, 1 << 18)} +
                image_parameters(224)},
           build_vit}};
}

}  // namespace plimsoll
