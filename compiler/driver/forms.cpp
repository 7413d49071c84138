#include "compiler/driver/forms.h"

#include <algorithm>
#include <utility>

#include "compiler/training/build.h"

namespace plimsoll {
namespace {

TaskGraph completed(TaskGraph graph, const PlanningRequest& asked) {
  graph.rules = asked.rules;
  graph.ranks = asked.ranks;
  if (graph.ranks > 1) graph = with_gradients_in_f32(std::move(graph));
  return graph;
}

// Runs the passes from `fuse` on, and builds the task graph. False: `dump` (nullable) has stopped.
Result<bool> add_form(NetworkWork& work, const PaperRules* as_paper, PassDump* dump, std::vector<TaskGraph>& graphs) {
  PLIMSOLL_ASSIGN(const bool goes_on, run_network_passes(work, dump));
  if (!goes_on) return false;
  const Network& network = work.model.network;
  const ModelRequest& of_model = work.asked.of_model;
  TrainingOptions training = training_options_of(of_model);
  training.threads = jobs_of(work.asked);
  PLIMSOLL_ASSIGN(TaskGraph graph,
                  as_paper ? as_paper->build(network, of_model.batch) : build_task_graph(network, training));
  graphs.push_back(completed(std::move(graph), work.asked));
  return !dump || dump->after(graphs.back()) || work.is_one_form;
}

// What a form is made of: a network that has been through the passes before `fuse`, and what they have dumped.
struct FormOfModel {
  Network network;
  FormOfNetwork form;
  bool chooses_attention;  // another form differs in it
  std::optional<PassDump> dump;
};

// For all forms but the first: what the passes say of one form, they say of the others.
Messages silent(const Messages& messages) { return {.show_progress = messages.show_progress}; }

// The task graph of each form.
Result<FormsOfGraph> make_each(NetworkWork& work, std::vector<FormOfModel> forms) {
  FormsOfGraph made;
  work.is_one_form = true;
  for (FormOfModel& form : forms) {
    work.model.network = std::move(form.network);
    work.attention = form.form.attention;
    work.loss = form.form.loss;
    work.chooses_attention = form.chooses_attention;
    if (form.dump) made.dumps.push_back(std::move(*form.dump));
    PLIMSOLL_TRY(add_form(work, nullptr, form.dump ? &made.dumps.back() : nullptr, made.graphs));
    work.messages = silent(work.messages);
  }
  return made;
}

// The form of a part in the plan of --algorithms-of; empty: it has none, or there is no such plan.
Result<std::string> form_in_given_plan(NetworkWork& work, std::string_view part) {
  if (work.asked.algorithms_of.empty()) return std::string();
  PLIMSOLL_TRY(costs_for(work));
  const auto found = work.algorithms_of->forms.find(std::string(part));
  return found == work.algorithms_of->forms.end() ? std::string() : found->second;
}

// The network in each form of its recurrence that the planner chooses from, unrolled first. Moves them out.
Result<std::vector<Network>> recurrences_of(Beginning& beginning, NetworkWork& work) {
  std::vector<Network> networks;
  networks.push_back(std::move(work.model.network));
  if (!beginning.fused) return networks;
  if (work.asked.algorithms_of.empty()) {
    networks.push_back(std::move(*beginning.fused));
    return networks;
  }
  PLIMSOLL_ASSIGN(const std::string given, form_in_given_plan(work, kRecurrence));
  if (given.starts_with("fused")) networks.front() = std::move(*beginning.fused);
  else networks.front().forms.clear();
  return networks;
}

}  // namespace

Result<std::vector<FormOfNetwork>> forms_of_network(NetworkWork& work) {
  const NetworkRequest& asked = work.asked.of_model.network;
  std::vector<Attention> attention = {asked.attention};
  std::vector<LossForm> loss = {asked.loss_form};
  const bool chooses_attention = asked.attention == Attention::automatic,
             chooses_loss = asked.loss_form == LossForm::automatic;
  if (chooses_attention) attention = {Attention::spelled};
  if (chooses_loss) loss = {LossForm::plain};
  if ((chooses_attention || chooses_loss) && work.model.network.stage == NetworkStage::trainable &&
      may_have_fused_forms(work.model.network)) {
    Network fused = work.model.network;
    fuse(fused, Attention::fused, LossForm::fused);
    const auto is_offered = [&](std::string_view part) { return fused.forms.contains(std::string(part)); };
    const bool is_given = !work.asked.algorithms_of.empty();
    if (chooses_attention && is_offered(kAttention)) {
      PLIMSOLL_ASSIGN(const std::string form, form_in_given_plan(work, kAttention));
      if (!is_given) attention.push_back(Attention::fused);
      else if (form.starts_with("fused")) attention = {Attention::fused};
    }
    if (chooses_loss && is_offered(kLossForm)) {
      PLIMSOLL_ASSIGN(const std::string form, form_in_given_plan(work, kLossForm));
      if (!is_given) loss.push_back(LossForm::fused);
      else if (form.starts_with("fused")) loss = {LossForm::fused};
    }
  }
  std::vector<FormOfNetwork> forms;
  for (const Attention one : attention) forms.push_back({one, loss.front()});
  if (loss.size() > 1) forms.push_back({attention.back(), loss.back()});
  return forms;
}

Result<std::optional<FormsOfGraph>> make_graphs(Beginning& beginning, NetworkWork& work, const PaperRules* as_paper,
                                                PassDump* dump) {
  FormsOfGraph made;
  if (beginning.graph) {
    tell_import(work);
    made.graphs.push_back(completed(std::move(*beginning.graph), work.asked));
    if (dump && !dump->after(made.graphs.back())) return std::optional<FormsOfGraph>();
    return std::optional(std::move(made));
  }
  if (as_paper) {
    work.model.network.forms.clear();
    PLIMSOLL_ASSIGN(const bool goes_on, add_form(work, as_paper, dump, made.graphs));
    return goes_on ? std::optional(std::move(made)) : std::nullopt;
  }

  PLIMSOLL_ASSIGN(std::vector<Network> recurrences, recurrences_of(beginning, work));
  work.is_one_form = recurrences.size() > 1;
  const Messages messages = work.messages;
  const std::optional<PassDump> begun = dump ? std::optional(*dump) : std::nullopt;
  std::vector<FormOfModel> each;
  for (Network& network : recurrences) {
    work.model.network = std::move(network);
    if (dump) *dump = *begun;  // each form is dumped as if it were the only one
    PLIMSOLL_ASSIGN(const bool goes_on, run_network_passes(work, dump, kFusePass));
    if (!goes_on) return std::optional<FormsOfGraph>();
    PLIMSOLL_ASSIGN(const std::vector<FormOfNetwork> forms, forms_of_network(work));
    const bool chooses_attention = forms.front().attention != forms.back().attention;
    for (const FormOfNetwork& form : forms)
      each.push_back({&form == &forms.back() ? std::move(work.model.network) : work.model.network, form,
                      chooses_attention, dump ? std::optional(*dump) : std::nullopt});
    work.messages = silent(messages);
  }
  work.messages = messages;
  if (each.size() > 1) {
    PLIMSOLL_ASSIGN(made, make_each(work, std::move(each)));
    return std::optional(std::move(made));
  }
  work.model.network = std::move(each.front().network);
  work.attention = each.front().form.attention;
  work.loss = each.front().form.loss;
  PLIMSOLL_ASSIGN(const bool goes_on, add_form(work, nullptr, dump, made.graphs));
  return goes_on ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace plimsoll
