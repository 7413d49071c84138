#include "passes/search/limits.h"

#include <algorithm>

#include "passes/analysis/root.h"

namespace plimsoll::search {
namespace {

// By effort: steps evaluated in total (one evaluation of a network of 500 tasks counts 500), and evaluations, which end
// the search of small networks sooner.
constexpr int64_t kWork[] = {500'000, 4'000'000, 40'000'000, 400'000'000};
constexpr int64_t kEvaluations[] = {400, 20'000, 200'000, 2'000'000};
constexpr int64_t kEvaluationsOfLimit = 40, kFewestLimits = 6, kMostLimits = 32;
constexpr size_t kLimitsOfSegment = 16;

std::vector<int64_t> spread_limits(int64_t low, int64_t high, int64_t count) {
  const double step = root(static_cast<double>(low) / static_cast<double>(high), count + 1);
  std::vector<int64_t> limits;
  double share = 1;
  for (int64_t i = 1; i <= count; ++i) {
    share *= step;
    limits.push_back(static_cast<int64_t>(static_cast<double>(high) * share));
  }
  for (const double above : {1.06, 1.03, 1.01, 1.0}) {
    const int64_t limit = static_cast<int64_t>(static_cast<double>(low) * above);
    if (limit < limits.back()) limits.push_back(limit);
  }
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

}  // namespace

Limits limits_between(int64_t low, int64_t high, int64_t steps, int effort) {
  const size_t row = static_cast<size_t>(std::clamp(effort, 0, 3));
  const int64_t work = std::min(kWork[row], kEvaluations[row] * steps);
  const int64_t count = std::clamp<int64_t>(work / steps / kEvaluationsOfLimit, kFewestLimits, kMostLimits);
  Limits limits{.bytes = spread_limits(low, high, count)};
  limits.work = 2 * work / static_cast<int64_t>(limits.bytes.size());
  for (size_t begin = 0; begin < limits.bytes.size(); begin += kLimitsOfSegment)
    limits.segments.emplace_back(begin, std::min(begin + kLimitsOfSegment, limits.bytes.size()));
  return limits;
}

}  // namespace plimsoll::search
