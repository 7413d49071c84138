// A plan's facts in machine-readable form: comma-separated values, one header line, bytes and seconds with all digits.
// Fields with commas, quotes or line breaks are quoted according to RFC 4180.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

enum class CsvTable { layers, tensors, steps };

std::string report_csv(const Plan& plan, const PlanFacts& facts, CsvTable table);

std::string csv_field(std::string_view text);

}  // namespace plimsoll
