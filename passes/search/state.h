// A schedule in the search: its decisions, and its bytes and seconds under a limit on live bytes.
#pragma once

#include <memory>
#include <utility>

#include "passes/deadline.h"
#include "passes/schedule/evaluate.h"
#include "passes/search/names.h"

namespace plimsoll::search {

// A host-resident tensor in the host pool counts as offloaded.
inline DecisionKind kind_of(const Model& model, const Decisions& decisions, int32_t id) {
  const ModelTensor& tensor = model.tensor(id);
  if (!tensor.host_resident()) return decisions.activations[at(id)].kind;
  return decisions.residences[at(tensor.residence)].on_host ? DecisionKind::offload : DecisionKind::keep;
}

// The kinds of decisions that the search may make other than keep. A model input may always be loaded again.
struct Means {
  bool recompute = true;
  bool offload = true;
};

// Copies share the decisions: those of 100,000 nodes take 2 MB, and a search keeps hundreds of schedules.
class SharedDecisions {
 public:
  SharedDecisions() = default;
  SharedDecisions(Decisions decisions) : decisions_(std::make_shared<const Decisions>(std::move(decisions))) {}
  operator const Decisions&() const { return *decisions_; }
  friend bool operator==(const SharedDecisions& a, const SharedDecisions& b) {
    return a.decisions_ == b.decisions_ || *a.decisions_ == *b.decisions_;
  }

 private:
  std::shared_ptr<const Decisions> decisions_ = std::make_shared<const Decisions>();
};

struct State {
  SharedDecisions decisions = {};
  int64_t limit = kNoLimit;  // bytes; algorithms were chosen and copies timed under it
  Spare spare = {};          // likewise
  Outcome outcome = {};
  int64_t work = 0;  // steps evaluated for this outcome
};

// Evaluates decisions and counts the work. The limits on work are numbers of evaluated steps, never times, so the same
// input gives the same plan.
class Workbench {
 public:
  explicit Workbench(const Model& model, const Deadline& deadline = {}, int64_t pool_limit = kNoLimit,
                     const Spare& spare = {})
      : model(model),
        spare(spare),
        evaluator(model, spare),
        deadline(deadline),
        pool_limit(pool_limit) {}

  // Lowers the decisions, moves the copies, and evaluates the trace. Corrects impossible decisions (lower.h) and those
  // that exceed the host pool's limit (host_pool.h). If the trace grows too long, the outcome is not possible(), and
  // evaluator and trace are meaningless. With where_it_fits, an outcome that does not fit has no seconds. Repeating the
  // last request returns the cached state, but counts its work again.
  using Seconds = Evaluator::Seconds;
  State evaluate(Decisions decisions, int64_t limit, Seconds wanted = Seconds::always);

  const Model& model;
  const Spare spare;
  Evaluator evaluator;  // of the last state evaluated
  Trace trace;          // likewise
  int64_t work = 0;     // steps evaluated so far
  Deadline deadline;
  const int64_t pool_limit;  // bytes, before addresses
  bool pool_binds = false;   // the limit has changed some schedule

 private:
  State last_;
};

}  // namespace plimsoll::search
