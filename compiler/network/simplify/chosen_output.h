// A model whose other outputs cannot be compiled: the class names of a classifier, the boxes of a detector.
#pragma once

#include <string>
#include <vector>

#include "compiler/network/simplify/builder.h"

namespace plimsoll {

// build_network(). If nodes are not supported that the chosen output (SimplifyOptions::output) does not depend on, the
// network has that output only; the model keeps all of its nodes and outputs. If no output is chosen, the error names
// those that could be.
Result<Network> build_chosen_output(Model& model, const GraphOrder& order, const WeightUses& weights,
                                    const SimplifyOptions& options, std::vector<std::string>& notes);

}  // namespace plimsoll
