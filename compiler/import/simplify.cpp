#include "compiler/import/simplify.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/attributes.h"
#include "compiler/import/builder.h"
#include "compiler/import/differentiable.h"
#include "compiler/import/findings.h"
#include "compiler/import/graph_order.h"
#include "compiler/import/weight_roles.h"
#include "compiler/import/weights.h"
#include "compiler/network/compact.h"
#include "compiler/network/samples_first.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

void say_what_was_ordered(const GraphOrder& order, std::vector<std::string>& notes) {
  if (order.sorted) notes.push_back("the nodes of the model were not in topological order; they are sorted");
  if (order.unused.empty()) return;
  const auto left = static_cast<int64_t>(order.unused.size());
  std::string shown;
  for (size_t i = 0; i < std::min<size_t>(order.unused.size(), 3); ++i) shown += (i ? ", " : "") + order.unused[i];
  notes.push_back(fmt::format("{} left out because no output depends on what {}: {}{}",
                              counted(left, "node") + (left == 1 ? " is" : " are"), left == 1 ? "it makes" : "they make",
                              shown, order.unused.size() > 3 ? ", …" : ""));
}

// Before the network is built, which edits the model.
std::map<std::string, std::string> reasons_of(const Model& model, const GraphOrder& order) {
  const auto roles = find_weight_roles(model, order);
  const auto reached = reached_by_gradients(model, order);
  std::unordered_set<std::string> read;
  for (const int index : order.nodes)
    for (const std::string& input : model.nodes[index].inputs) read.insert(input);
  const auto marks = exporter_marks(model);
  const auto why_not = [&](const std::string& name) -> std::string {
    if (model.author && model.author->frozen.contains(name))
      return "frozen: plimsoll.export lists it with requires_grad=False";
    if (model.author && model.author->buffers.contains(name)) return "plimsoll.export lists it as a buffer";
    if (model.author && model.author->trained.contains(name)) return "no gradient reaches it";
    if (model.author)
      return "no gradient reaches it, or plimsoll.export lists it neither as a parameter nor as a buffer";
    const auto mark = marks.find(name);
    if (mark != marks.end() && mark->second == "BUFFER") return "the exporter marks it as a buffer";
    if (mark != marks.end() && mark->second != "PARAMETER") return "the exporter marks it as a constant";
    return "no gradient reaches it";
  };
  std::map<std::string, std::string> reasons;
  for (const ModelTensor& tensor : model.initializers) {
    if (tensor.type != ElementType::f32 || !read.contains(tensor.name)) continue;
    const auto role = roles.find(tensor.name);
    reasons[tensor.name] = !reached.contains(tensor.name) ? why_not(tensor.name)
                           : role != roles.end()          ? role->second.reason
                                                          : "";
  }
  return reasons;
}

// Where the place of an initializer does not tell, the network does, or nothing: that is for the user to say.
void complete_reasons(Network& network, std::map<std::string, std::string>& reasons) {
  std::unordered_set<std::string> held;
  for (Value& value : network.values) {
    if (value.kind != ValueKind::parameter && value.kind != ValueKind::statistic) continue;
    held.insert(value.initializer);
    const auto reason = reasons.find(value.initializer);
    if (reason == reasons.end()) continue;
    if (value.kind == ValueKind::statistic) reason->second = "a running statistic";
    else if (reason->second.empty()) {
      value.undecided = value.trainable;
      reason->second = value.trainable ? "a gradient reaches it, and nothing says whether it is a parameter or a buffer"
                                       : "a constant or a mask by its name or its numbers";
    }
  }
  for (auto& [name, reason] : reasons)
    if (reason.empty()) reason = "a number that is known while compiling";
}

}  // namespace

Result<SimplifiedModel> simplify(Model& model, const SimplifyOptions& options, const HoldConstants& hold_constants,
                                 std::vector<std::string>& notes) {
  SimplifiedModel made;

  // The model with its weights apart. Edits move nodes, so the order is made anew.
  PLIMSOLL_TRY(check_attributes(model, model.opset));
  PLIMSOLL_ASSIGN(GraphOrder order, order_graph(model));
  say_what_was_ordered(order, notes);
  PLIMSOLL_ASSIGN(const bool lifted, lift_weights(model, order, notes));
  if (lifted) {
    PLIMSOLL_ASSIGN(order, order_graph(model));
  }
  if (unshare_weights(model, order, notes)) {
    PLIMSOLL_ASSIGN(order, order_graph(model));
  }
  PLIMSOLL_TRY(hold_constants(model, reached_by_gradients(model, order)));
  made.reasons = reasons_of(model, order);

  // The model as a network, of which everything matters to an output.
  PLIMSOLL_ASSIGN(made.network, build_network(model, order, options, notes));
  compact(made.network, notes);
  PLIMSOLL_TRY(put_samples_first(made.network, notes));

  // What a user should know of it.
  complete_reasons(made.network, made.reasons);
  made.states_modes = states_modes(model);
  PLIMSOLL_TRY(find_folded_normalization(model, made.network, options.require_normalization, made.warnings));
  PLIMSOLL_TRY(find_merged_weights(model, made.network, made.perhaps_merged, made.warnings));
  PLIMSOLL_TRY(find_bad_weights(model, made.network, options.strict, made.warnings));
  find_nothing_to_train(made.network, made.warnings);
  if (options.strict && !made.warnings.empty())
    return Error{ExitCode::invalid_model, made.warnings[0], {made.warnings.begin() + 1, made.warnings.end()}};
  return made;
}

}  // namespace plimsoll
