// What `plimsoll inspect` says of a plan, as tables for the terminal. Pure functions of the plan; at most kReportWidth
// characters a line. Those that take facts want facts_of(plan).
//
//   summary     memory and time beside the budget                     plan_report.cpp
//   peak        the step where most is live: who is there, and why    plan_report.cpp
//   transfers   what is copied, and how much of it is exposed         transfer_report.cpp
//   layers      what becomes of each layer's outputs, and its price   layer_report.cpp
#pragma once

#include <cstddef>
#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

std::string report_summary(const Plan& plan, const PlanFacts& facts, bool color);

// The `most` largest of what is live at the step of summary.peak_step. Empty for a plan without steps.
std::string report_peak(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 10);

// The `most` costliest transfers. Empty where nothing is offloaded.
std::string report_transfers(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 12);

// Of several ranks, a bucket per line, the most exposed first; "" of one.
std::string report_reductions(const Plan& plan, const PlanFacts& facts, bool color, size_t most = 12);

// One line per layer, in the order of the tasks.
std::string report_layers(const Plan& plan, const PlanFacts& facts, bool color);

// All of them, with blank lines between.
std::string report_plan(const Plan& plan, const PlanFacts& facts, bool color);

}  // namespace plimsoll
