// Checks that the plan implements this graph. With several rounds, tasks add to gradients, and the last update task
// that reads a part of a gradient clears it. An update task may be replaced by tasks that update its weight slice by
// slice. Both are derived from the plan's own data here; no code is shared with the planner, which makes graphs of that
// form.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "compiler/check/verdict.h"

namespace plimsoll {
namespace {

class Implements {
 public:
  Implements(const Plan& plan, const TaskGraph& graph, Verdict& verdict)
      : plan_(plan), graph_(graph), verdict_(verdict) {
    for (const TaskId id : ids_of(graph_.tasks))
      if (graph_.tasks[id].kind == TaskKind::update)
        for (const Operand& operand : graph_.tasks[id].operands)
          if (operand.access != Access::absent) last_look_[{operand.tensor, operand.begin}] = id;
  }

  void run() {
    expect_equal({"batch"}, "samples", plan_.batch, graph_.batch);
    expect_equal({"batch"}, "ranks", plan_.ranks, graph_.ranks);
    if (plan_.tensors.size() < graph_.tensors.size())
      expect_equal({"tensors"}, "count", plan_.tensors.size(), graph_.tensors.size());
    if (!verdict_.clean()) return;
    for (const TensorId id : ids_of(plan_.tensors)) {
      if (graph_.tensors.contains(id)) compare(id);
      else check_slice(id);
    }
    if (!verdict_.clean()) return;
    size_t next = 0;
    for (const TaskId id : ids_of(graph_.tasks)) next = match(id, next);
    if (next != plan_.tasks.size()) expect_equal({"tasks"}, "count", plan_.tasks.size(), next);
    check_recomputations();
  }

 private:
  // The subject of a message. Its text is made only if there is a violation.
  struct Subject {
    const char* kind;
    std::string_view name = {};
    std::string text() const {
      if (name.data() == nullptr) return kind;
      const std::string whole(name);
      return fmt::format("{} {}", kind, kind == kTensor ? spelled_tensor(whole) : spelled(whole));
    }
  };
  static constexpr const char* kTensor = "tensor";
  static constexpr const char* kTask = "task";

  template <class T>
  void expect_equal(const Subject& of, const char* field, const T& said, const T& wanted) {
    if (said != wanted)
      verdict_.refuse(Rule::graph,
                      fmt::format("{}: {} is {} in the plan, but {} in the graph", of.text(), field, said, wanted));
  }

  void expect_same(const Subject& of, const char* field, const std::vector<TensorId>& said,
                   const std::vector<TensorId>& wanted) {
    if (said != wanted) expect_equal(of, field, listed(said), listed(wanted));
  }

  std::string listed(const std::vector<TensorId>& tensors) const {
    std::string text = "[";
    for (TensorId tensor : tensors)
      text += (text.size() > 1 ? " " : "") +
              (plan_.tensors.contains(tensor) ? spelled_tensor(plan_.tensors[tensor].name) : "?");
    return text + "]";
  }

  bool accumulates(TensorId id) const {
    return plan_.rounds > 1 && graph_.tensors[id].kind == TensorKind::weight_gradient;
  }

  // Sums over rounds are in f32.
  TensorType stored_type(TensorId id, TensorType type) const {
    return accumulates(id) && is_narrow(type.type) ? stored_as(std::move(type), DataType::f32) : type;
  }

  void compare(TensorId id) {
    const PlanTensor& said = plan_.tensors[id];
    const Tensor& tensor = graph_.tensors[id];
    const TensorType stored = stored_type(id, tensor.type);
    const Subject of{kTensor, tensor.name};
    expect_equal(of, "name", said.name, tensor.name);
    expect_equal(of, "kind", to_string(said.kind), to_string(tensor.kind));
    expect_equal(of, "bytes", said.bytes, stored.at(plan_.rank_samples()).bytes());
    expect_equal(of, "type", name_of(said.reduced), name_of(is_stated_type(stored.type) ? stored.type : DataType::f32));
    expect_equal(of, "slice_begin", said.slice_begin, tensor.slice_begin);
    if (said.slice_of != tensor.slice_of)
      expect_equal(of, "slice_of", listed({said.slice_of}), listed({tensor.slice_of}));
    expect_equal(of, "persistent", said.persistent || said.at_home_on_host(), tensor.persistent || accumulates(id));
  }

  // A tensor of the plan alone: it must be a slice of one of the graph's.
  void check_slice(TensorId id) {
    const PlanTensor& slice = plan_.tensors[id];
    const auto refuse = [&](std::string_view why) {
      verdict_.refuse(Rule::graph, {}, id,
                      fmt::format("tensor {}: is not in the graph, {}", spelled_tensor(slice.name), why));
    };
    if (!graph_.tensors.contains(slice.slice_of)) return refuse("and no slice of one of its tensors");
    const PlanTensor& whole = plan_.tensors[slice.slice_of];
    const bool may_be_cut =
        whole.kind == TensorKind::optimizer_state || (whole.kind == TensorKind::weight && !plan_.whole_weights);
    if (!may_be_cut || slice.kind != whole.kind || slice.reduced != whole.reduced)
      return refuse(fmt::format("and {} cannot have such a slice", spelled_tensor(whole.name)));
    if (slice.bytes < 1 || slice.bytes > plan_.slice_bytes || slice.slice_begin < 0 ||
        slice.slice_begin > whole.bytes - slice.bytes)
      return refuse(fmt::format("and {} bytes from byte {} on are no slice of at most {} of {}", slice.bytes,
                                slice.slice_begin, plan_.slice_bytes, spelled_tensor(whole.name)));
    if (!slice.persistent && !slice.at_home_on_host())
      refuse("and a slice of what lives through the run, but does not live as long");
  }

  // The bytes that a part of a tensor would have in f32. {-1, -1}: it does not begin or end between two elements.
  static Block in_f32(DataType stored, Block part) {
    constexpr Block kNone{-1, -1};
    if (bytes_of(stored) == 2) {
      const bool even = part.offset % 2 == 0 && part.bytes % 2 == 0;
      return even ? Block{2 * part.offset, 2 * part.bytes} : kNone;
    }
    if (!is_in_blocks(stored)) return part;
    const int64_t block = kBlockElements + kScaleBytes, rest = part.bytes % block;
    if (part.offset % block != 0 || (rest > 0 && rest <= kScaleBytes)) return kNone;
    return {part.offset / block * kBlockElements * 4,
            (part.bytes / block * kBlockElements + std::max<int64_t>(0, rest - kScaleBytes)) * 4};
  }

  // The slice that a task of the plan works on, as a part of the weight: all its slices are the same part of their
  // wholes. No bytes: it has none.
  Block part_of(const PlanTask& task) {
    Block part;
    for (const auto* list : {&task.reads, &task.updates})
      for (const TensorId id : *list) {
        if (!plan_.tensors.contains(id) || graph_.tensors.contains(id)) continue;
        const PlanTensor& slice = plan_.tensors[id];
        const Block one = in_f32(slice.reduced, {slice.slice_begin, slice.bytes});
        if (part.bytes > 0 && part != one)
          verdict_.refuse(Rule::graph, {}, id,
                          fmt::format("task {}: updates different parts of its tensors", spelled(task.name)));
        part = one;
      }
    return part;
  }

  // As it would be in f32: parts of what an update changes are compared so, whatever it is stored in.
  static TensorType in_f32(const TensorType& type) {
    return is_stated_type(type.type) ? stored_as(type, DataType::f32) : type;
  }

  // Matches the plan's tasks from `next` on with one task of the graph, and returns the task after them.
  size_t match(TaskId id, size_t next) {
    const Task& task = graph_.tasks[id];
    if (next >= plan_.tasks.size()) {
      verdict_.refuse(Rule::graph, fmt::format("task {}: is in the graph, but not in the plan", spelled(task.name)));
      return next + 1;
    }
    const bool whole = task.kind != TaskKind::update || task.operands.empty() ||
                       part_of(plan_.tasks[TaskId(static_cast<int64_t>(next))]).bytes == 0;
    if (whole) {
      compare(id, TaskId(static_cast<int64_t>(next)), {});
      return next + 1;
    }
    const int64_t bytes = in_f32(task.operands.front().type).at(1).bytes();
    int64_t covered = 0;
    while (covered < bytes && next < plan_.tasks.size()) {
      const TaskId piece(static_cast<int64_t>(next));
      const Block part = part_of(plan_.tasks[piece]);
      if (part.bytes <= 0 || part.offset != covered || part.bytes > bytes - covered) break;
      compare(id, piece, part);
      covered += part.bytes;
      ++next;
    }
    if (covered != bytes)
      verdict_.refuse(Rule::graph, fmt::format("task {}: its slices cover {} of {} bytes of the weight",
                                               spelled(task.name), covered, bytes));
    return covered > 0 ? next : next + 1;
  }

  // How the plan's tasks access this operand.
  Access access_of(TaskId id, const Operand& operand) const {
    if (operand.access == Access::absent || !accumulates(operand.tensor)) return operand.access;
    if (graph_.tasks[id].kind != TaskKind::update)
      return operand.access == Access::write ? Access::update : operand.access;
    return operand.access == Access::read && last_look_.at({operand.tensor, operand.begin}) == id ? Access::update
                                                                                                  : operand.access;
  }

  // `part`: what a piece of the task updates; none if the plan's task is the whole one.
  void compare(TaskId id, TaskId planned, Block part) {
    const PlanTask& said = plan_.tasks[planned];
    const Task& task = graph_.tasks[id];
    planned_as_.push_back(id);
    const Subject of{kTask, task.name};
    if (part.bytes == 0 || !said.name.starts_with(task.name)) expect_equal(of, "name", said.name, task.name);
    expect_equal(of, "op", said.op, task.op);
    expect_equal(of, "kind", to_string(said.kind), to_string(task.kind));
    expect_equal(of, "layer", said.layer, task.layer);
    for (std::vector<TensorId>& list : wanted_) list.clear();
    int64_t moved = 0;
    for (const Operand& operand : task.operands) {
      const Access access = access_of(id, operand);
      if (access == Access::absent) continue;
      const bool cut = part.bytes > 0 && operand.begin == 0 &&
                       in_f32(operand.type) == in_f32(task.operands.front().type);
      const TensorType stored = stored_type(operand.tensor, operand.type);
      moved += (cut ? bytes_of(stored.type, part.bytes / 4) : stored.at(plan_.rank_samples()).bytes()) *
               (access == Access::update || operand.twice ? 2 : 1);
      std::vector<TensorId>& list = wanted_[at(access)];
      if (std::find(list.begin(), list.end(), operand.tensor) == list.end()) list.push_back(operand.tensor);
    }
    expect_same(of, "reads", wholes(said.reads), wanted_[at(Access::read)]);
    expect_same(of, "writes", wholes(said.writes), wanted_[at(Access::write)]);
    expect_same(of, "updates", wholes(said.updates), wanted_[at(Access::update)]);
    expect_same(of, "remembers", said.remembers, task.remembers);
    // A weight, and so a slice of it, does not depend on the number of samples.
    const int64_t flops = part.bytes == 0 ? task.flops.at(plan_.rank_samples()) : task.flops.fixed;
    if (part.bytes == 0) {
      expect_equal(of, "flops", said.flops, flops);
    } else {
      const auto all = static_cast<__int128>(in_f32(task.operands.front().type).at(1).bytes()),
                 share = static_cast<__int128>(flops) * part.bytes;
      if (const __int128 gap = share - static_cast<__int128>(said.flops) * all; gap < -all || gap > all)
        expect_equal(of, "flops", said.flops, static_cast<int64_t>(share / all));
    }
    if (task.whole_batch && plan_.rounds * plan_.ranks > 1)
      verdict_.refuse(Rule::graph, fmt::format("{} needs the whole batch at once, but the plan splits it", of.text()));
    expect_equal(of, "bytes_moved", said.bytes_moved, moved);
    // A plan may use fewer permissions than the graph gives. What accumulates shares no bytes with anything.
    for (const Task::InPlace& pair : said.in_place)
      if (std::find(task.in_place.begin(), task.in_place.end(), pair) == task.in_place.end() ||
          accumulates(pair.read) || accumulates(pair.written))
        verdict_.refuse(Rule::graph, fmt::format("{}: {} in place is allowed in the plan, but not in the graph",
                                                 of.text(), listed({pair.read, pair.written})));
  }

  // With each slice replaced by the tensor that it is a part of.
  std::vector<TensorId> wholes(std::vector<TensorId> list) const {
    for (TensorId& id : list)
      if (plan_.tensors.contains(id) && !graph_.tensors.contains(id)) id = plan_.tensors[id].slice_of;
    return list;
  }

  void check_recomputations() {
    for (const StepId id : ids_of(plan_.steps)) {
      const Step& step = plan_.steps[id];
      if (step.kind == StepKind::compute && step.recompute && planned_as_.contains(step.task) &&
          !graph_.tasks[planned_as_[step.task]].may_run_again)
        verdict_.refuse(Rule::graph, id, {},
                        fmt::format("{} recomputes a task that must not be recomputed", verdict_.name(id)));
    }
  }

  static constexpr size_t at(Access access) { return static_cast<size_t>(access); }

  const Plan& plan_;
  const TaskGraph& graph_;
  Verdict& verdict_;
  std::array<std::vector<TensorId>, 4> wanted_;  // by Access: the tensors of the task that is being compared
  // The last update task that sees the part of a tensor that begins at this byte.
  std::map<std::pair<TensorId, int64_t>, TaskId> last_look_;
  IdVector<TaskId, TaskId> planned_as_;  // of each of the plan's tasks: the graph's
};

}  // namespace

std::vector<Violation> check_against_graph(const Plan& plan, const TaskGraph& graph) {
  Verdict verdict(plan);
  Implements(plan, graph, verdict).run();
  return verdict.take();
}

}  // namespace plimsoll
