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

}  // namespace

Result<std::vector<Attention>> forms_of_attention(NetworkWork& work) {
  const Attention asked = work.asked.of_model.network.attention;
  if (asked != Attention::automatic) return std::vector{asked};
  if (work.model.network.stage != NetworkStage::trainable) return std::vector{Attention::spelled};
  Network fused = work.model.network;
  fuse(fused, Attention::fused);
  if (fused.attention.empty()) return std::vector{Attention::spelled};
  if (!work.asked.algorithms_of.empty()) {
    PLIMSOLL_TRY(costs_for(work));
    return std::vector{work.algorithms_of->attention.starts_with(fused.attention) ? Attention::fused
                                                                                  : Attention::spelled};
  }
  return std::vector{Attention::spelled, Attention::fused};
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
  // What the passes say of one form, they say of the other.
  const Messages silent = {.show_progress = work.messages.show_progress};
  const Network trainable = work.model.network;
  for (const Attention attention : forms) {
    work.model.network = trainable;
    NetworkWork form{.asked = work.asked,
                     .purpose = work.purpose,
                     .messages = attention == forms.front() ? work.messages : silent,
                     .model = work.model,
                     .opened = std::move(work.opened),
                     .algorithms_of = std::move(work.algorithms_of),
                     .attention = attention,
                     .is_one_form = true,
                     .told_import = true};
    if (dump) made.dumps.push_back(*dump);
    PLIMSOLL_TRY(add_form(form, as_paper, dump ? &made.dumps.back() : nullptr, made.graphs));
    work.opened = std::move(form.opened);
    work.algorithms_of = std::move(form.algorithms_of);
  }
  return std::optional(std::move(made));
}

}  // namespace plimsoll
