// The data of ONNX tensors: checked against the shape, and brought into one form.
#pragma once

#include <optional>
#include <string>

#include "compiler/import/external_data.h"
#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

std::optional<int64_t> elements_of(const onnx::TensorProto& tensor);  // nullopt: negative or beyond kElementLimit

// Afterwards the tensor's data is inline and of exactly the size of its shape: in raw_data, for every element type of
// fixed width of at least a byte. `who` is for errors: "initializer 'conv1.weight'".
Status normalise_data(onnx::TensorProto& tensor, ModelDirectory& directory, const std::string& who);

}  // namespace plimsoll
