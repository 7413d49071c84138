// Changes of a model that keep it a model: single bytes seldom get past Protobuf.
#pragma once

#include <cstdint>
#include <random>

#include "onnx/onnx.pb.h"

namespace plimsoll::fuzz {

// One small change, drawn by `random`: another operator, another input, another number in an attribute or a shape, a
// node less or twice, another element type.
void change(onnx::ModelProto& model, std::minstd_rand& random);

}  // namespace plimsoll::fuzz
