// The ways to read a file in which the batch is a number, from the most literal on.
#include <fmt/format.h>

#include "compiler/network/simplify/builder.h"
#include "compiler/network/simplify/network_builder.h"

namespace plimsoll {

std::unordered_map<int, bool> known_conditions(Model& model, const GraphOrder& order, const SimplifyOptions& options) {
  const WeightUses weights = find_weight_uses(model, order);
  std::vector<std::string> unused;
  for (const Follow follow : {Follow::nothing, Follow::repeats, Follow::constants}) {
    NetworkBuilder builder(model, weights, options, unused, follow);
    builder.find_conditions();
    if (builder.build(order).ok() || !builder.conditions().empty()) return builder.conditions();
    if (!builder.may_follow()) break;
  }
  if (!options.may_fix_batch) return {};
  // Where the batch is a number, a condition may depend on it: it must be the same for another.
  std::unordered_map<int, bool> same;
  for (const int64_t batch : {options.batch, options.batch + 1}) {
    SimplifyOptions fixed = options;
    fixed.batch = batch;
    NetworkBuilder builder(model, weights, fixed, unused, Follow::nothing);
    builder.find_conditions();
    builder.fix_batches();
    (void)builder.build(order).ok();
    if (batch == options.batch) same = builder.conditions();
    std::erase_if(same, [&](const auto& condition) {
      const auto found = builder.conditions().find(condition.first);
      return found == builder.conditions().end() || found->second != condition.second;
    });
  }
  return same;
}

// Only if the model is invalid otherwise, a repetition by the exported number of samples is treated as a repetition per
// sample: of values first, then also of constants. The first interpretation in which all shapes are consistent is
// accepted.
Result<Network> build_network(Model& model, const GraphOrder& order, const WeightUses& weights,
                              const SimplifyOptions& options, std::vector<std::string>& notes) {
  std::vector<std::string> said = notes;
  NetworkBuilder builder(model, weights, options, said, Follow::nothing);
  Result<Network> network = builder.build(order);
  if (!network.ok() && builder.may_follow()) {
    said = notes;
    network = NetworkBuilder(model, weights, options, said, Follow::repeats).build(order);
    std::vector<std::string> said_then = notes;
    if (!network.ok())
      if (Result<Network> followed = NetworkBuilder(model, weights, options, said_then, Follow::constants).build(order);
          followed.ok()) {
        network = std::move(followed);
        said = std::move(said_then);
      }
  }
  // A model that computes its own loss may compute across samples.
  const auto with_batch = [&](int64_t batch, std::vector<std::string>& said_then) {
    SimplifyOptions fixed = options;
    fixed.batch = batch;
    NetworkBuilder whole(model, weights, fixed, said_then, Follow::nothing);
    whole.fix_batches();
    return whole.build(order);
  };
  if (!network.ok() && options.may_fix_batch) {
    const int64_t batch = builder.exported_batch().value_or(options.batch);
    std::vector<std::string> said_then = notes;
    Result<Network> fixed = batch > 1 ? with_batch(batch, said_then) : network;
    const std::string why = network.error().notes.empty() ? network.error().message : network.error().notes[0];
    if (fixed.ok() && batch == options.batch) {
      notes = std::move(said_then);
      notes.push_back(
          fmt::format("the batch is fixed to {}: the model is not valid for an arbitrary batch: {}", batch, why));
      return fixed;
    }
    if (fixed.ok()) {
      Error error = network.error();
      error.notes.push_back(
          fmt::format("the model computes across samples, and was exported for {} of them: compile it "
                      "with --batch {}, or export it with a dynamic batch",
                      batch, batch));
      return error;
    }
  }
  if (!network.ok() && !options.may_fix_batch && network.error().code == ExitCode::unsupported && options.batch > 1) {
    std::vector<std::string> unsaid = notes;
    if (!with_batch(options.batch, unsaid).ok()) return network;
    Error error = network.error();
    error.notes.push_back(
        "the model computes across samples: such a model is compiled if it computes its loss, too (--loss output)");
    return error;
  }
  notes = std::move(said);
  if (network.ok() || network.error().code != ExitCode::invalid_model || !builder.exported_batch()) return network;
  Error error = network.error();
  error.notes.push_back(fmt::format(
      "the model was exported for a batch of {}, and some constants that depend on it cannot be adapted; export it "
      "with a dynamic "
      "batch: dynamic_shapes=({{0: 'batch'}},), or dynamic_axes={{'input': {{0: 'batch'}}}} with dynamo=False",
      *builder.exported_batch()));
  return error;
}

}  // namespace plimsoll
