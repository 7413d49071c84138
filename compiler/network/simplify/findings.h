// Warnings about a model that was read without error.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/network/simplify/options.h"
#include "compiler/support/status.h"

namespace plimsoll {

// A convolutional network without batch normalization whose convolutions all have biases is most likely an evaluation
// export in which the normalizations were folded; it trains badly. In a file of tf2onnx, names tell what was folded.
// Normalizations in evaluation mode get a warning unless the user has given the modes. Error if normalizations are
// required: invalid_model, also for a network that apparently never had any. torch's dynamo exporter records no
// training mode, so for its files the presence of normalizations is sufficient.
Status find_folded_normalization(const Model& model, const Network& network, const SimplifyOptions& options,
                                 std::vector<std::string>& warnings);

// Batch normalizations of a file of tf2onnx that are no longer computed: their statistics are part of other constants.
int64_t count_folded_by_tf2onnx(const Model& model);

// Warns about layers without bias in a file of tf2onnx, which leaves out an addition of zeros.
void find_dropped_biases(const Model& model, const Network& network, std::vector<std::string>& warnings);

// Warns about LSTMs with a bias in a file of tf2onnx, which writes the bias of Keras as two, of which one is zeros.
void find_doubled_biases(const Model& model, std::vector<std::string>& warnings);

// Whether the file records the mode of each BatchNormalization and Dropout module, as TorchScript's exporter does.
bool states_modes(const Model& model);

// Warns about NaN and infinity in weights. Error under `strict`: invalid_model.
Status find_bad_weights(const Model& model, const Network& network, bool strict, std::vector<std::string>& warnings);

// Warns about matrices and filters of 8-bit integers: a quantizer rounded them, and they are not trained.
void find_quantized_weights(const Model& model, std::vector<std::string>& warnings);

// Warns if nothing can be trained: something is missing, or the file is not of the kind its user thinks.
void find_nothing_to_train(const Network& network, std::vector<std::string>& warnings);

}  // namespace plimsoll
