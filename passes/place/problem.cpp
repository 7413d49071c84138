#include "passes/place/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace plimsoll::placement {

std::vector<Event> events_of(const Problem& problem) {
  std::vector<Event> events;
  events.reserve(2 * problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].size == 0) continue;
    events.push_back({problem.buffers[i].lower, true, i});
    events.push_back({problem.buffers[i].upper, false, i});
  }
  std::ranges::sort(events);
  return events;
}

Status check(const Problem& problem) {
  int64_t total = 0;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.lower >= buffer.upper)
      return Error{ExitCode::unreadable_input,
                   fmt::format("buffer {} lives in [{}, {}), which is empty", buffer.id, buffer.lower, buffer.upper)};
    if (buffer.size < 0)
      return Error{ExitCode::unreadable_input, fmt::format("buffer {} has size {}", buffer.id, buffer.size)};
    if (buffer.size > (int64_t{1} << 62) - total)
      return Error{ExitCode::unreadable_input,
                   fmt::format("the sizes up to buffer {} sum to more than 2^62 bytes", buffer.id)};
    total += buffer.size;
  }
  return {};
}

int64_t lower_bound(const Problem& problem) {
  int64_t live = 0, most = 0;
  for (const Event& event : events_of(problem)) {
    const int64_t size = problem.buffers[event.buffer].size;
    live += event.begins ? size : -size;
    most = std::max(most, live);
  }
  return most;
}

// While the solution is valid, the live buffers sorted by offset do not overlap. So a new buffer can only overlap its
// two neighbours, and the sweep is O(n log n).
Status validate(const Problem& problem, const Solution& solution) {
  const auto refuse = [](std::string why) { return Error{ExitCode::verification_failed, std::move(why)}; };
  if (solution.offsets.size() != problem.buffers.size())
    return refuse(fmt::format("{} offsets for {} buffers", solution.offsets.size(), problem.buffers.size()));
  const auto describe = [&](size_t i) {
    const Buffer& buffer = problem.buffers[i];
    return fmt::format("buffer {} at [{}, {}) in [{}, {})", buffer.id, solution.offsets[i],
                       solution.offsets[i] + buffer.size, buffer.lower, buffer.upper);
  };
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (solution.offsets[i] < 0 || solution.offsets[i] > solution.height - problem.buffers[i].size)
      return refuse(fmt::format("{} lies outside [0, {})", describe(i), solution.height));
  std::map<int64_t, size_t> live;
  for (const Event& event : events_of(problem)) {
    const int64_t offset = solution.offsets[event.buffer];
    if (!event.begins) {
      live.erase(offset);
      continue;
    }
    const auto above = live.lower_bound(offset);
    if (above != live.end() && above->first < offset + problem.buffers[event.buffer].size)
      return refuse(describe(event.buffer) + " overlaps " + describe(above->second));
    if (above != live.begin()) {
      const auto below = std::prev(above);
      if (below->first + problem.buffers[below->second].size > offset)
        return refuse(describe(event.buffer) + " overlaps " + describe(below->second));
    }
    live.emplace_hint(above, offset, event.buffer);
  }
  return {};
}

}  // namespace plimsoll::placement
