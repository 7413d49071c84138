// What a user should know of a model that is read without an error.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// A convolutional network without a batch normalization whose convolutions all have biases is most likely an export
// for evaluation, where they were folded away: it trains badly. Error where they are `required`: invalid_model, also for a
// network that has none and looks as if it never had. torch's dynamo exporter knows no training mode: from it, that they are there is enough.
Status find_folded_normalization(const Model& model, const Network& network, bool required, std::vector<std::string>& warnings);

// Whether the file says of each BatchNormalization and Dropout in which mode its module was: TorchScript's exporter does.
bool states_modes(const Model& model);

// NaN and infinite numbers in weights. Error under `strict`: invalid_model.
Status find_bad_weights(const Model& model, const Network& network, bool strict, std::vector<std::string>& warnings);

// Something is missing, or the file is of another kind than its user thinks.
void find_nothing_to_train(const Network& network, std::vector<std::string>& warnings);

}  // namespace plimsoll
