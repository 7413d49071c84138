// The five groups of convolutions of a VGG network, which FCN also uses.
#pragma once

#include <string>
#include <vector>

#include "models/graph_writer.h"

namespace plimsoll {

struct VggShape {
  std::vector<int64_t> groups;  // number of convolutions per group; a pool follows each group
  int64_t width = 64;           // channels of the first group; doubled up to the fourth
  int64_t pad1 = 1;             // of the first convolution
  bool batch_norm = false;
};

// Layers are named features.0, features.1, … as in torchvision.
GraphWriter::Value vgg_features(GraphWriter& graph, GraphWriter::Value x, const VggShape& shape);

}  // namespace plimsoll
