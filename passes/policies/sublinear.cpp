// Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016): the forward keeps the tensors that cross a few
// splits of the network and drops the rest. The backward recomputes each segment from its split.
//
//   stay      0 . . . 0 . . . 0 . . .     one level: m = 0 at splits, m = 1 between; O(sqrt n) with sqrt n splits
//   stay      0 2 1 1 0 2 1 1 0 1 0 0     two levels: a recomputed segment keeps its own splits, 1, and recomputes the
//             |       |       |           pieces between those once more, 2: mirror counts above 1; k splits at each of
//             keep    keep    keep        log_{k+1} n levels take O(k log n)
//
// The paper's algorithms, and how open points were read:
//   Algorithm 3   memory planning with a budget B, line by line, over the forward tasks in their order. A split keeps
//                 every tensor written before it and read forward after it (on a chain, the paper's single tensor v).
//                 C, the set of candidate splits, is left to the user in the paper. Here it is the places where a local
//                 minimum of tensors crosses: the ends of residual blocks and of the cells of a recurrent network. A
//                 second search takes every place. The paper's y omits the last segment, and x and y both count v. The
//                 first is corrected here, because y sets B; the second is kept.
//   Appendix A    B = sqrt(x y) from the x and y that B = 0 gives, then six values on [B/sqrt 2, sqrt 2 B], by ratio.
//                 The paper's script takes sqrt(x y / 2), three times, and a linear grid: not followed. The best plan
//                 is not estimated, but chosen by the evaluator's peak.
//   recursion     Section 4.4: d levels have budgets B_1 > … > B_d in geometric progression from all outputs down to
//                 the largest one (d = 1 is B = sqrt(x y)), scaled by the same six factors. Each level plans the
//                 segments of the previous one with Algorithm 3.
//   last segment  Algorithms 1 and 2 also drop and recompute the last segment, although its backward follows at once.
//                 Here it stays, at every level: this does not raise the peak beyond y, and saves a recomputation.
//   a limit       The paper minimizes memory with one level; so do we without a limit. With a limit, the smallest
//                 number of levels that meets it is taken, and the fastest of its plans. If none meets it (limit 0: by
//                 request), the lowest peak of all levels is taken.
// Model inputs stay, as in the paper, and so do outputs that may not be recomputed.
#include "passes/policies/schedules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "passes/analysis/root.h"
#include "passes/schedule/evaluate.h"
#include "passes/schedule/lower.h"

namespace plimsoll {
namespace {

using namespace schedule;

constexpr int kDeepest = 8;  // levels of recursion
constexpr int kGrid = 6;     // Appendix A

// The forward tasks as the paper's chain of v: the outputs of each, and what a split after it would keep.
struct Chain {
  struct Place {
    std::vector<int32_t> outputs = {};  // tensors
    int64_t bytes = 0;                  // of the outputs
    int32_t crossing = 0;               // tensors written up to here and read later in the forward
  };
  std::vector<Place> places;
  // Of each tensor: the place that writes it, and the last place that reads it; -1: none.
  std::vector<int32_t> made, read;
  int32_t size() const { return static_cast<int32_t>(places.size()); }
};

Chain find_chain(const Model& model) {
  Chain chain{.places = {},
              .made = std::vector<int32_t>(model.tensors.size(), -1),
              .read = std::vector<int32_t>(model.tensors.size(), -1)};
  for (const Op& op : model.order) {
    if (!op.is_task() || model.task(op.id).kind != TaskKind::forward) continue;
    const int32_t place = chain.size();
    chain.places.emplace_back();
    for (const int32_t id : model.reads(op.id)) chain.read[at(id)] = place;
    for (const int32_t id : model.writes(op.id)) {
      if (!model.tensor(id).movable) continue;
      chain.made[at(id)] = place;
      chain.places.back().outputs.push_back(id);
      chain.places.back().bytes += model.tensor(id).bytes;
    }
  }
  for (size_t id = 0; id < chain.made.size(); ++id) {
    if (chain.made[id] < 0 || chain.read[id] <= chain.made[id]) continue;
    ++chain.places[at(chain.made[id])].crossing;
    --chain.places[at(chain.read[id])].crossing;
  }
  for (size_t place = 1; place < chain.places.size(); ++place)
    chain.places[place].crossing += chain.places[place - 1].crossing;
  return chain;
}

// The paper's C. `narrow`: only places where fewer tensors cross than around them, plateaus included.
std::vector<bool> find_candidates(const Chain& chain, bool narrow) {
  std::vector<bool> candidates(chain.places.size(), true);
  if (!narrow) return candidates;
  const auto crossing = [&](int32_t place) { return chain.places[at(place)].crossing; };
  for (int32_t begin = 0, end = 0; begin < chain.size(); begin = end) {
    while (end < chain.size() && crossing(end) == crossing(begin)) ++end;
    const bool low = (begin == 0 || crossing(begin - 1) > crossing(begin)) &&
                     (end == chain.size() || crossing(end) > crossing(begin));
    std::fill(candidates.begin() + begin, candidates.begin() + end, low);
  }
  return candidates;
}

class Splitter {
 public:
  Splitter(const Model& model, const Chain& chain, const std::vector<bool>& candidates)
      : model_(model), chain_(chain), candidates_(candidates) {}

  struct Range {
    int32_t begin, end;  // places
  };
  struct Segments {
    std::vector<Range> pieces = {};
    int64_t x = 0, y = 0;  // the paper's, in bytes
  };

  // Algorithm 3 with one budget per level, largest first.
  Decisions split(const std::vector<int64_t>& budgets) {
    Decisions decisions(model_);  // kept tensors without readers are freed in any case
    stay_.assign(chain_.made.size(), 0);
    split({0, chain_.size()}, budgets, 0, 0);
    for (size_t id = 0; id < stay_.size(); ++id)
      if (stay_[id] > 0 && model_.tensors[id].recomputable)
        decisions.activations[id] = {.kind = DecisionKind::recompute, .level = {.depth = stay_[id]}};
    return decisions;
  }

  // Lines 4 to 13. A split ends its segment.
  Segments segments(Range range, int64_t budget) const {
    Segments found;
    int64_t temp = 0;
    int32_t begin = range.begin;
    for (int32_t v = range.begin; v < range.end; ++v) {
      temp += chain_.places[at(v)].bytes;
      if (!candidates_[at(v)] || temp <= budget || v + 1 == range.end) continue;
      found.x += kept_after(v, begin);
      found.y = std::max(found.y, temp);
      temp = 0;
      found.pieces.push_back({begin, v + 1});
      begin = v + 1;
    }
    found.y = std::max(found.y, temp);
    found.pieces.push_back({begin, range.end});
    return found;
  }

 private:
  // Bytes kept by a split after `place` and not by one after `begin` - 1.
  int64_t kept_after(int32_t place, int32_t begin) const {
    int64_t bytes = 0;
    for (int32_t v = begin; v <= place; ++v)
      for (const int32_t id : chain_.places[at(v)].outputs)
        if (chain_.read[at(id)] > place) bytes += model_.tensor(id).bytes;
    return bytes;
  }

  // All segments but the last go to the next level. Tensors that cross a split get the level `stay`, and so does the
  // last segment.
  void split(Range range, const std::vector<int64_t>& budgets, size_t level, uint8_t stay) {
    if (level == budgets.size()) {
      for (int32_t v = range.begin; v < range.end; ++v)
        for (const int32_t id : chain_.places[at(v)].outputs) stay_[at(id)] = stay;
      return;
    }
    const std::vector<Range> pieces = segments(range, budgets[level]).pieces;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool last = i + 1 == pieces.size();
      split(pieces[i], budgets, level + 1, last ? stay : static_cast<uint8_t>(stay + 1));
      if (last) continue;
      for (int32_t v = pieces[i].begin; v < pieces[i].end; ++v)
        for (const int32_t id : chain_.places[at(v)].outputs)
          if (chain_.read[at(id)] >= pieces[i].end) stay_[at(id)] = std::min(stay_[at(id)], stay);
    }
  }

  const Model& model_;
  const Chain& chain_;
  const std::vector<bool>& candidates_;
  std::vector<uint8_t> stay_;
};

class Search {
 public:
  Search(const Model& model, int64_t limit)
      : model_(model), evaluator_(model), limit_(limit), chain_(find_chain(model)) {}

  Trace run() {
    if (chain_.places.empty()) return model_.order;
    for (int levels = 1; levels <= kDeepest; ++levels) {
      try_levels(levels);
      if (limit_ == kNoLimit || best_outcome_.fits(limit_)) break;
      if ((int64_t{1} << levels) > chain_.size()) break;  // at most log2 n levels
    }
    return std::move(best_);
  }

 private:
  void try_levels(int levels) {
    for (const bool narrow : {true, false}) {
      const std::vector<bool> candidates = find_candidates(chain_, narrow);
      Splitter splitter(model_, chain_, candidates);
      const Splitter::Segments sizes = splitter.segments({0, chain_.size()}, 0);
      const double x = static_cast<double>(std::max<int64_t>(sizes.x, 1)),
                   y = static_cast<double>(std::max<int64_t>(sizes.y, 1));
      for (int i = 0; i < kGrid; ++i) {
        const double scale = root(to_the_power(2, i), kGrid - 1) / std::sqrt(2.0);  // 1/sqrt 2 … sqrt 2
        std::vector<int64_t> budgets;
        for (int level = 1; level <= levels; ++level)
          budgets.push_back(static_cast<int64_t>(scale * x * to_the_power(root(y / x, levels + 1), level)));
        consider(splitter.split(budgets));
      }
    }
  }

  void consider(Decisions decisions) {
    Trace trace;
    lower_decisions(model_, decisions, trace);
    Outcome outcome = evaluator_.measure(trace, limit_);
    // Bytes often decide: seconds, 0 until they are added, count only between traces that fit or have the same peak.
    if (!best_.empty() && !better(outcome, best_outcome_)) return;
    evaluator_.add_seconds(trace, outcome);
    if (!best_.empty() && !better(outcome, best_outcome_)) return;
    best_ = std::move(trace);
    best_outcome_ = outcome;
  }

  bool better(const Outcome& a, const Outcome& b) const {
    if (limit_ != kNoLimit && a.fits(limit_) != b.fits(limit_)) return a.fits(limit_);
    const auto by_peak = std::pair(a.peak_bytes, a.seconds) < std::pair(b.peak_bytes, b.seconds);
    const auto by_time = std::pair(a.seconds, a.peak_bytes) < std::pair(b.seconds, b.peak_bytes);
    return limit_ != kNoLimit && a.fits(limit_) ? by_time : by_peak;
  }

  const Model& model_;
  Evaluator evaluator_;
  const int64_t limit_;
  const Chain chain_;
  Trace best_;
  Outcome best_outcome_;
};

}  // namespace

Program sublinear(const ScheduleRequest& request) { return {.trace = Search(request.model, request.live_limit).run()}; }

}  // namespace plimsoll
