#include "tests/check/interleave.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "compiler/ir/names.h"

namespace plimsoll {
namespace {

// The contents of a byte: a tensor after a number of updates, or garbage.
struct Value {
  TensorId tensor = {};
  int32_t version = 0;
  friend bool operator==(const Value&, const Value&) = default;
};

// Bytes, as ranges with the same value.
class Bytes {
 public:
  void fill(int64_t begin, int64_t end, Value value) {
    if (begin >= end) return;
    split(begin);
    split(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_[begin] = {end, value};
  }
  bool holds(int64_t begin, int64_t end, Value value) const {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin()) --at;
    for (; begin < end; ++at) {
      if (at == ranges_.end() || at->first > begin || at->second.end <= begin || !(at->second.value == value))
        return false;
      begin = at->second.end;
    }
    return true;
  }

 private:
  struct Range {
    int64_t end = 0;
    Value value = {};
  };
  void split(int64_t at) {
    auto after = ranges_.lower_bound(at);
    if (after == ranges_.begin()) return;
    Range& before = std::prev(after)->second;
    if (before.end <= at) return;
    ranges_[at] = before;
    before.end = at;
  }
  std::map<int64_t, Range> ranges_;
};

struct Piece {
  Bytes* memory = nullptr;
  int64_t begin = 0, end = 0;
  Value value = {};
  bool overwritten_by_itself = false;  // read in place: checked only at the beginning
};

class Run {
 public:
  Run(const Plan& plan, uint64_t seed, bool first, bool updates)
      : plan_(plan), first_(first), updates_(updates), random_(seed), names_(step_names(plan)) {
    for (StepId id : ids_of(plan_.steps)) left_out_.push_back(is_left_out(id));
  }

  std::string go() {
    for (const Residency& residency : plan_.residencies)
      if (residency.first_step == -1) arena_.fill(residency.offset, residency.block().end(), {residency.tensor, 0});
    for (TensorId id : ids_of(plan_.tensors))
      if (const TensorId whole = plan_.tensors[id].slice_of; whole.valid()) slices_[whole].push_back(id);
    for (TensorId id : ids_of(plan_.tensors))
      if (const PlanTensor& tensor = plan_.tensors[id];
          tensor.at_home_on_host() && slices_[id].empty() && !(first_ && is_gradient(id)))
        host_.fill(tensor.home_offset, tensor.home_offset + tensor.bytes, {id, 0});
    for (StepId id : ids_of(plan_.steps)) queues_[static_cast<size_t>(plan_.steps[id].stream)].push_back(id);
    finished_ = IdVector<StepId, bool>(plan_.steps.size(), false);
    // Some runs delay one stream: this finds more than an even interleaving.
    const size_t slow = random_() % 5;
    for (;;) {
      std::vector<size_t> able;
      for (size_t s = 0; s < queues_.size(); ++s)
        if (running_[s].valid() || (!queues_[s].empty() && ready(queues_[s].front()))) able.push_back(s);
      if (able.empty()) break;
      size_t s = able[random_() % able.size()];
      if (s == slow && able.size() > 1 && random_() % 8 != 0) s = able[(random_() % able.size())];
      const std::string wrong = running_[s].valid() ? finish(s) : begin(s);
      if (!wrong.empty()) return wrong;
    }
    for (const auto& queue : queues_)
      if (!queue.empty()) return fmt::format("{} waits for ever", names_[queue.front()]);
    return check_end();
  }

 private:
  bool ready(StepId id) const {
    for (StepId wait : plan_.steps[id].waits)
      if (!finished_[wait]) return false;
    return true;
  }

  std::string begin(size_t stream) {
    const StepId id = queues_[stream].front();
    queues_[stream].pop_front();
    running_[stream] = id;
    reads_[stream].clear();
    writes_[stream].clear();
    if (const std::string wrong = gather(id, reads_[stream], writes_[stream]); !wrong.empty()) return wrong;
    if (const std::string wrong = check(id, stream, false); !wrong.empty()) return wrong;
    for (const Piece& piece : writes_[stream]) piece.memory->fill(piece.begin, piece.end, {});
    return "";
  }

  std::string finish(size_t stream) {
    const StepId id = running_[stream];
    running_[stream] = {};
    finished_[id] = true;
    if (const std::string wrong = check(id, stream, true); !wrong.empty()) return wrong;
    for (const Piece& piece : writes_[stream]) piece.memory->fill(piece.begin, piece.end, piece.value);
    return "";
  }

  std::string check(StepId id, size_t stream, bool end) {
    for (const Piece& piece : reads_[stream])
      if (!(end && piece.overwritten_by_itself) && !piece.memory->holds(piece.begin, piece.end, piece.value))
        return fmt::format("{} does not find {} at its {}", names_[id],
                           spelled_tensor(plan_.tensors[piece.value.tensor].name), end ? "end" : "beginning");
    // Checks that no other step has written the same bytes meanwhile.
    if (end)
      for (const Piece& piece : writes_[stream])
        if (!piece.memory->holds(piece.begin, piece.end, {}))
          return fmt::format(
              "{} is written over while it writes {}", names_[id],
              piece.value.tensor.valid() ? spelled_tensor(plan_.tensors[piece.value.tensor].name) : "its workspace");
    return "";
  }

  const Residency* residency_at(StepId id, TensorId tensor) const {
    for (const Residency& residency : plan_.residencies)
      if (residency.tensor == tensor && residency.first_step <= id.value && id.value <= residency.last_step)
        return &residency;
    return nullptr;
  }

  // The number of updates that a task needs: those of all tasks listed before it. With several ranks, the sum over
  // ranks counts as one more update of a gradient, between all other tasks and the update tasks.
  int32_t wanted(TensorId tensor, TaskId task) const {
    int32_t count = 0;
    for (TaskId other : ids_of(plan_.tasks)) {
      if (other == task) break;
      for (TensorId updated : plan_.tasks[other].updates) count += updated == tensor;
    }
    const bool summed = plan_.ranks > 1 && plan_.tensors[tensor].kind == TensorKind::weight_gradient;
    return count + (summed && plan_.tasks[task].kind == TaskKind::update);
  }
  int32_t parts(TensorId tensor) const {
    int32_t count = 0;
    for (const PlanTask& task : plan_.tasks)
      for (TensorId updated : task.updates) count += updated == tensor && task.kind != TaskKind::update;
    return count;
  }

  int32_t updates_before(TensorId tensor, StepId id) const {
    int32_t count = 0;
    for (int32_t i = 0; i < id.value; ++i) {
      const Step& step = plan_.steps[StepId(i)];
      if (step.kind != StepKind::compute || step.recompute || left_out_[StepId(i)]) continue;
      for (TensorId updated : plan_.tasks[step.task].updates) count += updated == tensor;
    }
    return count;
  }

  // True for steps that this round skips; only their position in the stream remains.
  bool is_left_out(StepId id) const {
    const Step& step = plan_.steps[id];
    if (step.kind == StepKind::compute) return !updates_ && plan_.tasks[step.task].kind == TaskKind::update;
    if (step.kind == StepKind::reduce)
      return !updates_ && plan_.tensors[step.tensor].kind == TensorKind::weight_gradient;
    // The first fetch of a gradient is not left out of the first round: it writes zeros.
    return (step.rounds == CopyRounds::last && !updates_) || (step.rounds == CopyRounds::all_but_last && updates_);
  }

  bool is_gradient(TensorId id) const { return plan_.tensors[id].kind == TensorKind::weight_gradient; }
  bool begins_with_zeros(StepId id) const { return first_ && plan_.steps[id].rounds == CopyRounds::all_but_first; }

  std::string gather(StepId id, std::vector<Piece>& reads, std::vector<Piece>& writes) {
    if (left_out_[id]) return "";
    const Step& step = plan_.steps[id];
    const auto piece = [&](TensorId tensor, int32_t version) {
      const Residency* const at = residency_at(id, tensor);
      return at ? Piece{&arena_, at->offset, at->block().end(), {tensor, version}} : Piece{};
    };
    if (step.kind == StepKind::compute) {
      const PlanTask& task = plan_.tasks[step.task];
      for (TensorId tensor : task.reads) reads.push_back(piece(tensor, wanted(tensor, step.task)));
      for (TensorId tensor : task.writes) {
        const bool saved = std::find(task.remembers.begin(), task.remembers.end(), tensor) != task.remembers.end();
        (step.recompute && saved ? reads : writes).push_back(piece(tensor, 0));
      }
      if (!step.recompute)
        for (TensorId tensor : task.updates) {
          reads.push_back(piece(tensor, wanted(tensor, step.task)));
          reads.back().overwritten_by_itself = true;
          writes.push_back(piece(tensor, wanted(tensor, step.task) + 1));
        }
      for (Piece& read : reads)
        for (const Task::InPlace& pair : task.in_place)
          for (const Piece& write : writes)
            if (pair.read == read.value.tensor && pair.written == write.value.tensor && read.begin == write.begin)
              read.overwritten_by_itself = true;
      if (step.workspace.bytes > 0) writes.push_back({&arena_, step.workspace.offset, step.workspace.end(), {}});
    } else if (step.kind == StepKind::reduce) {
      for (TensorId tensor : step.bucket) {
        reads.push_back(piece(tensor, parts(tensor)));
        reads.back().overwritten_by_itself = true;
        writes.push_back(piece(tensor, parts(tensor) + 1));
      }
      if (step.workspace.bytes > 0) writes.push_back({&arena_, step.workspace.offset, step.workspace.end(), {}});
    } else {
      const int64_t bytes = plan_.tensors[step.tensor].bytes;
      // A tensor that changes is copied only if it resides in the host pool. A copy then contains the updates issued
      // before it.
      const int32_t version =
          plan_.tensors[step.tensor].at_home_on_host() && !begins_with_zeros(id) ? updates_before(step.tensor, id) : 0;
      const Piece device = piece(step.tensor, version),
                  host{&host_, step.host_offset, step.host_offset + bytes, {step.tensor, version}};
      if (step.kind == StepKind::offload) reads.push_back(device), writes.push_back(host);
      if (step.kind == StepKind::prefetch) {
        // The slot of a whole contains its slices, before their updates.
        for (TensorId slice : slices_[step.tensor]) {
          const int64_t at = step.host_offset + plan_.tensors[slice].slice_begin;
          reads.push_back({&host_, at, at + plan_.tensors[slice].bytes, {slice, 0}});
        }
        if (slices_[step.tensor].empty() && !begins_with_zeros(id)) reads.push_back(host);
        writes.push_back(device);
      }
      if (step.kind == StepKind::load) writes.push_back(device);
    }
    for (const auto* list : {&reads, &writes})
      for (const Piece& each : *list)
        if (!each.memory) return fmt::format("{} touches what is not resident", names_[id]);
    for (size_t i = 0; i < writes.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (overlap(writes[i], writes[j])) return fmt::format("{} writes the same bytes twice", names_[id]);
      for (const Piece& read : reads)
        if (overlap(writes[i], read) && !(read.overwritten_by_itself && read.begin == writes[i].begin))
          return fmt::format("{} writes over what it reads", names_[id]);
    }
    return "";
  }

  static bool overlap(const Piece& a, const Piece& b) {
    return a.memory == b.memory && a.begin < b.end && b.begin < a.end;
  }

  std::string check_end() {
    for (TensorId id : ids_of(plan_.tensors)) {
      const PlanTensor& tensor = plan_.tensors[id];
      const int32_t updates = updates_before(id, StepId(static_cast<int64_t>(plan_.steps.size())));
      if (updates_ && is_gradient(id)) continue;  // the next iteration starts from zeros
      if (tensor.at_home_on_host() && slices_[id].empty() &&
          !host_.holds(tensor.home_offset, tensor.home_offset + tensor.bytes, {id, updates}))
        return fmt::format("{} is not at home when the round ends", spelled_tensor(tensor.name));
    }
    for (TaskId task : ids_of(plan_.tasks)) {
      if (plan_.tasks[task].kind == TaskKind::loss)
        for (TensorId tensor : plan_.tasks[task].writes) {
          bool read = plan_.tensors[tensor].kind == TensorKind::activation_gradient;  // then it has no reader
          for (const PlanTask& other : plan_.tasks)
            for (TensorId each : other.reads) read = read || each == tensor;
          for (const Residency& residency : plan_.residencies)
            if (!read && residency.tensor == tensor &&
                !arena_.holds(residency.offset, residency.block().end(), {tensor, plan_.ranks > 1}))
              return fmt::format("{} is gone when the round ends", spelled_tensor(plan_.tensors[tensor].name));
        }
      int runs = 0;
      for (const Step& step : plan_.steps)
        runs += step.kind == StepKind::compute && step.task == task && !step.recompute;
      if (runs != 1) return fmt::format("{} has run {} times", plan_.tasks[task].name, runs);
    }
    return "";
  }

  const Plan& plan_;
  const bool first_, updates_;  // updates_: the last round of an iteration
  IdVector<StepId, bool> left_out_;
  std::mt19937_64 random_;
  const IdVector<StepId, std::string> names_;
  std::map<TensorId, std::vector<TensorId>> slices_;  // of a whole
  Bytes arena_, host_;
  std::array<std::deque<StepId>, 4> queues_;
  std::array<StepId, 4> running_;
  std::array<std::vector<Piece>, 4> reads_, writes_;
  IdVector<StepId, bool> finished_;
};

}  // namespace

std::string run_interleaved(const Plan& plan, uint64_t seed) {
  if (plan.rounds > 1)
    for (const bool first : {true, false})
      if (const std::string wrong = Run(plan, seed, first, false).go(); !wrong.empty())
        return (first ? "in the first round: " : "without updates: ") + wrong;
  return Run(plan, seed, plan.rounds == 1, true).go();
}

}  // namespace plimsoll
