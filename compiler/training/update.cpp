#include "compiler/training/update.h"

#include <algorithm>

#include "runtime/attrs/optimizer.h"

namespace plimsoll {

namespace {

const TensorType kNumber{DataType::f32, {{1}}};

// The lower half of a weight in bf16. Only the update uses it, so it may reside where optimizer state does.
Operand add_low(TaskGraph& graph, TaskBuilder& builder, const Trained& trained) {
  const TensorType type = stored_as(trained.parameter.type, DataType::i16);
  const TensorId low = builder.add_tensor({.name = trained.parameter.name + ".low",
                                           .kind = TensorKind::optimizer_state,
                                           .type = type,
                                           .persistent = true});
  // Parameters are in the order of their tensors: a search for each weight is not linear.
  std::ranges::lower_bound(graph.parameters, trained.weight, {}, &Parameter::tensor)->low = low;
  return {low, Access::update, type};
}

}  // namespace

TensorId add_factor(TaskGraph& graph, TaskBuilder& builder, const std::vector<Trained>& trained, double max_norm,
                    bool unscales) {
  const TensorId factor = builder.add_tensor({.name = "gradients.factor", .kind = TensorKind::stash, .type = kNumber});
  Task task{.name = unscales ? "gradients.unscale" : "gradients.clip",
            .op = "Update",
            .kind = TaskKind::update,
            .layer = "gradients",
            .kernel = unscales ? "UnscaleFactor" : "ClipFactor",
            .attributes = unscales ? to_attributes(UnscaleFactorAttrs{.max_norm = max_norm})
                                   : to_attributes(ClipFactorAttrs{.max_norm = max_norm})};
  task.may_run_again = false;
  int64_t elements = 0;
  for (const Trained& one : trained) {
    const TensorType type = one.parameter.type;
    task.operands.push_back({one.gradient, Access::read, type});
    elements += type.elements().fixed;
  }
  task.operands.push_back({factor, Access::write, kNumber});
  task.flops = {.fixed = 2 * elements};
  graph.tasks.push_back(std::move(task));
  return factor;
}

void add_update(TaskGraph& graph, TaskBuilder& builder, const Trained& trained, const OptimizerOptions& optimizer,
                TensorId factor) {
  const std::string& parameter = trained.parameter.name;
  const TensorType type = trained.parameter.type;
  // In 8 bits, what is never negative needs no sign.
  const auto state = [&](const char* name, bool has_sign = true) {
    const TensorType stored = stored_as(type, optimizer.state == StateType::fp32   ? type.type
                                              : optimizer.state == StateType::bf16 ? DataType::bf16
                                              : has_sign                           ? DataType::q8
                                                                                   : DataType::uq8);
    const TensorId tensor = builder.add_tensor({.name = parameter + "." + name,
                                                .kind = TensorKind::optimizer_state,
                                                .type = stored,
                                                .persistent = true});
    return Operand{tensor, Access::update, stored};
  };
  Task task{.name = parameter + ".update", .op = "Update", .kind = TaskKind::update, .layer = trained.layer};
  task.operands = {{trained.weight, Access::update, graph.tensors[trained.weight].type},
                   {trained.gradient, Access::read, type}};
  task.may_run_again = false;
  switch (optimizer.kind) {
    case OptimizerKind::sgd:
      task.kernel = "SgdUpdate";
      task.attributes = to_attributes(SgdAttrs{.weight_decay = optimizer.weight_decay});
      break;
    case OptimizerKind::momentum:
      task.kernel = "MomentumUpdate";
      task.attributes =
          to_attributes(MomentumAttrs{.momentum = optimizer.momentum,
                                      .weight_decay = optimizer.weight_decay,
                                      .nesterov = optimizer.nesterov});
      task.operands.push_back(state("momentum"));
      break;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      task.kernel = "AdamUpdate";
      task.attributes = to_attributes(
          AdamAttrs{.weight_decay = optimizer.weight_decay, .decoupled = optimizer.kind == OptimizerKind::adamw});
      task.operands.push_back(state("m"));
      task.operands.push_back(state("v", false));
      break;
    case OptimizerKind::lamb:
      task.kernel = "LambUpdate";
      task.attributes = to_attributes(LambAttrs{.weight_decay = optimizer.weight_decay});
      task.operands.push_back(state("m"));
      task.operands.push_back(state("v", false));
      task.operands.push_back(
          {builder.add_tensor({.name = parameter + ".ratio", .kind = TensorKind::stash, .type = kNumber}),
           Access::write, kNumber});
      break;
    case OptimizerKind::lion:
      task.kernel = "LionUpdate";
      task.attributes = to_attributes(LionAttrs{.weight_decay = optimizer.weight_decay});
      task.operands.push_back(state("m"));
      break;
  }
  if (is_narrow(trained.parameter.reduced)) task.operands.push_back(add_low(graph, builder, trained));
  if (factor.valid()) task.operands.push_back({factor, Access::read, kNumber});
  task.flops = flops_per_element(type, 4);
  graph.tasks.push_back(std::move(task));
}

}  // namespace plimsoll
