// Slices of nothing, which exporters write where a part has no elements (a rotary embedding of all of a head): they are values without
// elements, and put behind others they change nothing.
#include <algorithm>

#include "compiler/network/simplify/network_builder.h"

namespace plimsoll {
namespace {

bool is_empty(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.value == 0; });
}

}  // namespace

// A list of whole numbers that stands in input i, none of which is a number of samples.
std::optional<std::vector<int64_t>> NetworkBuilder::known_list(const ModelNode& source, size_t i) {
  if (i >= source.inputs.size() || source.inputs[i].empty()) return std::nullopt;
  const KnownValue* known = table_.known_constant(table_.find(source.inputs[i]));
  if (!known || known->real() || known->depends_on_batch() || !known->elements()) return std::nullopt;
  std::vector<int64_t> items;
  for (size_t j = 0; j < static_cast<size_t>(*known->elements()); ++j) items.push_back(known->integer(j).value);
  return items;
}

// Whether the node is a Slice of nothing; then its output is known to be empty. Bounds are numpy's, of steps of 1.
bool NetworkBuilder::add_empty_slice(const ModelNode& source) {
  if (source.op != "Slice" || opset_ < 10 || source.inputs.size() < 3 || is_blocked(source)) return false;
  const ValueTable::Index x = table_.find(source.inputs[0]);
  const Dims* dims = table_.dims(x);
  const auto starts = known_list(source, 1), ends = known_list(source, 2);
  auto axes = known_list(source, 3);
  if (!dims || !starts || !ends || starts->size() != ends->size()) return false;
  if (const auto steps = known_list(source, 4); steps && std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; })) return false;
  if (!axes) {
    if (source.inputs.size() > 3 && !source.inputs[3].empty()) return false;
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (axes->size() != starts->size() || element_of(table_[x]) == ElementType::undefined) return false;
  KnownValue empty{.element = element_of(table_[x]), .dims = *dims};
  const int64_t rank = static_cast<int64_t>(dims->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return false;
    Dim& dim = empty.dims[static_cast<size_t>(axis)];
    if (dim.batch) continue;
    const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + dim.value : at, 0, dim.value); };
    if (bound((*starts)[i]) < bound((*ends)[i])) dim = {bound((*ends)[i]) - bound((*starts)[i])};
    else dim = {0};
  }
  if (!is_empty(empty.dims)) return false;
  table_[table_.define(source.outputs[0])].known = std::move(empty);
  return true;
}

// A Concat without what is empty along its axis; nullopt: it has nothing of that kind, or nothing else.
std::optional<ModelNode> NetworkBuilder::without_empty_parts(const ModelNode& source) {
  if (source.op != "Concat") return std::nullopt;
  ModelNode less = source;
  less.inputs.clear();
  for (const std::string& name : source.inputs) {
    const Dims* dims = name.empty() ? nullptr : table_.dims(table_.find(name));
    if (!dims || !is_empty(*dims)) less.inputs.push_back(name);
  }
  if (less.inputs.empty() || less.inputs.size() == source.inputs.size()) return std::nullopt;
  return less;
}

}  // namespace plimsoll
