#include "passes/schedule_steps.h"

#include "passes/schedule/model.h"

namespace plimsoll {
namespace {

// Writes a schedule as the plan's steps. From here on, persistent tensors that are copied reside in the host pool.
void put_steps(Plan& plan, const schedule::Program& program) {
  plan.steps = {};
  plan.steps.reserve(program.trace.size());
  const auto resides_on_host = [&](TensorId id) {
    if (!plan.tensors[id].persistent) return;
    plan.tensors.edit(id).persistent = false;
    plan.tensors.edit(id).home_offset = 0;  // passes/host_pool.h assigns the offset
  };
  for (const schedule::Op& op : program.trace) {
    plan.steps.push_back(schedule::as_step(op));
    if (op.kind == StepKind::prefetch || op.kind == StepKind::load) resides_on_host(TensorId(op.id));
  }
  for (size_t step = 0; step < program.waits.size(); ++step)
    for (const int32_t earlier : program.waits[step])
      plan.steps[StepId(static_cast<int64_t>(step))].waits.push_back(StepId(earlier));
  for (const TensorId id : ids_of(plan.tensors))
    if (const TensorId whole = plan.tensors[id].slice_of; whole.valid()) resides_on_host(whole);
}

}  // namespace

Status schedule_steps(Plan& plan, const Context& context) {
  const Policy& policy = context.policy;
  if (policy.decided) put_steps(plan, *policy.decided);
  if (policy.decided || !policy.schedule) return {};
  const schedule::Model model = schedule::make_model(plan, context);
  put_steps(plan, policy.schedule({context.graph, model, plan.rank_samples(), context.live_limit}));
  return {};
}

}  // namespace plimsoll
