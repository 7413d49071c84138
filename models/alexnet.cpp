// AlexNet in one column: Krizhevsky et al., ImageNet classification with deep convolutional neural networks, 2012. Also
// OverFeat's fast model (Sermanet et al., 2014) as defined by the convnet benchmarks.
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

// Two hidden layers and the classes. Dropout comes before a layer (torchvision) or after its ReLU (the paper).
Value classifier(GraphWriter& graph, const Arguments& arguments, Value x, int64_t first, int64_t second) {
  const auto hidden = [&](const std::string& index, int64_t features) {
    x = graph.relu("relu" + index, graph.linear("fc" + index, x, features));
    if (arguments.flag("dropout")) x = graph.dropout("drop" + index, x, 0.5);
  };
  x = graph.flatten("flatten", x);
  hidden("6", first);
  hidden("7", second);
  return graph.linear("fc8", x, arguments.integer("classes"), kLastGain);
}

void build_torchvision(GraphWriter& graph, const Arguments& arguments, Value x) {
  const auto conv_relu = [&](int64_t index, const ConvLayer& layer) {
    x = graph.conv("features." + std::to_string(index), x, layer);
    x = graph.relu("features." + std::to_string(index + 1), x);
  };
  conv_relu(0, {.channels = 64, .kernel = 11, .stride = 4, .pad = 2});
  x = graph.max_pool("features.2", x, {.kernel = 3, .stride = 2});
  conv_relu(3, {.channels = 192, .kernel = 5, .pad = 2});
  x = graph.max_pool("features.5", x, {.kernel = 3, .stride = 2});
  conv_relu(6, {.channels = 384, .kernel = 3, .pad = 1});
  conv_relu(8, {.channels = 256, .kernel = 3, .pad = 1});
  conv_relu(10, {.channels = 256, .kernel = 3, .pad = 1});
  x = graph.max_pool("features.12", x, {.kernel = 3, .stride = 2});
  x = graph.flatten("", x);
  if (arguments.flag("dropout")) x = graph.dropout("classifier.0", x, 0.5);
  x = graph.relu("classifier.2", graph.linear("classifier.1", x, 4096));
  if (arguments.flag("dropout")) x = graph.dropout("classifier.3", x, 0.5);
  x = graph.relu("classifier.5", graph.linear("classifier.4", x, 4096));
  graph.output(graph.linear("classifier.6", x, arguments.integer("classes"), kLastGain), "output");
}

void build_alexnet(GraphWriter& graph, const Arguments& arguments) {
  const bool torchvision = arguments.flag("torchvision");
  const int64_t size = arguments.integer("input"), group = arguments.integer("groups");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  if (torchvision) return build_torchvision(graph, arguments, x);

  const auto conv_relu = [&](const std::string& index, const ConvLayer& layer) {
    x = graph.relu("relu" + index, graph.conv("conv" + index, x, layer));
  };
  const auto norm = [&](const std::string& index) {
    if (arguments.flag("lrn")) x = graph.local_response_norm("norm" + index, x);
  };
  const auto pool = [&](const std::string& index) {
    x = graph.max_pool("pool" + index, x, {.kernel = 3, .stride = 2});
  };
  conv_relu("1", {.channels = 96, .kernel = 11, .stride = 4, .pad = arguments.integer("pad1")});
  norm("1");
  pool("1");
  conv_relu("2", {.channels = 256, .kernel = 5, .pad = 2, .group = group});
  norm("2");
  pool("2");
  conv_relu("3", {.channels = 384, .kernel = 3, .pad = 1});
  conv_relu("4", {.channels = 384, .kernel = 3, .pad = 1, .group = group});
  conv_relu("5", {.channels = 256, .kernel = 3, .pad = 1, .group = group});
  pool("5");
  graph.output(classifier(graph, arguments, x, 4096, 4096), "output");
}

void build_overfeat(GraphWriter& graph, const Arguments& arguments) {
  const int64_t size = arguments.integer("input");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  const auto conv_relu = [&](const std::string& index, const ConvLayer& layer) {
    x = graph.relu("relu" + index, graph.conv("conv" + index, x, layer));
  };
  conv_relu("1", {.channels = 96, .kernel = 11, .stride = 4});
  x = graph.max_pool("pool1", x, {.kernel = 2, .stride = 2});
  conv_relu("2", {.channels = 256, .kernel = 5});
  x = graph.max_pool("pool2", x, {.kernel = 2, .stride = 2});
  conv_relu("3", {.channels = 512, .kernel = 3, .pad = 1});
  conv_relu("4", {.channels = 1024, .kernel = 3, .pad = 1});
  conv_relu("5", {.channels = 1024, .kernel = 3, .pad = 1});
  x = graph.max_pool("pool5", x, {.kernel = 2, .stride = 2});
  graph.output(classifier(graph, arguments, x, 3072, 4096), "output");
}

}  // namespace

std::vector<ZooEntry> alexnet_entries() {
  const ZooParameter dropout = flag_parameter("dropout", true, "dropout in the classifier");
  return {
      {{"alexnet", "AlexNet in one column, 96-256-384-384-256",
        image_parameters(227) +
            std::vector{integer_parameter("pad1", 0, "padding of the first convolution", 0, 5),
                        integer_parameter("groups", 1, "2: conv2, conv4 and conv5 in two columns, as published", 1, 2),
                        flag_parameter("lrn", true, "local response normalization"), dropout,
                        flag_parameter("torchvision", false,
                                       "torchvision's 64-192-384-256-256 instead, for input=224")}},
       build_alexnet},
      {{"overfeat", "OverFeat, fast model", image_parameters(231) + std::vector{dropout}}, build_overfeat}};
}

}  // namespace plimsoll
