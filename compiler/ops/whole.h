// What operators on whole numbers and booleans share. A boolean is a u8 in the arena: 0 or 1 where a kernel made it. Nothing behind the
// operators knows of it: to passes and codegen it is a tensor of so many bytes (docs/decisions/booleans.md).
//   WholeArithmetic {a, b, y}: i32 or i64, or u8 for And, Or and Xor     Compare {a, b, y}: any type; y is u8
//   Move {x, y}: y is elements of x, of any type but f32, in another order (runtime/attrs/whole.h)
// An operand that is a number known while compiling is an attribute, and its slot absent.
#pragma once

#include <vector>

#include "compiler/ops/op.h"
#include "runtime/attrs/whole.h"

namespace plimsoll {

// Whether an operand is no f32.
bool is_whole(const NodeView& node);

// Whether input 0 is none.
inline bool is_whole_input(const NodeView& node) { return node.input_type(0).type != DataType::f32; }

// Of Add, Sub, Mul, Div, Mod, Max and Min where is_whole(node): operands of one type, i32 or i64.
Result<std::vector<TensorType>> infer_whole(const NodeView& node);
void forward_whole(TaskBuilder& build);

Result<std::vector<TensorType>> infer_logic(const NodeView& node);
void forward_logic(TaskBuilder& build, int64_t operation);
std::vector<Sample> logic_samples();

// a relation b; `turned`: b relation a.
Result<std::vector<TensorType>> infer_relation(const NodeView& node);
void forward_relation(TaskBuilder& build, int64_t relation, bool turned = false);
std::vector<Sample> relation_samples();

// Input 0, whose elements output `o` is made of; dimension i of the output is `dims[i]`.
void move_elements(TaskBuilder& build, const MoveAttrs& attrs, size_t output = 0);
// The attributes of a Move that changes nothing, of so many dimensions.
MoveAttrs as_it_is(size_t rank);

}  // namespace plimsoll
