#include "compiler/network/simplify/empty.h"

#include <algorithm>

#include "compiler/network/simplify/node_values.h"
#include "compiler/ops/slice_range.h"

namespace plimsoll {
namespace {

bool is_empty(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.value == 0; });
}

// The list of integers in input i, if none of them depends on the number of samples.
std::optional<std::vector<int64_t>> known_list(ValueTable& table, const ModelNode& source, size_t i) {
  if (i >= source.inputs.size() || source.inputs[i].empty()) return std::nullopt;
  const KnownValue* known = table.known_constant(table.find(source.inputs[i]));
  if (!known || known->real() || known->depends_on_batch() || !known->elements()) return std::nullopt;
  std::vector<int64_t> items;
  for (size_t j = 0; j < static_cast<size_t>(*known->elements()); ++j) items.push_back(known->integer(j).value);
  return items;
}

}  // namespace

std::optional<KnownValue> empty_slice(const Network& network, ValueTable& table, const ModelNode& source,
                                      int64_t opset) {
  if (source.op != "Slice" || opset < 10 || source.inputs.size() < 3) return std::nullopt;
  const ValueTable::Index x = table.find(source.inputs[0]);
  const Dims* dims = table.dims(x);
  const auto starts = known_list(table, source, 1), ends = known_list(table, source, 2);
  auto axes = known_list(table, source, 3);
  if (!dims || !starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if (const auto steps = known_list(table, source, 4);
      steps && std::any_of(steps->begin(), steps->end(), [](int64_t step) { return step != 1; }))
    return std::nullopt;
  if (!axes) {
    if (source.inputs.size() > 3 && !source.inputs[3].empty()) return std::nullopt;
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (axes->size() != starts->size() || element_of(network, table[x]) == ElementType::undefined) return std::nullopt;
  KnownValue empty{.element = element_of(network, table[x]), .dims = *dims};
  const int64_t rank = static_cast<int64_t>(dims->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    Dim& dim = empty.dims[static_cast<size_t>(axis)];
    if (!dim.batch) dim = {slice_range((*starts)[i], (*ends)[i], 1, dim.value).count};
  }
  if (!is_empty(empty.dims)) return std::nullopt;
  return empty;
}

std::optional<ModelNode> without_empty_parts(ValueTable& table, const ModelNode& source) {
  if (source.op != "Concat") return std::nullopt;
  ModelNode less = source;
  less.inputs.clear();
  for (const std::string& name : source.inputs) {
    const Dims* dims = name.empty() ? nullptr : table.dims(table.find(name));
    if (!dims || !is_empty(*dims)) less.inputs.push_back(name);
  }
  if (less.inputs.empty() || less.inputs.size() == source.inputs.size()) return std::nullopt;
  return less;
}

}  // namespace plimsoll
