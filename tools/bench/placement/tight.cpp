#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "tools/bench/placement/traces.h"

namespace plimsoll::placement {
namespace {

int64_t steps_of(const std::vector<Traced>& tensors) {
  int64_t steps = 0;
  for (const Traced& tensor : tensors) steps = std::max(steps, tensor.touches.back() + 1);
  return steps;
}

}  // namespace

Problem make_plain(const std::vector<Traced>& tensors) {
  Problem problem;
  for (const Traced& tensor : tensors)
    problem.buffers.push_back({tensor.id, tensor.touches.front(), tensor.touches.back() + 1, tensor.size});
  return problem;
}

Problem make_tight(const std::vector<Traced>& tensors, double share) {
  const auto capacity = static_cast<int64_t>(share * static_cast<double>(lower_bound(make_plain(tensors))));
  const auto steps = static_cast<size_t>(steps_of(tensors));
  std::vector<std::vector<size_t>> touched(steps);
  for (size_t i = 0; i < tensors.size(); ++i)
    for (const int64_t step : tensors[i].touches) touched[static_cast<size_t>(step)].push_back(i);

  // Belady's rule: the tensor whose next use is farthest away is evicted first.
  std::vector<size_t> next(tensors.size(), 0);  // index of the next touch
  std::vector<int64_t> since(tensors.size(), -1);
  std::set<std::pair<int64_t, size_t>> idle;  // by next touch: resident and not touched now
  std::vector<int64_t> live(steps, 0);
  Problem problem;
  std::vector<size_t> returned;  // buffers that begin with a prefetch
  int64_t now = 0;
  const auto leave = [&](size_t i, int64_t upper) {
    problem.buffers.push_back({tensors[i].id + "@" + std::to_string(since[i]), since[i], upper, tensors[i].size});
    if (since[i] != tensors[i].touches.front()) returned.push_back(problem.buffers.size() - 1);
    for (int64_t step = since[i]; step < upper; ++step) live[static_cast<size_t>(step)] += tensors[i].size;
    now -= tensors[i].size;
    since[i] = -1;
  };
  for (size_t step = 0; step < steps; ++step) {
    const auto at = static_cast<int64_t>(step);
    for (const size_t i : touched[step]) {
      if (since[i] >= 0) {
        idle.erase({at, i});
      } else {
        since[i] = at;
        now += tensors[i].size;
      }
      ++next[i];
    }
    while (now > capacity && !idle.empty()) {
      const size_t i = std::prev(idle.end())->second;
      idle.erase(std::prev(idle.end()));
      leave(i, at);
    }
    for (const size_t i : touched[step]) {
      if (next[i] == tensors[i].touches.size()) leave(i, at + 1);
      else idle.insert({tensors[i].touches[next[i]], i});
    }
  }

  // Prefetches begin earlier if there is room, in the order of their uses, and not before the tensor's offload.
  std::sort(returned.begin(), returned.end(), [&](size_t a, size_t b) {
    return std::tuple(problem.buffers[a].lower, a) < std::tuple(problem.buffers[b].lower, b);
  });
  for (const size_t b : returned) {
    Buffer& buffer = problem.buffers[b];
    for (int earlier = 0; earlier < 12 && buffer.lower > 1; ++earlier) {
      int64_t& bytes = live[static_cast<size_t>(buffer.lower - 1)];
      if (bytes + buffer.size > capacity) break;
      bytes += buffer.size;
      --buffer.lower;
    }
  }
  return problem;
}


Problem make_planned(const std::vector<Traced>& tensors, double share, uint64_t seed) {
  const auto capacity = static_cast<int64_t>(share * static_cast<double>(lower_bound(make_plain(tensors))));
  std::mt19937_64 random(seed);
  std::vector<int64_t> live(static_cast<size_t>(steps_of(tensors)), 0);
  const auto change = [&](int64_t lower, int64_t upper, int64_t size) {
    for (int64_t step = lower; step < upper; ++step) live[static_cast<size_t>(step)] += size;
  };
  // A tensor may be away between its two touches that are farthest apart.
  struct Gap {
    size_t tensor;
    int64_t leaves, returns;
  };
  std::vector<Gap> gaps;
  Problem problem;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<int64_t>& touches = tensors[i].touches;
    Gap gap{i, 0, 0};
    for (size_t k = 0; k + 1 < touches.size(); ++k)
      if (touches[k + 1] - touches[k] > gap.returns - gap.leaves) gap = {i, touches[k] + 1, touches[k + 1]};
    change(touches.front(), touches.back() + 1, tensors[i].size);
    if (gap.returns - gap.leaves < 16) {
      problem.buffers.push_back({tensors[i].id, touches.front(), touches.back() + 1, tensors[i].size});
      continue;
    }
    change(gap.leaves, gap.returns, -tensors[i].size);
    gaps.push_back(gap);
  }
  for (size_t i = gaps.size(); i > 1; --i) std::swap(gaps[i - 1], gaps[random() % i]);
  const auto fits = [&](int64_t lower, int64_t upper, int64_t size) {
    for (int64_t step = lower; step < upper; ++step)
      if (live[static_cast<size_t>(step)] + size > capacity) return false;
    change(lower, upper, size);
    return true;
  };
  for (Gap& gap : gaps)
    if (fits(gap.leaves, gap.returns, tensors[gap.tensor].size)) gap.returns = gap.leaves;
  for (Gap gap : gaps) {
    const Traced& tensor = tensors[gap.tensor];
    if (gap.returns == gap.leaves) {
      problem.buffers.push_back({tensor.id, tensor.touches.front(), tensor.touches.back() + 1, tensor.size});
      continue;
    }
    for (int64_t k = 0, lag = static_cast<int64_t>(random() % 6);
         k < lag && fits(gap.leaves, gap.leaves + 1, tensor.size); ++k)
      ++gap.leaves;
    for (int64_t k = 0, lead = static_cast<int64_t>(random() % 12);
         k < lead && fits(gap.returns - 1, gap.returns, tensor.size); ++k)
      --gap.returns;
    if (gap.leaves >= gap.returns) gap.returns = gap.leaves;
    problem.buffers.push_back({tensor.id + "@out", tensor.touches.front(), gap.leaves, tensor.size});
    problem.buffers.push_back({tensor.id + "@in", gap.returns, tensor.touches.back() + 1, tensor.size});
  }
  return problem;
}

}  // namespace plimsoll::placement
