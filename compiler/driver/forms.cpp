#include "compiler/driver/forms.h"

#include <utility>

#include "compiler/training/build.h"

namespace plimsoll {
namespace {

TaskGraph completed(TaskGraph graph, const PlanningRequest& asked) {
  graph.rules = asked.rules;
  graph.ranks = asked.ranks;
  return graph;
}

// Runs the passes from `fuse` on, and builds the task graph. False: `dump` (nullable) has stopped.
Result<bool> add_form(NetworkWork& work, const PaperRules* as_paper, PassDump* dump, std::vector<TaskGraph>& graphs) {
  PLIMSOLL_ASSIGN(const bool goes_on, run_network_passes(work, dump));
  if (!goes_on) return false;
  const Network& network = work.model.network;
  const ModelRequest& of_model = work.asked.of_model;
  PLIMSOLL_ASSIGN(TaskGraph graph, as_paper ? as_paper->build(network, of_model.batch)
                                            : build_task_graph(network, training_options_of(of_model)));
  graphs.push_back(completed(std::move(graph), work.asked));
  return !dump || dump->after(graphs.back()) || work.is_one_form;
}

// What a form is made of.
struct FormOfModel {
  Network network;
  Attention attention;
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
                     .attention = of_model.attention,
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

Result<std::vector<Attention>> forms_of_attention(NetworkWork& work) {
  const Attention asked = work.asked.of_model.network.attention;
  if (asked != Attention::automatic) return std::vector{asked};
  if (work.model.network.stage != NetworkStage::trainable) return std::vector{Attention::spelled};
  Network fused = work.model.network;
  fuse(fused, Attention::fused);
  if (!fused.forms.contains(std::string(kAttention))) return std::vector{Attention::spelled};
  if (!work.asked.algorithms_of.empty()) {
    PLIMSOLL_ASSIGN(const std::string form, form_in_given_plan(work, kAttention));
    return std::vector{form.starts_with("fused") ? Attention::fused : Attention::spelled};
  }
  return std::vector{Attention::spelled, Attention::fused};
}

Attention attention_beside_recurrence(const ModelRequest& request) {
  return request.network.attention == Attention::automatic ? Attention::fused : request.network.attention;
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
      const Attention attention = attention_beside_recurrence(work.asked.of_model);
      PLIMSOLL_ASSIGN(
          made, make_each(work, {{std::move(work.model.network), attention}, {std::move(*beginning.fused), attention}},
                          false, dump));
      return std::optional(std::move(made));
    }
    if (given.starts_with("fused")) work.model.network = std::move(*beginning.fused);
    else work.model.network.forms.clear();
  }
  std::vector<Attention> forms = {Attention::spelled};
  if (!as_paper) {
    PLIMSOLL_ASSIGN(const bool goes_on, run_network_passes(work, dump, kFusePass));
    if (!goes_on) return std::optional<FormsOfGraph>();
    PLIMSOLL_ASSIGN(forms, forms_of_attention(work));
  }
  if (forms.size() == 1) {
    work.attention = forms.front();
    PLIMSOLL_ASSIGN(const bool goes_on, add_form(work, as_paper, dump, made.graphs));
    return goes_on ? std::optional(std::move(made)) : std::nullopt;
  }
  work.told_import = true;
  std::vector<FormOfModel> each;
  for (const Attention attention : forms) each.push_back({work.model.network, attention});
  PLIMSOLL_ASSIGN(made, make_each(work, each, true, dump));
  return std::optional(std::move(made));
}

}  // namespace plimsoll
