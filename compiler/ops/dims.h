// Arithmetic on dimensions, shared by `infer` and `evaluate` so that both follow the same rules. Errors of these
// functions do not name a node; named() adds the name.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/node_view.h"

namespace plimsoll {

template <class T>
Result<T> named(const NodeView& node, Result<T> result) {
  if (result.ok()) return result;
  return result.error().code == ExitCode::unsupported ? node.unsupported(result.error().message)
                                                      : node.invalid(result.error().message);
}

namespace dims {

inline Error invalid(std::string what) { return {ExitCode::invalid_model, std::move(what)}; }
inline Error unsupported(std::string what) { return {ExitCode::unsupported, std::move(what)}; }

// An axis, counted from the end if negative. Error: outside [-rank, rank).
Result<size_t> axis_of(int64_t axis, size_t rank);

// Distinct axes, sorted. Error: out of range, or a duplicate.
Result<std::vector<size_t>> axes_of(const std::vector<int64_t>& axes, size_t rank);

// The product of dims[first, last). Error: more than 63 bits, or the sample dimension more than once.
Result<Dim> product_of(const Dims& dims, size_t first, size_t last);
inline Result<Dim> product_of(const Dims& dims) { return product_of(dims, 0, dims.size()); }

// Broadcasting as in ONNX and NumPy: dimensions are aligned at the last one; a 1 is broadcast to the other size.
Result<Dims> broadcast(const Dims& a, const Dims& b);

}  // namespace dims
}  // namespace plimsoll
