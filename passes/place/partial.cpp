#include "passes/place/partial.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace plimsoll::placement {
namespace {

// The sections of each item. A section ends where an item ends after another has begun.
std::vector<Partial::Span> find_sections(const Compact& problem) {
  std::vector<bool> begins(at(problem.times), false), ends(at(problem.times), false);
  for (const Item& item : problem.items) {
    begins[at(item.lower)] = true;
    ends[at(item.upper)] = true;
  }
  // number[t]: the section of time t, or the next section if t begins after the last maximal set has ended.
  std::vector<int32_t> number(at(problem.times));
  int32_t section = 0;
  bool grown = false;
  for (size_t t = 0; t < number.size(); ++t) {
    if (ends[t] && grown) {
      ++section;
      grown = false;
    }
    number[t] = section;
    grown = grown || begins[t];
  }
  std::vector<Partial::Span> spans;
  for (const Item& item : problem.items)
    spans.push_back({number[at(item.lower)], number[at(item.upper)] - 1});
  return spans;
}

}  // namespace

Partial::Partial(const Compact& problem, int64_t capacity)
    : capacity_(capacity),
      spans_(find_sections(problem)),
      floor_(problem.items.size()),
      history_(problem.items.size()),
      pool_(problem.items.size()) {
  for (const Item& item : problem.items) sizes_.push_back(item.size);
  size_t sections = 0;
  for (const Span& span : spans_) sections = std::max(sections, at(span.last) + 1);
  for (std::vector<int64_t>* each : {&tops_, &piled_, &failures_}) each->resize(sections);
  skyline_.resize(sections);
  crossing_.resize(sections);
  part_of_.resize(sections);
}

void Partial::clear() {
  std::ranges::fill(floor_, 0);
  std::ranges::fill(history_, History{});
  std::ranges::fill(tops_, 0);
  std::ranges::fill(skyline_, Top{});
  std::ranges::fill(crossing_, 0);
  for (const Span& span : spans_)
    for (int32_t s = span.first; s < span.last; ++s) ++crossing_[at(s)];
  std::iota(pool_.begin(), pool_.end(), 0);
  trail_.clear();
  runs_.clear();
  piled_mark_ = 0;
}

bool Partial::before(uint32_t a, uint32_t b) const {
  return std::tie(floor_[a], history_[a].turn, a) < std::tie(floor_[b], history_[b].turn, b);
}

Partial::Placed Partial::place(Range range, uint32_t item) {
  const int64_t top = top_of(item), turn = static_cast<int64_t>(trail_.size()) + 1;
  const Span span = spans_[item];
  Placed placed{{range.begin, range.end - 1}, span, false};

  // Items that the new one raises follow those that are at its top already.
  changed_.clear();
  size_t from = range.begin, to = range.begin;
  for (; from < range.end && floor_[pool_[from]] <= top; ++from) {
    const uint32_t other = pool_[from];
    if (other == item) continue;
    if (floor_[other] == top || !spans_[other].meets(span)) {
      pool_[to++] = other;
      continue;
    }
    changed_.push_back(other);
    floor_[other] = top;
    history_[other].turn = turn;
    history_[other].below = item;
    placed.changed.include(spans_[other]);
  }
  std::sort(changed_.begin(), changed_.end());
  for (const uint32_t other : changed_) pool_[to++] = other;
  std::ranges::copy(pool({from, range.end}), pool({to, range.end}).begin());
  pool_[placed.rest.end] = item;

  const size_t runs = runs_.size();
  for (int32_t s = span.first; s <= span.last; ++s) {
    if (s > span.first && skyline_[at(s)].under == runs_.back().top.under) runs_.back().last = s;
    else runs_.push_back({s, skyline_[at(s)]});
    if (s < span.last) placed.cut |= --crossing_[at(s)] == 0;
  }
  std::fill(skyline_.begin() + span.first, skyline_.begin() + span.last + 1, Top{top, item});
  history_[item].placed = turn;
  trail_.push_back({item, static_cast<uint32_t>(runs_.size() - runs), 0, 0});
  return placed;
}

bool Partial::refuse(Range range, uint32_t item) {
  int64_t floor = std::numeric_limits<int64_t>::max();
  size_t place = range.begin;
  for (size_t k = range.begin; k < range.end && floor_[pool_[k]] < floor; ++k) {
    const uint32_t other = pool_[k];
    if (other == item) place = k;
    else if (spans_[other].meets(spans_[item])) floor = std::min(floor, top_of(other));
  }
  if (floor == std::numeric_limits<int64_t>::max()) return false;
  History& history = history_[item];
  trail_.push_back({item, kNone, history.refused, history.refused_turn});
  history.refused = floor_[item] = floor;
  history.refused_turn = history.turn = -static_cast<int64_t>(trail_.size());
  history.below = kNone;
  for (; place + 1 < range.end && floor_[pool_[place + 1]] < floor; ++place) std::swap(pool_[place], pool_[place + 1]);
  return true;
}

// Recomputes the floor of an unplaced item from the latest placement or refusal that remains.
void Partial::settle(uint32_t item) {
  History& history = history_[item];
  Top below;
  history.turn = 0;
  for (int32_t s = spans_[item].first; s <= spans_[item].last; ++s) {
    const Top& top = skyline_[at(s)];
    if (top.under == kNone || top.height < below.height) continue;
    const int64_t turn = history_[top.under].placed;
    if (top.height == below.height && turn >= history.turn) continue;  // the first to reach a height raises
    below = top;
    history.turn = turn;
  }
  if (history.refused >= below.height) {
    below = {history.refused, kNone};
    history.turn = history.refused_turn;
  }
  floor_[item] = below.height;
  history.below = below.under;
}

Partial::Span Partial::undo(Range range, size_t mark, bool split) {
  const bool piled = piled_mark_ > mark;
  piled_mark_ = std::min(piled_mark_, mark);
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Event& event = trail_.back();
    const Span span = spans_[event.item];
    if (event.runs == kNone) {
      history_[event.item].refused = event.floor;
      history_[event.item].refused_turn = event.turn;
      continue;
    }
    int32_t s = span.first;
    for (size_t run = runs_.size() - event.runs; run < runs_.size(); ++run)
      for (; s <= runs_[run].last; ++s) skyline_[at(s)] = runs_[run].top;
    runs_.resize(runs_.size() - event.runs);
    for (s = span.first; s < span.last; ++s) ++crossing_[at(s)];
    history_[event.item].placed = 0;
    history_[event.item].turn = std::numeric_limits<int64_t>::max();  // to be settled
  }
  // Items raised since the mark have a later turn.
  const auto latest = static_cast<int64_t>(mark);
  Span changed;
  changed_.clear();
  merged_.clear();
  for (const uint32_t item : items(range)) {
    if (std::abs(history_[item].turn) <= latest) {
      merged_.push_back(item);
      continue;
    }
    settle(item);
    changed_.push_back(item);
    if (piled) changed.include(spans_[item]);
  }
  const auto order = [this](uint32_t a, uint32_t b) { return before(a, b); };
  if (split) std::sort(merged_.begin(), merged_.end(), order);
  std::sort(changed_.begin(), changed_.end(), order);
  std::merge(merged_.begin(), merged_.end(), changed_.begin(), changed_.end(), pool(range).begin(), order);
  return changed;
}

bool Partial::pile(Range range, Span where) {
  std::fill(piled_.begin() + where.first, piled_.begin() + where.last + 1, 0);
  int64_t* const tops = piled_.data();
  for (const uint32_t i : items(range)) {
    const int32_t first = std::max(spans_[i].first, where.first), last = std::min(spans_[i].last, where.last);
    if (first > last) continue;
    const int64_t floor = floor_[i], size = sizes_[i];
    int64_t highest = 0;
    for (int32_t s = first; s <= last; ++s) {
      tops[s] = std::max(tops[s], floor) + size;
      highest = std::max(highest, tops[s]);
    }
    if (highest <= capacity_) continue;
    int32_t s = first;
    while (tops[s] <= capacity_) ++s;
    ++failures_[at(s)];
    return false;
  }
  piled_mark_ = trail_.size();
  std::copy(piled_.begin() + where.first, piled_.begin() + where.last + 1, tops_.begin() + where.first);
  return true;
}

void Partial::split(Range range, Span where, std::vector<Part>& parts) {
  const size_t first = parts.size();
  for (int32_t s = where.first; s <= where.last; ++s) {
    if (s == where.first || crossing_[at(s) - 1] == 0) parts.push_back({{0, 0}, {s, s}});
    parts.back().where.last = s;
    part_of_[at(s)] = static_cast<uint32_t>(parts.size() - 1);
  }
  const auto part_of = [&](uint32_t item) -> Part& { return parts[part_of_[at(spans_[item].first)]]; };
  for (const uint32_t item : items(range)) ++part_of(item).range.end;
  size_t begin = range.begin;
  for (size_t part = first; part < parts.size(); ++part) {
    const size_t many = parts[part].range.end;
    parts[part].range = {begin, begin};
    begin += many;
  }
  merged_.assign(items(range).begin(), items(range).end());
  for (const uint32_t item : merged_) pool_[part_of(item).range.end++] = item;
  const auto from = parts.begin() + static_cast<std::ptrdiff_t>(first);
  parts.erase(std::remove_if(from, parts.end(), [](const Part& part) { return part.range.empty(); }), parts.end());
  std::ranges::stable_sort(from, parts.end(), {}, [](const Part& part) { return part.range.end - part.range.begin; });
}

}  // namespace plimsoll::placement
