#include "passes/sync.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory_resource>

#include "passes/analysis/access.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {
namespace {

constexpr size_t kStreams = 4;
size_t index_of(StreamKind stream) { return static_cast<size_t>(stream); }

// The access history of a memory. Each range of bytes has its last writer and, per stream, its last reader since.
// Streams run in order, so the last reader of a stream stands for all before it.
//
//   offset  0        4096      8192      12288
//           | w=3    | w=3     | w=7     |
//           | r={}   | r={5,-} | r={}    |
class History {
 public:
  struct State {
    StepId writer = {};
    std::array<StepId, kStreams> readers = {};
  };

  // Calls body(StepId) for every step that this access must follow.
  template <class Body>
  void read(Block block, StepId step, StreamKind stream, Body body) {
    if (block.bytes == 0) return;
    const auto [first, last] = cut_out(block);
    for (auto range = first; range != last; ++range) {
      if (range->second.writer.valid()) body(range->second.writer);
      range->second.readers[index_of(stream)] = step;
    }
  }

  template <class Body>
  void write(Block block, StepId step, Body body) {
    if (block.bytes == 0) return;
    const auto [first, last] = cut_out(block);
    for (auto range = first; range != last; ++range) {
      if (range->second.writer.valid()) body(range->second.writer);
      for (const StepId reader : range->second.readers)
        if (reader.valid()) body(reader);
    }
    first->second = State{.writer = step};
    ranges_.erase(std::next(first), last);
  }

 private:
  using Ranges = std::pmr::map<int64_t, State>;  // keyed by offset; a range extends to the next key

  // Splits ranges at the ends of the block, and returns those inside it.
  std::pair<Ranges::iterator, Ranges::iterator> cut_out(Block block) {
    const auto first = cut(block.offset, ranges_.lower_bound(block.offset));
    auto last = std::next(first);  // few ranges lie inside, so the end is near
    while (last != ranges_.end() && last->first < block.end()) ++last;
    return {first, cut(block.end(), last)};
  }
  // `next`: the first range at this offset or later.
  Ranges::iterator cut(int64_t offset, Ranges::iterator next) {
    if (next != ranges_.end() && next->first == offset) return next;
    const State state = next == ranges_.begin() ? State{} : std::prev(next)->second;
    return ranges_.emplace_hint(next, offset, state);
  }

  std::pmr::unsynchronized_pool_resource nodes_;  // of the map: every step adds and removes some
  Ranges ranges_{&nodes_};
};

}  // namespace

Status sync(Plan& plan, const Context&) {
  History arena, host;
  ResidencyCursor residencies(plan);
  // If a tensor is overwritten while still resident, the write belongs to the later residency.
  const auto block_of = [&](TensorId tensor, StepId step, bool only_writes) {
    const size_t now = residencies.now(tensor), before = residencies.before(tensor);
    PLIMSOLL_CHECK(now != ResidencyCursor::kNone, "a step touches a tensor that is not there");
    const bool earlier =
        !only_writes && before != ResidencyCursor::kNone && plan.residencies[now].first_step == step.value;
    return plan.residencies[earlier ? before : now].block();
  };
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    residencies.move_to(id);
    std::array<StepId, kStreams> latest = {};
    const auto after = [&](StepId earlier) {
      StepId& found = latest[index_of(plan.steps[earlier].stream)];
      found = std::max(found, earlier);
    };
    // All reads first: a step neither reads nor waits for its own write.
    for (const bool writing : {false, true}) {
      for_each_access(plan, step, [&](TensorId tensor, bool reads, bool writes) {
        if (writes != writing) return;
        const Block block = block_of(tensor, id, writes && !reads);
        if (writes) arena.write(block, id, after);
        else arena.read(block, id, step.stream, after);
      });
    }
    arena.write(step.workspace, id, after);
    if (step.kind == StepKind::offload || step.kind == StepKind::prefetch) {
      const Block slot{step.host_offset, plan.tensors[step.tensor].bytes};
      if (step.kind == StepKind::offload) host.write(slot, id, after);
      else host.read(slot, id, step.stream, after);
    }
    for (const StepId wait : step.waits) after(wait);
    latest[index_of(step.stream)] = {};
    step.waits.clear();
    for (const StepId wait : latest)
      if (wait.valid()) step.waits.push_back(wait);
    std::sort(step.waits.begin(), step.waits.end());
  }
  return {};
}

// Vector clocks: for each step and stream, the last step of that stream that has finished when the step begins.
Status prune_waits(Plan& plan, const Context&) {
  using Clock = std::array<StepId, kStreams>;
  const auto join = [](Clock& into, const Clock& from) {
    for (size_t stream = 0; stream < kStreams; ++stream) into[stream] = std::max(into[stream], from[stream]);
  };
  IdVector<StepId, Clock> finished(plan.steps.size());
  Clock of_stream_end[kStreams] = {};  // the clock at the end of each stream's last step so far
  for (const StepId id : ids_of(plan.steps)) {
    Step& step = plan.steps[id];
    const Clock known = of_stream_end[index_of(step.stream)];
    const auto implied = [&](StepId wait) {
      const size_t stream = index_of(plan.steps[wait].stream);
      if (known[stream] >= wait) return true;
      return std::any_of(step.waits.begin(), step.waits.end(), [&](StepId other) {
        return other != wait && finished[other][stream] >= wait;
      });
    };
    std::vector<StepId> needed;
    for (const StepId wait : step.waits)
      if (!implied(wait)) needed.push_back(wait);
    Clock now = known;
    for (const StepId wait : needed) join(now, finished[wait]);
    now[index_of(step.stream)] = id;
    step.waits = std::move(needed);
    finished[id] = now;
    of_stream_end[index_of(step.stream)] = now;
  }
  return {};
}

}  // namespace plimsoll
