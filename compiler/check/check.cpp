#include "compiler/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "compiler/check/rounds.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

void touches_of(const Plan& plan, const Step& step, std::vector<Touch>& touches) {
  touches.clear();
  switch (step.kind) {
    case StepKind::compute: {
      const PlanTask& task = plan.tasks[step.task];
      for (TensorId tensor : task.reads) touches.push_back({tensor, Access::read});
      if (!step.recompute)
        for (TensorId tensor : task.updates) touches.push_back({tensor, Access::update});
      for (TensorId tensor : task.writes) {
        const bool remembered = std::find(task.remembers.begin(), task.remembers.end(), tensor) != task.remembers.end();
        touches.push_back({tensor, step.recompute && remembered ? Access::read : Access::write});
      }
      break;
    }
    case StepKind::offload: touches.push_back({step.tensor, Access::read}); break;
    case StepKind::prefetch:
    case StepKind::load: touches.push_back({step.tensor, Access::write}); break;
    case StepKind::reduce:
      for (TensorId tensor : step.bucket) touches.push_back({tensor, Access::update});
      break;
  }
}

std::vector<Violation> check_plan(const Plan& plan, int threads) {
  const auto policy = threads > 1 ? std::launch::async : std::launch::deferred;
  Verdict names(plan), form(plan), execution(plan), memory(plan), others(plan);
  check_form(plan, form);
  if (!form.clean()) {
    check_names(plan, names);
    names.add(form.take());
    return names.take();
  }
  std::future<void> beside = std::async(policy, [&] {
    check_names(plan, names);
    check_execution(plan, execution);
    check_rounds_of_copies(plan, others);
    check_summary(plan, others);
  });
  check_memory(plan, threads, memory);
  beside.get();
  if (!names.clean()) return names.take();  // the other messages would be ambiguous
  execution.add(memory.take());
  execution.add(others.take());
  return execution.take();
}

std::string_view to_string(Rule rule) {
  switch (rule) {
    case Rule::form: return "form";
    case Rule::execution: return "execution";
    case Rule::residency: return "residency";
    case Rule::value: return "value";
    case Rule::overlap: return "overlap";
    case Rule::host_slot: return "host slot";
    case Rule::workspace: return "workspace";
    case Rule::bounds: return "bounds";
    case Rule::current: return "current";
    case Rule::result: return "result";
    case Rule::summary: return "summary";
    case Rule::graph: return "graph";
  }
  return "";
}

std::string to_string(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations)
    text += fmt::format("{}: {}\n", to_string(violation.rule), violation.message);
  return text;
}

}  // namespace plimsoll
