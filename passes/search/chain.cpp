#include "passes/search/chain.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace plimsoll::search {
namespace {

constexpr Level kKept = {.depth = 0};
constexpr int kMostStages = 65;      // stages
constexpr int64_t kUnits = 512;   // maximum size of everything kept; bytes are rounded up to units
constexpr float kImpossible = std::numeric_limits<float>::infinity();

// Stage i reads y_{i-1} and writes y_i and the tensors that it saves for backward. Stage 0 is the chain's input. The
// loss follows the last stage.
struct Stage {
  int32_t task = -1, output = -1;
  std::vector<int32_t> stash = {};
  int32_t y = 0, stashed = 0;  // in units: the output, and the tensors saved for backward
  float seconds = 0;           // of one more run
};

std::optional<std::vector<Stage>> find_stages(const Model& model) {
  std::vector<Stage> stages;
  for (const Op& op : model.order) {
    if (!op.is_task() || model.task(op.id).kind != TaskKind::forward) continue;
    if (stages.empty() && !model.task(op.id).recomputable) continue;
    const auto reads = model.reads(op.id);
    if (reads.size() != 1 || !model.task(op.id).recomputable) return std::nullopt;
    if (stages.empty()) stages.push_back({.output = reads.front()});
    Stage& last = stages.back();
    if (last.output < 0) {  // among the previous stage's outputs, the one that this stage reads is its y
      const auto output = std::find(last.stash.begin(), last.stash.end(), reads.front());
      if (output == last.stash.end()) return std::nullopt;
      last.output = reads.front();
      last.stash.erase(output);
    } else if (last.output != reads.front()) {
      return std::nullopt;
    }
    stages.push_back({.task = op.id});
    for (const int32_t written : model.writes(op.id))
      if (!model.tensor(written).saved) stages.back().stash.push_back(written);
    if (stages.size() > kMostStages) return std::nullopt;
  }
  if (stages.size() < 4 || stages.back().stash.empty()) return std::nullopt;
  stages.back().output = stages.back().stash.front();
  stages.back().stash.erase(stages.back().stash.begin());
  return stages;
}

class Recurrence {
 public:
  Recurrence(const Model& model, std::vector<Stage> stages)
      : model_(model), stages_(std::move(stages)), end_(static_cast<int32_t>(stages_.size())) {
    int64_t all = 0;
    for (const Stage& stage : stages_) {
      all += 2 * model_.tensor(stage.output).bytes;
      for (const int32_t id : stage.stash) all += model_.tensor(id).bytes;
    }
    unit_ = std::max<int64_t>(256, (all / kUnits + 255) / 256 * 256);
    units_ = static_cast<int32_t>(all / unit_) + 4 * end_;
    for (Stage& stage : stages_) {
      stage.y = in_units(model_.tensor(stage.output).bytes);
      for (const int32_t id : stage.stash) stage.stashed += in_units(model_.tensor(id).bytes);
      if (stage.task >= 0) stage.seconds = static_cast<float>(model_.seconds_again(stage.task));
    }
    stages_.emplace_back();  // the loss
    solve();
  }

  std::vector<ChainStart> starts() {
    std::vector<ChainStart> starts;
    float before = kImpossible;
    for (int32_t units = 0; units <= units_; ++units) {
      const float now = cell(0, end_, units).seconds;
      if (now >= before) continue;
      before = now;
      ChainStart start{.decisions = keep_everything(model_), .limit = model_.persistent_bytes + units * unit_};
      for (const Stage& stage : stages_) {
        if (stage.task < 0) continue;
        evict(start.decisions, stage.output, kTransient);
        for (const int32_t id : stage.stash) evict(start.decisions, id, kTransient);
      }
      assign(start.decisions, 0, end_, units);
      starts.push_back(std::move(start));
    }
    return starts;
  }

 private:
  static constexpr int32_t kStash = 0;  // split: also keeps the tensors that the next stage saves for backward
  struct Cell {
    float seconds = kImpossible;  // in addition to one backward of each stage, and one forward of those after s
    int32_t split = -1;
  };

  int32_t in_units(int64_t bytes) const { return static_cast<int32_t>((bytes + unit_ - 1) / unit_); }
  Cell& cell(int32_t s, int32_t t, int32_t units) {
    return table_[at(s * (end_ + 1) + t) * at(units_ + 1) + at(units)];
  }
  int32_t y(int32_t i) const { return stages_[at(i)].y; }
  int32_t stash(int32_t i) const { return stages_[at(i)].stashed; }

  void solve() {
    table_.resize(at(end_) * at(end_ + 1) * at(units_ + 1));
    for (int32_t t = 1; t <= end_; ++t)
      for (int32_t s = t - 1; s >= 0; --s) {
        if (t == s + 1) begin(s, t);
        else join(s, t);
      }
  }
  // A single stage: its backward, after another forward that produces its saved tensors.
  void begin(int32_t s, int32_t t) {
    int32_t need = y(s) + stash(t) + y(t) + y(s);
    if (stash(t) > 0) need = std::max(need, y(s) + y(t) + y(t) + stash(t));
    for (int32_t units = need; units <= units_; ++units)
      cell(s, t, units) = {stash(t) > 0 ? stages_[at(t)].seconds : 0.0F, t};
  }
  void join(int32_t s, int32_t t) {
    const auto take = [&](int32_t units, float seconds, int32_t split) {
      if (Cell& mine = cell(s, t, units); seconds < mine.seconds) mine = {seconds, split};
    };
    if (const Stage& next = stages_[at(s + 1)]; next.stashed > 0) {
      const int32_t need = y(s) + next.y + next.stashed + std::max(y(t), y(s));
      for (int32_t units = need; units <= units_; ++units)
        take(units, cell(s + 1, t, units - y(s) - next.stashed).seconds + next.seconds, kStash);
    }
    float seconds = 0;
    int32_t need = 0;
    for (int32_t k = s + 1; k < t; ++k) {
      seconds += stages_[at(k)].seconds;
      need = std::max(need, y(s) + y(t) + (k - 1 > s ? y(k - 1) : 0) + y(k) + stash(k));
      for (int32_t units = need; units <= units_; ++units)
        take(units, cell(k, t, units - y(s)).seconds + cell(s, k, units).seconds + seconds, k);
    }
  }

  void evict(Decisions& decisions, int32_t id, Level level) const {
    if (!model_.tensor(id).movable) return;
    ActivationDecision& decision = decisions.activations[at(id)] = {};
    if (level != kKept) decision = {DecisionKind::recompute, level};
  }
  // The right part stays at the same level; the left part is one level deeper.
  void assign(Decisions& decisions, int32_t s, int32_t t, int32_t units) {
    struct Part {
      int32_t s, t, units;
      Level level;
    };
    std::vector<Part> parts = {{s, t, units, kKept}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      if (part.t == part.s + 1) continue;
      const int32_t split = cell(part.s, part.t, part.units).split;
      const int32_t k = split == kStash ? part.s + 1 : split;
      evict(decisions, stages_[at(k)].output, part.level);
      int32_t left = part.units - y(part.s);
      if (split == kStash) {
        for (const int32_t id : stages_[at(k)].stash) evict(decisions, id, part.level);
        left -= stash(k);
      } else {
        const int depth = part.level == kKept ? 0 : part.level.depth + 1;
        parts.push_back({part.s, k, part.units, {Level::Kind::nested, static_cast<uint8_t>(depth)}});
      }
      parts.push_back({k, part.t, left, part.level});
    }
  }

  const Model& model_;
  std::vector<Stage> stages_;  // and the loss
  const int32_t end_;          // the value of t for the loss
  int64_t unit_ = 256;
  int32_t units_ = 0;
  std::vector<Cell> table_;
};

}  // namespace

std::vector<ChainStart> chain_starts(const Model& model) {
  std::optional<std::vector<Stage>> stages = find_stages(model);
  if (!stages) return {};
  return Recurrence(model, std::move(*stages)).starts();
}

}  // namespace plimsoll::search
