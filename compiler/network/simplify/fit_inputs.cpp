#include "compiler/network/simplify/fit_inputs.h"

#include <algorithm>

#include "compiler/ops/op.h"

namespace plimsoll {

std::optional<KnownValue> first_along(const KnownValue& known, size_t axis) {
  KnownValue first{.element = known.element, .dims = known.dims};
  first.dims[axis] = {1};
  if (!known.steps.empty() || !known.probes.empty()) return std::nullopt;
  if (known.splat()) {
    first.ints = known.ints;
    first.reals = known.reals;
    return first;
  }
  size_t inner = 1;
  for (size_t i = axis + 1; i < known.dims.size(); ++i) inner *= static_cast<size_t>(known.dims[i].value);
  const auto size = static_cast<size_t>(known.dims[axis].value);
  const size_t count = known.real() ? known.reals.size() : known.ints.size();
  for (size_t flat = 0; flat < count; ++flat) {
    const size_t along = flat / inner % size, of_first = flat - along * inner;
    if (known.real() ? known.reals[flat] != known.reals[of_first] : known.ints[flat] != known.ints[of_first])
      return std::nullopt;
    if (along > 0) continue;
    if (known.real())
      first.reals.push_back(known.reals[flat]);
    else
      first.ints.push_back(known.ints[flat]);
  }
  return first;
}

namespace {

// Equal to `samples` if the batch is that of the example.
bool is_exported_as(Dim samples, Dim dim, std::optional<int64_t> exported_batch) {
  return samples.batch && !dim.batch && exported_batch && dim.value == samples.value * *exported_batch;
}

std::string add_fitted(ValueTable& table, const std::string& name, KnownValue known) {
  const ValueTable::Index index = table.define(name);
  table[index].known = std::move(known);
  return name;
}

// A node that turns `from` into `to`, with these dimensions.
ModelNode shaped(ValueTable& table, const char* op, const std::string& from, const Dims& dims, const std::string& to) {
  const std::string shape = to + "/shape";
  add_fitted(table, shape, {.element = ElementType::i64, .dims = {{static_cast<int64_t>(dims.size())}}, .ints = dims});
  return {.op = op, .name = to, .inputs = {from, shape}, .outputs = {to}};
}

// A constant that is the same for each sample broadcasts to the samples of another input: one copy is enough.
void keep_one_sample(ModelNode& node, ValueTable& table, const NodeInputs& inputs, FittedInputs& made) {
  std::vector<const Dims*> shapes;
  size_t rank = 0;
  for (const std::string& name : node.inputs) {
    shapes.push_back(name.empty() ? nullptr : table.dims(table.find(name)));
    if (shapes.back()) rank = std::max(rank, shapes.back()->size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]) continue;
    const std::string& name = node.inputs[i];
    const KnownValue* known = table.known(table.find(name));
    if (!known || (!known->elements() && known->real() && known->splat()))
      continue;  // the latter is broadcast as a number
    KnownValue one = *known;
    std::string suffix;
    for (size_t axis = 0; axis < one.dims.size(); ++axis) {
      const size_t behind = one.dims.size() - axis;
      const auto fits = [&](const Dims* other) {
        if (!other || other == shapes[i] || behind > other->size()) return false;
        const Dim samples = (*other)[other->size() - behind];
        return samples.batch &&
               (samples == one.dims[axis] || is_exported_as(samples, one.dims[axis], inputs.exported_batch()));
      };
      if (one.dims[axis] == Dim{1} || std::none_of(shapes.begin(), shapes.end(), fits)) continue;
      auto first = first_along(one, axis);
      if (!first) continue;
      one = std::move(*first);
      suffix += "." + std::to_string(axis);
    }
    if (suffix.empty()) continue;
    const std::string fitted = name + "/of_one_sample" + suffix;
    if (made.values.insert(fitted).second) add_fitted(table, fitted, std::move(one));
    node.inputs[i] = fitted;
  }
}

// An operand used together with samples must have as many of them: it is repeated per sample if the exporter repeated
// it for the samples of its example.
std::vector<ModelNode> repeat_for_samples(ModelNode& node, ValueTable& table, const NodeInputs& inputs,
                                          FittedInputs& made) {
  std::vector<ModelNode> nodes;
  const ModelAttribute* given = find_attribute(node, "axis");
  const Dims* like = nullptr;
  size_t of_samples = 0;
  for (const std::string& name : node.inputs) {
    const Dims* dims = name.empty() ? nullptr : table.dims(table.find(name));
    if (!dims) return {};
    for (size_t axis = 0; axis < dims->size(); ++axis)
      if ((*dims)[axis].batch && !like) like = dims, of_samples = axis;
  }
  if (!like || !given) return {};
  const int64_t rank = static_cast<int64_t>(like->size()),
                along = given->integer() < 0 ? given->integer() + rank : given->integer();
  const Dim samples = (*like)[of_samples];
  if (samples != kBatch || along == static_cast<int64_t>(of_samples)) return {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string name = node.inputs[i];
    const ValueTable::Index index = table.find(name);
    const Dims dims = *table.dims(index);
    if (static_cast<int64_t>(dims.size()) != rank ||
        !is_exported_as(samples, dims[of_samples], inputs.exported_batch()))
      continue;
    std::string one = name;
    if (dims[of_samples] != Dim{1}) {
      const KnownValue* known = table.known(index);
      auto first = known && known->elements() ? first_along(*known, of_samples) : std::nullopt;
      if (!first) continue;
      one = name + "/of_one_sample." + std::to_string(of_samples);
      if (made.values.insert(one).second) add_fitted(table, one, std::move(*first));
    }
    Dims wide = dims;
    wide[of_samples] = samples;
    const std::string repeated = name + "/for_each_sample." + std::to_string(of_samples);
    if (made.values.insert(repeated).second) nodes.push_back(shaped(table, "Expand", one, wide, repeated));
    node.inputs[i] = repeated;
    ++made.followed;
  }
  return nodes;
}

// A constant that the exporter computed for each sample of its example: a positional encoding that operators with
// weights read, zeros that are scattered into, indices of elements, a mask whose order differs by sample.
void follow_constant(ModelNode& node, size_t input, ValueTable& table, NodeInputs& inputs, FittedInputs& made) {
  const std::optional<int64_t> exported_batch = inputs.exported_batch();
  if (!exported_batch || input >= node.inputs.size() || node.inputs[input].empty()) return;
  const std::string name = node.inputs[input];
  const ValueTable::Index index = table.find(name);
  const KnownValue* known = table[index].initializer || table[index].data.valid() ? nullptr : table.known(index);
  if (!known || !(known->real() || find_onnx_op(node.op)->any_type) || known->depends_on_batch() ||
      known->dims.empty() || known->dims[0] != Dim{*exported_batch})
    return;
  // One row may be that of the only sample, if another input has as many dimensions and samples in front.
  const auto has_samples = [&](const std::string& other) {
    const Dims* dims = other.empty() || other == name ? nullptr : table.dims(table.find(other));
    return dims && dims->size() == known->dims.size() && (*dims)[0] == kBatch;
  };
  const bool must_meet_samples = *exported_batch == 1 || input > 0;
  if (must_meet_samples && std::none_of(node.inputs.begin(), node.inputs.end(), has_samples)) return;
  auto first = first_along(*known, 0);
  if (!first) return;
  inputs.meet();
  if (!inputs.follow()) return;
  first->dims[0] = kBatch;
  const std::string alike = name + "/for_each_sample";
  if (made.values.insert(alike).second) add_fitted(table, alike, std::move(*first));
  node.inputs[input] = alike;
  ++made.followed;
}

// An example of one sample: rows [k·N, …], such as k heads of each sample, that meet [k, …] in an element-wise
// operator, in a product or as indices. The latter were repeated for the sample once, so they are repeated for all.
std::vector<ModelNode> repeat_rows(ModelNode& node, ValueTable& table, NodeInputs& inputs, FittedInputs& made) {
  std::vector<ModelNode> nodes;
  if (inputs.exported_batch() != std::optional<int64_t>(1)) return nodes;
  Dims rows;
  for (const std::string& name : node.inputs)
    if (const Dims* dims = name.empty() ? nullptr : table.dims(table.find(name)); dims && dims->size() > 2)
      if ((*dims)[0].batch && (*dims)[0].value > 1 && rows.empty()) rows = *dims;
  if (rows.empty() || inputs.are_of_steps(rows[0].value)) return nodes;
  for (std::string& name : node.inputs) {
    const Dims* dims = name.empty() ? nullptr : table.dims(table.find(name));
    if (!dims || dims->size() != rows.size() || (*dims)[0] != Dim{rows[0].value}) continue;
    inputs.meet();
    if (!inputs.follow()) return {};
    Dims each = *dims;
    each.insert(each.begin(), Dim{1});
    const Dims one = each;
    each[0] = kBatch;
    Dims merged = *dims;
    merged[0] = rows[0];
    const std::string of_one = name + "/of_one_sample", of_each = name + "/for_each_sample";
    const std::string in_rows = name + "/in_rows";
    if (made.values.insert(in_rows).second) {
      nodes.push_back(shaped(table, "Reshape", name, one, of_one));
      nodes.push_back(shaped(table, "Expand", of_one, each, of_each));
      nodes.push_back(shaped(table, "Reshape", of_each, merged, in_rows));
    }
    name = in_rows;
    ++made.followed;
  }
  return nodes;
}

}  // namespace

std::vector<ModelNode> fit_inputs(ModelNode& node, ValueTable& table, NodeInputs& inputs, FittedInputs& fitted) {
  const Op* op = find_onnx_op(node.op);
  switch (op ? op->samples_rule : SamplesRule::apart) {
    case SamplesRule::apart: break;
    case SamplesRule::broadcast:
      keep_one_sample(node, table, inputs, fitted);
      return repeat_rows(node, table, inputs, fitted);
    case SamplesRule::beside: return repeat_for_samples(node, table, inputs, fitted);
    case SamplesRule::first_input:
      follow_constant(node, 0, table, inputs, fitted);
      if (op->elements == Elements::selected) follow_constant(node, 1, table, inputs, fitted);
      if (op->axes == AxesRule::changed || op->elements == Elements::selected)
        return repeat_rows(node, table, inputs, fitted);
      break;
  }
  return {};
}

std::vector<ModelNode> stretch_constants(const ModelNode& source, ValueTable& table) {
  std::vector<ModelNode> nodes;
  std::unordered_set<std::string> stretched;
  const Op* op = find_op(source.op);
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    if (source.inputs[i].empty() || stretched.contains(source.inputs[i])) continue;
    const Slot slot = slot_of(source.op, i);
    const ValueTable::Index index = table.find(source.inputs[i]);
    const Entry& entry = table[index];
    if (entry.data.valid() || !entry.known || !entry.known->alike_for_each_sample()) continue;
    const bool any_type = op && (op->any_type || op->moves_only);
    if (!entry.known->real() && !(any_type && data_type_of(entry.known->element))) continue;
    if (slot != Slot::data && slot != Slot::number && slot != Slot::exponent && !is_weight(slot)) continue;
    const Dims& dims = entry.known->dims;
    const auto with_samples = std::count_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
    if (with_samples != 1 || (entry.known->real() && entry.known->element != ElementType::f32)) continue;
    if (std::any_of(entry.known->ints.begin(), entry.known->ints.end(), [](Dim item) { return item.batch; })) continue;
    std::string one = source.inputs[i] + "/number";
    const bool in_rows = dims[0].batch && dims[0].value > 1;
    if (entry.known->splat())
      add_fitted(table, one, {.element = entry.known->element, .ints = entry.known->ints, .reals = entry.known->reals});
    if (in_rows) {
      // Several rows per sample: [m·N, d…] is [N, m, d…] with other dimensions.
      KnownValue first = *entry.known;
      first.dims[0].batch = false;
      first.dims.insert(first.dims.begin(), Dim{1});
      if (!first.splat()) one = add_fitted(table, source.inputs[i] + "/of_one_sample", first);
      first.dims[0] = kBatch;
      const std::string of_samples = source.inputs[i] + "/of_samples";
      nodes.push_back(shaped(table, "Expand", one, first.dims, of_samples));
      nodes.push_back(shaped(table, "Reshape", of_samples, dims, source.inputs[i]));
      stretched.insert(source.inputs[i]);
      continue;
    }
    if (!entry.known->splat()) {
      if (std::none_of(dims.begin(), dims.end(), [](Dim dim) { return dim == kBatch; })) continue;
      KnownValue first = *entry.known;
      std::replace(first.dims.begin(), first.dims.end(), kBatch, Dim{1});
      one = add_fitted(table, source.inputs[i] + "/of_one_sample", std::move(first));
    }
    nodes.push_back(shaped(table, "Expand", one, dims, source.inputs[i]));
    stretched.insert(source.inputs[i]);
  }
  return nodes;
}

}  // namespace plimsoll
