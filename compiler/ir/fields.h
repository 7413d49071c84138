// Shared by all forms of a plan: the words of its kinds, and the fields of its summary. Private to compiler/ir/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/plan.h"

namespace plimsoll {

template <class Enum>
inline constexpr int kCount = 0;
template <>
inline constexpr int kCount<TensorKind> = static_cast<int>(TensorKind::stash) + 1;
template <>
inline constexpr int kCount<TaskKind> = static_cast<int>(TaskKind::update) + 1;
template <>
inline constexpr int kCount<StreamKind> = static_cast<int>(StreamKind::comm) + 1;
template <>
inline constexpr int kCount<StepKind> = static_cast<int>(StepKind::reduce) + 1;
template <>
inline constexpr int kCount<CopyRounds> = static_cast<int>(CopyRounds::all_but_last) + 1;

template <class Enum>
std::optional<Enum> from_word(std::string_view word) {
  for (int i = 0; i < kCount<Enum>; ++i)
    if (to_string(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  return std::nullopt;
}

// "compute, offload, prefetch, load"
template <class Enum>
std::string known_words() {
  std::string words;
  for (int i = 0; i < kCount<Enum>; ++i) words += (i ? ", " : "") + std::string(to_string(static_cast<Enum>(i)));
  return words;
}

// Calls v(name, field) for each field, an int64_t or a double. Fields for several ranks are present only in plans for
// several ranks.
template <class Summary, class Visitor>
void visit_summary(Summary& summary, Visitor&& v) {
  v("arena_bytes", summary.arena_bytes);
  v("persistent_bytes", summary.persistent_bytes);
  v("live_bytes", summary.live_bytes);
  v("peak_step", summary.peak_step);
  v("peak_live_tensors", summary.peak_live_tensors);
  v("minimum_bytes", summary.minimum_bytes);
  v("unconstrained_bytes", summary.unconstrained_bytes);
  v("network_wide_bytes", summary.network_wide_bytes);
  v("host_pool_bytes", summary.host_pool_bytes);
  v("offloaded_bytes", summary.offloaded_bytes);
  v("prefetched_bytes", summary.prefetched_bytes);
  v("recomputed_tasks", summary.recomputed_tasks);
  v("recompute_seconds", summary.recompute_seconds);
  v("iteration_seconds", summary.iteration_seconds);
  v("unconstrained_seconds", summary.unconstrained_seconds);
  v("ideal_seconds", summary.ideal_seconds);
  v("bound_seconds", summary.bound_seconds);
  v("stall_seconds", summary.stall_seconds);
  v("more_bytes", summary.more_bytes);
  v("more_seconds", summary.more_seconds);
  v("planning_seconds", summary.planning_seconds);
}
template <class Summary, class Visitor>
void visit_summary_of_ranks(Summary& summary, Visitor&& v) {
  v("reduced_bytes", summary.reduced_bytes);
  v("reduce_seconds", summary.reduce_seconds);
}

}  // namespace plimsoll
