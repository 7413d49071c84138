#include "passes/schedule/copies.h"

#include <algorithm>

namespace plimsoll::schedule {
namespace {

struct Copy {
  Op op;
  int32_t position;  // stands before this step of the woven trace
};

class Timer {
 public:
  Timer(const Model& model, Evaluator& evaluator, const Trace& trace, int64_t limit)
      : model_(model), evaluator_(evaluator), trace_(trace), limit_(limit), live_(evaluator.live()) {}

  Trace run() {
    find_compute_times();
    delay_offloads();
    hasten_fetches();
    return merge();
  }

 private:
  int32_t steps() const { return static_cast<int32_t>(trace_.size()); }
  bool is_compute(int32_t step) const { return trace_[static_cast<size_t>(step)].kind == StepKind::compute; }
  double seconds(const Op& op, double rate) const {
    return model_.links.latency_seconds + static_cast<double>(model_.tensors[static_cast<size_t>(op.id)].copy_bytes) / rate;
  }
  int64_t bytes(const Op& op) const { return model_.tensors[static_cast<size_t>(op.id)].bytes; }
  bool has_room(int32_t step, int64_t bytes) const { return live_[static_cast<size_t>(step)] <= limit_ - bytes; }

  // When each task would run if nobody waited.
  void find_compute_times() {
    begins_.resize(trace_.size() + 1);
    double now = 0;
    for (int32_t step = 0; step < steps(); ++step) {
      begins_[static_cast<size_t>(step)] = now;
      if (is_compute(step)) now += evaluator_.seconds_of(trace_, step);
    }
    begins_.back() = now;
  }

  void delay_offloads() {
    given_up_.assign(model_.tensors.size(), 0);
    earliest_.assign(trace_.size(), 0);
    double stream = 0, waited = 0;  // waited: by how much tasks come later than begins_ says
    for (int32_t step = 0; step < steps(); ++step) {
      const Op& op = trace_[static_cast<size_t>(step)];
      if (op.kind == StepKind::prefetch) earliest_[static_cast<size_t>(step)] = given_up_[static_cast<size_t>(op.id)];
      if (op.kind != StepKind::offload) continue;
      const int32_t maker = evaluator_.made_at(step);
      stream = std::max(stream, begins_[static_cast<size_t>(maker) + 1] + waited) + seconds(op, model_.links.d2h_bytes_per_second);
      int32_t position = step + 1;
      while (position < steps() && begins_[static_cast<size_t>(position)] + waited < stream && has_room(position, bytes(op)) &&
             !returns(position, op.id)) {
        live_[static_cast<size_t>(position)] += bytes(op);
        ++position;
      }
      waited = std::max(waited, stream - begins_[static_cast<size_t>(position)]);
      given_up_[static_cast<size_t>(op.id)] = position;
      offloads_.push_back({op, position});
    }
  }
  bool returns(int32_t step, int32_t tensor) const {
    const Op& op = trace_[static_cast<size_t>(step)];
    return op.kind == StepKind::prefetch && op.id == tensor;
  }

  void hasten_fetches() {
    // Loads before the first task stay where they are: nothing could be earlier.
    int32_t first = 0;
    while (first < steps() && !is_compute(first)) ++first;
    first_task_ = first;
    double next = begins_.back();
    for (int32_t step = steps(); step-- > first;) {
      const Op& op = trace_[static_cast<size_t>(step)];
      if (op.kind != StepKind::prefetch && op.kind != StepKind::load) continue;
      next = std::min(next, begins_[static_cast<size_t>(step)]) - seconds(op, model_.links.h2d_bytes_per_second);
      const int32_t earliest = std::max({first, evaluator_.left_at(step) + 1, earliest_[static_cast<size_t>(step)]});
      int32_t position = step;
      while (position > earliest && begins_[static_cast<size_t>(position)] > next && has_room(position - 1, bytes(op))) {
        --position;
        live_[static_cast<size_t>(position)] += bytes(op);
      }
      fetches_.push_back({op, position});
    }
    std::reverse(fetches_.begin(), fetches_.end());
  }

  Trace merge() {
    const auto by_position = [](const Copy& a, const Copy& b) { return a.position < b.position; };
    std::stable_sort(offloads_.begin(), offloads_.end(), by_position);
    std::stable_sort(fetches_.begin(), fetches_.end(), by_position);
    Trace merged;
    merged.reserve(trace_.size());
    size_t offload = 0, fetch = 0;
    for (int32_t step = 0; step <= steps(); ++step) {
      for (; offload < offloads_.size() && offloads_[offload].position <= step; ++offload) merged.push_back(offloads_[offload].op);
      for (; fetch < fetches_.size() && fetches_[fetch].position <= step; ++fetch) merged.push_back(fetches_[fetch].op);
      if (step < steps() && (is_compute(step) || step < first_task_)) merged.push_back(trace_[static_cast<size_t>(step)]);
    }
    return merged;
  }

  const Model& model_;
  const Evaluator& evaluator_;
  const Trace& trace_;
  const int64_t limit_;
  std::vector<int64_t> live_;
  std::vector<double> begins_;
  std::vector<int32_t> given_up_;  // of each tensor: where its last offload stands
  std::vector<int32_t> earliest_;  // of each fetch: where the offload before it stands
  std::vector<Copy> offloads_, fetches_;
  int32_t first_task_ = 0;
};

}  // namespace

Outcome time_copies(const Model& model, Evaluator& evaluator, Trace& trace, int64_t limit) {
  const Outcome woven = evaluator.evaluate(trace, limit);
  const auto is_task = [](const Op& op) { return op.kind == StepKind::compute; };
  if (std::all_of(std::find_if(trace.begin(), trace.end(), is_task), trace.end(), is_task)) return woven;
  Trace timed = Timer(model, evaluator, trace, limit).run();
  const Outcome better = evaluator.evaluate(timed, limit);
  if (woven.fits(limit) && (!better.fits(limit) || better.seconds > woven.seconds)) return evaluator.evaluate(trace, limit);
  trace = std::move(timed);
  return better;
}

}  // namespace plimsoll::schedule
