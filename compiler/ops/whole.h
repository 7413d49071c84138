// Shared by operators on integers and booleans. A boolean is a u8 in the arena; kernels write 0 or 1. Only operators
// know this: passes and codegen see a tensor with a size in bytes (docs/decisions/booleans.md).
//   WholeArithmetic {a, b, y}: i32 or i64, or u8 for And, Or and Xor     Compare {a, b, y}: any type; y is u8
//   Move {x, y}: y is elements of x, of any type but f32, in another order (runtime/attrs/whole.h)
// An operand that is a number known at compile time is an attribute, and its slot is absent.
#pragma once

#include <vector>

#include "compiler/ops/op.h"
#include "runtime/attrs/whole.h"

namespace plimsoll {

// Whether an operand is not f32.
bool is_whole(const NodeView& node);

// Whether input 0 is not f32.
inline bool is_whole_input(const NodeView& node) { return node.input_type(0).type != DataType::f32; }

// For Add, Sub, Mul, Div, Mod, Max and Min if is_whole(node): operands of one type, i32 or i64.
Result<std::vector<TensorType>> infer_whole(const NodeView& node);
void forward_whole(TaskBuilder& build);

Result<std::vector<TensorType>> infer_logic(const NodeView& node);
void forward_logic(TaskBuilder& build, int64_t operation);
std::vector<Sample> logic_samples();

// a relation b; `turned`: b relation a.
Result<std::vector<TensorType>> infer_relation(const NodeView& node);
void forward_relation(TaskBuilder& build, int64_t relation, bool turned = false);
std::vector<Sample> relation_samples();

// Output `o` consists of elements of input 0; dimension i of the output is `dims[i]`.
void move_elements(TaskBuilder& build, const MoveAttrs& attrs, size_t output = 0);
// The attributes of a Move that changes nothing, for a tensor of the given rank.
MoveAttrs as_it_is(size_t rank);

}  // namespace plimsoll
