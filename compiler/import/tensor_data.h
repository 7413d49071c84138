// The data of ONNX tensors: checked against the shape, and converted to one form.
#pragma once

#include <optional>
#include <string>

#include "compiler/import/external_data.h"
#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

std::optional<int64_t> elements_of(const onnx::TensorProto& tensor);  // nullopt: negative or above kElementLimit

// Afterwards the tensor's data is inline, in raw_data, and has exactly the size of its shape, for every element type
// with a fixed width of at least a byte. `who` is for errors: "initializer 'conv1.weight'".
Status normalise_data(onnx::TensorProto& tensor, ModelDirectory& directory, const std::string& who);

}  // namespace plimsoll
