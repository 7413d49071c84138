// The policies of the literature as rivals of a search: `auto` is never slower than any of them, and never needs more
// memory. The answers of each do not depend on those of the others, so they are asked in parallel.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "passes/recipe.h"

namespace plimsoll {

class Rivals {
 public:
  // `variants` must outlive this. `threads`: to ask with; the answers do not depend on it.
  Rivals(Variants& variants, const RecipeRequest& request, int threads);

  // Asks each for a plan, on any thread; an answer whose `unwanted` stops is not read. `take` receives the plans in
  // the policies' order, on the caller's thread, until `done`.
  Status ask(const std::function<Result<std::optional<Found>>(Recipe& recipe, const std::stop_token& unwanted)>& ask,
             const std::function<void(Found)>& take, const std::function<bool()>& done);

  // `best` becomes the fastest plan of them found before the deadline, if that is faster.
  Status take_faster(Found& best, const Deadline& deadline);

  // Computes the next bound that take_faster() compares before it makes plans, for a best plan of `seconds`: on deep
  // networks each takes a second. Returns false if there is none, or an error, which is met again where the bound is
  // needed.
  bool look_ahead(double seconds, const Deadline& deadline);

 private:
  const bool measures_;  // bounds may need measurements
  const int threads_;
  std::vector<Recipe> recipes_;
  size_t ahead_ = 0, number_ = 0;  // the next bound: its recipe, and its number
};

}  // namespace plimsoll
