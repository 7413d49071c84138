#include "compiler/network/simplify/sample_indices.h"

#include <algorithm>

#include "compiler/network/simplify/fit_inputs.h"
#include "compiler/network/simplify/fold.h"

namespace plimsoll {
namespace {

// The number of the only sample of an example.
bool is_number_of_one(const KnownValue& known) {
  return !known.real() && !known.dims.empty() && (known.dims[0] == Dim{1} || known.dims[0] == kBatch) &&
         !known.ints.empty() && known.steps.empty() && known.probes.empty() &&
         std::all_of(known.ints.begin(), known.ints.end(), [](Dim item) { return item == Dim{0}; });
}

// The step from sample to sample; 0 if there is one sample.
bool is_known_number_of_samples(ValueTable& table, const std::string& name, std::optional<int64_t> exported_batch,
                                int64_t& step) {
  if (name.empty()) return false;
  const KnownValue* known = table.known(table.find(name));
  const auto found = known ? step_of_samples(*known, exported_batch) : std::nullopt;
  step = found.value_or(0);
  return found.has_value() || (known && exported_batch == std::optional<int64_t>(1) && is_number_of_one(*known));
}

// Whether every reader of the value is one of `ops` (by input 1), or reads only its shape.
bool is_read_by(const Model& model, const GraphUses& uses, const std::string& name,
                std::initializer_list<std::string_view> ops, bool shapes) {
  const auto readers = uses.readers.find(name);
  if (readers == uses.readers.end()) return false;
  for (const int reader : readers->second) {
    if (reader < 0) return false;
    const ModelNode& node = model.nodes[static_cast<size_t>(reader)];
    if (!is_of_onnx(node)) return false;
    if (shapes && node.op == "Shape") continue;
    if (std::find(ops.begin(), ops.end(), node.op) == ops.end()) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if ((node.inputs[i] == name) != (i == 1)) return false;
  }
  return true;
}

// Whether every reader selects from something with samples in front that is already computed. Asked of the indices of
// an example of one sample, whose number 0 may also mean the first row of a table.
bool select_from_samples(const Model& model, const GraphUses& uses, ValueTable& table, const std::string& name) {
  const auto& readers = uses.readers.at(name);
  return std::all_of(readers.begin(), readers.end(), [&](int reader) {
    const ModelNode& node = model.nodes[static_cast<size_t>(reader)];
    if (node.op == "Shape") return true;
    const Dims* x = table.has(node.inputs[0]) ? table.dims(table.find(node.inputs[0])) : nullptr;
    return x && !x->empty() && (*x)[0].batch;
  });
}

// Integers that a task computes for each sample, or that are known and the same for each.
bool is_of_samples(ValueTable& table, const std::string& name, int64_t step_of_known, Dims& dims) {
  if (name.empty() || step_of_known != 0) return false;
  const ValueTable::Index index = table.find(name);
  const Dims* given = table.dims(index);
  const KnownValue* known = table.known(index);
  if (!given || given->empty() || (*given)[0] != kBatch || (known && !known->alike_for_each_sample())) return false;
  dims = *given;
  return true;
}

// Broadcasting with `other`, whose first dimension is taken as the samples', does not change `wide`.
bool takes_in(const Dims& wide, Dims other, bool counts) {
  if (other.size() > wide.size()) return false;
  if (counts && !other.empty()) other[0] = kBatch;
  for (size_t i = 0, more = wide.size() - other.size(); i < other.size(); ++i)
    if (other[i] != Dim{1} && other[i] != wide[more + i]) return false;
  return true;
}

// For known numbers that are the same for each sample: the consecutive numbers along the dimension, if they are the
// same along all others.
std::optional<IndexRun> run_along(const KnownValue* known, size_t axis) {
  if (!known || known->real() || !known->alike_for_each_sample() || known->ints.empty()) return std::nullopt;
  const int64_t size = known->dims[axis].value, first = known->ints[0].value;
  if (known->splat()) return size == 1 && first >= 0 ? std::optional(IndexRun{first, 1}) : std::nullopt;
  int64_t inner = 1;
  for (size_t i = axis + 1; i < known->dims.size(); ++i) inner *= known->dims[i].value;
  for (size_t i = 0; i < known->ints.size(); ++i)
    if (known->ints[i] != Dim{first + static_cast<int64_t>(i) / inner % size}) return std::nullopt;
  return first >= 0 ? std::optional(IndexRun{first, size}) : std::nullopt;
}

// Known numbers of the only sample of an example, as those of every sample.
std::optional<KnownValue> as_of_samples(ValueTable& table, const std::string& name) {
  const KnownValue* known = name.empty() ? nullptr : table.known(table.find(name));
  if (!known || known->dims.empty() || known->dims[0] != Dim{1} || !known->elements() || !known->steps.empty() ||
      !known->probes.empty())
    return std::nullopt;
  KnownValue alike = *known;
  alike.dims[0] = kBatch;
  return alike;
}

}  // namespace

std::optional<int64_t> step_of_samples(const KnownValue& known, std::optional<int64_t> exported_batch) {
  if (known.real() || known.dims.empty() || known.ints.empty()) return std::nullopt;
  if (!known.steps.empty()) {
    const bool of_samples = known.dims[0] == kBatch && known.ints[0] == Dim{0} && known.steps[0] > 0;
    const bool alike = std::all_of(known.steps.begin() + 1, known.steps.end(), [](int64_t step) { return step == 0; });
    return of_samples && alike ? std::optional(known.steps[0]) : std::nullopt;
  }
  const KnownValue& written = known.probes.size() > 1 ? known.probes[1] : known;
  const int64_t samples = known.probes.size() > 1 ? 2 : exported_batch.value_or(0);
  if (samples < 2 || (known.probes.size() > 1 && known.dims[0] != kBatch)) return std::nullopt;
  if (written.splat() || written.dims[0] != Dim{samples} || written.depends_on_batch() || !written.steps.empty())
    return std::nullopt;
  const size_t of_sample = written.ints.size() / static_cast<size_t>(samples);
  if (of_sample == 0 || written.ints.size() != of_sample * static_cast<size_t>(samples)) return std::nullopt;
  const int64_t step = written.ints[of_sample].value;
  for (size_t i = 0; i < written.ints.size(); ++i)
    if (written.ints[i] != Dim{static_cast<int64_t>(i / of_sample) * step}) return std::nullopt;
  return step > 0 ? std::optional(step) : std::nullopt;
}

std::optional<SampleIndices> sample_indices(const Model& model, const GraphUses& uses, ValueTable& table,
                                            const ModelNode& node, std::optional<int64_t> exported_batch) {
  if (node.op == "Add" && node.inputs.size() == 2) {
    if (!is_read_by(model, uses, node.outputs[0], {"Gather"}, true)) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      int64_t step = 0, other_step = 0;
      Dims dims;
      if (!is_known_number_of_samples(table, node.inputs[i], exported_batch, step)) continue;
      is_known_number_of_samples(table, node.inputs[1 - i], exported_batch, other_step);
      if (!is_of_samples(table, node.inputs[1 - i], other_step, dims)) continue;
      const Dims& counted = *table.dims(table.find(node.inputs[i]));
      if (step == 0 && !select_from_samples(model, uses, table, node.outputs[0])) continue;
      if (counted.size() == dims.size() && takes_in(dims, counted, true))
        return SampleIndices{.parts = {node.inputs[1 - i]}, .dims = dims, .length = step};
    }
    return std::nullopt;
  }
  if (node.op != "Concat" || node.inputs.size() < 2) return std::nullopt;
  int64_t step = 0;
  if (!is_known_number_of_samples(table, node.inputs[0], exported_batch, step) || step > 1) return std::nullopt;
  if (!is_read_by(model, uses, node.outputs[0], {"GatherND", "ScatterND"}, false)) return std::nullopt;
  if (step == 0 && !select_from_samples(model, uses, table, node.outputs[0])) return std::nullopt;
  Dims first = *table.dims(table.find(node.inputs[0]));
  first[0] = kBatch;
  const ModelAttribute* axis = find_attribute(node, "axis");
  const int64_t rank = static_cast<int64_t>(first.size());
  if (!axis || (axis->integer() != -1 && axis->integer() != rank - 1) || rank < 2 || first.back() != Dim{1})
    return std::nullopt;
  SampleIndices made{.dims = Dims(first.begin(), first.end() - 1)};
  const bool of_one = step == 0;
  bool known = made.dims.size() == node.inputs.size(), any_alike = false;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const std::string& name = node.inputs[i];
    Dims dims;
    const auto alike = of_one && known ? as_of_samples(table, name) : std::nullopt;
    is_known_number_of_samples(table, name, exported_batch, step);
    if (alike ? alike->dims != first : !is_of_samples(table, name, step, dims) || dims != first) return std::nullopt;
    made.parts.push_back(name);
    const auto run = known ? run_along(alike ? &*alike : table.known(table.find(name)), i) : std::nullopt;
    any_alike |= alike.has_value();
    known = run.has_value();
    if (known) made.box.push_back(*run);
  }
  if (any_alike && !known) return std::nullopt;  // they are not numbers of each sample
  if (!known) made.box.clear();
  return made;
}

std::string input_of_that_shape(const Model& model, const GraphUses& uses, ValueTable& table, const ModelNode& node,
                                std::optional<int64_t> exported_batch) {
  if (node.op != "Add" && node.op != "Max" && node.op != "Min") return {};
  if (!is_read_by(model, uses, node.outputs[0], {}, true)) return {};
  std::vector<bool> counts;
  for (const std::string& name : node.inputs) {
    int64_t step = 0;
    counts.push_back(is_known_number_of_samples(table, name, exported_batch, step));
  }
  if (std::none_of(counts.begin(), counts.end(), [](bool yes) { return yes; })) return {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Dims* wide = node.inputs[i].empty() || counts[i] ? nullptr : table.dims(table.find(node.inputs[i]));
    if (!wide) continue;
    bool all = true;
    for (size_t j = 0; j < node.inputs.size() && all; ++j) {
      const Dims* dims = node.inputs[j].empty() ? nullptr : table.dims(table.find(node.inputs[j]));
      all = dims && takes_in(*wide, *dims, counts[j]);
    }
    if (all) return node.inputs[i];
  }
  return {};
}

std::optional<KnownValue> expanded_to_samples(ValueTable& table, const ModelNode& node,
                                              std::optional<int64_t> exported_batch) {
  if (node.op != "Expand" || node.inputs.size() != 2) return std::nullopt;
  if (node.inputs[0].empty() || node.inputs[1].empty()) return std::nullopt;
  const KnownValue* known = table.known(table.find(node.inputs[0]));
  const KnownValue* shape = table.known(table.find(node.inputs[1]));
  if (!known || known->depends_on_batch() || !shape || shape->real() || shape->dims.size() != 1) return std::nullopt;
  const size_t rank = known->dims.size();
  if (shape->dims[0] != Dim{static_cast<int64_t>(rank)} || shape->ints.size() != rank) return std::nullopt;
  size_t of_samples = rank;
  for (size_t i = 0; i < rank; ++i) {
    const Dim dim = known->dims[i], wanted = shape->ints[i];
    if (wanted == kBatch && dim.value > 1 && of_samples == rank) of_samples = i;
    else if (dim != wanted && dim != Dim{1}) return std::nullopt;
  }
  if (of_samples == rank) return std::nullopt;
  KnownValue made{.element = known->element, .dims = shape->ints};
  if (const auto step = of_samples == 0 ? step_of_samples(*known, exported_batch) : std::nullopt) {
    made.ints = {{0}};
    made.steps = std::vector<int64_t>(rank, 0);
    made.steps[0] = *step;
    return made;
  }
  const auto same = [](const auto& items) {
    return std::all_of(items.begin(), items.end(), [&](const auto& item) { return item == items[0]; });
  };
  if (!known->steps.empty() || !same(known->ints) || !same(known->reals)) return std::nullopt;
  if (known->real()) made.reals = {known->reals.at(0)};
  else made.ints = {known->ints.at(0)};
  return made;
}

std::optional<KnownValue> larger_shape(ValueTable& table, const ModelNode& node,
                                       std::optional<int64_t> exported_batch) {
  if (node.op != "Max" || node.inputs.size() != 2 || !exported_batch) return std::nullopt;
  std::vector<const KnownValue*> shapes;
  for (const std::string& name : node.inputs) {
    const KnownValue* known = name.empty() ? nullptr : table.known(table.find(name));
    if (!known || known->real() || known->dims.size() != 1 || known->depends_on_batch() != !shapes.empty() ||
        known->dims[0] != Dim{static_cast<int64_t>(known->ints.size())} ||
        known->steps.size() + known->probes.size() > 0)
      return std::nullopt;
    shapes.push_back(known);
  }
  if (shapes[0]->ints.size() != shapes[1]->ints.size()) return std::nullopt;
  KnownValue made = *shapes[0];
  for (size_t i = 0; i < made.ints.size(); ++i) {
    const Dim written = shapes[0]->ints[i], other = shapes[1]->ints[i];
    if (!other.batch) made.ints[i] = {std::max(written.value, other.value)};
    else if (written == Dim{1} || written.value == other.value * *exported_batch) made.ints[i] = other;
    else return std::nullopt;
  }
  return made;
}

std::optional<KnownValue> constant_of_samples(const ModelNode& node, ValueTable& table, const KnownValue& known,
                                              std::optional<int64_t> exported_batch) {
  if (!exported_batch || *exported_batch < 2 || known.depends_on_batch()) return std::nullopt;
  if (known.dims.empty() || known.dims[0] != Dim{*exported_batch}) return std::nullopt;
  if (node.op == "Range") {
    const bool counts = !known.real() && known.ints[0] == Dim{0} && known.ints[1] == Dim{1};
    return counts ? std::optional(
                        KnownValue{.element = known.element, .dims = {kBatch}, .ints = {{0}}, .steps = {1}})
                  : std::nullopt;
  }
  if (known.dims.size() == 1 && !known.real()) return std::nullopt;
  if (node.op == "Expand" || node.op == "Tile") {
    const Dims* x = table.dims(table.find(node.inputs[0]));
    if (!x || (x->size() == known.dims.size() && (*x)[0] != Dim{1})) return std::nullopt;
  } else if (node.op != "ConstantOfShape") {
    return std::nullopt;
  }
  auto first = first_along(known, 0);
  if (first) first->dims[0] = kBatch;
  return first;
}

}  // namespace plimsoll
