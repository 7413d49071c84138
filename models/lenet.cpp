// LeNet-5 in its modern form: ReLU and maximum pooling. LeCun et al., Gradient-based learning applied to document
// recognition, 1998.
#include "models/networks.h"

namespace plimsoll {
namespace {

void build_lenet(GraphWriter& graph, const Arguments& arguments) {
  using Value = GraphWriter::Value;
  const int64_t size = arguments.integer("input");
  Value x = graph.input("input", {arguments.integer("channels"), size, size});
  x = graph.relu("relu1", graph.conv("conv1", x, {.channels = 6, .kernel = 5}));
  x = graph.max_pool("pool1", x, {.kernel = 2, .stride = 2});
  x = graph.relu("relu2", graph.conv("conv2", x, {.channels = 16, .kernel = 5}));
  x = graph.max_pool("pool2", x, {.kernel = 2, .stride = 2});
  x = graph.relu("relu3", graph.linear("fc1", graph.flatten("flatten", x), 120));
  x = graph.relu("relu4", graph.linear("fc2", x, 84));
  graph.output(graph.linear("fc3", x, arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> lenet_entries() {
  return {{{"lenet", "LeNet-5 with ReLU and maximum pooling, for 28x28 and 32x32 images", image_parameters(32, 1, 10)},
           build_lenet}};
}

}  // namespace plimsoll
