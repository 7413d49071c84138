// Values known at compile time, and their conversion from and to tensors of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/tensor_type.h"

namespace plimsoll {

// Maximum number of elements; larger values are not evaluated.
inline constexpr int64_t kKnownLimit = int64_t{1} << 22;

// A value known at compile time. Integers and booleans are in `ints` and may depend on the batch, like the shape of an
// activation; reals are in `reals`. A single element stands for all elements of a larger shape (ConstantOfShape). With
// `steps`, it is instead the first of integers that grow linearly along each dimension (compiler/ops/progression.h). If
// the shape depends on the batch otherwise, the elements are those of one sample, and all samples are equal (for
// example a mask expanded to the batch).
struct KnownValue {
  ElementType element = ElementType::f32;
  Dims dims = {};
  std::vector<Dim> ints = {};
  std::vector<double> reals = {};
  std::vector<int64_t> steps = {};
  // If not empty, samples differ, and these are the whole values for one sample, two samples, and so on
  // (fold_alike.cpp).
  std::vector<KnownValue> probes = {};

  bool real() const;
  bool splat() const { return (real() ? reals.size() : ints.size()) == 1 && steps.empty() && probes.empty(); }
  bool depends_on_batch() const;           // its shape or its elements
  bool alike_for_each_sample() const { return !elements() && steps.empty() && probes.empty(); }
  std::optional<int64_t> elements() const;  // nullopt: the shape depends on the batch
  Dim integer(size_t i) const { return splat() ? ints[0] : ints[i]; }
  double number(size_t i) const { return splat() ? reals[0] : reals[i]; }
};

// nullopt for element types that are not evaluated (strings, 4 bits), for more than kKnownLimit elements, and if the
// elements were not loaded.
std::optional<KnownValue> known_value_of(const ModelTensor& tensor);

// The inverse, for values that do not depend on the batch and have a DataType.
ModelTensor to_tensor(const KnownValue& known, const std::string& name);

}  // namespace plimsoll
