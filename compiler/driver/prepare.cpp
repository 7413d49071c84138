#include "compiler/driver/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/driver/beginning.h"
#include "compiler/driver/forms.h"
#include "compiler/driver/layouts.h"
#include "compiler/driver/network_passes.h"
#include "compiler/support/counted.h"
#include "compiler/support/freed_memory.h"
#include "compiler/training/build.h"

namespace plimsoll {
namespace {

// As Plan::precision. A dump that planning continues from may be in bf16 or fp16 whatever the flags say, and the graphs
// of papers are in fp32.
std::string precision_of(const TaskGraph& graph, const ModelRequest& model) {
  const auto holds = [&](DataType type) {
    return std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& tensor) {
      return tensor.kind != TensorKind::optimizer_state && tensor.type.type == type;
    });
  };
  if (holds(DataType::f16)) return "fp16";
  if (holds(DataType::bf16)) return "bf16";
  return model.precision == "tf32" ? "tf32" : "";
}

// As Plan::optimizer_state.
std::string optimizer_state_of(const TaskGraph& graph) {
  for (const Tensor& tensor : graph.tensors)
    if (tensor.kind == TensorKind::optimizer_state && is_reduced(tensor.type.type))
      return is_in_blocks(tensor.type.type) ? "int8" : "bf16";
  return "";
}

}  // namespace

Result<std::vector<TaskGraph>> load_graphs(const ModelRequest& request, const Messages& messages) {
  PLIMSOLL_TRY(check_usage(request));
  PLIMSOLL_ASSIGN(ImportedForms imported, import_forms(request, false));
  ImportedModel& model = imported.model;
  const PlanningRequest asked{.of_model = request};
  NetworkWork work{.asked = asked, .purpose = PlanFor::report, .messages = messages, .model = model};
  std::vector<Network> recurrences;
  recurrences.push_back(std::move(model.network));
  if (imported.fused) recurrences.push_back(std::move(*imported.fused));
  std::vector<TaskGraph> graphs;
  for (Network& network : recurrences) {
    model.network = std::move(network);
    PLIMSOLL_TRY(run_network_passes(work, nullptr, kFusePass));
    PLIMSOLL_ASSIGN(const std::vector<FormOfNetwork> forms, forms_of_network(work));
    const Network trainable = model.network;
    for (const FormOfNetwork& form : forms) {
      model.network = trainable;
      work.attention = form.attention;
      work.loss = form.loss;
      PLIMSOLL_TRY(run_network_passes(work, nullptr, kLayoutPass));  // their times decide the layouts
      PLIMSOLL_ASSIGN(std::vector<TaskGraph> of_form, graphs_to_measure(request, model.network));
      for (TaskGraph& graph : of_form) graphs.push_back(std::move(graph));
    }
  }
  return graphs;
}

bool Plannable::splits_statistics(const Plan& plan) const { return plan.rounds > 1 && mixes_samples(); }

bool Plannable::mixes_samples() const {
  const IdVector<TaskId, Task>& tasks = any_graph().tasks;
  return std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.mixes_samples; });
}

Result<std::optional<Plannable>> prepare_until(const PlanningRequest& given, const Messages& messages, PlanFor purpose,
                                               PassDump* dump) {
  PLIMSOLL_ASSIGN(Beginning beginning, begin_planning(given, purpose, messages));
  const PlanningRequest& asked = beginning.asked;
  const ModelRequest& of_model = asked.of_model;
  PLIMSOLL_ASSIGN(HostBudget host_budget, host_budget_of(asked, purpose));
  ImportedModel& model = beginning.model;
  const PaperRules* const as_paper = find_rules(asked.rules);
  NetworkWork work{
      .asked = asked, .purpose = purpose, .messages = messages, .model = model, .as_paper = as_paper != nullptr};
  PLIMSOLL_ASSIGN(std::optional<FormsOfGraph> made, make_graphs(beginning, work, as_paper, dump));
  if (!made) return std::optional<Plannable>();
  PLIMSOLL_ASSIGN(OpenedCosts* const costs, costs_for(work));
  OpenedCosts opened = std::move(*costs);
  for (const TaskGraph& graph : made->graphs) {
    if (purpose == PlanFor::trainer && !asked.from.empty()) PLIMSOLL_TRY(check_weights(graph, beginning));
    std::string forms;
    for (const auto& [part, form] : graph.forms) forms += ", " + part + " " + form;
    messages.detail(fmt::format("task graph: {}, {}{}", counted(static_cast<int64_t>(graph.tasks.size()), "task"),
                                counted(static_cast<int64_t>(graph.tensors.size()), "tensor"),
                                forms +
                                    (graph.layout.empty() ? "" : ", images " + graph.layout)));
  }

  // From here on, the task graphs do not change: plans implement one of them. They say all that plans need to know.
  model.network = {};
  model.reasons = {};
  return_freed_memory();

  // What follows is the same in every form.
  const TaskGraph& graph = made->graphs.front();
  // Per rank.
  const int64_t batch = of_model.batch / asked.ranks, sub_batch = asked.sub_batch.value_or(0) / asked.ranks;
  PlanRequest request{.batch = batch,
                      .sub_batch = as_paper && !as_paper->splits ? batch : sub_batch,
                      .host_budget_bytes = host_budget.bytes,
                      .host_budget_source = std::move(host_budget.source),
                      .may_split_statistics = asked.batch_norm == BatchNorm::split,
                      .effort = asked.effort,
                      .threads = jobs_of(asked),
                      .time_limit_seconds = asked.time_limit_seconds,
                      .inputs_ahead = of_model.target == "cuda" && !as_paper,
                      .keep_order = as_paper != nullptr,
                      .model_name = graph.name,
                      .model_sha256 = model.sha256,
                      .target_kind = of_model.target,
                      .device = opened.device,
                      .costs = opened.source + (asked.rank_costs.empty() ? "" : ", ranks measured"),
                      .libraries = opened.libraries,
                      .precision = precision_of(graph, of_model),
                      .optimizer_state = optimizer_state_of(graph)};
  std::map<FormsOfParts, PassDump> dumps;
  for (size_t i = 0; i < made->dumps.size(); ++i) dumps.emplace(made->graphs[i].forms, std::move(made->dumps[i]));
  auto planner = std::make_unique<Planner>(std::move(made->graphs), *opened.costs, batch);
  return std::optional(Plannable{.model = std::move(model),
                                 .dumps = std::move(dumps),
                                 .costs = std::move(opened.costs),
                                 .planner = std::move(planner),
                                 .request = std::move(request),
                                 .threads = opened.threads,
                                 .process = opened.process,
                                 .as_paper = as_paper,
                                 .algorithms_of = std::move(work.algorithms_of),
                                 .host_budget_requested = asked.host_budget.has_value()});
}

Result<Plannable> prepare_plans(const PlanningRequest& given, const Messages& messages, PlanFor purpose) {
  PLIMSOLL_ASSIGN(std::optional<Plannable> prepared, prepare_until(given, messages, purpose, nullptr));
  return std::move(*prepared);
}

}  // namespace plimsoll
