// Constants with as many samples as the batch: either the same for each sample (alike_for_each_sample() of
// ir/known_value.h), or numbered by sample.
//
// The shape of such a constant depends on the batch. A rule that folds constants of known size is evaluated for one
// sample and for two: a dimension that doubles is the batch's, one that stays is a number, and if the second sample has
// the elements of the first, so has every sample. The results of the rules do not depend on the number of samples, with
// two exceptions. First, the number itself may be compared with others, so it may be read only as a shape. Second,
// sample indices may be compared, so numbered values pass only through operators that declare it (Op::sample_numbers).
#include "compiler/network/simplify/fold_alike.h"

#include <algorithm>

#include "compiler/ops/op.h"
#include "compiler/ops/progression.h"
#include "compiler/support/bytes.h"

namespace plimsoll::folding {
namespace {

constexpr int64_t kMostSamples = 2;

bool depends_on_batch(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
}

// For each element of `dims` with that many samples, the index of its stored element.
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
      const auto stored = static_cast<size_t>(dims[axis].value),
                 size = dims[axis].batch ? stored * static_cast<size_t>(samples) : stored;
      indices[flat] += rest % size % stored * stride;
      rest /= size;
      stride *= stored;
    }
  }
  return indices;
}

// For evenly spaced integers (compiler/ops/progression.h).
Known numbered(const KnownValue& known, int64_t samples) {
  KnownValue all{.element = known.element, .dims = known.dims};
  for (Dim& dim : all.dims) {
    const auto size = dim.batch ? checked_mul(dim.value, samples) : std::optional(dim.value);
    if (!size) return std::nullopt;
    dim = {*size};
  }
  const auto items = list_elements({.dims = all.dims, .first = known.ints[0].value, .steps = known.steps});
  if (!items) return std::nullopt;
  for (const int64_t item : *items) all.ints.push_back({item});
  return all;
}

// The constant, expanded to that many samples.
Known with_samples(const KnownValue& known, int64_t samples) {
  if (!known.probes.empty()) {
    if (known.probes.size() < static_cast<size_t>(samples)) return std::nullopt;
    return known.probes[static_cast<size_t>(samples) - 1];
  }
  if (!known.steps.empty()) return numbered(known, samples);
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
  KnownValue all = constants::picked(known, known.dims, *stored);
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

Known alike(const KnownCall& call, Known (*fold)(const KnownCall&)) {
  const Op* op = find_onnx_op(call.node.op);
  const SampleNumbers rule = op ? op->sample_numbers : SampleNumbers::unknown;
  const bool only_shape = rule == SampleNumbers::only_shape;
  bool any = false, numbered_any = false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const KnownValue* known = call.known(i);
    if (!known) {
      if (call.given(i)) return std::nullopt;
      continue;
    }
    const bool is_numbered = !(known->steps.empty() && known->probes.empty());
    if (is_numbered && rule == SampleNumbers::unknown) return std::nullopt;
    numbered_any = numbered_any || is_numbered;
    const bool reads_number = std::any_of(known->ints.begin(), known->ints.end(), [](Dim item) { return item.batch; });
    if (reads_number && !is_shape(slot_of(call.node.op, i))) return std::nullopt;
    any = any || reads_number || depends_on_batch(known->dims);
  }
  if (!any) return std::nullopt;

  std::vector<KnownValue> results;
  for (int64_t samples = 1; samples <= kMostSamples; ++samples) {
    std::vector<KnownValue> values(call.inputs.size());
    std::vector<KnownInput> inputs = call.inputs;
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

  const KnownValue& one = results[0];
  Dims dims = one.dims;
  for (int64_t samples = 2; samples <= kMostSamples; ++samples) {
    const KnownValue& more = results[static_cast<size_t>(samples) - 1];
    if (more.element != one.element || more.dims.size() != dims.size()) return std::nullopt;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const bool grows = more.dims[axis].value != one.dims[axis].value;
      if (grows && more.dims[axis].value != one.dims[axis].value * samples) return std::nullopt;
      dims[axis].batch = grows;
    }
  }
  if (std::count_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; }) > 1) return std::nullopt;
  const KnownValue first{.element = one.element, .dims = std::move(dims), .ints = one.ints, .reals = one.reals};
  if (numbered_any && only_shape) {
    results.resize(1);
    return KnownValue{.element = first.element, .dims = first.dims, .ints = first.ints, .probes = std::move(results)};
  }
  const KnownValue& more = results.back();
  const Known expected = with_samples(first, kMostSamples);
  if (!expected) return std::nullopt;
  bool alike = true;
  for (size_t i = 0; i < static_cast<size_t>(more.elements().value_or(0)) && alike; ++i)
    alike = one.real() ? same_number(more.number(i), expected->number(i)) : more.integer(i) == expected->integer(i);
  if (alike) return first;
  if (one.real() || !first.depends_on_batch() || rule != SampleNumbers::kept) return std::nullopt;
  return KnownValue{.element = first.element, .dims = first.dims, .ints = first.ints, .probes = std::move(results)};
}

}  // namespace plimsoll::folding
