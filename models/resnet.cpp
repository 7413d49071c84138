// Residual networks. He et al., Deep residual learning for image recognition, 2016; torchvision's names and defaults.
//
//   basic       x ─ 3x3 ─ bn ─ relu ─ 3x3 ─ bn ─(+)─ relu
//   bottleneck  x ─ 1x1 ─ bn ─ relu ─ 3x3 ─ bn ─ relu ─ 1x1 (4 times the channels) ─ bn ─(+)─ relu
//   (+) adds x, or a 1x1 convolution and bn of x (downsample) if the shape changes
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

enum class Block { basic, bottleneck };

// Channels of a block's output as a multiple of its width.
int64_t expansion(Block block) { return block == Block::bottleneck ? 4 : 1; }

struct BlockShape {
  Block kind;
  int64_t width;
  int64_t stride;
  bool stride_first;  // a bottleneck's stride is in its first 1x1, as in the paper, else in its 3x3
  bool relu_first;    // before the sum, on both of its inputs, and none after it
  bool normalized;    // otherwise convolutions have a bias and no normalization
};

Value normalize(GraphWriter& graph, const std::string& name, const Value& x, bool normalized) {
  return normalized ? graph.batch_norm(name, x) : x;
}

Value block(GraphWriter& graph, const std::string& module, const Value& x, const BlockShape& shape) {
  const auto conv_bn = [&](const std::string& index, const Value& in, int64_t channels, int64_t kernel,
                           int64_t stride) {
    const Value y = graph.conv(module + ".conv" + index, in,
                               {.channels = channels, .kernel = kernel, .stride = stride, .pad = kernel / 2,
                                .bias = !shape.normalized});
    return normalize(graph, module + ".bn" + index, y, shape.normalized);
  };
  const auto relu = [&](const Value& in) { return graph.relu(module + ".relu", in); };
  const int64_t channels = shape.width * expansion(shape.kind);

  Value y;
  if (shape.kind == Block::bottleneck) {
    y = relu(conv_bn("1", x, shape.width, 1, shape.stride_first ? shape.stride : 1));
    y = relu(conv_bn("2", y, shape.width, 3, shape.stride_first ? 1 : shape.stride));
    y = conv_bn("3", y, channels, 1, 1);
  } else {
    y = relu(conv_bn("1", x, shape.width, 3, shape.stride));
    y = conv_bn("2", y, shape.width, 3, 1);
  }
  if (shape.relu_first) y = relu(y);

  Value shortcut = x;
  if (shape.stride != 1 || x.dims[0] != channels) {
    shortcut = graph.conv(module + ".downsample.0", x,
                          {.channels = channels, .kernel = 1, .stride = shape.stride, .bias = !shape.normalized});
    shortcut = normalize(graph, module + ".downsample.1", shortcut, shape.normalized);
    if (shape.relu_first) shortcut = relu(shortcut);
  }
  const Value sum = graph.add(module, y, shortcut);
  return shape.relu_first ? sum : relu(sum);
}

void build_resnet(GraphWriter& graph, const Arguments& arguments, Block kind, const std::vector<int64_t>& blocks) {
  const int64_t size = arguments.integer("input"), width = arguments.integer("width");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  const bool small = arguments.word("stem") == "cifar";
  const bool normalized = arguments.word("norm") == "batch";
  const std::string& stride_on = arguments.word("stride_on");
  const bool stride_first = stride_on == "conv1" || (stride_on == "usual" && arguments.integer("pool1_pad") == 0);
  x = graph.conv("conv1", x,
                 {.channels = width,
                  .kernel = small ? 3 : 7,
                  .stride = small ? 1 : 2,
                  .pad = small ? 1 : 3,
                  .bias = !normalized});
  x = graph.relu("relu", normalize(graph, "bn1", x, normalized));
  if (!small) x = graph.max_pool("maxpool", x, {.kernel = 3, .stride = 2, .pad = arguments.integer("pool1_pad")});
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int64_t i = 0; i < blocks[stage]; ++i) {
      x = block(graph, "layer" + std::to_string(stage + 1) + "." + std::to_string(i), x,
                {.kind = kind,
                 .width = width << stage,
                 .stride = stage > 0 && i == 0 ? 2 : 1,
                 .stride_first = stride_first,
                 .relu_first = arguments.word("relu_on") == "branches",
                 .normalized = normalized});
    }
  }
  x = graph.flatten("", graph.global_average_pool("avgpool", x));
  graph.output(graph.linear("fc", x, arguments.integer("classes"), 1), "output");
}

// `stems`: the first is the default.
std::vector<ZooParameter> parameters(int64_t input, int64_t classes, int64_t width, std::vector<std::string> stems) {
  return image_parameters(input, 3, classes) +
         std::vector{
             integer_parameter("width", width, "channels of the first stage; each stage doubles them", 1, 4096),
             word_parameter("stem", std::move(stems),
                            "imagenet: 7x7 with stride 2 and a pool; cifar: 3x3 with stride 1 and none"),
             integer_parameter("pool1_pad", 1, "padding of the pool after the first convolution", 0, 1),
             word_parameter("stride_on", {"usual", "conv2", "conv1"},
                            "the convolution of a bottleneck that has the stride; usual: conv2, as in torchvision, or "
                            "conv1 if pool1_pad=0, as in the model of SuperNeurons"),
             word_parameter("relu_on", {"sum", "branches"},
                            "the last Relu of a block: after the sum, or on both branches before it, as in the "
                            "example of Chen et al. (sublinear)"),
             word_parameter("norm", {"batch", "none"}, "what follows a convolution; none: its bias")};
}

ZooEntry entry(const std::string& name, const std::string& summary, Block kind, std::vector<int64_t> blocks,
               std::vector<ZooParameter> all) {
  return {{name, summary, std::move(all)},
          [kind, blocks = std::move(blocks)](GraphWriter& graph, const Arguments& arguments) {
            build_resnet(graph, arguments, kind, blocks);
          }};
}

}  // namespace

std::vector<ZooEntry> resnet_entries() {
  const std::vector<ZooParameter> imagenet = parameters(224, 1000, 64, {"imagenet", "cifar"});
  const std::vector<ZooParameter> cifar = parameters(32, 10, 16, {"cifar", "imagenet"});
  std::vector<ZooEntry> all = {
      entry("resnet18", "ResNet-18, basic blocks 2,2,2,2", Block::basic, {2, 2, 2, 2}, imagenet),
      entry("resnet34", "ResNet-34, basic blocks 3,4,6,3", Block::basic, {3, 4, 6, 3}, imagenet),
      entry("resnet50", "ResNet-50, bottlenecks 3,4,6,3", Block::bottleneck, {3, 4, 6, 3}, imagenet),
      entry("resnet101", "ResNet-101, bottlenecks 3,4,23,3", Block::bottleneck, {3, 4, 23, 3}, imagenet),
      entry("resnet152", "ResNet-152, bottlenecks 3,8,36,3", Block::bottleneck, {3, 8, 36, 3}, imagenet),
      entry("resnet20", "ResNet-20 for 32x32 images, basic blocks 3,3,3", Block::basic, {3, 3, 3}, cifar),
      entry("resnet32", "ResNet-32 for 32x32 images, basic blocks 5,5,5", Block::basic, {5, 5, 5}, cifar),
      entry("resnet56", "ResNet-56 for 32x32 images, basic blocks 9,9,9", Block::basic, {9, 9, 9}, cifar)};
  all.push_back({{"resnet", "a residual network with as many blocks as you like",
                  imagenet + std::vector{list_parameter("n", "3,4,6,3", "blocks of each stage", 1, 4096),
                                         word_parameter("block", {"bottleneck", "basic"}, "what the blocks are")}},
                 [](GraphWriter& graph, const Arguments& arguments) {
                   const std::vector<int64_t>& blocks = arguments.list("n");
                   if (blocks.size() > 6)
                     return graph.fail("n", std::to_string(blocks.size()) + " stages, and there can be 6");
                   build_resnet(graph, arguments,
                                arguments.word("block") == "basic" ? Block::basic : Block::bottleneck, blocks);
                 }});
  return all;
}

}  // namespace plimsoll
