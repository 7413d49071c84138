// The model families of the zoo: each source file of models/ defines one.
#pragma once

#include <functional>
#include <vector>

#include "models/arguments.h"
#include "models/graph_writer.h"
#include "models/zoo.h"

namespace plimsoll {

struct ZooEntry {
  ZooModel model;
  std::function<void(GraphWriter&, const Arguments&)> build;
};

std::vector<ZooEntry> lenet_entries();
std::vector<ZooEntry> alexnet_entries();  // and OverFeat
std::vector<ZooEntry> vgg_entries();
std::vector<ZooEntry> googlenet_entries();
std::vector<ZooEntry> resnet_entries();
std::vector<ZooEntry> inception_v3_entries();
std::vector<ZooEntry> inception_v4_entries();
std::vector<ZooEntry> densenet_entries();
std::vector<ZooEntry> mobilenet_entries();
std::vector<ZooEntry> segmentation_entries();  // FCN and U-Net
std::vector<ZooEntry> lstm_entries();
std::vector<ZooEntry> gpt_entries();
std::vector<ZooEntry> vit_entries();

}  // namespace plimsoll
