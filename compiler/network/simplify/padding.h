// Pad nodes that need no kernel: exporters write the padding of a pool, and some the padding of a convolution, as a
// separate node. Moving it into the pads of the reader saves a copy of the whole activation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/graph_uses.h"

namespace plimsoll {

// Zero padding of the last two of four dimensions, in the order of the attribute: top, left, bottom, right. nullopt:
// anything else. `inputs` are the known values of the node's inputs.
std::optional<std::vector<int64_t>> spatial_zeros(const ModelNode& pad, const std::vector<const KnownValue*>& inputs);

// Whether the node can add zeros around its first input to its own padding.
bool can_absorb(const ModelNode& node, const std::vector<int64_t>& zeros);

// Whether all readers of the value can: none of them is an output of the model, or a node created by the import.
bool readers_can_absorb(const Model& model, const GraphUses& uses, const std::string& value,
                        const std::vector<int64_t>& zeros);

void absorb(const std::vector<int64_t>& zeros, Node& node);

}  // namespace plimsoll
