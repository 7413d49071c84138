// VGG. Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition, 2015; torchvision's
// names. `vgg:conv=116` and deeper are the networks of vDNN (Rhu et al., 2016): configuration E, whose "16" counts
// convolutions only, with 20, 40, … additional convolutions in each group.
#include "models/vgg.h"

#include <algorithm>

#include "models/networks.h"

namespace plimsoll {

using Value = GraphWriter::Value;

Value vgg_features(GraphWriter& graph, Value x, const VggShape& shape) {
  int64_t index = 0;
  const auto next = [&index] { return "features." + std::to_string(index++); };
  for (size_t group = 0; group < shape.groups.size(); ++group) {
    const int64_t channels = shape.width << std::min<size_t>(group, 3);
    for (int64_t i = 0; i < shape.groups[group]; ++i) {
      const int64_t pad = index == 0 ? shape.pad1 : 1;
      x = graph.conv(next(), x, {.channels = channels, .kernel = 3, .pad = pad});
      if (shape.batch_norm) x = graph.batch_norm(next(), x);
      x = graph.relu(next(), x);
    }
    x = graph.max_pool(next(), x, {.kernel = 2, .stride = 2, .ceil = shape.pad1 > 1});
  }
  return x;
}

namespace {

constexpr int64_t kGroups = 5;

void build_vgg(GraphWriter& graph, const Arguments& arguments, const std::vector<int64_t>& groups) {
  const int64_t size = arguments.integer("input"), hidden = arguments.integer("hidden");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  x = vgg_features(graph, x,
                   {.groups = groups,
                    .width = arguments.integer("width"),
                    .batch_norm = arguments.flag("batch_norm")});
  x = graph.flatten("", x);
  const auto dropped = [&](const std::string& module, const Value& y) {
    return arguments.flag("dropout") ? graph.dropout(module, y, 0.5) : y;
  };
  x = graph.relu("classifier.1", graph.linear("classifier.0", x, hidden));
  x = dropped("classifier.2", x);
  x = graph.relu("classifier.4", graph.linear("classifier.3", x, hidden));
  x = dropped("classifier.5", x);
  graph.output(graph.linear("classifier.6", x, arguments.integer("classes"), kLastGain), "output");
}

// Configurations A, B, D and E; beyond E, the additional convolutions are spread over the groups, and the first groups
// get the remainder.
std::vector<int64_t> groups_of(int64_t convolutions) {
  switch (convolutions) {
    case 8: return {1, 1, 2, 2, 2};
    case 10: return {2, 2, 2, 2, 2};
    case 13: return {2, 2, 3, 3, 3};
    default: break;
  }
  if (convolutions < 16) return {};
  std::vector<int64_t> groups = {2, 2, 4, 4, 4};
  const int64_t more = convolutions - 16;
  for (int64_t i = 0; i < kGroups; ++i) groups[static_cast<size_t>(i)] += more / kGroups + (i < more % kGroups);
  return groups;
}

void build_deep(GraphWriter& graph, const Arguments& arguments) {
  std::vector<int64_t> groups = arguments.list("groups");
  if (!groups.empty() && groups.size() != kGroups)
    return graph.fail("groups", "a VGG has 5 groups, and " + std::to_string(groups.size()) + " are given");
  const int64_t convolutions = arguments.integer("conv");
  if (groups.empty()) groups = groups_of(convolutions);
  if (groups.empty())
    return graph.fail("conv", std::to_string(convolutions) +
                                  " convolutions; there are networks of 8, 10, 13 and of 16 and more, and groups= "
                                  "takes any number");
  build_vgg(graph, arguments, groups);
}

ZooEntry entry(const std::string& name, int64_t convolutions, const std::vector<ZooParameter>& parameters) {
  return {{name, "VGG of " + std::to_string(convolutions) + " convolutions and 3 fully connected layers", parameters},
          [convolutions](GraphWriter& graph, const Arguments& arguments) {
            build_vgg(graph, arguments, groups_of(convolutions));
          }};
}

}  // namespace

std::vector<ZooEntry> vgg_entries() {
  const std::vector<ZooParameter> usual =
      image_parameters(224) +
      std::vector{flag_parameter("batch_norm", false, "batch normalization after every convolution"),
                  flag_parameter("dropout", true, "dropout in the classifier"),
                  integer_parameter("width", 64, "channels of the first group", 1, 4096),
                  integer_parameter("hidden", 4096, "features of the fully connected layers", 1, 1 << 16)};
  return {entry("vgg11", 8, usual),
          entry("vgg13", 10, usual),
          entry("vgg16", 13, usual),
          entry("vgg19", 16, usual),
          {{"vgg", "a VGG as deep as you like; conv=116, 216, 316, 416 are vDNN's",
            usual + std::vector{integer_parameter("conv", 16, "convolutions: 8, 10, 13, or 16 and more", 1, 1 << 14),
                                list_parameter("groups", "", "convolutions of each of the five groups instead", 1,
                                               1 << 12)}},
           build_deep}};
}

}  // namespace plimsoll
