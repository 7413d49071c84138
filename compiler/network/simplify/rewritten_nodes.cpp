// Nodes that become others, or none: aliases, what is spelled in other operators, paddings, masks, sequences.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/differentiable.h"
#include "compiler/network/simplify/network_builder.h"
#include "compiler/network/simplify/padding.h"
#include "compiler/network/simplify/sequences.h"
#include "compiler/network/simplify/spellings.h"

namespace plimsoll {

ElementType NetworkBuilder::element_of(const Entry& entry) const {
  if (entry.initializer) return entry.initializer->type;
  if (entry.known) return entry.known->element;
  if (!entry.data.valid()) return ElementType::undefined;
  switch (network_.values[entry.data].type.type) {
    case DataType::f32: return ElementType::f32;
    case DataType::i32: return ElementType::i32;
    case DataType::i64: return ElementType::i64;
    case DataType::u8: return ElementType::undefined;  // or a boolean
  }
  return ElementType::undefined;
}

// The element type that a Cast or CastLike makes. undefined: not known, or another operator.
ElementType NetworkBuilder::cast_to(const ModelNode& source) {
  if (source.op == "Cast" && source.inputs.size() == 1) {
    const ModelAttribute* to = find_attribute(source, "to");
    return to ? to->element() : ElementType::undefined;
  }
  if (source.op != "CastLike" || source.inputs.size() != 2 || source.inputs[1].empty())
    return ElementType::undefined;
  return element_of(table_[table_.find(source.inputs[1])]);
}

bool NetworkBuilder::is_alias(const ModelNode& source) {
  if (!is_of_onnx(source) || source.inputs.empty() || source.outputs.size() != 1 || source.inputs[0].empty())
    return false;
  if (source.op == "Identity")
    return source.inputs.size() == 1 && (!is_detached(source, model_) || table_.known(table_.find(source.inputs[0])));
  const ElementType to = cast_to(source);
  // A computed value of booleans or u8 has an undefined type: DataType does not distinguish them.
  return to != ElementType::undefined && element_of(table_[table_.find(source.inputs[0])]) == to;
}

std::vector<KnownInput> NetworkBuilder::fold_inputs(const ModelNode& source) {
  std::vector<KnownInput> inputs;
  for (const std::string& name : source.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
    } else {
      const auto index = table_.find(name);
      inputs.push_back({table_.known(index), table_.dims(index), element_of(table_[index])});
    }
  }
  return inputs;
}

// False: the operator says itself.
Result<bool> NetworkBuilder::add_spelled(const ModelNode& source) {
  if (is_blocked(source)) {
    if (find_op(source.op)) return false;
    give_up(source, false);
    return true;
  }
  PLIMSOLL_TRY(check_inputs(source, *find_onnx_op(source.op)));
  const auto index = [&](size_t i) { return table_.find(source.inputs[i]); };
  if (!table_.dims(index(0))) return false;
  Result<std::vector<ModelNode>> nodes = spell_out({.node = source,
                                                          .opset = opset_,
                                                          .batch = options_.batch,
                                                          .exported_batch = exported_batch_,
                                                          .follow = [&] { return inputs_.meet(), inputs_.follow(); },
                                                          .dims = [&](size_t i) { return table_.dims(index(i)); },
                                                          .known =
                                                              [&](size_t i) {
                                                                // What an operator takes as a constant may be an initializer.
                                                                return is_constant(slot_of(source.op, i)) ? table_.known_constant(index(i))
                                                                                                          : table_.known(index(i));
                                                              },
                                                          .element = [&](size_t i) { return element_of(table_[index(i)]); },
                                                          .rows = [&](size_t i) { return rows_of(source.inputs[i]); }});
  if (!nodes.ok()) {
    if (nodes.error().code != ExitCode::unsupported) return nodes.error();
    unsupported_.add_message(nodes.error().message);
    give_up(source, false);
    return true;
  }
  for (const ModelNode& node : *nodes)
    for (const std::string& output : node.outputs) readers_[output].push_back(kWritten);
  for (const ModelNode& node : *nodes) {
    if (is_blocked(node)) give_up(node, false);
    else if (auto known = fold(node, opset_, fold_inputs(node))) table_[table_.define(node.outputs[0])].known = std::move(known);
    else PLIMSOLL_TRY(place(node, *find_op(node.op)));
  }
  return !nodes->empty();
}

// Where(IsNaN(x), 0, x) is x, but for NaN: exporters write it behind the softmax of an attention, for rows that are masked whole,
// and those are rows of zeros here.
bool NetworkBuilder::leave_out_guard(const ModelNode& source) {
  if (!is_of_onnx(source)) return false;
  if (source.op == "IsNaN" && source.inputs.size() == 1) {
    const std::vector<int>& readers = readers_[source.outputs[0]];
    const auto guards = [&](int reader) {
      const ModelNode* node = reader < 0 ? nullptr : &model_.nodes[reader];
      return node && node->op == "Where" && is_of_onnx(*node) && node->inputs.size() == 3 &&
             node->inputs[0] == source.outputs[0] && node->inputs[1] != source.outputs[0] && node->inputs[2] == source.inputs[0];
    };
    if (readers.empty() || !std::all_of(readers.begin(), readers.end(), guards)) return false;
    guards_.insert(source.outputs[0]);
    return true;
  }
  if (source.inputs.empty() || !guards_.contains(source.inputs[0])) return false;
  const ValueTable::Index guarded = table_.find(source.inputs[2]), instead = table_.find(source.inputs[1]);
  const Dims* dims = table_.dims(guarded);
  const KnownValue* number = table_.known_constant(instead);
  if (!dims || !number || !number->real() || number->elements() != 1 || number->dims.size() > dims->size() || number->number(0) != 0) {
    if (dims) unsupported_.add_message(fmt::format("{}: puts '{}' in the place of NaN, which is not known to be 0 while compiling; a Softmax puts 0 there itself",
                                                   describe(source), source.inputs[1]));
    give_up(source, false);
    return true;
  }
  table_.alias(source.outputs[0], guarded);
  ++guards_left_out_;
  return true;
}

// A Pad without zeros is nothing; one whose readers can pad by themselves is left to them.
bool NetworkBuilder::absorb_pad(const ModelNode& source) {
  if (source.inputs.empty() || source.inputs[0].empty() || absorbed_.contains(source.inputs[0])) return false;
  std::vector<const KnownValue*> known;
  for (const std::string& input : source.inputs) known.push_back(input.empty() ? nullptr : table_.known_constant(table_.find(input)));
  const auto zeros = spatial_zeros(source, known);
  if (!zeros) return false;
  if (std::any_of(zeros->begin(), zeros->end(), [](int64_t n) { return n != 0; })) {
    for (const int reader : readers_[source.outputs[0]]) {
      if (reader < 0) return false;
      const ModelNode& node = model_.nodes[reader];
      const auto reads = std::count(node.inputs.begin(), node.inputs.end(), source.outputs[0]);
      if (reads != 1 || node.inputs[0] != source.outputs[0] || !is_of_onnx(node) || !can_absorb(node, *zeros)) return false;
    }
    absorbed_[source.outputs[0]] = *zeros;
  }
  table_.alias(source.outputs[0], table_.find(source.inputs[0]));
  return true;
}

// One node for the steps in which exporters draw a mask.
Status NetworkBuilder::add_mask(const ModelNode& source, const RandomMask& mask) {
  const ValueTable::Index like = table_.find(mask.like), probability = mask.probability.empty() ? like : table_.find(mask.probability);
  if (table_[like].unsupported || table_[probability].unsupported) return give_up(source, false), Status{};
  const Dims* dims = table_.dims(like);
  const KnownValue* p = table_.known(probability);
  const bool said = dims && p && p->real() && p->splat() &&
                    std::all_of(dims->begin(), dims->end(), [](Dim dim) { return !dim.batch || dim == kBatch; });
  if (!said) {
    unsupported_.add_message(fmt::format("{}: draws a random mask; its probability is no single number that is known while compiling",
                                         describe(source)));
    return give_up(source, false), Status{};
  }
  std::vector<int64_t> shape;
  // One draw for each sample of the exporter's example is one for each sample.
  bool has_samples = std::any_of(dims->begin(), dims->end(), [](Dim dim) { return dim.batch; });
  for (const Dim dim : *dims) {
    const bool is_batch = !has_samples && exported_batch_ && *exported_batch_ > 1 && dim.value == *exported_batch_;
    if (is_batch) inputs_.meet();
    const bool followed = is_batch && inputs_.follow();
    masks_followed_ += followed;
    has_samples = has_samples || followed;
    shape.push_back(dim.batch || followed ? -1 : dim.value);
  }
  const ModelNode drawn{.op = "Bernoulli",
                        .name = source.name,
                        .outputs = {source.outputs[0]},
                        .attributes = {{.name = "shape", .value = std::move(shape)},
                                       {.name = "probability", .value = static_cast<float>(p->number(0))}},
                        .metadata = source.metadata};
  return infer(drawn, op_Bernoulli);
}

// A sequence is no value of a network; its tensors are.
Status NetworkBuilder::add_sequence(const ModelNode& source) {
  const ValueTable::Index sequence = table_.define(source.outputs[0]);
  table_[sequence].unsupported = true;  // as itself
  const ValueTable::Index whole = table_.find(source.inputs[0]);
  const Dims* x = table_.dims(whole);
  std::vector<std::string>& items = sequences_[sequence];
  if (!x || table_[whole].unsupported) return {};
  const bool given = source.inputs.size() > 1 && !source.inputs[1].empty();
  Result<SpelledSequence> spelled = spell_out(source, *x, given ? table_.known_constant(table_.find(source.inputs[1])) : nullptr);
  if (!spelled.ok()) {
    if (spelled.error().code != ExitCode::unsupported) return spelled.error();
    unsupported_.add_message(spelled.error().message);
    return {};
  }
  items = spelled->items;
  for (const ModelNode& node : spelled->nodes)
    for (const std::string& output : node.outputs) readers_[output].push_back(kWritten);
  for (const ModelNode& node : spelled->nodes) PLIMSOLL_TRY(add_operator(node));
  return {};
}

// False: not from a sequence that we know, or at a place that we do not.
bool NetworkBuilder::take_from_sequence(const ModelNode& source) {
  if (source.inputs.size() != 2) return false;
  const auto sequence = sequences_.find(table_.find(source.inputs[0]));
  if (sequence == sequences_.end()) return false;
  if (sequence->second.empty()) return give_up(source, false), true;
  const KnownValue* at = table_.known(table_.find(source.inputs[1]));
  if (!at || at->real() || at->elements() != 1 || at->integer(0).batch) return false;
  const int64_t count = static_cast<int64_t>(sequence->second.size()), given = at->integer(0).value, index = given < 0 ? given + count : given;
  if (index < 0 || index >= count) return false;
  table_.alias(source.outputs[0], table_.find(sequence->second[static_cast<size_t>(index)]));
  return true;
}

}  // namespace plimsoll
