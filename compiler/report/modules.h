// The PyTorch module path of a layer, as far as it can be determined from a plan.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

// "layer1.0.conv2", by layer; empty if neither the layer's name nor a weight that it reads contains it. The TorchScript
// exporter writes the path into node names; every exporter names weights by their modules.
std::vector<std::string> modules_of(const Plan& plan, const PlanFacts& facts);

}  // namespace plimsoll
