// The policies of the literature as rivals of a search: their plans are compared with those of the search, so `auto` is
// never slower than any of them and never needs more memory. They do not depend on each other, so they run in parallel.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "passes/recipe.h"

namespace plimsoll {

class Rivals {
 public:
  // `planning` must outlive this.
  explicit Rivals(const Planning& planning);
  Rivals(const Rivals&) = delete;  // it refers to its own recipes

  using MakePlan = std::function<Result<std::optional<Found>>(Recipe& recipe, const std::stop_token& unwanted)>;

  // Makes a plan of each policy with `make`, on any thread. Calls `take` with the plans, in the policies' order, on the
  // caller's thread. Ends when `done` returns true: `unwanted` then stops the remaining calls, whose results are
  // ignored.
  Status for_each_plan(const MakePlan& make, const std::function<void(Found)>& take, const std::function<bool()>& done);

  // Replaces `best` by the fastest of their plans found before the deadline, if that is faster.
  Status take_faster(Found& best, const Deadline& deadline);

  // Computes the next bound that take_faster() reads before it makes plans, for a best plan of `seconds`. On deep
  // networks each bound takes a second. Returns false if none is left, or after an error, which take_faster() meets,
  // too.
  bool look_ahead(double seconds, const Deadline& deadline);

 private:
  const Planning& planning_;
  std::vector<Recipe> recipes_;
  std::deque<std::pair<const Recipe*, int64_t>> ahead_;  // the bounds left: recipe and live limit
};

}  // namespace plimsoll
