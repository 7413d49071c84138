// Pass widen: a model in f16 or bf16 becomes one in f32.
//
// What: weights are widened, and every element type f16 or bf16 that the model states becomes f32: of inputs, outputs,
// tensors, and the types that nodes convert to.
// Before: the model as in its file; `order` is its order.
// After: no f16 and no bf16 in the model. Model::in_file has the type of each value in the file. The file itself is
// unchanged, and weights are rounded to its types when they are saved.
// Why: small updates of a weight vanish in 16 bits, so masters are f32. The precision that a trainer computes in is
// `--precision`, whatever the file's.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {

void widen(Model& model, const GraphOrder& order, std::vector<std::string>& notes);

}  // namespace plimsoll
