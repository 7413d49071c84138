#include "compiler/network/simplify/node_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/fold.h"
#include "compiler/ops/gather.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_zero(const KnownValue* known) {
  return known && known->real() &&
         std::all_of(known->reals.begin(), known->reals.end(), [](double item) { return item == 0; });
}

}  // namespace

Result<ValueId> NodeInputs::add(const ModelNode& source, size_t i) {
  const std::string& name = source.inputs[i];
  if (name.empty()) return ValueId();
  const auto index = table_.find(name);
  const Slot slot = slot_of(source.op, i);
  if (slot == Slot::state && is_zero(table_.known(index))) return ValueId();  // the operator's default initial state
  // Likewise a bias that is not a weight but computed to be zero, as torch's dynamo exporter writes if a layer has
  // none.
  if (slot == Slot::bias && is_zero(table_.known(index))) return ValueId();
  const bool may_be_data = slot == Slot::number || slot == Slot::exponent;
  const KnownValue* known = slot == Slot::bound || slot == Slot::exponent ? table_.known_number(index)
                            : is_constant(slot)                           ? table_.known_constant(index)
                            : slot == Slot::number                        ? table_.known(index)
                                                                          : nullptr;
  if (known && may_be_data && (known->elements() != 1 || known->depends_on_batch())) known = nullptr;
  if (!known) return table_.as_data(index, slot);
  if (slot == Slot::target) return add_reshape_target(source, *known);
  if (slot == Slot::indices && picks_rows_at_random(source, *known)) return table_.as_data(index, Slot::data);
  if (slot == Slot::sizes) return add_resize_target(source, *known);
  if (slot == Slot::shape && exported_batch_ && !known->depends_on_batch())
    return table_.add_constant(name, expand_target(source, *known));
  if (known->depends_on_batch()) return add_batch_constant(source, i, *known);
  if (*known->elements() > kKnownLimit)
    return Error{ExitCode::unsupported, fmt::format("input {} ('{}') is too large for a constant", i, name)};
  return table_.as_constant(index);
}

// Constant indices that are not evenly spaced (the relative positions of windows) are data for a kernel, not a slice.
// They are not checked again, so they must be valid rows; if they are not, the operator reports the error.
bool NodeInputs::picks_rows_at_random(const ModelNode& source, const KnownValue& known) {
  const Dims* x = table_.dims(table_.find(source.inputs[0]));
  if (!x || x->empty() || known.real() || known.depends_on_batch() || *known.elements() > kKnownLimit) return false;
  const ModelAttribute* given = find_attribute(source, "axis");
  const int64_t rank = static_cast<int64_t>(x->size()), axis = given ? given->integer() : 0;
  if (axis < -rank || axis >= rank) return false;
  const Dim rows = (*x)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  std::vector<int64_t> indices;
  for (size_t i = 0; i < static_cast<size_t>(*known.elements()); ++i) {
    const int64_t index = known.integer(i).value;
    if (rows.batch || index < -rows.value || index >= rows.value) return false;
    indices.push_back(index < 0 ? index + rows.value : index);
  }
  return !evenly_spaced(indices);
}

Result<ValueId> NodeInputs::add_reshape_target(const ModelNode& source, const KnownValue& known) {
  const Dims* x = table_.dims(table_.find(source.inputs[0]));
  if (!x || known.real() || known.dims.size() != 1 || !known.elements() || *known.elements() > kMaxRank)
    return Error{ExitCode::invalid_model,
                 fmt::format("its target '{}' is not a list of at most {} integers", source.inputs[1], kMaxRank)};
  const ModelAttribute* allowzero = find_attribute(source, "allowzero");
  std::vector<Dim> entries;
  for (size_t i = 0; i < static_cast<size_t>(*known.elements()); ++i) entries.push_back(known.integer(i));
  ReshapeTarget target = reshape_target(*x, entries, !allowzero || allowzero->integer() == 0, exported_batch_, rows_);
  if (!target.error.empty()) return Error{ExitCode::unsupported, std::move(target.error)};
  reshapes_rewritten_ += target.rewritten;
  KnownValue resolved{.element = ElementType::i64, .dims = known.dims};
  for (const int64_t entry : target.entries) resolved.ints.push_back({entry});
  return table_.add_constant(source.inputs[1], resolved);
}

// The batch of the exporter's example, in the shape of an Expand. If the input has samples, it means these. If the
// batch is followed, it also applies where the input has one sample that is repeated.
KnownValue NodeInputs::expand_target(const ModelNode& source, KnownValue known) {
  const Dims* x = table_.dims(table_.find(source.inputs[0]));
  if (!x || known.real() || known.dims.size() != 1 || known.ints.size() != static_cast<size_t>(known.dims[0].value))
    return known;
  bool has_samples = std::any_of(x->begin(), x->end(), [](Dim dim) { return dim.batch; });
  for (size_t j = 0; j < known.ints.size(); ++j) {
    const size_t behind = known.ints.size() - j;
    const Dim dim = behind <= x->size() ? (*x)[x->size() - behind] : Dim{1};
    if (dim.batch && known.ints[j].value == dim.value * *exported_batch_ && known.ints[j].value != 1) {
      known.ints[j] = {1};
      ++expands_rewritten_;
    } else if (!has_samples && dim == Dim{1} && known.ints[j].value == *exported_batch_ && *exported_batch_ > 1) {
      meet();
      if (!follow()) continue;
      known.ints[j] = {-1};
      has_samples = true;
      ++expands_rewritten_;
    }
  }
  return known;
}

// The batch size, read from a shape or hard-coded in the export, is not a size to resize to.
Result<ValueId> NodeInputs::add_resize_target(const ModelNode& source, KnownValue known) {
  const Dims* x = table_.dims(table_.find(source.inputs[0]));
  if (!x || known.real() || known.splat() || known.ints.size() != x->size())
    return table_.add_constant(source.inputs[3], known);
  for (size_t j = 0; j < known.ints.size(); ++j) {
    const Dim dim = (*x)[j], given = known.ints[j];
    const bool same =
        given == dim || (dim.batch && !given.batch && exported_batch_ && given.value == dim.value * *exported_batch_);
    if (dim.batch && same) known.ints[j] = {-1};
    else if (given.batch)
      return Error{ExitCode::unsupported, fmt::format("its input 3 ('{}') depends on the batch", source.inputs[3])};
  }
  return table_.add_constant(source.inputs[3], known);
}

// A constant that contains the batch, for an operator that can express it without the number.
Result<ValueId> NodeInputs::add_batch_constant(const ModelNode& source, size_t i, KnownValue known) {
  const Slot slot = slot_of(source.op, i);
  const Dims* x = table_.dims(table_.find(source.inputs[0]));
  const bool listed = x && known.dims.size() == 1 && !known.dims[0].batch &&
                      known.ints.size() == static_cast<size_t>(known.dims[0].value);
  bool said = listed;
  for (size_t j = 0; said && j < known.ints.size(); ++j) {
    if (!known.ints[j].batch) continue;
    if (slot == Slot::shape) {  // 1 keeps a dimension, -1 is the number of samples
      const size_t behind = known.ints.size() - j;
      const bool there = behind <= x->size() && (*x)[x->size() - behind] == known.ints[j];
      said = there || known.ints[j] == kBatch;
      known.ints[j] = {there ? 1 : -1};
    } else if (slot == Slot::ends) {  // up to the end
      const std::optional<size_t> axis = slice_axis(source, j, x->size());
      said = axis && (*x)[*axis] == known.ints[j];
      known.ints[j] = {INT64_MAX};
    } else {
      said = false;
    }
  }
  if (!said)
    return Error{ExitCode::unsupported, fmt::format("its input {} ('{}') depends on the batch", i,
                                                    source.inputs[i])};
  return table_.add_constant(source.inputs[i], known);
}

std::optional<size_t> NodeInputs::slice_axis(const ModelNode& source, size_t j, size_t rank) {
  int64_t axis = static_cast<int64_t>(j);
  if (source.inputs.size() > 3 && !source.inputs[3].empty()) {
    const KnownValue* axes = table_.known_constant(table_.find(source.inputs[3]));
    if (!axes || axes->real() || j >= static_cast<size_t>(axes->elements().value_or(0))) return std::nullopt;
    axis = axes->integer(j).value;
  }
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

}  // namespace plimsoll
