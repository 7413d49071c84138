#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Parameters that a model optimizer merged because they were equal. Error: invalid_model, if one initializer is both a
// parameter and a running statistic, which no module has.
//
// The optimizer of torch's dynamo exporter merges all equal initializers of at most 1,024 elements. A file in which two
// of the module's tensors are equal and apart was written without it, and in a file whose initializers include all of
// the module's parameters it merged none. Otherwise `perhaps_merged` names the small weights that several modules read.
// The optimizer also omits biases that are zero; a warning names them.
//
// onnxruntime merges equal initializers of at most 8 elements, onnxsim and onnxslim of any size. onnxruntime and
// onnxoptimizer also remove the Identity nodes by which TorchScript's exporter marks the weights that it merged itself,
// of any size. onnxslim and onnxoptimizer leave no mark. They may have run if there are neither Constant nodes nor
// equal initializers. Then weights whose elements are all equal may be merged, such as the initial weights of
// normalizations. If there is a list of parameters by plimsoll.export, and all of them are initializers, no tool has
// merged any.
//
// `had_constants`: has_constants() of the model before passes added Constant nodes and left some out.
Status find_merged_weights(const Model& model, bool had_constants, const Network& network, std::string& perhaps_merged,
                           std::vector<std::string>& warnings);

// Whether it has nodes without inputs, such as Constant.
bool has_constants(const Model& model);

}  // namespace plimsoll
