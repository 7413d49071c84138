// The forms of a task graph (TaskGraph::forms) in one request: each has its own unlimited plan and its own minimum,
// all have the budget in common.
#pragma once

#include <list>

#include "passes/planning.h"

namespace plimsoll {

struct Form {
  Planning planning;
  Found unlimited = {};
  std::optional<Found> first_minimum = {};  // made beside `unlimited` (minimum.h)
  Minimum minimum = {};

  const FormsOfParts& parts() const { return planning.variants.graph().forms; }
  bool fits() const { return planning.fits(minimum.least()); }
  // A plan within the budget, before any search. Before: fits().
  Found& start();
};
using Forms = std::list<Form>;

// The fastest start of a form that fits. Of all plans of the forms, only the figures stay. Before: one fits.
Found take_start(Forms& forms);

// The form with the smallest plan that fits; with the smallest plan, if none does.
const Form& least_form(const Forms& forms);

// Plan::forms for a plan of the form `taken`. Of a part that has another form while the others are the same: its form,
// and why it was taken.
FormsOfParts chosen_form(const Forms& forms, const FormsOfParts& taken);

}  // namespace plimsoll
