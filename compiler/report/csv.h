// A plan's facts for machines: comma-separated, one heading line, bytes and seconds with all their digits. Fields that hold
// commas, quotes or line breaks are quoted as RFC 4180 has it.
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
