#include "compiler/network/simplify/causal_mask.h"

#include <cstring>

namespace plimsoll {
namespace {

// agrees(seen, at): whether element `at` lets a key be seen, or hides it.
template <class Agrees>
bool is_triangle(int64_t rows, int64_t columns, Agrees agrees) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (!agrees(j <= i, static_cast<size_t>(i * columns + j))) return false;
  return true;
}

}  // namespace

CausalMask causal_mask_of(const ModelTensor& tensor) {
  const size_t rank = tensor.dims.size();
  if (rank < 2 || !tensor.data) return CausalMask::none;
  const int64_t rows = tensor.dims[rank - 2], columns = tensor.dims[rank - 1];
  if (rows < 2 || columns < 2 || elements_of(tensor) != rows * columns) return CausalMask::none;
  const char* const bytes = tensor.data->data();
  const size_t count = static_cast<size_t>(rows * columns);
  if ((tensor.type == ElementType::boolean || tensor.type == ElementType::u8) && tensor.data->size() == count) {
    const bool first = bytes[0] != 0;  // a query sees its own key
    const auto agrees = [&](bool seen, size_t at) { return (bytes[at] != 0) == (seen == first); };
    if (!is_triangle(rows, columns, agrees)) return CausalMask::none;
    return first ? CausalMask::seen : CausalMask::hidden;
  }
  if (tensor.type != ElementType::f32 || tensor.data->size() != count * sizeof(float)) return CausalMask::none;
  const auto agrees = [&](bool seen, size_t at) {
    float value;
    std::memcpy(&value, bytes + at * sizeof value, sizeof value);
    return seen ? value == 0 : value <= -1e4F;
  };
  return is_triangle(rows, columns, agrees) ? CausalMask::added : CausalMask::none;
}

}  // namespace plimsoll
