// The passes on the network: a table, and its runner.
#pragma once

#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/costs.h"
#include "compiler/driver/dump.h"
#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/plan.h"

namespace plimsoll {

// What the passes work on.
struct NetworkWork {
  const PlanningRequest& asked;
  PlanFor purpose;
  Messages messages;
  ImportedModel& model;
  bool as_paper = false;
  std::optional<OpenedCosts> opened = {};
  std::optional<Plan> algorithms_of = {};  // --algorithms-of
  // The forms that the pass `fuse` gives to attention that the model spells out, and to the loss: not automatic.
  Attention attention = Attention::spelled;
  LossForm loss = LossForm::plain;
  bool chooses_attention = false;  // the planner chooses between this form of attention and another
  // The planner chooses between this form of the model and another, so no dump stops the passes.
  bool is_one_form = false;
  bool told_import = false;  // tell_import has run
  std::future<void> dropped = {};  // frees the contents of the model's file
};

struct NetworkPass {
  std::string_view name;
  std::string_view summary;
  NetworkStage stage;  // of the networks that it takes: one that was read from a dump has been through some passes
  bool (*wanted)(const NetworkWork& work);
  Status (*run)(NetworkWork& work);
};

std::span<const NetworkPass> network_passes();

inline constexpr std::string_view kFusePass = "fuse", kLayoutPass = "assign_layouts";

// Runs the passes that are due, up to `before` if it is given. Notes and warnings go to work.messages. False: `dump`
// (nullable) has stopped them.
Result<bool> run_network_passes(NetworkWork& work, PassDump* dump, std::string_view before = {});

// The notes and warnings of the import, where no pass adds to them. A report needs no weights from here on.
void tell_import(NetworkWork& work);

// The costs that a request names, opened on first use: passes before that need no profiler.
Result<OpenedCosts*> costs_for(NetworkWork& work);

}  // namespace plimsoll
