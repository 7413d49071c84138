#include "compiler/ir/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "compiler/ir/text_fields.h"

namespace plimsoll {
namespace {

// What a step puts into the arena: here a residency can begin.
std::vector<TensorId> puts(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::compute) return plan.tasks[step.task].written(step.recompute);
  const bool leaves_it = step.kind == StepKind::offload || step.kind == StepKind::reduce;
  return leaves_it ? std::vector<TensorId>{} : std::vector{step.tensor};
}

template <class Body>
void for_each_touch(const Plan& plan, const Step& step, Body body) {
  for (TensorId tensor : step.bucket) body(tensor);
  if (step.kind == StepKind::reduce) return;
  if (step.kind != StepKind::compute) return body(step.tensor);
  const PlanTask& task = plan.tasks[step.task];
  for (const auto* list : {&task.reads, &task.writes}) {
    for (TensorId tensor : *list) body(tensor);
  }
  if (!step.recompute)
    for (TensorId tensor : task.updates) body(tensor);
}

// For each tensor, in issue order, from a step that puts it into the arena to the last touch before the next that does.
struct Span {
  int32_t first = 0, last = 0;
};

IdVector<TensorId, std::vector<Span>> spans_of(const Plan& plan) {
  IdVector<TensorId, std::vector<Span>> spans(plan.tensors.size());
  for (StepId id : ids_of(plan.steps)) {
    const std::vector<TensorId> put = puts(plan, plan.steps[id]);
    for (TensorId tensor : put) spans[tensor].push_back({id.value, id.value});
    for_each_touch(plan, plan.steps[id], [&](TensorId tensor) {
      if (!spans[tensor].empty()) spans[tensor].back().last = id.value;
    });
  }
  return spans;
}

// Spans begin in ascending order.
const Span* span_from(const std::vector<Span>& spans, int32_t first) {
  const auto found = std::lower_bound(spans.begin(), spans.end(), first, [](const Span& span, int32_t at) { return span.first < at; });
  return found != spans.end() && found->first == first ? &*found : nullptr;
}

// ---------------------------------------------------------------------------------------------------- printing

std::string slice_of_plan(const Plan& plan, const PlanTensor& tensor) {
  if (!tensor.slice_of.valid()) return "";
  return " slice " + spelled_tensor(plan.tensors[tensor.slice_of].name) + (tensor.slice_begin > 0 ? fmt::format(" from {}", tensor.slice_begin) : "");
}

enum class Shown { hold, on_step, kept_on_step, apart };

std::vector<Shown> how_shown(const Plan& plan) {
  const IdVector<TensorId, std::vector<Span>> spans = spans_of(plan);
  const int32_t count = static_cast<int32_t>(plan.steps.size());
  std::vector<Shown> shown;
  IdVector<TensorId, int32_t> latest(plan.tensors.size(), -1);  // one residency of a tensor on a step, the others apart
  for (const Residency& residency : plan.residencies) {
    const PlanTensor& tensor = plan.tensors[residency.tensor];
    Shown how = Shown::apart;
    if (residency.bytes == tensor.bytes) {
      if (residency.first_step == -1 && residency.last_step == count && tensor.persistent) how = Shown::hold;
      const Span* const span = span_from(spans[residency.tensor], residency.first_step);
      if (span && latest[residency.tensor] != residency.first_step) {
        if (residency.last_step == span->last) how = Shown::on_step;
        else if (residency.last_step == count) how = Shown::kept_on_step;
        if (how != Shown::apart) latest[residency.tensor] = residency.first_step;
      }
    }
    shown.push_back(how);
  }
  return shown;
}

std::string list(const Plan& plan, const char* word, const std::vector<TensorId>& tensors) {
  if (tensors.empty()) return "";
  std::string text = fmt::format(" {}", word);
  for (TensorId tensor : tensors) text += " " + spelled_tensor(plan.tensors[tensor].name);
  return text;
}

std::string at(const Plan& plan, const Residency& residency) {
  return fmt::format("{}@{:#x}", spelled_tensor(plan.tensors[residency.tensor].name), residency.offset);
}

std::string header_of(const Plan& plan) {
  std::string text = fmt::format("plan {} v1 batch={} sub_batch={} rounds={} last={}{}{}\n", spelled(plan.model_name), plan.batch,
                                 plan.sub_batch, plan.rounds, plan.last_sub_batch, plan.ranks > 1 ? fmt::format(" ranks={}", plan.ranks) : "",
                                 plan.slice_bytes > 0 ? fmt::format(" slices={}", plan.slice_bytes) : "");
  if (!plan.generator.empty()) text += fmt::format("generator {}\n", spelled(plan.generator));
  if (!plan.model_sha256.empty()) text += fmt::format("sha256 {}\n", spelled(plan.model_sha256));
  text += fmt::format("target {}{}{}\n", spelled(plan.target_kind), option("device", plan.device), option("costs", plan.costs));
  for (const auto& [name, version] : plan.libraries) text += fmt::format("library {} {}\n", spelled(name), spelled(version));
  if (!plan.layout.empty()) text += fmt::format("layout {}\n", spelled(plan.layout));
  text += fmt::format("policy {} rules={}\nbudget {}\n", spelled(plan.policy), spelled(plan.rules), plan.budget_bytes);
  std::string summary;
  const auto figure = [&](const char* key, const auto& field) {
    if (field != 0) summary += fmt::format(" {}={}", key, field);
  };
  visit_summary(plan.summary, figure);
  visit_summary_of_ranks(plan.summary, figure);
  return summary.empty() ? text : text + "summary" + summary + "\n";
}

std::string line_of(const Plan& plan, const PlanTask& task) {
  std::string line = fmt::format("task {} {} {}{}", spelled(task.name), spelled(task.op), to_string(task.kind), option("layer", task.layer));
  line += list(plan, "read", task.reads) + list(plan, "write", task.writes) + list(plan, "update", task.updates) + list(plan, "remember", task.remembers);
  for (const Task::InPlace& pair : task.in_place) line += list(plan, "in_place", {pair.read, pair.written});
  if (task.flops != 0) line += fmt::format(" flops={}", task.flops);
  if (task.bytes_moved != 0) line += fmt::format(" bytes_moved={}", task.bytes_moved);
  const FastestAlgorithm& fastest = task.fastest;
  if (!fastest.algorithm.empty())
    line += fmt::format(" fastest={} workspace={} seconds={}", spelled(fastest.algorithm), fastest.workspace_bytes, fastest.seconds);
  return line + "\n";
}

// ---------------------------------------------------------------------------------------------------- parsing

class PlanParser {
 public:
  PlanParser(std::string_view text, const std::string& what) : cursor_(text, what) {}

  Result<Plan> run() {
    if (!cursor_.next_line()) cursor_.fail("there is nothing to read");
    header();
    while (cursor_.next_line()) line();
    if (cursor_.error()) return *cursor_.error();
    fill_lasts();
    return std::move(plan_);
  }

 private:
  struct Begun {
    size_t residency = 0;
    bool kept = false;
  };

  void header() {
    if (!cursor_.accept_word("plan")) return cursor_.fail("expected 'plan'");
    plan_.model_name = cursor_.name();
    if (!cursor_.accept_word("v1")) return cursor_.fail("expected 'v1', the only version there is");
    cursor_.expect("batch=");
    plan_.batch = read_count(cursor_, 0);
    cursor_.expect("sub_batch=");
    plan_.sub_batch = read_count(cursor_, 0);
    cursor_.expect("rounds=");
    plan_.rounds = read_count(cursor_, 0);
    cursor_.expect("last=");
    plan_.last_sub_batch = read_count(cursor_, 0);
    if (cursor_.accept("ranks=")) plan_.ranks = read_count(cursor_, 1);
    if (cursor_.accept("slices=")) plan_.slice_bytes = read_count(cursor_, 1);
  }

  void line() {
    if (cursor_.accept_word("tensor")) return tensor();
    if (cursor_.accept_word("task")) return task();
    if (cursor_.accept_word("hold")) return void(hold());
    for (StreamKind stream : {StreamKind::compute, StreamKind::d2h, StreamKind::h2d, StreamKind::comm})
      if (cursor_.accept_word(to_string(stream))) return step(stream);
    if (cursor_.accept_word("residency")) return residency();
    if (cursor_.accept_word("generator")) return void(plan_.generator = cursor_.name());
    if (cursor_.accept_word("sha256")) return void(plan_.model_sha256 = cursor_.name());
    if (cursor_.accept_word("target")) return target();
    if (cursor_.accept_word("library")) return library();
    if (cursor_.accept_word("layout")) return void(plan_.layout = cursor_.name());
    if (cursor_.accept_word("policy")) return policy();
    if (cursor_.accept_word("budget")) return void(plan_.budget_bytes = read_count(cursor_, 0));
    if (cursor_.accept_word("summary")) return summary();
    cursor_.fail("expected tensor, task, hold, compute, d2h, h2d, comm, residency or a line of the header");
  }

  void target() {
    plan_.target_kind = cursor_.name();
    if (cursor_.accept("device=")) plan_.device = cursor_.name();
    if (cursor_.accept("costs=")) plan_.costs = cursor_.name();
  }

  void library() {
    const std::string name = cursor_.name();
    plan_.libraries[name] = cursor_.name();
  }

  void policy() {
    plan_.policy = cursor_.name();
    cursor_.expect("rules=");
    plan_.rules = cursor_.name();
  }

  void summary() {
    while (!cursor_.done()) {
      const std::string key = cursor_.word();
      cursor_.expect("=");
      bool found = false;
      const auto figure = [&](const char* name, auto& field) {
        if (found || key != name) return;
        found = true;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, double>) field = cursor_.real();
        else field = cursor_.integer();
      };
      visit_summary(plan_.summary, figure);
      visit_summary_of_ranks(plan_.summary, figure);
      if (!found) cursor_.fail(fmt::format("the summary has no field '{}'", key));
    }
  }

  TensorId known_tensor() { return read_tensor(cursor_, tensors_); }

  void tensor() {
    cursor_.expect("%");
    PlanTensor tensor{.name = cursor_.name()};
    if (!cursor_.error()) tensors_.add(cursor_, tensor.name, TensorId(static_cast<int64_t>(plan_.tensors.size())));
    tensor.kind = read_word<TensorKind>(cursor_);
    tensor.bytes = read_count(cursor_, 0);
    tensor.persistent = cursor_.accept_word("persistent");
    if (cursor_.accept("home@")) {
      tensor.home_offset = read_count(cursor_, 0);
      expect_fit(tensor.home_offset, tensor.bytes);
    }
    if (cursor_.accept_word("slice")) {
      tensor.slice_of = known_tensor();
      if (cursor_.accept_word("from")) tensor.slice_begin = read_count(cursor_, 1);
      if (tensor.slice_of == TensorId(static_cast<int64_t>(plan_.tensors.size()))) cursor_.fail("a tensor is no slice of itself");
    }
    plan_.tensors.push_back(std::move(tensor));
  }

  std::vector<TensorId> tensor_list() {
    std::vector<TensorId> list;
    while (cursor_.accept("%")) {
      const std::string name = cursor_.name();
      list.push_back(tensors_.find(cursor_, name));
    }
    return list;
  }

  void task() {
    PlanTask task{.name = cursor_.name()};
    if (!cursor_.error()) tasks_.add(cursor_, task.name, TaskId(static_cast<int64_t>(plan_.tasks.size())));
    task.op = cursor_.name();
    task.kind = read_word<TaskKind>(cursor_);
    if (cursor_.accept("layer=")) task.layer = cursor_.name();
    if (cursor_.accept_word("read")) task.reads = tensor_list();
    if (cursor_.accept_word("write")) task.writes = tensor_list();
    if (cursor_.accept_word("update")) task.updates = tensor_list();
    if (cursor_.accept_word("remember")) task.remembers = tensor_list();
    while (cursor_.accept_word("in_place")) {
      const TensorId read = known_tensor();
      task.in_place.push_back({read, known_tensor()});
    }
    if (cursor_.accept("flops=")) task.flops = read_count(cursor_, 0);
    if (cursor_.accept("bytes_moved=")) task.bytes_moved = read_count(cursor_, 0);
    if (cursor_.accept("fastest=")) {
      task.fastest.algorithm = cursor_.name();
      cursor_.expect("workspace=");
      task.fastest.workspace_bytes = read_count(cursor_, 0);
      cursor_.expect("seconds=");
      task.fastest.seconds = cursor_.real();
    }
    plan_.tasks.push_back(std::move(task));
  }

  // %x@0x100
  Residency placed() {
    Residency residency{.tensor = known_tensor()};
    cursor_.expect("@");
    residency.offset = read_count(cursor_, 0);
    if (!cursor_.error()) residency.bytes = plan_.tensors[residency.tensor].bytes;
    expect_fit(residency.offset, residency.bytes);
    return residency;
  }

  void expect_fit(int64_t offset, int64_t bytes) {
    if (!cursor_.error() && offset > std::numeric_limits<int64_t>::max() - bytes) cursor_.fail("this ends beyond 63 bits");
  }

  void hold() {
    held_.push_back(plan_.residencies.size());
    plan_.residencies.push_back(placed());
  }

  void residency() {
    Residency residency = placed();
    cursor_.expect("bytes=");
    residency.bytes = read_count(cursor_, 0);
    expect_fit(residency.offset, residency.bytes);
    cursor_.expect("steps=");
    residency.first_step = step_number();
    cursor_.expect(":");
    residency.last_step = step_number();
    plan_.residencies.push_back(residency);
  }

  int32_t step_number() {
    const int64_t number = read_count(cursor_, -1);
    if (!cursor_.error() && number > static_cast<int64_t>(plan_.steps.size())) cursor_.fail("there are not so many steps above");
    return static_cast<int32_t>(number);
  }

  // What a step or a wait names: "offload:" and so on, or nothing, and the rest of it as it is spelled.
  struct Called {
    std::string_view prefix = "";
    std::string name = {};
    int64_t time = 1;
    std::string text() const {
      return fmt::format("{}{}{}", prefix, spelled(name), time > 1 ? fmt::format("~{}", time) : "");
    }
  };

  Called called() {
    Called called;
    for (std::string_view prefix : {"recompute:", "offload:", "prefetch:", "load:", "reduce:"})
      if (called.prefix.empty() && cursor_.accept(prefix)) called.prefix = prefix;
    called.name = cursor_.name();
    if (cursor_.accept("~")) called.time = read_count(cursor_, 2);
    return called;
  }

  void step(StreamKind stream) {
    Step step{.stream = stream};
    const Called own = called();
    if (cursor_.error()) return;
    if (own.prefix == "offload:") step.kind = StepKind::offload;
    if (own.prefix == "prefetch:") step.kind = StepKind::prefetch;
    if (own.prefix == "load:") step.kind = StepKind::load;
    if (own.prefix == "reduce:") step.kind = StepKind::reduce;
    step.recompute = own.prefix == "recompute:";
    if (step.kind == StepKind::compute) step.task = tasks_.find(cursor_, own.name);
    else step.tensor = tensors_.find(cursor_, own.name);
    const StepId id(static_cast<int64_t>(plan_.steps.size()));
    steps_.add(cursor_, own.text(), id);

    if (step.kind == StepKind::reduce) {
      step.bucket = {step.tensor};
      if (cursor_.accept_word("with"))
        for (const TensorId other : tensor_list()) step.bucket.push_back(other);
    }
    if (cursor_.accept("host@")) {
      step.host_offset = read_count(cursor_, 0);
      if (!cursor_.error() && step.tensor.valid()) expect_fit(step.host_offset, plan_.tensors[step.tensor].bytes);
    }
    if (cursor_.accept("->"))
      do {
        Residency residency = placed();
        residency.first_step = id.value;
        begun_.push_back({plan_.residencies.size(), cursor_.accept_word("kept")});
        plan_.residencies.push_back(residency);
      } while (cursor_.sees("%"));
    if (cursor_.accept("algorithm=")) step.algorithm = cursor_.name();
    if (cursor_.accept("workspace=")) {
      step.workspace.bytes = read_count(cursor_, 0);
      cursor_.expect("@");
      step.workspace.offset = read_count(cursor_, 0);
      expect_fit(step.workspace.offset, step.workspace.bytes);
    }
    if (cursor_.accept("time=")) {
      step.start = cursor_.real();
      cursor_.expect(":");
      step.end = cursor_.real();
    }
    if (cursor_.accept_word("after"))
      do step.waits.push_back(steps_.find(cursor_, called().text()));
      while (!cursor_.done());
    plan_.steps.push_back(std::move(step));
  }

  void fill_lasts() {
    const IdVector<TensorId, std::vector<Span>> spans = spans_of(plan_);
    const int32_t count = static_cast<int32_t>(plan_.steps.size());
    for (size_t i : held_) {
      plan_.residencies[i].first_step = -1;
      plan_.residencies[i].last_step = count;
    }
    for (const Begun& begun : begun_) {
      Residency& residency = plan_.residencies[begun.residency];
      const Span* const span = span_from(spans[residency.tensor], residency.first_step);
      residency.last_step = begun.kept ? count : span ? span->last : residency.first_step;
    }
  }

  TextCursor cursor_;
  Plan plan_;
  Names<TensorId> tensors_{"tensor"};
  Names<TaskId> tasks_{"task"};
  Names<StepId> steps_{"step"};
  std::vector<size_t> held_;
  std::vector<Begun> begun_;
};

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text = header_of(plan);
  for (const PlanTensor& tensor : plan.tensors)
    text += fmt::format("tensor {} {} {}{}{}{}\n", spelled_tensor(tensor.name), to_string(tensor.kind), tensor.bytes,
                        tensor.persistent ? " persistent" : "",
                        tensor.at_home_on_host() ? fmt::format(" home@{:#x}", tensor.home_offset) : "", slice_of_plan(plan, tensor));
  for (const PlanTask& task : plan.tasks) text += line_of(plan, task);

  const std::vector<Shown> shown = how_shown(plan);
  IdVector<StepId, std::string> placed(plan.steps.size());
  for (size_t i = 0; i < shown.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (shown[i] == Shown::hold) text += fmt::format("hold     {}\n", at(plan, residency));
    if (shown[i] == Shown::on_step || shown[i] == Shown::kept_on_step)
      placed[StepId(residency.first_step)] += " " + at(plan, residency) + (shown[i] == Shown::kept_on_step ? " kept" : "");
  }
  const IdVector<StepId, std::string> names = step_names(plan);
  for (StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    text += fmt::format("{:<8} {}", to_string(step.stream), names[id]);
    if (step.bucket.size() > 1) text += list(plan, "with", {step.bucket.begin() + 1, step.bucket.end()});
    if (step.host_offset >= 0) text += fmt::format(" host@{:#x}", step.host_offset);
    if (!placed[id].empty()) text += " ->" + placed[id];
    text += option("algorithm", step.algorithm);
    if (step.workspace != Block{}) text += fmt::format(" workspace={}@{:#x}", step.workspace.bytes, step.workspace.offset);
    if (step.start != 0 || step.end != 0) text += fmt::format(" time={}:{}", step.start, step.end);
    for (size_t i = 0; i < step.waits.size(); ++i) text += (i ? " " : " after ") + names[step.waits[i]];
    text += "\n";
  }
  for (size_t i = 0; i < shown.size(); ++i)
    if (shown[i] == Shown::apart)
      text += fmt::format("residency {} bytes={} steps={}:{}\n", at(plan, plan.residencies[i]), plan.residencies[i].bytes,
                          plan.residencies[i].first_step, plan.residencies[i].last_step);
  return text;
}

Result<Plan> plan_from_text(std::string_view text, const std::string& what) { return PlanParser(text, what).run(); }

}  // namespace plimsoll
