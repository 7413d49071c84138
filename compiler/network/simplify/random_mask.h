// Masks that exporters draw in three steps, because there is no operator for it before opset 15: torch's stochastic
// depth, and other calls of bernoulli(p).
//
//   RandomUniformLike (in [0, 1)) ─► Less than p ─► Cast to float       is Bernoulli: 1 with probability p, else 0
//   PyTorch 2:      └────────────────► CastLike ▲
//   RandomUniformLike (in [0, 1)) ─► Add p ─► Floor                     likewise: Hugging Face's stochastic depth
//
// In a network it is one node. In the exported model it is its mean, p (compiler/import/export.cpp), just as Dropout is
// then. If the network computes p, the steps stay as they are, and numbers are drawn in evaluation, too.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_uses.h"
#include "compiler/network/simplify/node_inputs.h"

namespace plimsoll {

struct RandomMask {
  std::string like;         // the value whose shape the mask has
  std::string probability;  // the value p; empty: `like` itself holds the probabilities (operator Bernoulli)
  std::vector<const ModelNode*> steps = {};  // before the last one, in order

  const std::string& probabilities() const { return probability.empty() ? like : probability; }
};

struct RandomMasks {
  std::unordered_map<std::string, RandomMask> by_output = {};  // keyed by the output of the last step
  std::unordered_set<std::string> steps = {};  // outputs of the earlier steps, which have no other readers
};

// For the nodes of a graph or a function, which must live as long as the result; `outputs` are the names that are read
// outside.
RandomMasks find_random_masks(const std::vector<ModelNode>& nodes, const std::unordered_set<std::string>& outputs);

// The probabilities that only masks and divisions of masks read: stochastic depth divides by the probability to keep a
// sample. They are constants of the code, not parameters.
std::unordered_set<std::string> probabilities_of(const Model& model, const GraphUses& uses, const RandomMasks& masks);

// The single node that draws the mask, with the shape of `like`. A mask drawn for each sample of the exporter's example
// is drawn per sample; `followed` counts those. nullopt: the shape or the probability is unknown.
std::optional<ModelNode> drawn_mask(const ModelNode& source, const Dims* like, const KnownValue* probability,
                                    NodeInputs& inputs, int& followed);

}  // namespace plimsoll
