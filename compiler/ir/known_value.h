// What the compiler knows of a value, and tensors of a model as such values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/tensor_type.h"

namespace plimsoll {

// Known values with more elements are not evaluated.
inline constexpr int64_t kKnownLimit = int64_t{1} << 22;

// What the compiler knows of a value. Integers and booleans lie in `ints` and may depend on the batch (the shape of
// an activation does); reals in `reals`. A single element stands for all when the shape has more (ConstantOfShape), or,
// with `steps`, begins integers that grow evenly along each dimension (progression.h). Where the shape depends on the
// batch otherwise, the elements are those of one sample, and each sample has the same (a mask that was expanded to the
// batch).
struct KnownValue {
  ElementType element = ElementType::f32;
  Dims dims = {};
  std::vector<Dim> ints = {};
  std::vector<double> reals = {};
  std::vector<int64_t> steps = {};
  // Not empty: each sample has others, and these are the whole values with one sample, with two, … (fold_alike.cpp).
  std::vector<KnownValue> probes = {};

  bool real() const;
  bool splat() const { return (real() ? reals.size() : ints.size()) == 1 && steps.empty() && probes.empty(); }
  bool depends_on_batch() const;           // in its shape or its elements
  bool alike_for_each_sample() const { return !elements() && steps.empty() && probes.empty(); }
  std::optional<int64_t> elements() const;  // nullopt: the shape depends on the batch
  Dim integer(size_t i) const { return splat() ? ints[0] : ints[i]; }
  double number(size_t i) const { return splat() ? reals[0] : reals[i]; }
};

// nullopt for element types that are not evaluated (strings, 4 bits), above kKnownLimit, or where the elements are not
// here.
std::optional<KnownValue> known_value_of(const ModelTensor& tensor);

// The other way, for values that do not depend on the batch and have a DataType.
ModelTensor to_tensor(const KnownValue& known, const std::string& name);

}  // namespace plimsoll
