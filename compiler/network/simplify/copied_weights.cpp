#include "compiler/network/simplify/copied_weights.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// The bytes of element `at`.
std::string_view element_bytes(const ModelTensor& tensor, int64_t at) {
  return std::string_view(*tensor.data).substr(static_cast<size_t>(at) * sizeof(float), sizeof(float));
}

// `b` has as many columns as `a` has rows.
bool is_transposed(const ModelTensor& a, const ModelTensor& b) {
  const int64_t rows = a.dims[0], columns = a.dims[1];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (element_bytes(a, row * columns + column) != element_bytes(b, column * rows + row)) return false;
  return true;
}

// Different layers begin with such matrices: all elements are equal, or the matrix is its own transpose.
bool is_ordinary_start(const ModelTensor& tensor) {
  if (tensor.dims[0] == tensor.dims[1] && is_transposed(tensor, tensor)) return true;
  return tensor.data->compare(sizeof(float), std::string::npos, *tensor.data, 0, tensor.data->size() - sizeof(float)) ==
         0;
}

}  // namespace

void find_copied_weights(const Model& model, const Network& network, std::vector<std::string>& warnings) {
  std::unordered_set<std::string_view> trained;
  for (const Value& value : network.values)
    if (value.trainable && !value.initializer.empty()) trained.insert(value.initializer);
  // A transposition leaves the first and the last element in place.
  std::map<std::tuple<int64_t, int64_t, std::string_view, std::string_view>, std::vector<const ModelTensor*>> seen;
  int64_t count = 0;
  std::string shown;
  for (const ModelTensor& tensor : model.initializers) {
    if (tensor.type != ElementType::f32 || tensor.dims.size() != 2 || !trained.contains(tensor.name)) continue;
    const int64_t elements = elements_of(tensor).value_or(0), rows = tensor.dims[0], columns = tensor.dims[1];
    if (rows < 2 || columns < 2 || !tensor.data ||
        tensor.data->size() != static_cast<size_t>(elements) * sizeof(float))
      continue;
    if (is_ordinary_start(tensor)) continue;
    const std::string_view first = element_bytes(tensor, 0), last = element_bytes(tensor, elements - 1);
    const auto transposed = seen.find({columns, rows, first, last});
    if (transposed != seen.end())
      for (const ModelTensor* other : transposed->second) {
        if (!is_transposed(*other, tensor)) continue;
        if (++count <= 3) shown += fmt::format("{}'{}' and '{}'", count == 1 ? "" : ", ", other->name, tensor.name);
        break;
      }
    std::vector<const ModelTensor*>& alike = seen[{rows, columns, first, last}];
    if (alike.empty() || *alike.back()->data != *tensor.data) alike.push_back(&tensor);
  }
  if (count == 0) return;
  warnings.push_back(
      fmt::format("{} of weights {} equal, one transposed: {}{}. The model probably shares such a weight, and the "
                  "exporter copied it: the two are trained apart. Export the model with do_constant_folding=False or "
                  "with plimsoll.export (docs/python.md)",
                  counted(count, "pair"), is_or_are(count), shown, count > 3 ? ", …" : ""));
}

}  // namespace plimsoll
