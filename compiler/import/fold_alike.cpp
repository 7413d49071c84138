// Constants that are the same for each sample (alike_for_each_sample in tensor_data.h).
//
// The shape of such a constant depends on the batch, and its elements do not. A rule that folds constants of known size is asked for
// one, two and three samples: a dimension that is as many times larger is the batch's, one that stays is a number, and each
// sample has to have the elements of the first. What the rules compute is the same for any number of samples, so what holds for
// these three holds for all, unless a rule branches on the number; so the number itself may be read as a shape only.
#include <algorithm>

#include "compiler/import/fold_call.h"
#include "compiler/support/bytes.h"

namespace plimsoll::folding {
namespace {

constexpr int64_t kMostSamples = 3;

bool depends_on_batch(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
}

// Inputs that say a shape, in which the number of samples may stand.
bool is_shape(std::string_view op, size_t input) {
  return input == 1 ? op == "Expand" || op == "Reshape" || op == "Tile" : input == 0 && op == "ConstantOfShape";
}

// For each element of `dims` with that many samples, the stored one that stands there.
std::optional<std::vector<size_t>> stored_indices(const Dims& dims, int64_t samples) {
  int64_t count = 1;
  for (const Dim dim : dims) {
    auto more = checked_mul(count, dim.value);
    if (more && dim.batch) more = checked_mul(*more, samples);
    if (!more || *more > kKnownLimit) return std::nullopt;
    count = *more;
  }
  std::vector<size_t> indices(static_cast<size_t>(count));
  for (size_t flat = 0; flat < indices.size(); ++flat) {
    size_t rest = flat, stride = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
      const auto stored = static_cast<size_t>(dims[axis].value), size = dims[axis].batch ? stored * static_cast<size_t>(samples) : stored;
      indices[flat] += rest % size % stored * stride;
      rest /= size;
      stride *= stored;
    }
  }
  return indices;
}

// The constant as it is with that many samples.
Known with_samples(const KnownValue& known, int64_t samples) {
  if (known.splat()) {
    KnownValue one = known;
    for (Dim& dim : one.dims) {
      const auto size = dim.batch ? checked_mul(dim.value, samples) : std::optional(dim.value);
      if (!size) return std::nullopt;
      dim = {*size};
    }
    if (one.ints.empty() || !one.ints[0].batch) return one;
    const auto item = checked_mul(one.ints[0].value, samples);
    if (!item) return std::nullopt;
    one.ints[0] = {*item};
    return one;
  }
  const auto stored = stored_indices(known.dims, samples);
  if (!stored) return std::nullopt;
  KnownValue all = picked(known, known.dims, *stored);
  for (Dim& dim : all.dims)
    if (dim.batch) dim = {dim.value * samples};
  for (Dim& item : all.ints)
    if (item.batch) {
      const auto value = checked_mul(item.value, samples);
      if (!value) return std::nullopt;
      item = {*value};
    }
  return all;
}

bool same_number(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace

Known alike(const Call& call, Known (*fold)(const Call&)) {
  bool any = false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const KnownValue* known = call.known(i);
    if (!known) {
      if (call.given(i)) return std::nullopt;
      continue;
    }
    if (!known->steps.empty()) return std::nullopt;
    const bool reads_number = std::any_of(known->ints.begin(), known->ints.end(), [](Dim item) { return item.batch; });
    if (reads_number && !is_shape(call.node.op_type(), i)) return std::nullopt;
    any = any || reads_number || depends_on_batch(known->dims);
  }
  if (!any) return std::nullopt;

  std::vector<KnownValue> results;
  for (int64_t samples = 1; samples <= kMostSamples; ++samples) {
    std::vector<KnownValue> values(call.inputs.size());
    std::vector<FoldInput> inputs = call.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].known) continue;
      Known value = with_samples(*inputs[i].known, samples);
      if (!value) return std::nullopt;
      values[i] = std::move(*value);
      inputs[i].known = &values[i];
      inputs[i].dims = &values[i].dims;
    }
    Known result = fold({call.node, call.opset, inputs});
    if (!result || result->depends_on_batch() || !result->steps.empty()) return std::nullopt;
    results.push_back(std::move(*result));
  }

  KnownValue& one = results[0];
  Dims dims = one.dims;
  for (int64_t samples = 2; samples <= kMostSamples; ++samples) {
    const KnownValue& more = results[static_cast<size_t>(samples) - 1];
    if (more.element != one.element || more.dims.size() != dims.size()) return std::nullopt;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const bool grows = more.dims[axis].value != one.dims[axis].value;
      if (grows && more.dims[axis].value != one.dims[axis].value * samples) return std::nullopt;
      if (samples > 2 && grows != dims[axis].batch) return std::nullopt;
      dims[axis].batch = grows;
    }
  }
  if (std::count_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; }) > 1) return std::nullopt;
  one.dims = std::move(dims);
  for (int64_t samples = 2; samples <= kMostSamples; ++samples) {
    const KnownValue& more = results[static_cast<size_t>(samples) - 1];
    const Known expected = with_samples(one, samples);
    if (!expected) return std::nullopt;
    for (size_t i = 0; i < static_cast<size_t>(more.elements().value_or(0)); ++i)
      if (one.real() ? !same_number(more.number(i), expected->number(i)) : more.integer(i) != expected->integer(i)) return std::nullopt;
  }
  return one;
}

}  // namespace plimsoll::folding
