// The rooms of the zoo: each source file of models/ describes one family of networks.
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
std::vector<ZooEntry> resnet_entries();

}  // namespace plimsoll
