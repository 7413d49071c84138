#include "compiler/driver/beginning.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "compiler/driver/dump_file.h"
#include "compiler/import/model_file.h"
#include "compiler/network/loss.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// A task graph states its number of samples and ranks.
Status take_sizes(PlanningRequest& asked, const TaskGraph& graph) {
  if (asked.of_model.batch != 0 && asked.of_model.batch != graph.batch)
    return usage(fmt::format("--batch is {}, but the task graph of {} is for {}", asked.of_model.batch, asked.from,
                             counted(graph.batch, "sample")));
  if (asked.ranks != 1 && asked.ranks != graph.ranks)
    return usage(fmt::format("--ranks is {}, but the task graph of {} has {}", asked.ranks, asked.from,
                             counted(graph.ranks, "rank")));
  asked.of_model.batch = graph.batch;
  asked.ranks = graph.ranks;
  return {};
}

Status take_graph(Beginning& made, TaskGraph graph) {
  const PlanningRequest& asked = made.asked;
  if (graph.rules != asked.rules)
    return usage(
        fmt::format("{} is a task graph of --rules {}, but --rules is {}", asked.from, graph.rules, asked.rules));
  if (graph.slice_bytes > 0)
    return usage(fmt::format("{} has sliced weights; slices are chosen during planning", asked.from));
  PLIMSOLL_TRY(take_sizes(made.asked, graph));
  made.graph = std::move(graph);
  return {};
}

// The trainer reads these weights from its model, like all tensors that are read but not written by a task.
void put_weights_of_loss(Beginning& made) {
  const LossRequest& loss = made.asked.of_model.network.loss;
  const auto put = [&](const char* name, const std::vector<float>& weights) {
    if (weights.empty()) return;
    put_initializer(*made.model.file, name, weights);
    made.weights.insert(name);
  };
  put(kClassWeights, loss.class_weights);
  put(kPositiveWeights, loss.positive_weights);
}

}  // namespace

namespace {

Result<ImportedModel> import_model(const ModelRequest& request, bool to_write, Recurrence recurrence) {
  const TrainedRequest& trained = request.network.trained;
  PLIMSOLL_ASSIGN(ImportedModel model,
                  import_onnx(request.model, {.batch = request.batch,
                                              .dims = request.dims,
                                              .inputs = request.inputs,
                                              .may_fix_batch = request.network.loss.kind == LossKind::output,
                                              .strict = request.strict,
                                              .holds_weights = to_write,
                                              .output = request.network.loss.output,
                                              .recurrence = recurrence,
                                              .require_normalization = request.require_batch_norm,
                                              .modes_are_given = trained.modes != Modes::asked ||
                                                                 !trained.frozen_statistics.empty()}));
  model.network.states_modes = model.states_modes;
  model.network.perhaps_merged = model.perhaps_merged;
  return model;
}

std::set<std::string> initializers_of(const Network& network) {
  std::set<std::string> names;
  for (const Value& value : network.values)
    if (!value.initializer.empty()) names.insert(value.initializer);
  return names;
}

}  // namespace

Result<ImportedForms> import_forms(const ModelRequest& request, bool to_write) {
  ImportedForms made;
  const Recurrence asked = request.network.recurrence;
  const Recurrence first = asked == Recurrence::fused ? asked : Recurrence::unrolled;
  PLIMSOLL_ASSIGN(made.model, import_model(request, to_write, first));
  FormsOfParts& forms = made.model.network.forms;
  if (asked == Recurrence::unrolled) forms.clear();
  if (asked == Recurrence::fused && forms.empty())
    made.model.notes.push_back(
        "--recurrence fused changes nothing: only an LSTM or GRU with the default activations, and without peepholes, "
        "clip and input_forget, can be one operator, and the model has none");
  if (asked != Recurrence::automatic || forms.empty()) return made;
  PLIMSOLL_ASSIGN(ImportedModel fused, import_model(request, false, Recurrence::fused));
  // The trainer's weights are those of the first.
  const std::set<std::string> of_first = initializers_of(made.model.network), of_fused = initializers_of(fused.network);
  if (std::includes(of_first.begin(), of_first.end(), of_fused.begin(), of_fused.end()))
    made.fused = std::move(fused.network);
  else forms.clear();
  return made;
}

Result<Beginning> begin_planning(const PlanningRequest& asked, PlanFor purpose, const Messages& messages) {
  Beginning made{.asked = asked};
  std::optional<Network> network;
  if (!asked.from.empty()) {
    PLIMSOLL_ASSIGN(Dump dump, read_dump(asked.from));
    if (std::holds_alternative<Plan>(dump) || std::holds_alternative<UnfinishedPlan>(dump))
      return usage(fmt::format("{} is a plan; a network or a task graph is expected", asked.from));
    if (TaskGraph* const graph = std::get_if<TaskGraph>(&dump)) PLIMSOLL_TRY(take_graph(made, std::move(*graph)));
    else network = std::move(std::get<Network>(dump));
    if (purpose == PlanFor::trainer && asked.of_model.model.empty())
      return usage(fmt::format(
          "a trainer contains the weights of its model, but {0} has none: plimsoll compile MODEL.onnx --from={0}",
          asked.from));
  }
  if (made.asked.of_model.batch == 0 && !asked.from.empty())
    return usage(
        fmt::format("--batch N is required: {} does not contain the number of samples in an iteration", asked.from));
  PLIMSOLL_TRY(check_usage(made.asked));
  if (!asked.of_model.model.empty()) {
    PLIMSOLL_ASSIGN(ImportedForms imported, import_forms(made.asked.of_model, purpose != PlanFor::report));
    made.model = std::move(imported.model);
    made.fused = std::move(imported.fused);
    if (purpose == PlanFor::trainer) made.weights = initializers_of(made.model.network);
    if (purpose == PlanFor::trainer) put_weights_of_loss(made);
    messages.detail(fmt::format("read {}: {}", asked.of_model.model,
                                counted(static_cast<int64_t>(made.model.network.nodes.size()), "node")));
  }
  if (!network) return made;
  made.model.network = std::move(*network);
  made.fused.reset();
  if (made.model.network.stage == NetworkStage::imported) return made;
  if (asked.rules != "true")
    return usage(
        fmt::format("--rules {} needs a network as imported, but {} has been through passes", asked.rules, asked.from));
  messages.note(fmt::format("the loss and the set of trained weights are those of {}", asked.from));
  return made;
}

Status check_weights(const TaskGraph& graph, const Beginning& beginning) {
  for (const Parameter& parameter : graph.parameters)
    if (!beginning.weights.contains(parameter.initializer))
      return Error{ExitCode::invalid_model,
                   fmt::format("{} has a weight '{}', but {} has none of this name", beginning.asked.from,
                               parameter.initializer, beginning.asked.of_model.model)};
  return {};
}

}  // namespace plimsoll
