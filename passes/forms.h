// The forms of a task graph in one request. Forms train the same with other tasks, for example attention as one task or
// as several (TaskGraph::forms). Each has its own unlimited plan and its own minimum; the budget is common to all.
#pragma once

#include <list>

#include "passes/planning.h"
#include "passes/variants.h"

namespace plimsoll {

struct Form {
  Planning planning;
  Found unlimited = {};
  std::optional<Found> first_minimum = {};  // made concurrently with `unlimited`
  Minimum minimum = {};

  const FormsOfParts& parts() const { return planning.variants.graph().forms; }
  bool fits() const { return planning.fits(minimum.least()); }
  // The plan within the budget that the search starts from. Before: fits().
  Found& start();
};
using Forms = std::list<Form>;

// Moves out the fastest start() of the forms that fit. The forms keep only the figures of their plans, to free memory.
// Before: one form fits.
Found take_start(Forms& forms);

// The form with the smallest plan that fits; with the smallest plan, if none does.
const Form& least_form(const Forms& forms);

// Plan::forms for a plan of the form `taken`: of each part, its form. If another form differs in this part only, the
// reason for the choice follows.
FormsOfParts chosen_form(const Forms& forms, const FormsOfParts& taken);

}  // namespace plimsoll
