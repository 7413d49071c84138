#include "compiler/network/simplify/numbered_rows.h"

#include <algorithm>

#include "compiler/network/simplify/fold.h"

namespace plimsoll {
namespace {

// `step` times the number of the sample, along the first of the dimensions; the others are 1.
std::optional<int64_t> step_of_samples(const KnownValue* known) {
  if (!known || known->real() || known->dims.empty() || known->dims[0] != kBatch || known->steps.size() != known->dims.size())
    return std::nullopt;
  const bool flat = std::all_of(known->dims.begin() + 1, known->dims.end(), [](Dim dim) { return dim == Dim{1}; });
  return flat && known->ints[0] == Dim{0} && known->steps[0] > 0 ? std::optional(known->steps[0]) : std::nullopt;
}

bool is_index(const Network& network, const Entry& entry) {
  if (!entry.data.valid()) return false;
  const DataType type = network.values[entry.data].type.type;
  return type == DataType::i64 || type == DataType::i32;
}

// arange(N)·stride + i
std::optional<NumberedRows> number_rows_by_sum(const Network& network, ValueTable& table, const ModelNode& add) {
  if (add.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueTable::Index numbers = table.find(add.inputs[i]), index = table.find(add.inputs[1 - i]);
    const auto stride = step_of_samples(table.known(numbers));
    const Dims* dims = table.dims(index);
    if (stride && dims && *dims == Dims{kBatch} && *table.dims(numbers) == *dims && is_index(network, table[index]))
      return NumberedRows{.index = add.inputs[1 - i], .stride = *stride, .dims = *dims};
  }
  return std::nullopt;
}

// [N, 1] beside [N, 1]
std::optional<NumberedRows> number_rows_by_pairs(const Network& network, ValueTable& table, const ModelNode& concat) {
  const ModelAttribute* axis = find_attribute(concat, "axis");
  if (concat.inputs.size() != 2 || !axis || (axis->integer() != -1 && axis->integer() != 1)) return std::nullopt;
  const ValueTable::Index numbers = table.find(concat.inputs[0]), index = table.find(concat.inputs[1]);
  const Dims* dims = table.dims(index);
  if (step_of_samples(table.known(numbers)) != 1 || !dims || *dims != Dims{kBatch, {1}} || *table.dims(numbers) != *dims ||
      !is_index(network, table[index]))
    return std::nullopt;
  return NumberedRows{.index = concat.inputs[1], .dims = {kBatch, {2}}};
}

}  // namespace

std::optional<NumberedRows> number_rows(const Network& network, ValueTable& table, const ModelNode& source) {
  if (!is_of_onnx(source) || source.outputs.size() != 1) return std::nullopt;
  if (source.op == "Add") return number_rows_by_sum(network, table, source);
  if (source.op == "Concat") return number_rows_by_pairs(network, table, source);
  return std::nullopt;
}

std::optional<Dims> shape_of_numbers(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& source) {
  if (!is_of_onnx(source) || source.op != "Max" || source.inputs.size() != 2 || source.outputs.size() != 1) return std::nullopt;
  const auto readers = uses.readers.find(source.outputs[0]);
  if (readers == uses.readers.end()) return std::nullopt;
  const bool only_shape = std::all_of(readers->second.begin(), readers->second.end(), [&](int reader) {
    return reader >= 0 && model.nodes[reader].op == "Shape" && is_of_onnx(model.nodes[reader]);
  });
  const Dims *a = table.dims(table.find(source.inputs[0])), *b = table.dims(table.find(source.inputs[1]));
  const bool counts = step_of_samples(table.known(table.find(source.inputs[0]))) || step_of_samples(table.known(table.find(source.inputs[1])));
  return only_shape && counts && a && b && *a == *b ? std::optional(*a) : std::nullopt;
}

}  // namespace plimsoll
