// However good the search, a policy of the literature may have been luckier: its plan is taken then, so that `auto` is
// never slower than any of them.
#pragma once

#include <functional>

#include "passes/found.h"
#include "passes/recipe.h"

namespace plimsoll {

// `best` becomes the fastest plan of the other policies, where that is faster. Each is asked for what is faster than
// the search, whatever the others have, so that they may be asked side by side, by so many `hands`.
Status take_faster_recipes(Found& best, const std::function<Recipe(const Policy&, const Deadline&)>& recipe_of,
                           int hands, const Deadline& deadline);

}  // namespace plimsoll
