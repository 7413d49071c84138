// Optimizer numbers that a run uses instead of those that the program was compiled with. They belong to one parameter
// group: updates by the same kernel may have different ones.
#pragma once

#include <optional>

#include "runtime/kernel.h"

namespace plimsoll {

struct UpdateNumbers {
  double rate_scale = 1;  // of the group: its learning rate divided by that of the run
  std::optional<double> momentum = {}, beta1 = {}, beta2 = {}, epsilon = {}, weight_decay = {};
  std::optional<double> max_norm = {};  // of the clipping of gradients, which is no parameter group's
  friend bool operator==(const UpdateNumbers&, const UpdateNumbers&) = default;
};

// The attributes with the run's numbers substituted.
template <class Attrs>
Attrs with_numbers(Attrs attrs, const UpdateNumbers* numbers) {
  if (!numbers) return attrs;
  if constexpr (requires { attrs.momentum; }) attrs.momentum = numbers->momentum.value_or(attrs.momentum);
  if constexpr (requires { attrs.beta1; }) attrs.beta1 = numbers->beta1.value_or(attrs.beta1);
  if constexpr (requires { attrs.beta2; }) attrs.beta2 = numbers->beta2.value_or(attrs.beta2);
  if constexpr (requires { attrs.epsilon; }) attrs.epsilon = numbers->epsilon.value_or(attrs.epsilon);
  attrs.weight_decay = numbers->weight_decay.value_or(attrs.weight_decay);
  return attrs;
}

inline double max_norm_of(const RunContext& context, double compiled) {
  return context.numbers ? context.numbers->max_norm.value_or(compiled) : compiled;
}

inline double rate_scale_of(const RunContext& context) { return context.numbers ? context.numbers->rate_scale : 1; }

}  // namespace plimsoll
