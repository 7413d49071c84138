// Finds weights that the exporter copied although the model shares them.
//
// Why: a language model often multiplies by the table of its embedding, transposed. An exporter that evaluates
// constants (do_constant_folding=True, the default of TorchScript's) writes the transposed table as a second
// initializer. The file then has two weights, which are trained apart.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"

namespace plimsoll {

// A warning names trained matrices of which one is the other transposed. Matrices whose elements are all equal and
// symmetric ones do not count, because different layers begin with such weights. Elements that the model does not hold
// are not compared.
void find_copied_weights(const Model& model, const Network& network, std::vector<std::string>& warnings);

}  // namespace plimsoll
