#include "compiler/ops/dims.h"

#include <algorithm>

#include "compiler/ops/evaluate.h"
#include "compiler/support/bytes.h"

namespace plimsoll::dims {

Result<size_t> axis_of(int64_t axis, size_t rank) {
  if (const auto at = constants::axis_of(axis, rank)) return *at;
  return invalid("axis " + std::to_string(axis) + " is outside a tensor of " + std::to_string(rank) + " dimensions");
}

Result<std::vector<size_t>> axes_of(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> resolved;
  for (const int64_t axis : axes) {
    PLIMSOLL_ASSIGN(const size_t at, axis_of(axis, rank));
    resolved.push_back(at);
  }
  std::sort(resolved.begin(), resolved.end());
  if (std::adjacent_find(resolved.begin(), resolved.end()) != resolved.end()) return invalid("an axis is given twice");
  return resolved;
}

Result<Dim> product_of(const Dims& dims, size_t first, size_t last) {
  Dim product{1};
  for (size_t i = first; i < last; ++i) {
    const auto value = checked_mul(product.value, dims[i].value);
    if (!value) return invalid("dimensions " + to_string(dims) + " have more than 2^63 elements");
    if (product.batch && dims[i].batch) return unsupported("two dimensions depend on the batch: " + to_string(dims));
    product = {*value, product.batch || dims[i].batch};
  }
  return product;
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  Dims result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& common = result[longer.size() - shorter.size() + i];
    if (common != shorter[i] && common != Dim{1} && shorter[i] != Dim{1})
      return invalid("operands " + to_string(a) + " and " + to_string(b) + " cannot be broadcast together");
    if (common == Dim{1}) common = shorter[i];
  }
  return result;
}

}  // namespace plimsoll::dims
