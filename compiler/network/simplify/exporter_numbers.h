// What exporters note about the origin of initializers.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/model.h"

namespace plimsoll {

// The module's parameters as dynamo's exporter lists them in the file's metadata. nullopt: no list.
std::optional<std::set<std::string>> parameters_listed_by_dynamo(const Model& model);

// The initializers that hold numbers of the exporter or of the code, not tensors of the module. Keyed by name: why the
// initializer is not trained.
//
//   - Dynamo's optimizer evaluates constants, and notes from which values it computed each: `val_8`, the ones that an
//     InstanceNorm2d without parameters multiplies by. If none of these values is a parameter, neither is the result.
//     The optimizer also merges equal tensors, and leaves no note of that. So an initializer that a module with a
//     missing parameter reads is not among them: it may be that parameter.
//   - onnxruntime, onnxslim and onnxoptimizer turn the Constant nodes of TorchScript's exporter into initializers, and
//     keep their names: `/norm/Constant_1_output_0`. They also drop dynamo's notes, but not its names: a normalization
//     that reads `val_8` has no parameters.
//   - Paddle's exporter writes its own numbers as `helper.constant.1`, such as the ones of a GroupNorm that is an
//     InstanceNormalization of the groups.
std::unordered_map<std::string, std::string> exporter_numbers(const Model& model);

// Initializers with such names that several nodes read. These tools merge equal initializers: each may also be a
// parameter that was merged with the number. Single numbers are not among them.
std::vector<std::string> perhaps_exporter_numbers(const Model& model);

}  // namespace plimsoll
