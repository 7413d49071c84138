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

// What a form is made of.
struct FormOfModel {
  Network network;
  FormOfNetwork form;
};

// What the passes say of one form, they say of the others.
Result<FormsOfGraph> make_each(NetworkWork& work, const std::vector<FormOfModel>& forms, bool chooses_attention,
                               PassDump* dump) {
  FormsOfGraph made;
  const Messages silent = {.show_progress = work.messages.show_progress};
  bool told_import = work.told_import;
  for (const FormOfModel& of_model : forms) {
    work.model.network = of_model.network;
    NetworkWork form{.asked = work.asked,
                     .purpose = work.purpose,
                     .messages = &of_model == &forms.front() ? work.messages : silent,
                     .model = work.model,
                     .opened = std::move(work.opened),
                     .algorithms_of = std::move(work.algorithms_of),
                     .attention = of_model.form.attention,
                     .loss = of_model.form.loss,
                     .chooses_attention = chooses_attention,
                     .is_one_form = true,
                     .told_import = told_import};
    if (dump) made.dumps.push_back(*dump);
    PLIMSOLL_TRY(add_form(form, nullptr, dump ? &made.dumps.back() : nullptr, made.graphs));
    work.opened = std::move(form.opened);
    work.algorithms_of = std::move(form.algorithms_of);
    told_import = true;
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

FormOfNetwork form_beside_recurrence(const ModelRequest& request) {
  const NetworkRequest& asked = request.network;
  return {.attention = asked.attention == Attention::automatic ? Attention::fused : asked.attention,
          .loss = asked.loss_form == LossForm::automatic ? LossForm::plain : asked.loss_form};
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
  if (as_paper) work.model.network.forms.clear();
  if (beginning.fused && !as_paper) {
    PLIMSOLL_ASSIGN(const std::string given, form_in_given_plan(work, kRecurrence));
    if (work.asked.algorithms_of.empty()) {
      const FormOfNetwork form = form_beside_recurrence(work.asked.of_model);
      PLIMSOLL_ASSIGN(made,
                      make_each(work, {{std::move(work.model.network), form}, {std::move(*beginning.fused), form}},
                                false, dump));
      return std::optional(std::move(made));
    }
    if (given.starts_with("fused")) work.model.network = std::move(*beginning.fused);
    else work.model.network.forms.clear();
  }
  std::vector<FormOfNetwork> forms = {FormOfNetwork{}};
  if (!as_paper) {
    PLIMSOLL_ASSIGN(const bool goes_on, run_network_passes(work, dump, kFusePass));
    if (!goes_on) return std::optional<FormsOfGraph>();
    PLIMSOLL_ASSIGN(forms, forms_of_network(work));
  }
  if (forms.size() == 1) {
    work.attention = forms.front().attention;
    work.loss = forms.front().loss;
    PLIMSOLL_ASSIGN(const bool goes_on, add_form(work, as_paper, dump, made.graphs));
    return goes_on ? std::optional(std::move(made)) : std::nullopt;
  }
  work.told_import = true;
  std::vector<FormOfModel> each;
  for (const FormOfNetwork& form : forms) each.push_back({work.model.network, form});
  const bool chooses_attention = std::any_of(
      forms.begin(), forms.end(), [&](const FormOfNetwork& form) { return form.attention != forms[0].attention; });
  PLIMSOLL_ASSIGN(made, make_each(work, each, chooses_attention, dump));
  return std::optional(std::move(made));
}

}  // namespace plimsoll
