// The forms of a task graph (TaskGraph::attention) in one request: each has its own unlimited plan and its own minimum,
// all have the budget in common.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "passes/planning.h"

namespace plimsoll {

struct Form {
  Planning planning;
  Found unlimited = {};
  Minimum minimum = {};

  const std::string& name() const { return planning.variants.graph().attention; }
  bool fits() const { return planning.fits(minimum.least()); }
  // A plan within the budget, before any search. Before: fits().
  const Found& start() const;
};

// The form with the smallest plan that fits; with the smallest plan, if none does.
const Form& least_form(std::span<const Form> forms);

// The text of Plan::attention for a plan of the form `taken`: the name of the form, and why it was taken.
std::string chosen_form(std::span<const Form> forms, const std::string& taken);

}  // namespace plimsoll
