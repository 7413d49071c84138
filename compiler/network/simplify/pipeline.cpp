#include "compiler/network/simplify/pipeline.h"

#include "compiler/network/compact.h"
#include "compiler/network/samples_first.h"
#include "compiler/network/simplify/attributes.h"
#include "compiler/network/simplify/branches.h"
#include "compiler/network/simplify/chosen_output.h"
#include "compiler/network/simplify/copied_weights.h"
#include "compiler/network/simplify/findings.h"
#include "compiler/network/simplify/given_inputs.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/network/simplify/lift_weights.h"
#include "compiler/network/simplify/merged_weights.h"
#include "compiler/network/simplify/node_checks.h"
#include "compiler/network/simplify/onnxruntime_operators.h"
#include "compiler/network/simplify/unshare.h"
#include "compiler/network/simplify/weight_reasons.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/network/simplify/widen.h"

namespace plimsoll {

Result<SimplifiedModel> simplify(Model& model, const SimplifyOptions& options, const HoldConstants& hold_constants,
                                 std::vector<std::string>& notes) {
  SimplifiedModel made;
  const bool had_constants = has_constants(model);

  // The model without its weights. Edits move nodes, so the order is recomputed.
  replace_onnxruntime_operators(model, notes);
  PLIMSOLL_TRY(check_attributes(model, model.opset));
  PLIMSOLL_TRY(give_inputs(model, options, notes));
  PLIMSOLL_TRY(take_branches(model, options, notes));
  PLIMSOLL_ASSIGN(GraphOrder order, order_graph(model));
  PLIMSOLL_TRY(check_inputs(model, order));
  notes_of_order(order, notes);
  widen(model, order, notes);
  PLIMSOLL_ASSIGN(const bool lifted, lift_weights(model, order, notes));
  if (lifted) {
    PLIMSOLL_ASSIGN(order, order_graph(model));
  }
  if (unshare_weights(model, order, notes)) {
    PLIMSOLL_ASSIGN(order, order_graph(model));
  }
  const WeightUses weights = find_weight_uses(model, order);
  PLIMSOLL_TRY(hold_constants(model, weights.reached));
  made.reasons = reasons_of(model, order, weights);

  // The model as a network in which every node matters to an output.
  PLIMSOLL_ASSIGN(made.network, build_chosen_output(model, order, weights, options, notes));
  compact(made.network, notes);
  PLIMSOLL_TRY(put_samples_first(made.network, notes));

  // Findings to report to the user.
  complete_reasons(model, made.network, made.reasons);
  made.states_modes = states_modes(model);
  PLIMSOLL_TRY(find_folded_normalization(model, made.network, options, made.warnings));
  find_dropped_biases(model, made.network, made.warnings);
  find_doubled_biases(model, made.warnings);
  PLIMSOLL_TRY(find_merged_weights(model, had_constants, made.network, made.perhaps_merged, made.warnings));
  find_copied_weights(model, made.network, made.warnings);
  PLIMSOLL_TRY(find_bad_weights(model, made.network, options.strict, made.warnings));
  find_quantized_weights(model, made.warnings);
  find_nothing_to_train(made.network, made.warnings);
  if (options.strict && !made.warnings.empty())
    return Error{ExitCode::invalid_model, made.warnings[0], {made.warnings.begin() + 1, made.warnings.end()}};
  return made;
}

}  // namespace plimsoll
