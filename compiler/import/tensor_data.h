// The data of ONNX tensors: checked against the shape, brought into one form, and read as values the compiler knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/import/external_data.h"
#include "compiler/ir/tensor_type.h"
#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// Tensors with more elements are refused as damaged: products of their dimensions with strides and bytes still fit.
inline constexpr int64_t kElementLimit = int64_t{1} << 48;
// Known values with more elements are not evaluated.
inline constexpr int64_t kKnownLimit = int64_t{1} << 22;

// What the compiler knows of a value. Integers and booleans lie in `ints` and may depend on the batch (the shape of
// an activation does); reals in `reals`. A single element stands for all when the shape has more (ConstantOfShape), or,
// with `steps`, begins integers that grow evenly along each dimension (progression.h). Where the shape depends on the batch
// otherwise, the elements are those of one sample, and each sample has the same (a mask that was expanded to the batch).
struct KnownValue {
  int element = onnx::TensorProto::FLOAT;  // onnx::TensorProto::DataType
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

bool is_real(int element);
std::string element_name(int element);                    // "float16"
std::optional<DataType> data_type_of(int element);        // nullopt: no kernel has it
std::optional<int64_t> elements_of(const onnx::TensorProto& tensor);  // nullopt: negative or beyond kElementLimit

// Afterwards the tensor's data is inline and of exactly the size of its shape: in raw_data, for every element type of
// fixed width of at least a byte. `who` is for errors: "initializer 'conv1.weight'".
Status normalise_data(onnx::TensorProto& tensor, ModelDirectory& directory, const std::string& who);

// Of a normalised tensor; nullopt for element types that are not evaluated (strings, 4 bits) or above kKnownLimit.
std::optional<KnownValue> known_value_of(const onnx::TensorProto& tensor);

// The other way, for values that do not depend on the batch and have a DataType.
onnx::TensorProto to_tensor(const KnownValue& known, const std::string& name);

}  // namespace plimsoll
