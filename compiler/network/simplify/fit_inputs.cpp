// Inputs of a node that have as many samples as the others only if the batch is followed: constants that are alike for
// each sample, and what an exporter wrote for the batch of its example.
#include <algorithm>

#include "compiler/network/simplify/network_builder.h"

namespace plimsoll {
namespace {

// The first of what lies along the axis, where all of it is the same. nullopt: it is not.
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
    if (known.real()) first.reals.push_back(known.reals[flat]);
    else first.ints.push_back(known.ints[flat]);
  }
  return first;
}

}  // namespace

// As many as `samples` are when the batch is that of the example.
bool NetworkBuilder::is_exported_as(Dim samples, Dim dim) const {
  return samples.batch && !dim.batch && exported_batch_ && dim.value == samples.value * *exported_batch_;
}

std::string NetworkBuilder::add_fitted(const std::string& name, KnownValue known) {
  const ValueTable::Index index = table_.define(name);
  table_[index].known = std::move(known);
  return name;
}

std::string NetworkBuilder::stretched_to(const std::string& name, const Dims& dims) {
  const std::string shape = name + "/shape";
  add_fitted(shape, {.element = ElementType::i64, .dims = {{static_cast<int64_t>(dims.size())}}, .ints = dims});
  return shape;
}

// A constant that is the same for each sample broadcasts to the samples of another input: one of it is enough.
void NetworkBuilder::keep_one_sample(ModelNode& node) {
  std::vector<const Dims*> shapes;
  size_t rank = 0;
  for (const std::string& name : node.inputs) {
    shapes.push_back(name.empty() ? nullptr : table_.dims(table_.find(name)));
    if (shapes.back()) rank = std::max(rank, shapes.back()->size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]) continue;
    const std::string& name = node.inputs[i];
    const KnownValue* known = table_.known(table_.find(name));
    if (!known || (!known->elements() && known->real() && known->splat()))
      continue;  // the latter is stretched as a number
    KnownValue one = *known;
    std::string suffix;
    for (size_t axis = 0; axis < one.dims.size(); ++axis) {
      const size_t behind = one.dims.size() - axis;
      const auto fits = [&](const Dims* other) {
        if (!other || other == shapes[i] || behind > other->size()) return false;
        const Dim samples = (*other)[other->size() - behind];
        return samples.batch && (samples == one.dims[axis] || is_exported_as(samples, one.dims[axis]));
      };
      if (one.dims[axis] == Dim{1} || std::none_of(shapes.begin(), shapes.end(), fits)) continue;
      auto first = first_along(one, axis);
      if (!first) continue;
      one = std::move(*first);
      suffix += "." + std::to_string(axis);
    }
    if (suffix.empty()) continue;
    const std::string fitted = name + "/of_one_sample" + suffix;
    if (fitted_.insert(fitted).second) add_fitted(fitted, std::move(one));
    node.inputs[i] = fitted;
  }
}

// What is put beside samples has as many of them: it is repeated for each, where the exporter did so for those of its
// example.
Status NetworkBuilder::repeat_for_samples(ModelNode& node) {
  const ModelAttribute* given = find_attribute(node, "axis");
  const Dims* like = nullptr;
  size_t of_samples = 0;
  for (const std::string& name : node.inputs) {
    const Dims* dims = name.empty() ? nullptr : table_.dims(table_.find(name));
    if (!dims) return {};
    for (size_t axis = 0; axis < dims->size(); ++axis)
      if ((*dims)[axis].batch && !like) like = dims, of_samples = axis;
  }
  if (!like || !given) return {};
  const int64_t rank = static_cast<int64_t>(like->size()), along = given->integer() < 0 ? given->integer() + rank : given->integer();
  const Dim samples = (*like)[of_samples];
  if (samples != kBatch || along == static_cast<int64_t>(of_samples)) return {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string name = node.inputs[i];
    const ValueTable::Index index = table_.find(name);
    const Dims dims = *table_.dims(index);
    if (static_cast<int64_t>(dims.size()) != rank || !is_exported_as(samples, dims[of_samples])) continue;
    std::string one = name;
    if (dims[of_samples] != Dim{1}) {
      const KnownValue* known = table_.known(index);
      auto first = known && known->elements() ? first_along(*known, of_samples) : std::nullopt;
      if (!first) continue;
      one = name + "/of_one_sample." + std::to_string(of_samples);
      if (fitted_.insert(one).second) add_fitted(one, std::move(*first));
    }
    Dims wide = dims;
    wide[of_samples] = samples;
    const std::string repeated = name + "/for_each_sample." + std::to_string(of_samples);
    if (fitted_.insert(repeated).second) PLIMSOLL_TRY(add_expand(one, wide, repeated));
    node.inputs[i] = repeated;
    ++followed_;
  }
  return {};
}

Status NetworkBuilder::add_expand(const std::string& from, const Dims& dims, const std::string& to) {
  const ModelNode expand{.op = "Expand", .name = to, .inputs = {from, stretched_to(to, dims)}, .outputs = {to}};
  readers_[to].push_back(kWritten);
  return infer(expand, *find_op("Expand"));
}

Status NetworkBuilder::add_reshape(const std::string& from, const Dims& dims, const std::string& to) {
  const ModelNode reshape{.op = "Reshape", .name = to, .inputs = {from, stretched_to(to, dims)}, .outputs = {to}};
  readers_[to].push_back(kWritten);
  return infer(reshape, *find_op("Reshape"));
}

// A constant of real numbers that an exporter computed for each sample of its example (an encoding of positions), on
// its way through operators that have weights.
void NetworkBuilder::follow_constant(ModelNode& node) {
  if (!exported_batch_ || *exported_batch_ < 2 || node.inputs.empty() || node.inputs[0].empty()) return;
  const std::string name = node.inputs[0];
  const ValueTable::Index index = table_.find(name);
  const KnownValue* known = table_[index].initializer || table_[index].data.valid() ? nullptr : table_.known(index);
  if (!known || !known->real() || known->depends_on_batch() || known->dims.empty() ||
      known->dims[0] != Dim{*exported_batch_})
    return;
  auto first = first_along(*known, 0);
  if (!first) return;
  inputs_.meet();
  if (!inputs_.follow()) return;
  first->dims[0] = kBatch;
  const std::string alike = name + "/for_each_sample";
  if (fitted_.insert(alike).second) add_fitted(alike, std::move(*first));
  node.inputs[0] = alike;
  ++followed_;
}

Status NetworkBuilder::fit_inputs(ModelNode& node) {
  const Op* op = find_onnx_op(node.op);
  switch (op ? op->samples_rule : SamplesRule::apart) {
    case SamplesRule::apart: break;
    case SamplesRule::broadcast: keep_one_sample(node); break;
    case SamplesRule::beside: return repeat_for_samples(node);
    case SamplesRule::first_input: follow_constant(node); break;
  }
  return {};
}

}  // namespace plimsoll
