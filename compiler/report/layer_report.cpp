#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/report/figures.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

enum class Shown {
  always,
  where_some_move,
  where_none_move,
  where_told,  // only if some layer has a value
};

struct LayerColumn {
  Column column;
  Shown shown;
  std::function<std::string(const LayerFacts&)> cell;
};

std::vector<LayerColumn> layer_columns() {
  return {
      {{"layer", false, 30}, Shown::always, [](const LayerFacts& layer) { return layer.name; }},
      {{"op", false, 9}, Shown::where_none_move, [](const LayerFacts& layer) { return layer.op; }},
      {{"forward", true}, Shown::where_none_move, [](const LayerFacts& layer) { return dashed(layer.forward); }},
      {{"backward", true}, Shown::where_none_move, [](const LayerFacts& layer) { return dashed(layer.backward); }},
      {{"time", true},
       Shown::where_some_move,
       [](const LayerFacts& layer) { return dashed(layer.forward + layer.backward + layer.again); }},
      {{"kept", true}, Shown::always, [](const LayerFacts& layer) { return format_bytes_or_dash(layer.kept); }},
      {{"offloaded", true},
       Shown::where_told,
       [](const LayerFacts& layer) { return format_bytes_or_dash(layer.offloaded); }},
      {{"recomputed", true},
       Shown::where_told,
       [](const LayerFacts& layer) { return format_bytes_or_dash(layer.recomputed); }},
      {{"algorithm", false, 10},
       Shown::always,
       [](const LayerFacts& layer) { return layer.algorithm.empty() ? "-" : layer.algorithm; }},
      {{"workspace", true},
       Shown::where_none_move,
       [](const LayerFacts& layer) { return format_bytes_or_dash(layer.workspace); }},
      {{"lost", true}, Shown::where_told, [](const LayerFacts& layer) { return dashed(layer.lost()); }},
  };
}

}  // namespace

std::string report_layers(const Plan& plan, const PlanFacts& facts, bool color) {
  if (plan.tasks.empty()) return "";
  const bool moves = std::any_of(facts.layers.begin(), facts.layers.end(),
                                 [](const LayerFacts& layer) { return layer.offloaded + layer.recomputed > 0; });
  std::vector<LayerColumn> shown = layer_columns();
  std::erase_if(shown, [&](const LayerColumn& column) {
    switch (column.shown) {
      case Shown::always: return false;
      case Shown::where_some_move: return !moves;
      case Shown::where_none_move: return moves;
      case Shown::where_told:
        return std::none_of(facts.layers.begin(), facts.layers.end(),
                            [&](const LayerFacts& layer) { return column.cell(layer) != "-"; });
    }
    return false;
  });
  std::vector<Column> columns;
  for (const LayerColumn& column : shown) columns.push_back(column.column);
  Table table(columns);
  for (const LayerFacts& layer : facts.layers) {
    std::vector<std::string> cells;
    for (const LayerColumn& column : shown) cells.push_back(column.cell(layer));
    table.row(std::move(cells));
  }
  std::string text = heading("layers, one round", color) + table.print(color);
  text += "  kept" + std::string(moves ? ", offloaded, recomputed" : "") +
          ": outputs that the backward pass reads, by decision\n";
  double lost = 0;
  for (const LayerFacts& layer : facts.layers) lost += layer.lost();
  if (lost > 0)
    text += fmt::format("  lost to the budget: recomputation, slower algorithms, waiting for copies; {} in total\n",
                        format_seconds(lost));
  return text;
}

}  // namespace plimsoll
