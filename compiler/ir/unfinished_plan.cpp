#include "compiler/ir/unfinished_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "compiler/ir/plan_text.h"
#include "compiler/ir/text_fields.h"

namespace plimsoll {

template <>
inline constexpr int kCount<ScheduleSource> = static_cast<int>(ScheduleSource::searched) + 1;

std::string_view to_string(ScheduleSource source) {
  switch (source) {
    case ScheduleSource::none: return "none";
    case ScheduleSource::policy: return "policy";
    case ScheduleSource::searched: return "searched";
  }
  return "?";
}

namespace {

// Calls v(name, field, value of an absent field) in print order.
template <class Figures, class Visitor>
void visit_figures(Figures& figures, Visitor&& v) {
  v("budget", figures.budget_bytes, int64_t{-1});
  v("host_budget", figures.host_budget_bytes, int64_t{-1});
  v("minimum", figures.minimum_bytes, int64_t{0});
  v("unlimited", figures.unconstrained_bytes, int64_t{0});
  v("unlimited_seconds", figures.unconstrained_seconds, 0.0);
  v("ideal_seconds", figures.ideal_seconds, 0.0);
  v("bound_seconds", figures.bound_seconds, 0.0);
}

// As in the lines of a plan, but without a number: a schedule may name a step several times.
std::string name_of(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::compute)
    return fmt::format("{}{}", step.recompute ? "recompute:" : "", spelled(plan.tasks[step.task].name));
  return fmt::format("{}:{}", to_string(step.kind), spelled(plan.tensors[step.tensor].name));
}

// Where the text of the plan begins: at the first line with the word "plan".
size_t begin_of_plan(std::string_view text) {
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const size_t word = text.find_first_not_of(" \t\r", at);
    if (word != text.npos && text.substr(word).starts_with("plan ")) return at;
    if (text.find('\n', at) == text.npos) break;
  }
  return text.size();
}

class UnfinishedPlanParser {
 public:
  UnfinishedPlanParser(std::string_view text, const std::string& what, UnfinishedPlan& made)
      : cursor_(text, what), made_(made) {
    for (const TensorId id : ids_of(made.plan.tensors)) tensors_.add(cursor_, made.plan.tensors[id].name, id);
    for (const TaskId id : ids_of(made.plan.tasks)) tasks_.add(cursor_, made.plan.tasks[id].name, id);
  }

  Status run() {
    if (!cursor_.next_line()) cursor_.fail("the text is empty");
    header();
    while (cursor_.next_line()) line();
    if (!cursor_.error() && made_.policy.empty()) cursor_.fail("there is no line 'decided'");
    return cursor_.error() ? Status(*cursor_.error()) : Status();
  }

 private:
  void header() {
    if (!cursor_.accept_word("unfinished")) return cursor_.fail("expected 'unfinished'");
    if (!cursor_.accept_word("v1")) return cursor_.fail("expected 'v1', the only supported version");
    cursor_.expect("after=");
    made_.after = cursor_.name();
    cursor_.expect("graph=");
    made_.graph = cursor_.name();
    cursor_.expect("costs=");
    made_.costs = cursor_.name();
  }

  void line() {
    if (cursor_.accept_word("asked")) {
      const std::string flag = cursor_.name();
      made_.asked[flag] = cursor_.name();
      return;
    }
    if (cursor_.accept_word("decided")) return decided();
    if (cursor_.accept_word("figures")) return figures();
    if (cursor_.accept_word("step")) return step();
    cursor_.fail("expected asked, decided, figures, step or plan");
  }

  void decided() {
    made_.policy = cursor_.name();
    cursor_.expect("order=");
    made_.order = cursor_.name();
    cursor_.expect("algorithms=");
    made_.algorithms = cursor_.name();
    cursor_.expect("schedule=");
    made_.source = read_word<ScheduleSource>(cursor_);
    if (cursor_.accept("live_limit=")) made_.live_limit = read_count(cursor_, 0);
    if (made_.policy.empty()) cursor_.fail("the policy has no name");
  }

  void figures() {
    while (!cursor_.done()) {
      const std::string key = cursor_.word();
      cursor_.expect("=");
      bool found = false;
      visit_figures(made_.figures, [&](const char* name, auto& field, const auto&) {
        if (found || key != name) return;
        found = true;
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, double>) field = cursor_.real();
        else field = read_count(cursor_, 0);
      });
      for (const std::string_view part : kPartsWithForms)
        if (key == part) found = true, made_.figures.forms[key] = cursor_.name();
      if (!found) cursor_.fail(fmt::format("there is no figure '{}'", key));
    }
  }

  void step() {
    Step step;
    step.recompute = cursor_.accept("recompute:");
    if (!step.recompute)
      for (const StepKind kind : {StepKind::offload, StepKind::prefetch, StepKind::load})
        if (step.kind == StepKind::compute && cursor_.accept(fmt::format("{}:", to_string(kind)))) step.kind = kind;
    const std::string name = cursor_.name();
    if (cursor_.error()) return;
    if (step.kind == StepKind::compute) step.task = tasks_.find(cursor_, name);
    else step.tensor = tensors_.find(cursor_, name);
    made_.schedule.push_back(std::move(step));
  }

  TextCursor cursor_;
  UnfinishedPlan& made_;
  Names<TensorId> tensors_{"tensor"};
  Names<TaskId> tasks_{"task"};
};

}  // namespace

std::string to_text(const UnfinishedPlan& unfinished) {
  std::string text = fmt::format("unfinished v1 after={} graph={} costs={}\n", spelled(unfinished.after),
                                 spelled(unfinished.graph), spelled(unfinished.costs));
  for (const auto& [flag, value] : unfinished.asked)
    text += fmt::format("asked {} {}\n", spelled(flag), spelled(value));
  text += fmt::format("decided {} order={} algorithms={} schedule={}", spelled(unfinished.policy),
                      spelled(unfinished.order), spelled(unfinished.algorithms), to_string(unfinished.source));
  if (unfinished.live_limit >= 0) text += fmt::format(" live_limit={}", unfinished.live_limit);
  std::string figures;
  visit_figures(unfinished.figures, [&](const char* name, const auto& field, const auto& absent) {
    if (field != absent) figures += fmt::format(" {}={}", name, field);
  });
  figures += options_of(unfinished.figures.forms);
  text += figures.empty() ? "\n" : "\nfigures" + figures + "\n";
  for (const Step& step : unfinished.schedule) text += "step " + name_of(unfinished.plan, step) + "\n";
  return text + to_text(unfinished.plan);
}

Result<UnfinishedPlan> unfinished_plan_from_text(std::string_view text, const std::string& what) {
  const size_t begin = begin_of_plan(text);
  const std::string_view head = text.substr(0, begin);
  // Its lines are counted from the beginning of the whole text.
  const std::string above(static_cast<size_t>(std::count(head.begin(), head.end(), '\n')), '\n');
  UnfinishedPlan made;
  if (begin == text.size()) {  // the head may explain why
    PLIMSOLL_TRY(UnfinishedPlanParser(head, what, made).run());
    return Error{ExitCode::invalid_model, fmt::format("{}: line {}: expected 'plan'", what, above.size() + 1)};
  }
  PLIMSOLL_ASSIGN(made.plan, plan_from_text(above + std::string(text.substr(begin)), what));
  PLIMSOLL_TRY(UnfinishedPlanParser(head, what, made).run());
  return made;
}

}  // namespace plimsoll
