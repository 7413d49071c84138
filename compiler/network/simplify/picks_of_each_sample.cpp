#include "compiler/network/simplify/picks_of_each_sample.h"

#include <algorithm>

#include "compiler/ops/progression.h"
#include "compiler/support/bytes.h"

namespace plimsoll {

bool PicksOfEachSample::all() const {
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] != static_cast<int64_t>(i)) return false;
  return static_cast<int64_t>(at.size()) == length;
}

std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices) {
  if (indices.steps.empty() || !samples.batch || !indices.dims[0].batch) return std::nullopt;
  PicksOfEachSample picks{
      .groups = indices.dims[0], .length = indices.steps[0], .dims = {indices.dims.begin() + 1, indices.dims.end()}};
  if (picks.length <= 0 || checked_mul(picks.groups.value, picks.length) != samples.value ||
      std::any_of(picks.dims.begin(), picks.dims.end(), [](Dim dim) { return dim.batch; }))
    return std::nullopt;
  const auto at = list_elements(
      {.dims = picks.dims, .first = indices.ints[0].value, .steps = {indices.steps.begin() + 1, indices.steps.end()}});
  const auto in_sample = [&](int64_t i) { return i >= 0 && i < picks.length; };
  if (!at || !std::all_of(at->begin(), at->end(), in_sample)) return std::nullopt;
  picks.at = *at;
  return picks;
}

std::optional<PicksOfEachSample> picks_of_each_sample(Dim samples, const KnownValue& indices, int64_t exported_batch) {
  if (!samples.batch || indices.real() || !indices.steps.empty() || indices.depends_on_batch() ||
      indices.dims.empty() || indices.dims[0] != Dim{exported_batch} || *indices.elements() > kKnownLimit)
    return std::nullopt;
  PicksOfEachSample picks{
      .groups = kBatch, .length = samples.value, .dims = {indices.dims.begin() + 1, indices.dims.end()}};
  const int64_t count = *indices.elements() / exported_batch;
  for (int64_t flat = 0; flat < *indices.elements(); ++flat) {
    const int64_t sample = flat / count, at = indices.integer(static_cast<size_t>(flat)).value - sample * samples.value;
    if (at < 0 || at >= samples.value) return std::nullopt;
    if (sample == 0) picks.at.push_back(at);
    else if (picks.at[static_cast<size_t>(flat % count)] != at) return std::nullopt;
  }
  // With one exported sample, a subset of its elements may also be a subset of all samples.
  return exported_batch > 1 || picks.all() ? std::optional(picks) : std::nullopt;
}

}  // namespace plimsoll
