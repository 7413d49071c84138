#include "passes/order.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "passes/analysis/buckets.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {
namespace {

// Dependencies between tasks, from the order of accesses in the graph. A reader follows the last change. A change
// follows the previous change and every reader since.
struct Dependencies {
  IdVector<TaskId, std::vector<TaskId>> after;  // tasks that depend on this one; one entry per dependence
  IdVector<TaskId, int32_t> open;               // dependences not yet satisfied
};

Dependencies find_dependencies(const Plan& plan) {
  Dependencies found{IdVector<TaskId, std::vector<TaskId>>(plan.tasks.size()),
                    IdVector<TaskId, int32_t>(plan.tasks.size(), 0)};
  IdVector<TensorId, TaskId> changer(plan.tensors.size());
  IdVector<TensorId, std::vector<TaskId>> readers(plan.tensors.size());
  const auto add = [&](TaskId before, TaskId after) {
    if (!before.valid() || before == after) return;
    found.after[before].push_back(after);
    ++found.open[after];
  };
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    for (const TensorId tensor : task.reads) {
      add(changer[tensor], id);
      readers[tensor].push_back(id);
    }
    for (const std::vector<TensorId>* changed : {&task.updates, &task.writes})
      for (const TensorId changed_tensor : *changed) {
        const TensorId whole = plan.tensors[changed_tensor].slice_of, tensor = whole.valid() ? whole : changed_tensor;
        add(changer[tensor], id);
        for (const TaskId reader : readers[tensor]) add(reader, id);
        readers[tensor].clear();
        changer[tensor] = id;
      }
  }
  return found;
}

bool is_update(const Plan& plan, TaskId task) { return plan.tasks[task].kind == TaskKind::update; }

std::vector<TaskId> updates_last(const Plan& plan, std::vector<TaskId> tasks) {
  std::stable_partition(tasks.begin(), tasks.end(), [&](TaskId task) { return !is_update(plan, task); });
  return tasks;
}

// The graph's order is valid. An update moves up to right after the last task that it depends on.
std::vector<TaskId> depth_first(const Plan& plan) {
  if (plan.rounds > 1) return updates_last(plan, ids_of(plan.tasks));
  const Dependencies dependencies = find_dependencies(plan);
  IdVector<TaskId, TaskId> latest(plan.tasks.size());
  for (const TaskId id : ids_of(plan.tasks))
    for (const TaskId after : dependencies.after[id]) latest[after] = std::max(latest[after], id);
  // An update may depend on another update (of state shared by two weights), so the chain is followed.
  IdVector<TaskId, std::vector<TaskId>> follow(plan.tasks.size());
  std::vector<TaskId> tasks;
  tasks.reserve(plan.tasks.size());
  std::vector<TaskId> without_reason;
  for (const TaskId id : ids_of(plan.tasks))
    if (is_update(plan, id)) (latest[id].valid() ? follow[latest[id]] : without_reason).push_back(id);
  std::vector<TaskId> stack;
  const auto emit = [&](TaskId first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const TaskId id = stack.back();
      stack.pop_back();
      tasks.push_back(id);
      stack.insert(stack.end(), follow[id].rbegin(), follow[id].rend());
    }
  };
  for (const TaskId id : without_reason) emit(id);
  for (const TaskId id : ids_of(plan.tasks))
    if (!is_update(plan, id)) emit(id);
  return tasks;
}

// List scheduling: among the ready tasks, run the one after which the fewest bytes are live; ties in graph order. The
// bytes that a task frees depend on the other remaining readers, so its key is recomputed after one of them has run.
class LowPeak {
 public:
  LowPeak(const Plan& plan, const std::vector<TensorId>& kept)
      : plan_(plan), dependencies_(find_dependencies(plan)), uses_left_(plan.tensors.size(), 0),
        users_(plan.tensors.size()), key_(plan.tasks.size(), 0), kept_(plan.tensors.size(), false) {
    for (const TensorId tensor : kept) kept_[tensor] = true;
    for (const TaskId id : ids_of(plan.tasks))
      for_each_use(id, [&](TensorId tensor) {
        ++uses_left_[tensor];
        users_[tensor].push_back(id);
      });
  }

  std::vector<TaskId> run() {
    std::vector<TaskId> tasks;
    for (const TaskId id : ids_of(plan_.tasks))
      if (dependencies_.open[id] == 0) make_ready(id);
    while (!ready_.empty()) {
      const TaskId id = std::get<1>(*ready_.begin());
      ready_.erase(ready_.begin());
      key_[id] = kDone;
      tasks.push_back(id);
      for_each_use(id, [&](TensorId tensor) {
        if (--uses_left_[tensor] == 1) renew_last_user(tensor);
      });
      for (const TaskId after : dependencies_.after[id])
        if (--dependencies_.open[after] == 0) make_ready(after);
    }
    return tasks;
  }

 private:
  static constexpr int64_t kDone = std::numeric_limits<int64_t>::max();

  template <class Body>
  void for_each_use(TaskId id, Body body) const {
    for (const TensorId tensor : plan_.tasks[id].reads) body(tensor);
    for (const TensorId tensor : plan_.tasks[id].updates) body(tensor);
  }

  bool leaves(TensorId tensor) const { return !plan_.tensors[tensor].persistent && !kept_[tensor]; }

  int64_t growth(TaskId id) const {
    int64_t bytes = 0;
    for (const TensorId tensor : plan_.tasks[id].writes)
      if (!plan_.tensors[tensor].persistent && (users_[tensor].size() > 0 || kept_[tensor]))
        bytes += plan_.tensors[tensor].bytes;
    for_each_use(id, [&](TensorId tensor) {
      if (uses_left_[tensor] == 1 && leaves(tensor)) bytes -= plan_.tensors[tensor].bytes;
    });
    return bytes;
  }

  void make_ready(TaskId id) {
    key_[id] = growth(id);
    ready_.insert({key_[id], id});
  }

  // Each tensor is left with a single user once, and its users are scanned once: linear in the accesses overall.
  void renew_last_user(TensorId tensor) {
    for (const TaskId user : users_[tensor]) {
      if (key_[user] == kDone || dependencies_.open[user] != 0) continue;
      if (ready_.erase({key_[user], user})) make_ready(user);
    }
  }

  const Plan& plan_;
  Dependencies dependencies_;
  IdVector<TensorId, int32_t> uses_left_;
  IdVector<TensorId, std::vector<TaskId>> users_;
  IdVector<TaskId, int64_t> key_;
  IdVector<TensorId, bool> kept_;
  std::set<std::tuple<int64_t, TaskId>> ready_;
};

std::vector<TaskId> low_peak(const Plan& plan, const std::vector<TensorId>& kept) {
  const std::vector<TaskId> tasks = LowPeak(plan, kept).run();
  PLIMSOLL_CHECK(tasks.size() == plan.tasks.size(), "the order of the task graph has a cycle");
  return plan.rounds > 1 ? updates_last(plan, tasks) : tasks;
}

// Dymem, Algorithm 1. A task runs when the last of its predecessors arrives at it. Its successors follow immediately,
// before its siblings. Each task has its own arrival counter. The backward visits the layers in reverse: among ready
// backward tasks, take one of the layer that ran last. Updates run as early as possible.
class Arrivals {
 public:
  explicit Arrivals(const Plan& plan)
      : plan_(plan), dependencies_(find_dependencies(plan)) {}

  std::vector<TaskId> run() {
    for (const TaskId id : ids_of(plan_.tasks))
      if (dependencies_.open[id] == 0) roots_.push_back(id);
    for (const TaskId id : roots_) {
      arrive(id);
      walk();
    }
    while (!backward_.empty()) {
      const TaskId id = std::get<1>(*backward_.begin());
      backward_.erase(backward_.begin());
      visit(id);
      walk();
    }
    return std::move(tasks_);
  }

 private:
  // A layer's rank is the position of its first forward task.
  int32_t rank_of_layer(TaskId id) {
    const auto found = layers_.find(plan_.tasks[id].layer);
    return found == layers_.end() ? std::numeric_limits<int32_t>::max() : found->second;
  }
  void arrive(TaskId id) {
    const TaskKind kind = plan_.tasks[id].kind;
    if (is_forward(kind) || kind == TaskKind::update) visit(id);
    else backward_.insert({-rank_of_layer(id), id});
  }
  void visit(TaskId id) {
    if (is_forward(plan_.tasks[id].kind))
      layers_.try_emplace(plan_.tasks[id].layer, static_cast<int32_t>(tasks_.size()));
    tasks_.push_back(id);
    visited_.push_back({id, 0});
  }
  void walk() {
    while (!visited_.empty()) {
      auto& [id, next] = visited_.back();
      const std::vector<TaskId>& after = dependencies_.after[id];
      if (next == after.size()) {
        visited_.pop_back();
        continue;
      }
      const TaskId successor = after[next++];
      if (--dependencies_.open[successor] == 0) arrive(successor);
    }
  }

  const Plan& plan_;
  Dependencies dependencies_;
  std::map<std::string_view, int32_t> layers_;
  std::set<std::tuple<int32_t, TaskId>> backward_;      // ready tasks
  std::vector<TaskId> roots_;
  std::vector<std::pair<TaskId, size_t>> visited_;      // the path of the walk, with the next successor to visit
  std::vector<TaskId> tasks_;
};

std::vector<TaskId> by_arrivals(const Plan& plan) {
  const std::vector<TaskId> tasks = Arrivals(plan).run();
  PLIMSOLL_CHECK(tasks.size() == plan.tasks.size(), "the order of the task graph has a cycle");
  return plan.rounds > 1 ? updates_last(plan, tasks) : tasks;
}

// With several ranks, an update waits for the reduction of its gradient. So it is placed after tasks that run
// meanwhile.
//
//   compute  | dw3 | dx3 | dw2 | dx2 | update 3 |  …          not: | dw3 | (waits) | update 3 | dx3 | …
//   comm           |   reduce dw3    |
//
// `patient`: delayed by the predicted time of the reduction, which also keeps the gradient alive for that long.
// Otherwise placed right after the bucket. Updates at the same place stay in the graph's order.
std::vector<TaskId> after_reductions(const Plan& plan, const Context& context, const std::vector<TaskId>& tasks, bool patient) {
  const size_t count = tasks.size();
  std::vector<TaskId> backbone;
  for (const TaskId id : tasks)
    if (!is_update(plan, id)) backbone.push_back(id);
  // Position in the backbone; of an update: the position that it follows.
  IdVector<TaskId, size_t> place(plan.tasks.size(), 0);
  std::vector<double> ends;
  for (size_t i = 0; i < backbone.size(); ++i) {
    place[backbone[i]] = i;
    const Choice& fastest = context.choices[backbone[i]].front();
    ends.push_back((ends.empty() ? 0 : ends.back()) + (plan.rounds > 1 ? fastest.last_seconds : fastest.seconds));
  }
  IdVector<TensorId, size_t> reduced(plan.tensors.size(), 0);  // position in the backbone after which it is reduced
  double comm = 0;
  for (const Bucket& bucket : find_buckets(plan, context, tasks)) {
    const size_t closed = place[bucket.last];
    comm = std::max(comm, ends[closed]) + reduction_seconds(context.links.ranks, plan.ranks, bytes_of(plan, bucket.tensors));
    const auto done = std::lower_bound(ends.begin() + static_cast<std::ptrdiff_t>(closed), ends.end(), comm);
    const size_t behind = done == ends.end() ? ends.size() - 1 : static_cast<size_t>(done - ends.begin());
    for (const TensorId tensor : bucket.tensors) reduced[tensor] = patient ? behind : closed;
  }
  const Dependencies dependencies = find_dependencies(plan);
  std::vector<std::vector<TaskId>> follow(backbone.size());
  for (const TaskId id : ids_of(plan.tasks)) {
    if (is_update(plan, id)) {
      for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates})
        for (const TensorId tensor : *touched) place[id] = std::max(place[id], reduced[tensor]);
      follow[place[id]].push_back(id);
    }
    for (const TaskId after : dependencies.after[id])
      if (is_update(plan, after)) place[after] = std::max(place[after], place[id]);
  }
  std::vector<TaskId> ordered;
  ordered.reserve(count);
  for (size_t i = 0; i < backbone.size(); ++i) {
    ordered.push_back(backbone[i]);
    ordered.insert(ordered.end(), follow[i].begin(), follow[i].end());
  }
  return plan.rounds > 1 ? updates_last(plan, ordered) : ordered;
}

// For a layer that holds a large part of all weights and gradients and passes on little: runs its backward-data before
// its backward-weights, if dependences permit. The weight is then read in forward and backward close together. If both
// reside in the host pool, the weight can leave the device before its gradient arrives.
//
//   graph   fc.backward_weights  fc.backward_data      weight | gradient, weight |         here   weight | gradient |
std::vector<TaskId> large_weights_at_once(const Plan& plan, std::vector<TaskId> tasks) {
  constexpr int64_t kPart = 4, kLittle = 32;
  int64_t all = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == TensorKind::weight_gradient) all += tensor.bytes;
  const Dependencies dependencies = find_dependencies(plan);
  IdVector<TaskId, size_t> place(plan.tasks.size(), 0);
  for (size_t i = 0; i < tasks.size(); ++i) place[tasks[i]] = i;
  // True if it depends on no task at `from` or later in the current order.
  const auto may_come_at = [&](TaskId task, size_t from) {
    for (size_t i = from; i < place[task]; ++i) {
      const auto& waiting = dependencies.after[tasks[i]];
      if (std::find(waiting.begin(), waiting.end(), task) != waiting.end()) return false;
    }
    return true;
  };
  // Bytes accessed by a task: of its weight gradients, or of everything except weights and gradients.
  const auto bytes = [&](TaskId id, bool gradients) {
    int64_t sum = 0;
    for (const auto* touched : {&plan.tasks[id].reads, &plan.tasks[id].updates, &plan.tasks[id].writes})
      for (const TensorId tensor : *touched) {
        const TensorKind kind = plan.tensors[tensor].kind;
        if (gradients ? kind == TensorKind::weight_gradient : kind != TensorKind::weight_gradient && kind != TensorKind::weight) sum += plan.tensors[tensor].bytes;
      }
    return sum;
  };
  for (const TaskId weights : ids_of(plan.tasks)) {
    if (plan.tasks[weights].kind != TaskKind::backward_weights) continue;
    const int64_t gradient = bytes(weights, true);
    if (gradient == 0 || gradient < all / kPart) continue;
    for (size_t behind = place[weights] + 1; behind < tasks.size() && plan.tasks[tasks[behind]].layer == plan.tasks[weights].layer; ++behind) {
      const TaskId data = tasks[behind];
      if (plan.tasks[data].kind != TaskKind::backward_data || !may_come_at(data, place[weights])) continue;
      if (kLittle * (bytes(weights, false) + bytes(data, false)) > gradient) break;
      const auto begin = tasks.begin() + static_cast<std::ptrdiff_t>(place[weights]), end = tasks.begin() + static_cast<std::ptrdiff_t>(behind);
      std::rotate(begin, end, end + 1);
      for (size_t i = place[weights]; i <= behind; ++i) place[tasks[i]] = i;
      break;
    }
  }
  return tasks;
}

// Either all loads first, where they overlap with the most, or each load as late as its first reader allows, where it
// costs the fewest bytes.
void make_steps(Plan& plan, const TaskGraph& graph, const std::vector<TaskId>& tasks, bool early_loads) {
  IdVector<TensorId, bool> to_load(plan.tensors.size(), false);
  for (const TensorId input : graph.inputs) to_load[input] = true;
  const auto load = [&](TensorId tensor) {
    if (!to_load[tensor]) return;
    to_load[tensor] = false;
    plan.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::load, .tensor = tensor});
  };
  plan.steps = {};
  plan.steps.reserve(tasks.size() + graph.inputs.size());
  if (early_loads)
    for (const TensorId input : graph.inputs) load(input);
  for (const TaskId task : tasks) {
    for (const TensorId tensor : plan.tasks[task].reads) load(tensor);
    plan.steps.push_back({.stream = StreamKind::compute, .kind = StepKind::compute, .task = task});
  }
  for (const TensorId input : graph.inputs) load(input);  // inputs without a reader
}

int64_t peak(Plan plan, const Context& context, const std::vector<TensorId>& kept) {
  for (Step& step : plan.steps)
    if (step.kind == StepKind::compute) step.workspace.bytes = context.choices[step.task].back().workspace_bytes;
  plan.residencies = find_residencies(plan, kept);
  const auto shared = context.policy.in_place ? find_shared_pairs(plan) : std::vector<SharedPair>{};
  const std::vector<int64_t> live = live_bytes(plan, shared, true);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

}  // namespace

Status order(Plan& plan, const Context& context) {
  const std::vector<TensorId> kept = kept_to_the_end(context.graph);
  // If waiting for reductions costs memory that is not available, updates run at once.
  const auto put = [&](Plan& into, std::vector<TaskId> tasks, bool early_loads) {
    if (context.policy.searches) tasks = large_weights_at_once(plan, std::move(tasks));
    if (plan.ranks == 1) return make_steps(into, context.graph, tasks, early_loads);
    make_steps(into, context.graph, after_reductions(plan, context, tasks, true), early_loads);
    if (context.live_limit == kNoLimit) return;
    Plan prompt = into;
    make_steps(prompt, context.graph, after_reductions(plan, context, tasks, false), early_loads);
    const int64_t least = peak(prompt, context, kept);
    if (peak(into, context, kept) > std::max(context.live_limit, least)) into.steps = std::move(prompt.steps);
  };
  if (context.policy.order == OrderKind::arrivals) {
    put(plan, by_arrivals(plan), true);
    return {};
  }
  if (context.policy.order != OrderKind::low_peak) put(plan, depth_first(plan), true);
  if (context.policy.order == OrderKind::depth_first) return {};
  const std::vector<TaskId> lower = low_peak(plan, kept);
  if (context.policy.order == OrderKind::low_peak) {
    put(plan, lower, false);
    return {};
  }
  Plan other = plan;
  put(other, lower, false);
  if (peak(other, context, kept) < peak(plan, context, kept)) plan.steps = std::move(other.steps);
  return {};
}

}  // namespace plimsoll
