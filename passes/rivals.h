// The policies of the literature as rivals of a search: their plans are compared with those of the search, so `auto` is
// never slower than any of them and never needs more memory. They do not depend on each other, so they run in parallel.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "passes/recipe.h"

namespace plimsoll {

class Rivals {
 public:
  // `variants` must outlive this. `threads`: how many to use; the results do not depend on it.
  Rivals(Variants& variants, const RecipeRequest& request, int threads);

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
  const bool measures_;  // bounds may need measurements
  const int threads_;
  std::vector<Recipe> recipes_;
  size_t ahead_ = 0, number_ = 0;  // the next bound: its recipe, and its number
};

}  // namespace plimsoll
