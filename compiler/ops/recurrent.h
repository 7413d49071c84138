// What operators of recurrent networks have in common: all steps of one direction. The products of the inputs with W
// are in their input x, computed by a Gemm, for all steps at once.
//   RecurrentWeights {dx, states, h0, reset_states, dr}: dr = Σ dxᵀ · previous state, accumulated if dr is an `update`
//   operand. If `reset_states` [T, N, H] are present, they stand for the previous states in the last H rows of dr.
#pragma once

#include "compiler/ops/op.h"
#include "runtime/attrs/recurrent.h"

namespace plimsoll {

// x [T, N, G·H], r [G·H, H], of `gates` gates, and the first states [N, H], which are `states` inputs. The types of the
// states of all steps [T, N, H], and of the last ones.
Result<std::vector<TensorType>> infer_recurrent(const NodeView& node, int64_t gates, size_t states);

RecurrentAttrs recurrent_attributes(const NodeView& node, int64_t gates);

// The states of all steps: output 0, or, if the model does not read it, a tensor saved for backward if that needs it.
Operand write_states(TaskBuilder& build, bool needed);
Operand read_states(TaskBuilder& build);
TensorType states_of_steps(const NodeView& node);
bool is_trained(const TaskBuilder& build);

// The gradient of x as an operand that the backward writes; it is also read for the gradient of r.
Operand write_gradient_of_x(TaskBuilder& build);
void give_gradient_of_x(TaskBuilder& build, const Operand& dx);
// The task of the gradient of r, if it is wanted. `slopes`: of the products with r, [T, N, G·H].
void give_gradient_of_r(TaskBuilder& build, const RecurrentAttrs& attributes, const Operand& slopes,
                        const Operand& reset_states = {});

// x, r and, if given, the first states; `gates` has as many entries as the operator has gates.
Sample recurrent_sample(std::string name, std::vector<int64_t> gates, int64_t steps, int64_t size, size_t states,
                        int outputs, bool reverse = false);

}  // namespace plimsoll
