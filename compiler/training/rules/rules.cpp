#include "compiler/training/rules/rules.h"

#include <algorithm>
#include <iterator>

#include "compiler/training/rules/dymem.h"
#include "compiler/training/rules/modnn.h"
#include "compiler/training/rules/superneurons.h"

namespace plimsoll {
namespace {

constexpr PaperRules kRules[] = {
    {.name = "superneurons", .build = superneurons_graph, .count = [](Plan& plan, const TaskGraph&) { count_as_superneurons(plan); }},
    {.name = "modnn",
     .build = [](const Network& network, int64_t batch) { return modnn_graph(network, batch); },
     .count = count_as_modnn,
     .splits = true},
    {.name = "dymem", .build = dymem_graph, .count = [](Plan& plan, const TaskGraph&) { count_as_dymem(plan); }},
};

}  // namespace

const PaperRules* find_rules(std::string_view name) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules), [&](const PaperRules& each) { return each.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

std::string names_of_rules() {
  std::string names = "true";
  for (const PaperRules& each : kRules) names += ", " + std::string(each.name);
  return names;
}

}  // namespace plimsoll
