// Compares the result of a search with the policies of the literature. If one of their plans is faster, it is taken, so
// `auto` is never slower than any of them.
#pragma once

#include <functional>

#include "passes/recipe.h"

namespace plimsoll {

// `best` becomes the fastest plan of the other policies, if that is faster. Each policy is compared with the search
// alone, so they can run in parallel on `threads` threads without affecting the result.
Status take_faster_recipes(Found& best, const std::function<Recipe(const Policy&, const Deadline&)>& recipe_of,
                           int threads, const Deadline& deadline);

}  // namespace plimsoll
