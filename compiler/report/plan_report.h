// What `plimsoll inspect` prints about a plan, as tables for the terminal. Pure functions of the plan; at most
// kReportWidth characters per line. Functions with a parameter `facts` need facts_of(plan).
//
//   summary     memory and time, compared with the budget             plan_report.cpp
//   peak        the step with the most live bytes: tensors, reasons   plan_report.cpp
//   transfers   what is copied, and how much is not overlapped        transfer_report.cpp
//   layers      the decision on each layer's outputs, and its cost    layer_report.cpp
#pragma once

#include <cstddef>
#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

std::string report_summary(const Plan& plan, const PlanFacts& facts, bool color);

// The `most` largest tensors live at step summary.peak_step. Empty for a plan without steps.
std::string report_peak(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 10);

// The `most` costliest transfers. Empty if nothing is offloaded.
std::string report_transfers(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 12);

// For several ranks: one bucket per line, sorted by non-overlapped time; "" for one rank.
std::string report_reductions(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 12);

// One line per layer, in the order of the tasks.
std::string report_layers(const Plan& plan, const PlanFacts& facts, bool color);

// All of these tables, separated by blank lines.
std::string report_plan(const Plan& plan, const PlanFacts& facts, bool color);

}  // namespace plimsoll
