#include "compiler/report/facts.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "compiler/ir/names.h"

namespace plimsoll {
namespace {

bool holds(const std::vector<TensorId>& list, TensorId tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

bool in_the_forward(const Plan& plan, const Step& step) {
  return step.kind == StepKind::compute && !step.recompute && is_forward(plan.tasks[step.task].kind);
}

void find_touches(const Plan& plan, PlanFacts& facts) {
  facts.tensors.resize(plan.tensors.size());
  for (const StepId id : ids_of(plan.steps))
    for (const TensorId tensor : touched_by(plan, plan.steps[id])) {
      std::vector<StepId>& touches = facts.tensors[tensor].touches;
      if (touches.empty() || touches.back() != id) touches.push_back(id);
    }
  for (const TaskId id : ids_of(plan.tasks))
    for (const TensorId tensor : plan.tasks[id].writes) facts.tensors[tensor].maker = id;
  for (size_t i = 0; i < plan.residencies.size(); ++i)
    facts.tensors[plan.residencies[i].tensor].residencies.push_back(i);
  for (TensorFacts& tensor : facts.tensors)
    std::stable_sort(tensor.residencies.begin(), tensor.residencies.end(), [&](size_t a, size_t b) {
      return plan.residencies[a].first_step < plan.residencies[b].first_step;
    });
}

// A use is a compute step that does more than recompute the tensor.
void find_fate(const Plan& plan, TensorId id, TensorFacts& facts) {
  if (plan.tensors[id].persistent) return;
  if (plan.tensors[id].at_home_on_host()) {
    facts.fate = Fate::home;
    return;
  }
  if (facts.maker.valid() && !is_forward(plan.tasks[facts.maker].kind)) return;
  for (const StepId at : facts.touches) {
    const Step& step = plan.steps[at];
    if (step.kind != StepKind::compute) continue;
    if (in_the_forward(plan, step)) {
      facts.gap_from = at;
    } else if (reads(plan, step, id) && facts.gap_from.valid()) {
      facts.gap_to = at;
      break;
    }
  }
  if (!facts.gap_to.valid()) {
    facts.gap_from = {};
    return;
  }
  facts.fate = Fate::keep;
  for (const StepId at : facts.touches) {
    if (at <= facts.gap_from || at > facts.gap_to) continue;
    const Step& step = plan.steps[at];
    if (step.kind == StepKind::prefetch) facts.fate = Fate::offload;
    if (step.kind == StepKind::load) facts.fate = Fate::reload;
    if (step.recompute && writes(plan, step, id)) facts.fate = Fate::recompute;
  }
}

// An idle interval of the compute stream is attributed to the copy it waits for, for as long as that copy runs; the
// time before it to the copy that this copy waited for. So the non-overlapped times add up to the stall.
//
//   compute  ####            ####       the idle interval is 12 long
//   d2h         ########                8 of it for the offload …
//   h2d                 ####            … and 4 for the prefetch that waits for its bytes
void find_exposed(const Plan& plan, PlanFacts& facts) {
  facts.exposed = IdVector<StepId, double>(plan.steps.size(), 0);
  IdVector<StepId, StepId> before(plan.steps.size());  // on the same stream
  std::array<StepId, 4> last = {};
  for (const StepId id : ids_of(plan.steps)) {
    StepId& latest = last[static_cast<size_t>(plan.steps[id].stream)];
    before[id] = latest;
    latest = id;
  }
  const auto later = [&](StepId a, StepId b) {
    if (!a.valid() || !b.valid()) return a.valid() ? a : b;
    return plan.steps[b].end > plan.steps[a].end ? b : a;
  };
  const auto charge = [&](double from, double to, StepId culprit) {
    while (culprit.valid() && to > from && plan.steps[culprit].kind != StepKind::compute) {
      const Step& copy = plan.steps[culprit];
      const double start = std::max(from, copy.start), end = std::min(to, copy.end);
      if (end > start) facts.exposed[culprit] += end - start;
      to = std::min(to, start);
      StepId next = before[culprit];
      for (const StepId wait : copy.waits) next = later(next, wait);
      culprit = next;
    }
  };
  double done = 0;  // end of the compute stream's work so far
  StepId last_to_end;
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    last_to_end = later(last_to_end, id);
    if (step.kind != StepKind::compute) continue;
    StepId culprit;
    for (const StepId wait : step.waits) culprit = later(culprit, wait);
    if (step.start > done) charge(done, step.start, culprit);
    done = std::max(done, step.end);
  }
  facts.round_seconds = last_to_end.valid() ? plan.steps[last_to_end].end : 0;
  charge(done, facts.round_seconds, last_to_end);
}

// Bytes by step, for spans that begin and end at steps. A span that ends where another begins on the same bytes shares
// them.
struct Span {
  int64_t first = 0, last = 0, bytes = 0;
};

IdVector<StepId, int64_t> summed(const Plan& plan, const std::vector<Span>& spans) {
  const int64_t count = static_cast<int64_t>(plan.steps.size());
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  for (const Span& span : spans) {
    const int64_t first = std::max<int64_t>(span.first, 0), last = std::min(span.last, count - 1);
    if (first > last) continue;
    change[static_cast<size_t>(first)] += span.bytes;
    change[static_cast<size_t>(last) + 1] -= span.bytes;
  }
  IdVector<StepId, int64_t> sums;
  int64_t sum = 0;
  for (const StepId id : ids_of(plan.steps)) {
    sum += change[static_cast<size_t>(id.value)];
    sums.push_back(sum + plan.steps[id].workspace.bytes);
  }
  return sums;
}

// A tensor that is written in place reuses bytes of one that ends here, which must not be counted twice.
int64_t taken_over(const Plan& plan, const PlanFacts& facts, StepId id) {
  const Step& step = plan.steps[id];
  int64_t bytes = 0;
  if (step.kind != StepKind::compute) return 0;
  for (const Task::InPlace& pair : plan.tasks[step.task].in_place) {
    const Residency* const read = residency_at(plan, facts.tensors[pair.read], id);
    const Residency* const written = residency_at(plan, facts.tensors[pair.written], id);
    if (read && written && read->offset == written->offset && read->last_step == id.value &&
        written->first_step == id.value)
      bytes += std::min(read->bytes, written->bytes);
  }
  return bytes;
}

void find_live(const Plan& plan, PlanFacts& facts) {
  std::vector<Span> spans;
  for (const Residency& residency : plan.residencies)
    spans.push_back({residency.first_step, residency.last_step, residency.bytes});
  facts.live = summed(plan, spans);
  for (const StepId id : ids_of(plan.steps)) facts.live[id] -= taken_over(plan, facts, id);
}

int64_t persistent_bytes(const Plan& plan) {
  int64_t sum = 0;
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.persistent) sum += tensor.bytes;
  return sum;
}

void find_floor(const Plan& plan, PlanFacts& facts) {
  const int64_t persistent = persistent_bytes(plan);
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    int64_t bytes = persistent + step.workspace.bytes;
    std::vector<TensorId> touched = touched_by(plan, step);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const TensorId tensor : touched)
      if (!plan.tensors[tensor].persistent) bytes += plan.tensors[tensor].bytes;
    if (step.kind == StepKind::compute)
      for (const Task::InPlace& pair : plan.tasks[step.task].in_place)
        bytes -= std::min(plan.tensors[pair.read].bytes, plan.tensors[pair.written].bytes);
    facts.floor.push_back(std::max(bytes, persistent));
  }
}

void find_keep_all(const Plan& plan, PlanFacts& facts) {
  const int64_t count = static_cast<int64_t>(plan.steps.size());
  IdVector<TensorId, Span> lives(plan.tensors.size());
  for (const TensorId id : ids_of(plan.tensors)) {
    Span& life = lives[id];
    life = {count, -1, plan.tensors[id].bytes};
    if (plan.tensors[id].persistent || plan.tensors[id].at_home_on_host()) life = {0, count, life.bytes};
    for (const StepId at : facts.tensors[id].touches) {
      const Step& step = plan.steps[at];
      const bool counts = step.kind == StepKind::load || (step.kind == StepKind::compute && !step.recompute);
      if (!counts) continue;
      life.first = std::min<int64_t>(life.first, at.value);
      life.last = std::max<int64_t>(life.last, at.value);
    }
  }
  facts.keep_all = summed(plan, {lives.begin(), lives.end()});
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute || step.recompute) continue;
    for (const Task::InPlace& pair : plan.tasks[step.task].in_place)
      if (lives[pair.read].last == id.value && lives[pair.written].first == id.value)
        facts.keep_all[id] -= std::min(lives[pair.read].bytes, lives[pair.written].bytes);
  }
}

void find_layers(const Plan& plan, PlanFacts& facts) {
  std::unordered_map<std::string, size_t> known;
  for (const TaskId id : ids_of(plan.tasks)) {
    const PlanTask& task = plan.tasks[id];
    const std::string& name = task.layer.empty() ? task.name : task.layer;
    const auto [at, fresh] = known.emplace(name, facts.layers.size());
    if (fresh) facts.layers.push_back({.name = name, .op = task.op});
    facts.layer_of.push_back(at->second);
    LayerFacts& layer = facts.layers[at->second];
    layer.tasks.push_back(id);
    if (!is_forward(task.kind)) continue;
    for (const TensorId tensor : task.writes) {
      const int64_t bytes = plan.tensors[tensor].bytes;
      layer.outputs += bytes;
      switch (facts.tensors[tensor].fate) {
        case Fate::keep: layer.kept += bytes; break;
        case Fate::offload: layer.offloaded += bytes; break;
        case Fate::recompute: layer.recomputed += bytes; break;
        case Fate::none:
        case Fate::home:
        case Fate::reload: break;
      }
    }
  }
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) {
      const TaskId maker = facts.tensors[step.tensor].maker;
      if (maker.valid()) facts.layers[facts.layer_of[maker]].waiting += facts.exposed[id];
      continue;
    }
    const PlanTask& task = plan.tasks[step.task];
    LayerFacts& layer = facts.layers[facts.layer_of[step.task]];
    const double seconds = step.end - step.start;
    const bool forward = is_forward(task.kind);
    (step.recompute ? layer.again : forward ? layer.forward : layer.backward) += seconds;
    const FastestAlgorithm& fastest = plan.fastest_of(step.task);
    if (!step.recompute && !fastest.algorithm.empty()) layer.slower += std::max(0.0, seconds - fastest.seconds);
    layer.workspace = std::max(layer.workspace, step.workspace.bytes);
    if (layer.algorithm.empty() && forward) layer.algorithm = step.algorithm;
  }
}

void find_rates(const Plan& plan, PlanFacts& facts) {
  std::array<double, 2> bytes = {}, seconds = {};
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::offload && step.kind != StepKind::prefetch) continue;
    const size_t way = step.kind == StepKind::prefetch;
    bytes[way] += static_cast<double>(plan.tensors[step.tensor].bytes);
    seconds[way] += step.end - step.start;
  }
  if (seconds[0] > 0) facts.offload_rate = bytes[0] / seconds[0];
  if (seconds[1] > 0) facts.prefetch_rate = bytes[1] / seconds[1];
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::none: return "none";
    case Fate::keep: return "keep";
    case Fate::offload: return "offload";
    case Fate::recompute: return "recompute";
    case Fate::reload: return "reload";
    case Fate::home: return "kept on the host";
  }
  return "";
}

std::vector<TensorId> touched_by(const Plan& plan, const Step& step) {
  if (step.kind == StepKind::reduce) return step.bucket;
  if (step.kind != StepKind::compute) return {step.tensor};
  const PlanTask& task = plan.tasks[step.task];
  std::vector<TensorId> touched = task.reads;
  if (!step.recompute) touched.insert(touched.end(), task.updates.begin(), task.updates.end());
  touched.insert(touched.end(), task.writes.begin(), task.writes.end());
  return touched;
}

bool reads(const Plan& plan, const Step& step, TensorId tensor) {
  if (step.kind == StepKind::reduce) return holds(step.bucket, tensor);
  if (step.kind != StepKind::compute) return step.kind == StepKind::offload && step.tensor == tensor;
  const PlanTask& task = plan.tasks[step.task];
  return holds(task.reads, tensor) || holds(step.recompute ? task.remembers : task.updates, tensor);
}

bool writes(const Plan& plan, const Step& step, TensorId tensor) {
  if (step.kind == StepKind::reduce) return holds(step.bucket, tensor);
  if (step.kind != StepKind::compute) return step.kind != StepKind::offload && step.tensor == tensor;
  const PlanTask& task = plan.tasks[step.task];
  return holds(task.written(step.recompute), tensor) || (!step.recompute && holds(task.updates, tensor));
}

const Residency* residency_at(const Plan& plan, const TensorFacts& tensor, StepId step) {
  for (const size_t i : tensor.residencies) {
    const Residency& residency = plan.residencies[i];
    if (residency.first_step <= step.value && step.value <= residency.last_step) return &residency;
  }
  return nullptr;
}

Lifetime lifetime_of(const Plan& plan, const PlanFacts& facts, const Residency& residency) {
  const StepId first(residency.first_step), last(residency.last_step);
  return {plan.steps.contains(first) ? plan.steps[first].start : 0,
          plan.steps.contains(last) ? plan.steps[last].end : facts.round_seconds};
}

std::vector<MemoryPoint> memory_over_time(const Plan& plan, const PlanFacts& facts) {
  std::vector<MemoryPoint> changes = {{0, 0}};
  const auto add = [&](const Lifetime& life, int64_t bytes) {
    if (bytes == 0) return;
    changes.push_back({life.from, bytes});
    changes.push_back({life.to, -bytes});
  };
  for (const Residency& residency : plan.residencies) add(lifetime_of(plan, facts, residency), residency.bytes);
  for (const StepId id : ids_of(plan.steps))
    add({plan.steps[id].start, plan.steps[id].end}, plan.steps[id].workspace.bytes - taken_over(plan, facts, id));
  // At equal times, ends come before begins, because the bytes are the same.
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MemoryPoint& a, const MemoryPoint& b) { return a.seconds < b.seconds; });
  std::vector<MemoryPoint> points;
  int64_t sum = 0;
  for (const MemoryPoint& change : changes) {
    sum += change.bytes;
    if (!points.empty() && points.back().seconds == change.seconds) points.back().bytes = sum;
    else points.push_back({change.seconds, sum});
  }
  return points;
}

StepId peak_of(const Plan& plan) {
  if (plan.rules == "true") {
    const int64_t peak = plan.summary.peak_step;  // any number, if the plan is a file's
    return peak >= 0 && peak < static_cast<int64_t>(plan.steps.size()) ? StepId(peak) : StepId();
  }
  for (const StepId id : ids_of(plan.steps))
    if (!plan.steps[id].recompute && plan.steps[id].task.value + 1 == plan.summary.peak_step) return id;
  return {};
}

PlanFacts facts_of(const Plan& plan) {
  PlanFacts facts{.step_names = step_names(plan)};
  find_touches(plan, facts);
  for (const TensorId id : ids_of(plan.tensors)) find_fate(plan, id, facts.tensors[id]);
  find_exposed(plan, facts);
  find_live(plan, facts);
  find_floor(plan, facts);
  find_keep_all(plan, facts);
  find_layers(plan, facts);
  find_rates(plan, facts);
  return facts;
}

}  // namespace plimsoll
