// `plimsoll inspect --explain NAME`: the reasoning for one tensor or one layer.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"
#include "compiler/support/status.h"

namespace plimsoll {

// `name` is a tensor (with or without its %), a layer, a module with layers directly below it ("features.conv0"), or a
// task. If a name refers to several of these, all are explained. Error: usage, with the nearest names.
Result<std::string> explain(const Plan& plan, const PlanFacts& facts, const std::string& name, bool color);

// At most `most` of `names`: first those that contain `name`, then those with the smallest edit distance.
std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& names, size_t most = 5);

}  // namespace plimsoll
