#include "compiler/papers/rules.h"

#include <algorithm>
#include <iterator>

#include "compiler/papers/chen.h"
#include "compiler/papers/dymem.h"
#include "compiler/papers/modnn.h"
#include "compiler/papers/superneurons.h"
#include "compiler/papers/vdnn.h"

namespace plimsoll {
namespace {

std::unique_ptr<Costs> k40c() { return std::make_unique<SuperNeuronsCosts>(); }

constexpr PaperRules kRules[] = {
    {.name = "superneurons",
     .build = superneurons_graph,
     .count = [](Plan& plan, const TaskGraph&) { count_as_superneurons(plan); },
     .costs = k40c,
     .device = "k40c"},
    {.name = "modnn",
     .build = [](const Network& network, int64_t batch) { return modnn_graph(network, batch); },
     .count = count_as_modnn,
     .costs = k40c,
     .device = "k40c",
     .splits = true},
    {.name = "dymem",
     .build = dymem_graph,
     .count = [](Plan& plan, const TaskGraph&) { count_as_dymem(plan); },
     .costs = k40c,
     .device = "k40c"},
    {.name = "vdnn",
     .build = vdnn_graph,
     .count = [](Plan& plan, const TaskGraph&) { count_as_vdnn(plan); },
     .costs = []() -> std::unique_ptr<Costs> { return std::make_unique<RooflineCosts>(kVdnnRates); },
     .device = "titanx"},
    {.name = "chen",
     .build = chen_graph,
     .count = [](Plan& plan, const TaskGraph&) { count_as_chen(plan); },
     .costs = []() -> std::unique_ptr<Costs> { return std::make_unique<RooflineCosts>(kChenRates); },
     .device = "titanx"},
};

}  // namespace

const PaperRules* find_rules(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const PaperRules& each) { return each.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

std::string names_of_rules() {
  std::string names = "true";
  for (const PaperRules& each : kRules) names += ", " + std::string(each.name);
  return names;
}

}  // namespace plimsoll
