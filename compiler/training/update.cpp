#include "compiler/training/update.h"

#include "runtime/attrs/optimizer.h"

namespace plimsoll {

void add_update(TaskGraph& graph, TaskBuilder& builder, const Trained& trained, const OptimizerOptions& optimizer) {
  const std::string& parameter = trained.parameter.name;
  const TensorType type = trained.parameter.type;
  const auto state = [&](const char* name) {
    const TensorId tensor = builder.add_tensor({.name = parameter + "." + name,
                                                .kind = TensorKind::optimizer_state,
                                                .type = type,
                                                .persistent = true});
    return Operand{tensor, Access::update, type};
  };
  Task task{.name = parameter + ".update", .op = "Update", .kind = TaskKind::update, .layer = trained.layer};
  task.operands = {{trained.weight, Access::update, type}, {trained.gradient, Access::read, type}};
  task.may_run_again = false;
  switch (optimizer.kind) {
    case OptimizerKind::sgd:
      task.kernel = "SgdUpdate";
      task.attributes = to_attributes(SgdAttrs{.weight_decay = optimizer.weight_decay});
      break;
    case OptimizerKind::momentum:
      task.kernel = "MomentumUpdate";
      task.attributes =
          to_attributes(MomentumAttrs{.momentum = optimizer.momentum, .weight_decay = optimizer.weight_decay});
      task.operands.push_back(state("momentum"));
      break;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      task.kernel = "AdamUpdate";
      task.attributes = to_attributes(AdamAttrs{.beta1 = optimizer.beta1,
                                                .beta2 = optimizer.beta2,
                                                .epsilon = optimizer.epsilon,
                                                .weight_decay = optimizer.weight_decay,
                                                .decoupled = optimizer.kind == OptimizerKind::adamw});
      task.operands.push_back(state("m"));
      task.operands.push_back(state("v"));
      break;
  }
  task.flops = flops_per_element(type, 4);
  graph.tasks.push_back(std::move(task));
}

}  // namespace plimsoll
