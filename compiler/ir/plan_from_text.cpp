#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "compiler/ir/plan_spans.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/text_fields.h"

namespace plimsoll {
namespace {

class PlanParser {
 public:
  PlanParser(std::string_view text, const std::string& what) : cursor_(text, what) {}

  Result<Plan> run() {
    if (!cursor_.next_line()) cursor_.fail("the text is empty");
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
    if (!cursor_.accept_word("v1")) return cursor_.fail("expected 'v1', the only supported version");
    cursor_.expect("batch=");
    plan_.batch = read_count(cursor_, 0);
    cursor_.expect("sub_batch=");
    plan_.sub_batch = read_count(cursor_, 0);
    cursor_.expect("rounds=");
    plan_.rounds = read_count(cursor_, 0);
    cursor_.expect("last=");
    plan_.last_sub_batch = read_count(cursor_, 0);
    if (cursor_.accept("ranks=")) plan_.ranks = read_count(cursor_, 1);
    if (cursor_.accept("reductions_need=")) plan_.reduction_needs_bytes = read_count(cursor_, 0);
    if (cursor_.accept("slices=")) plan_.slice_bytes = read_count(cursor_, 1);
    if (plan_.slice_bytes > 0) plan_.whole_weights = cursor_.accept("of=state");
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
    if (cursor_.accept_word("precision")) return void(plan_.precision = cursor_.name());
    if (cursor_.accept_word("state_in")) return void(plan_.optimizer_state = cursor_.name());
    for (const std::string_view part : kPartsWithForms)
      if (cursor_.accept_word(part)) return void(plan_.forms[std::string(part)] = cursor_.name());
    if (cursor_.accept_word("layout")) return void(plan_.layout = cursor_.name());
    if (cursor_.accept_word("inputs_ahead")) return inputs_ahead();
    if (cursor_.accept_word("policy")) return policy();
    if (cursor_.accept_word("budget")) return budget();
    if (cursor_.accept_word("summary")) return summary();
    cursor_.fail("expected tensor, task, hold, compute, d2h, h2d, comm, residency or a line of the header");
  }

  void target() {
    plan_.target_kind = cursor_.name();
    if (cursor_.accept("device=")) plan_.device = cursor_.name();
    if (cursor_.accept("costs=")) plan_.costs = cursor_.name();
  }

  void inputs_ahead() {
    plan_.inputs_ahead.bytes = read_count(cursor_, 0);
    cursor_.expect("@");
    plan_.inputs_ahead.offset = read_count(cursor_, 0);
    expect_fit(plan_.inputs_ahead.offset, plan_.inputs_ahead.bytes);
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

  void budget() {
    plan_.budget_bytes = read_count(cursor_, 0);
    if (cursor_.accept("host=")) plan_.host_budget_bytes = read_count(cursor_, 0);
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
    for (const DataType reduced : kStatedTypes)
      if (cursor_.accept_word(fmt::format("in_{}", name_of(reduced)))) tensor.reduced = reduced;
    tensor.persistent = cursor_.accept_word("persistent");
    if (cursor_.accept("home@")) {
      tensor.home_offset = read_count(cursor_, 0);
      expect_fit(tensor.home_offset, tensor.bytes);
    }
    if (cursor_.accept_word("slice")) {
      tensor.slice_of = known_tensor();
      if (cursor_.accept_word("from")) tensor.slice_begin = read_count(cursor_, 1);
      if (tensor.slice_of == TensorId(static_cast<int64_t>(plan_.tensors.size())))
        cursor_.fail("a tensor cannot be a slice of itself");
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
      FastestAlgorithm fastest{.algorithm = cursor_.name()};
      cursor_.expect("workspace=");
      fastest.workspace_bytes = read_count(cursor_, 0);
      cursor_.expect("seconds=");
      fastest.seconds = cursor_.real();
      plan_.fastest.resize(plan_.tasks.size());
      plan_.fastest.push_back(std::move(fastest));
    }
    std::vector<WorkspaceNeed> needs;
    while (!cursor_.error()) {
      const bool recompute = cursor_.accept("recompute_needs=");
      if (!recompute && !cursor_.accept("needs=")) break;
      WorkspaceNeed need{.algorithm = cursor_.name(), .recompute = recompute};
      cursor_.expect("workspace=");
      need.workspace_bytes = read_count(cursor_, 0);
      needs.push_back(std::move(need));
    }
    plan_.needs.push_back(std::move(needs));
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
    if (!cursor_.error() && offset > std::numeric_limits<int64_t>::max() - bytes) cursor_.fail("this ends above 2^63");
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
    if (!cursor_.error() && number > static_cast<int64_t>(plan_.steps.size()))
      cursor_.fail("there are fewer steps above");
    return static_cast<int32_t>(number);
  }

  // The name of a step: a prefix such as "offload:", or none, and the rest as spelled.
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
    if (cursor_.accept("rounds=")) step.rounds = read_word<CopyRounds>(cursor_);
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

Result<Plan> plan_from_text(std::string_view text, const std::string& what) { return PlanParser(text, what).run(); }

}  // namespace plimsoll
