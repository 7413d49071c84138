// Masks that exporters draw in three steps, there being no operator for it before opset 15: torch's stochastic depth, and
// whatever else calls bernoulli(p).
//
//   RandomUniformLike (in [0, 1)) ─► Less than p ─► Cast to float       is Bernoulli: 1 with probability p, else 0
//   PyTorch 2:      └────────────────► CastLike ▲
//   RandomUniformLike (in [0, 1)) ─► Add p ─► Floor                     is Bernoulli, too: Hugging Face's stochastic depth
//
// In a network it is one node. In use after training it is its mean, p (compiler/import/export.cpp): so is a Dropout then.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/ir/model.h"
#include "compiler/network/simplify/node_inputs.h"

namespace plimsoll {

struct RandomMask {
  std::string like;         // the value whose shape the mask has
  std::string probability;  // the value p; empty: `like` holds the probabilities itself (operator Bernoulli)
};

struct RandomMasks {
  std::unordered_map<std::string, RandomMask> by_output = {};  // of the last step
  std::unordered_set<std::string> steps = {};                  // outputs of the steps before, which nobody else reads
};

// Of a graph's or a function's nodes; `outputs` are the names that are read outside.
RandomMasks find_random_masks(const std::vector<ModelNode>& nodes, const std::unordered_set<std::string>& outputs);

// The one node that draws it, in the shape `like`. One draw for each sample of the exporter's example is one for each
// sample; `followed` counts those. nullopt: the shape or the probability is not known.
std::optional<ModelNode> drawn_mask(const ModelNode& source, const Dims* like, const KnownValue* probability,
                                    NodeInputs& inputs, int& followed);

}  // namespace plimsoll
