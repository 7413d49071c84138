// What to use instead of an operator of ONNX that is not supported.
//
// PyTorch's exporters write these operators for calls that have another form, or that no plan can hold. The error about
// unsupported operators lists the advice behind the nodes.
#pragma once

#include <string_view>

#include "compiler/ir/model.h"

namespace plimsoll {

// Empty: there is no advice. One text may belong to several operators.
std::string_view advice_on_operator(const ModelNode& node);

}  // namespace plimsoll
