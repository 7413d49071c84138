#include "compiler/network/simplify/node_values.h"

#include <algorithm>
#include <string>

#include "compiler/network/simplify/differentiable.h"
#include "compiler/network/simplify/fold.h"
#include "compiler/ops/op.h"

namespace plimsoll {

ElementType element_of(const Network& network, const Entry& entry) {
  if (entry.initializer) return entry.initializer->type;
  if (entry.known) return entry.known->element;
  if (!entry.data.valid()) return ElementType::undefined;
  switch (network.values[entry.data].type.type) {
    case DataType::f32: return ElementType::f32;
    case DataType::i32: return ElementType::i32;
    case DataType::i64: return ElementType::i64;
    case DataType::bf16: return ElementType::bf16;
    case DataType::f16: return ElementType::f16;
    case DataType::u8: return ElementType::undefined;           // or a boolean
    case DataType::q8: case DataType::uq8: case DataType::i16: return ElementType::undefined;  // no value of a network
  }
  return ElementType::undefined;
}

namespace {

// The element type to which the node converts its first input. undefined: unknown, or it converts nothing.
ElementType cast_to(const Network& network, ValueTable& table, const ModelNode& source) {
  const Op* op = find_onnx_op(source.op);
  if (!op || op->elements != Elements::shown || source.inputs.size() != op->typed_by + 1) return ElementType::undefined;
  if (!op->element_type.empty()) {
    const ModelAttribute* to = find_attribute(source, op->element_type);
    return to ? to->element() : ElementType::undefined;
  }
  const std::string& like = source.inputs[op->typed_by];
  return op->typed_by == 0 || like.empty() ? ElementType::undefined : element_of(network, table[table.find(like)]);
}

// Whether all readers ask something of this value alone.
bool is_only_tested(const Model& model, const GraphUses& uses, const std::string& name) {
  const auto readers = uses.readers.find(name);
  return readers != uses.readers.end() && std::all_of(readers->second.begin(), readers->second.end(), [&](int reader) {
    if (reader < 0) return false;
    const ModelNode& node = model.nodes[static_cast<size_t>(reader)];
    const Op* op = is_of_onnx(node) && node.inputs.size() == 1 ? find_onnx_op(node.op) : nullptr;
    return op && op->elements == Elements::tested;
  });
}

}  // namespace

bool is_boolean(const Model& model, const GraphUses& uses, std::string_view name) {
  // A graph has no cycle, so this ends.
  for (std::string value(name);;) {
    const auto maker = uses.maker.find(value);
    if (maker == uses.maker.end() || maker->second < 0) {
      const auto input = std::find_if(model.inputs.begin(), model.inputs.end(),
                                      [&](const DeclaredValue& input) { return input.name == value; });
      return input != model.inputs.end() && input->type == ElementType::boolean;
    }
    const ModelNode& node = model.nodes[static_cast<size_t>(maker->second)];
    if (!is_of_onnx(node) || node.inputs.empty()) return false;
    const Op* const op = find_onnx_op(node.op);
    if (!op || op->elements == Elements::computed) return false;
    if (op->elements == Elements::tested) return true;
    if (!op->element_type.empty()) {
      const ModelAttribute* const to = find_attribute(node, op->element_type);
      return to && to->element() == ElementType::boolean;
    }
    if (node.inputs.size() <= op->typed_by) return false;
    value = node.inputs[op->typed_by];
  }
}

bool is_alias(const Model& model, const GraphUses& uses, const Network& network, ValueTable& table,
              const ModelNode& source) {
  if (!is_of_onnx(source) || source.inputs.empty() || source.outputs.size() != 1 || source.inputs[0].empty())
    return false;
  if (source.op == "Identity")
    return source.inputs.size() == 1 && (!is_detached(source, model) || table.known(table.find(source.inputs[0])));
  const ElementType to = cast_to(network, table, source);
  const ElementType from = element_of(network, table[table.find(source.inputs[0])]);
  if (from == ElementType::f32 && to == ElementType::f64) return is_only_tested(model, uses, source.outputs[0]);
  // A computed boolean or u8 value has an undefined type, because DataType does not distinguish them.
  return to != ElementType::undefined && from == to;
}

std::vector<KnownInput> known_inputs(const Network& network, ValueTable& table, const ModelNode& source) {
  std::vector<KnownInput> inputs;
  for (const std::string& name : source.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
    } else {
      const auto index = table.find(name);
      inputs.push_back({table.known(index), table.dims(index), element_of(network, table[index])});
    }
  }
  return inputs;
}

}  // namespace plimsoll
