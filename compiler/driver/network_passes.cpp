#include "compiler/driver/network_passes.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/costs/device.h"
#include "compiler/costs/pinned.h"
#include "compiler/driver/layouts.h"
#include "compiler/driver/plan_file.h"
#include "compiler/network/pipeline.h"
#include "compiler/papers/rules.h"

namespace plimsoll {
namespace {

// A plan for a device without oneDNN has no use for blocked layouts, unless they are requested.
bool wants_plain_layout(const PlanningRequest& request, PlanFor purpose) {
  const ModelRequest& model = request.of_model;
  const CostSource source = costs_of(request, purpose);
  if (model.target != "host" || purpose != PlanFor::report || model.layout != "auto" || !source.names_a_device())
    return false;
  const Result<Device> device = find_device(source.name);
  return device.ok() && device->kind != "host";
}

// What the import and make_trainable have noted. A report needs no weights from here on.
void tell(NetworkWork& work, const std::vector<std::string>& notes) {
  work.told_import = true;
  for (const std::string& note : notes) work.messages.note(note);
  for (const std::string& warning : work.model.warnings) work.messages.warning(warning);
  if (work.purpose != PlanFor::report) return;
  if (jobs_of(work.asked) > 1)
    work.dropped = std::async(std::launch::async, [file = std::move(work.model.file)]() mutable { file.reset(); });
  else work.model.file.reset();
}

Status trainable(NetworkWork& work) {
  const NetworkRequest& asked = work.asked.of_model.network;
  std::vector<std::string> notes = work.model.notes;
  StatedLoss loss;
  if (Status made = make_trainable(work.model.network, asked, notes, &loss); !made.ok()) {
    // They may say why: batch normalizations that were folded leave tensors of which nothing says what they are.
    for (const std::string& warning : work.model.warnings) work.messages.warning(warning);
    return made;
  }
  // The default loss may not be the one that the user means, so -q does not hide this line.
  if (loss.is_default) work.messages.choice(loss.line);
  else work.messages.note(loss.line);
  if (!loss.warning.empty()) work.messages.warning(loss.warning);
  tell(work, notes);
  return {};
}

Status fused(NetworkWork& work) {
  fuse(work.model.network, work.attention, work.loss);
  if (work.chooses_attention && work.attention == Attention::spelled)
    work.model.network.forms[std::string(kAttention)] = "spelled";
  if (work.loss == LossForm::fused && !work.model.network.forms.contains(std::string(kLossForm)))
    work.messages.note(
        "--loss-form fused changes nothing: only the cross entropy that ends the network can be one operator with the "
        "product before it, of at least 65,536 logits per sample, which nothing else reads");
  return {};
}

Status precise(NetworkWork& work) {
  return assign_precision(work.model.network, work.asked.of_model.network.precision);
}

Status laid_out(NetworkWork& work) {
  PLIMSOLL_ASSIGN(const OpenedCosts* const opened, costs_for(work));
  lay_out(work.asked, work.model.network, wants_plain_layout(work.asked, work.purpose), opened->of_layouts(),
          opened->source, work.messages);
  return {};
}

// begin_planning has read it.
Status as_read(NetworkWork&) { return {}; }

bool always(const NetworkWork&) { return true; }
bool unless_paper(const NetworkWork& work) { return !work.as_paper; }
bool if_narrow(const NetworkWork& work) {
  return !work.as_paper && work.asked.of_model.network.precision.precision != Precision::fp32;
}

constexpr NetworkPass kPasses[] = {
    {"import", "simplify the network of the model file", NetworkStage::imported, always, as_read},
    {"make_trainable", "add the loss; decide which weights and statistics are trained", NetworkStage::imported,
     unless_paper, trainable},
    // From here on, what is trained is fixed.

    {kFusePass, "compute the same function with fewer nodes", NetworkStage::trainable, unless_paper, fused},
    {"assign_precision", "with --precision bf16 or fp16: decide which values are stored in 16 bits",
     NetworkStage::fused, if_narrow, precise},
    {kLayoutPass, "choose the memory layout of each value", NetworkStage::fused, unless_paper, laid_out},
    // From here on, the network does not change.
};

}  // namespace

std::span<const NetworkPass> network_passes() { return kPasses; }

void tell_import(NetworkWork& work) { tell(work, work.model.notes); }

Result<bool> run_network_passes(NetworkWork& work, PassDump* dump, std::string_view before) {
  const Network& network = work.model.network;
  if (!work.as_paper && network.stage != NetworkStage::imported && !work.told_import) tell_import(work);
  for (const NetworkPass& pass : kPasses) {
    if (pass.name == before) break;
    if (network.stage != pass.stage || !pass.wanted(work)) continue;
    PLIMSOLL_TRY(pass.run(work));
    if (dump && !dump->after(pass.name, network) && !work.is_one_form) return false;
  }
  if (!work.as_paper) return true;
  std::vector<std::string> notes = work.model.notes;
  PLIMSOLL_TRY(choose_output(work.model.network, work.asked.of_model.network.loss.output, notes));
  tell(work, notes);
  return true;
}

Result<OpenedCosts*> costs_for(NetworkWork& work) {
  if (work.opened) return &*work.opened;
  PLIMSOLL_ASSIGN(OpenedCosts opened, open_costs(work.asked, work.purpose, work.messages));
  work.messages.detail(fmt::format("costs: {}, {}", opened.source, opened.device));
  if (!work.asked.algorithms_of.empty()) {
    PLIMSOLL_ASSIGN(work.algorithms_of, read_plan(work.asked.algorithms_of));
    opened.costs = pinned(std::move(opened.costs), algorithms_of(*work.algorithms_of));
  }
  return &work.opened.emplace(std::move(opened));
}

}  // namespace plimsoll
