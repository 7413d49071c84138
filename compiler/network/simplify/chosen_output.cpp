#include "compiler/network/simplify/chosen_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

constexpr size_t kMostTried = 8;  // each try builds the network again

Result<Network> build_output(Model& model, const std::string& name, const WeightUses& weights,
                             const SimplifyOptions& options, std::vector<std::string>& notes) {
  std::vector<DeclaredValue> all = std::move(model.outputs);
  model.outputs.clear();
  std::copy_if(all.begin(), all.end(), std::back_inserter(model.outputs),
               [&](const DeclaredValue& output) { return output.name == name; });
  const Result<GraphOrder> order = order_graph(model);
  Result<Network> network =
      order.ok() ? build_network(model, *order, weights, options, notes) : Result<Network>(order.error());
  model.outputs = std::move(all);
  return network;
}

// Whether the output is computed: an input or a weight that is an output as well cannot be trained.
bool is_computed(const Network& network) {
  return network.values[network.outputs[0]].kind == ValueKind::intermediate;
}

// The outputs that can be compiled, in words; empty: none.
std::string possible_outputs(const Model& model, const WeightUses& weights, const SimplifyOptions& options) {
  std::string possible;
  if (model.outputs.size() > kMostTried) return possible;
  for (const DeclaredValue& output : model.outputs) {
    Model scratch = model;
    std::vector<std::string> unused;
    const Result<Network> network = build_output(scratch, output.name, weights, options, unused);
    if (network.ok() && is_computed(*network))
      possible += fmt::format("{}--output '{}'", possible.empty() ? "" : " or ", output.name);
  }
  return possible;
}

}  // namespace

Result<Network> build_chosen_output(Model& model, const GraphOrder& order, const WeightUses& weights,
                                    const SimplifyOptions& options, std::vector<std::string>& notes) {
  std::vector<std::string> said = notes;
  Result<Network> network = build_network(model, order, weights, options, said);
  if (network.ok() || network.error().code != ExitCode::unsupported || model.outputs.size() < 2) {
    notes = std::move(said);
    return network;
  }
  if (options.output.empty()) {
    Error error = network.error();
    if (const std::string possible = possible_outputs(model, weights, options); !possible.empty())
      error.notes.push_back("outputs that do not depend on these nodes: " + possible);
    return error;
  }
  const auto is_chosen = [&](const DeclaredValue& output) { return output.name == options.output; };
  if (std::none_of(model.outputs.begin(), model.outputs.end(), is_chosen)) {
    std::string names;
    for (const DeclaredValue& output : model.outputs)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", output.name);
    return Error{ExitCode::usage, fmt::format("the model has no output '{}' (--output); outputs: {}", options.output,
                                              names)};
  }
  Result<Network> chosen = build_output(model, options.output, weights, options, notes);
  if (!chosen.ok()) return network;
  for (const DeclaredValue& output : model.outputs)
    if (output.name != options.output)
      notes.push_back(fmt::format("output '{}' is ignored: the loss reads output '{}'", output.name, options.output));
  notes.push_back(fmt::format("nodes that output '{}' does not depend on are not supported, and are left out",
                              options.output));
  return chosen;
}

}  // namespace plimsoll
