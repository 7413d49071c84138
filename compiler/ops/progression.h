// Integers that are evenly spaced along each dimension, where one dimension is the samples':
//
//   element (i, j, …) = first + i·steps[0] + j·steps[1] + …
//
// A Range up to the number of samples is one, and so are the indices that exporters compute from it (torch's
// as_strided). They cannot be listed one by one, because their number depends on the batch, but they are fully known.
// What an operator makes of them is in its file (Op::evaluate_spaced).
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/evaluate.h"

namespace plimsoll {

struct Progression {
  ElementType element = ElementType::i64;
  Dims dims = {};
  int64_t first = 0;
  std::vector<int64_t> steps = {};  // one per dimension
};

// The progression of the elements; nullopt: they form none, or depend on the batch.
std::optional<Progression> progression_of(const KnownValue* known);

// The elements of one sample if all samples are equal; otherwise the first element and the steps. nullopt: an element
// has more than 64 bits.
Known known_of(Progression from);

// The elements, row-major; of one sample if a dimension is the samples'. nullopt: too many, or of more than 64 bits.
std::optional<std::vector<int64_t>> list_elements(const Progression& from);

// Building blocks for `evaluate_spaced` functions.
namespace spaced {

// The same elements, if the dimensions differ only in those of size 1.
std::optional<Progression> reshaped(const Progression& from, Dims to);

// NumPy's broadcasting, also for the samples' dimension.
std::optional<Progression> broadcast(const Progression& from, const Dims& to);

// a + sign · b
std::optional<Progression> sum(const Progression& a, const Progression& b, int64_t sign);

// One factor must be the same number everywhere.
std::optional<Progression> product(const Progression& a, const Progression& b);

}  // namespace spaced
}  // namespace plimsoll
